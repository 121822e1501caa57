import { KEY_ROLES } from '../../access/roles.ts';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import type { Proposal } from '../../ledger/people/people.ts';
import type { Key } from '../../people/keys.ts';
import { Confirm } from '../parts/confirm.tsx';
import { Choice, Field } from '../parts/fields.tsx';
import { Form } from '../parts/form.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { Proposals } from './proposals-part.tsx';

interface KeysProps {
  readonly keys: readonly Key[];
  readonly proposals: readonly Proposal[];
  readonly viewer: string;
}

/** The keys by which programs use the interface. */
export function KeysPage({ keys, proposals, viewer }: KeysProps) {
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
      {keys.length === 0 ? (
        <p class="empty">There are no keys yet. Make one for each program.</p>
      ) : (
        <KeyTable keys={keys} />
      )}
      <MakeForm />
    </>
  );
}

function KeyTable({ keys }: Pick<KeysProps, 'keys'>) {
  return (
    <Table caption="Keys by name" columns={['Name', 'Role', 'Made', 'Ends', 'Used last', 'Change']} class="keys">
      {keys.map(({ id, name, role, createdBy, createdAt, expiresAt, lastUsedAt }) => (
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
