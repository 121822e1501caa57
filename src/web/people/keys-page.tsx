import { KEY_ROLES } from '../../access/roles.ts';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import type { Proposal } from '../../ledger/people/people.ts';
import type { Key } from '../../people/keys.ts';
import { hrefWith } from '../lists/href.ts';
import { SortForm } from '../lists/list-fields.tsx';
import type { Listed } from '../lists/listed.ts';
import { Confirm } from '../parts/confirm.tsx';
import { Choice, Field } from '../parts/fields.tsx';
import { Form } from '../parts/form.tsx';
import { CountedPages } from '../parts/pages.tsx';
import { sortLinks, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { Proposals } from './proposals-part.tsx';

export const KEY_COLUMNS = ['name', 'made', 'ends', 'used'] as const;
type KeyColumn = (typeof KEY_COLUMNS)[number];

const SORTS = [
  ['name', 'name'],
  ['-made', 'made last'],
  ['ends', 'ends first'],
  ['-used', 'used last'],
] as const;

interface KeysProps extends Listed<Key> {
  readonly sort: KeyColumn | `-${KeyColumn}`;
  readonly proposals: readonly Proposal[];
  readonly viewer: string;
}

/** The keys by which programs use the interface. */
export function KeysPage({ shown, sort, page, pages, proposals, viewer }: KeysProps) {
  return (
    <>
      <p>
        Programs bring a key. To make one needs two admins, once there are two; to revoke one needs one, and acts at
        once. No key decides what needs people.
      </p>
      <p>
        <a href="/users">Users</a> · <a href="/keys.csv">as CSV</a>
      </p>
      <Proposals proposals={proposals} viewer={viewer} />
      {shown.length === 0 ? (
        <p class="empty">There are no keys yet. Make one for each program.</p>
      ) : (
        <>
          <SortForm action="/keys" sorts={SORTS} sort={sort} />
          <KeyTable shown={shown} sort={sort} />
          <CountedPages page={page} pages={pages} hrefOf={(other) => hrefWith('/keys', { sort, page: other })} />
        </>
      )}
      <MakeForm />
    </>
  );
}

function KeyTable({ shown, sort }: Pick<KeysProps, 'shown' | 'sort'>) {
  const by = sortLinks<KeyColumn>(sort, (other) => hrefWith('/keys', { sort: other }));
  return (
    <Table
      caption={sort === 'name' ? 'Keys by name' : 'Keys'}
      columns={[
        { text: 'Name', sorts: by('name') },
        'Role',
        { text: 'Made', sorts: by('made', 'down') },
        { text: 'Ends', sorts: by('ends') },
        { text: 'Used last', sorts: by('used', 'down') },
        'Change',
      ]}
      class="keys"
    >
      {shown.map(({ id, name, role, createdBy, createdAt, expiresAt, lastUsedAt }) => (
        <tr key={id}>
          <th scope="row">{escapeUnseen(name)}</th>
          <td>{role}</td>
          <td>
            <Time at={createdAt} /> by {escapeUnseen(createdBy)}
          </td>
          <td>{expiresAt === null ? 'when revoked' : <Time at={expiresAt} />}</td>
          <td>{lastUsedAt === null ? 'never' : <Time at={lastUsedAt} />}</td>
          <td>
            <Revoke name={name} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

function Revoke({ name }: { name: string }) {
  return (
    <Confirm
      action="/keys/revoke"
      name={`key ${name}`}
      words="Revoke"
      whom={name}
      question={`Whatever uses ${escapeUnseen(name)} is refused from now on. A new key may need two admins.`}
    >
      <input type="hidden" name="name" value={name} />
    </Confirm>
  );
}

function MakeForm() {
  return (
    <Form action="/keys">
      <h2>Make a key</h2>
      <Field label="Name" name="name" required maxLength={64} hint="The program, as histories will name it." />
      <Choice
        label="Role"
        name="role"
        options={KEY_ROLES.map((role) => [role, role])}
        hint="A viewer looks; a maker hands in and stops as well."
      />
      <Field label="Days that it holds" name="days" maxLength={4} hint="Without them it holds until it is revoked." />
      <button type="submit" class="btn btn-primary">
        Make
      </button>
    </Form>
  );
}
