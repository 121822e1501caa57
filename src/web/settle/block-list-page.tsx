import type { ListedName } from '../../access/listed-name.ts';
import { isSamePerson } from '../../access/same-person.ts';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import type { Blocked } from '../../ledger/people/approvals.ts';
import type { Listed } from '../lists/listed.ts';
import { Field } from '../parts/fields.tsx';
import { Form } from '../parts/form.tsx';
import { Identity } from '../parts/identity.tsx';
import { CountedPages } from '../parts/pages.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import type { Person } from '../web.ts';

interface BlockListProps {
  readonly blocked: Listed<Blocked>;
  readonly names: ReadonlyMap<string, ListedName>;
  readonly who: Person | null;
  /** Whom the form is about to block. */
  readonly id: string;
}

/** Who is blocked, by whom and why, and forms for whoever may block. */
export function BlockListPage({ blocked, names, who, id }: BlockListProps) {
  const mayBlock = who?.may('block') === true;
  return (
    <>
      <p>
        Payouts to a blocked beneficiary that were not sent are held when their turn comes. One person blocks; two end
        the block, and what is held is then let go under <a href="/to-settle">To settle</a>.
      </p>
      {blocked.shown.length === 0 ? (
        <p class="empty">Nobody is blocked.</p>
      ) : (
        <>
          <BlockTable blocked={blocked} names={names} who={who} />
          <CountedPages {...blocked} hrefOf={(page) => `/block-list?page=${page}`} />
        </>
      )}
      <p>
        <a href="/block-list.csv">The list as CSV</a>
      </p>
      {mayBlock ? <BlockForm id={id} /> : <p class="hint">Your role may look at it, and not block.</p>}
    </>
  );
}

function BlockTable({ blocked, names, who }: Omit<BlockListProps, 'id'>) {
  return (
    <Table
      caption="Beneficiaries to whom nothing is paid"
      columns={['Beneficiary', 'Blocked', 'By', 'Reason', 'End of the block']}
    >
      {blocked.shown.map((one) => (
        <tr key={one.identityId}>
          <th scope="row">
            <Identity id={one.identityId} name={names.get(one.identityId)} />
          </th>
          <td>
            <Time at={one.at} />
          </td>
          <td>{escapeUnseen(one.by)}</td>
          <td>{escapeUnseen(one.reason)}</td>
          <td>
            <Unblock one={one} who={who} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

function Unblock({ one, who }: { one: Blocked; who: Person | null }) {
  const { unblockBy, identityId } = one;
  const mayUnblock = who?.may('block') === true;
  const isOwn = unblockBy !== undefined && who !== null && isSamePerson(unblockBy, who.name);
  return (
    <>
      {unblockBy === undefined ? null : <p>{escapeUnseen(unblockBy)} proposed it.</p>}
      {isOwn ? <p>It waits for another person.</p> : null}
      {mayUnblock && !isOwn ? (
        <Form action="/block-list/unblock" name={`unblock ${identityId}`}>
          <input type="hidden" name="id" value={identityId} />
          <button
            type="submit"
            aria-label={`${unblockBy === undefined ? 'Propose' : 'Confirm'} to unblock ${identityId}`}
          >
            {unblockBy === undefined ? 'Propose to unblock' : 'Confirm: unblock'}
          </button>
        </Form>
      ) : null}
    </>
  );
}

function BlockForm({ id }: { id: string }) {
  return (
    <Form action="/block-list">
      <h2>Block a beneficiary</h2>
      <Field
        label="Identity id"
        name="id"
        value={id}
        required
        maxLength={64}
        hint="As in the file's column beneficiaryIdentityId."
      />
      <Field label="Reason" name="reason" required maxLength={200} hint="For the audit log." />
      <button type="submit" class="btn btn-outline-danger">
        Block
      </button>
    </Form>
  );
}
