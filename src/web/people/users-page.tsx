import { ROLES } from '../../access/roles.ts';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import type { Proposal } from '../../ledger/people/people.ts';
import type { StoredSchedule } from '../../ledger/schedules.ts';
import type { User } from '../../people/users.ts';
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

export const USER_COLUMNS = ['name', 'role', 'signedIn', 'added'] as const;
type UserColumn = (typeof USER_COLUMNS)[number];

interface UsersProps extends Listed<User> {
  readonly sort: UserColumn | `-${UserColumn}`;
  readonly proposals: readonly Proposal[];
  readonly viewer: string;
  /** In milliseconds since 1970, by their names. */
  readonly lastSignIns: ReadonlyMap<string, number>;
  readonly schedules: readonly Pick<StoredSchedule, 'name' | 'setBy'>[];
  /** Nobody else is, or was, an admin. */
  readonly isAlone: boolean;
  /** The only admin who may still sign in; null where there are others. */
  readonly lastAdmin: string | null;
}

const SORTS = [
  ['name', 'name'],
  ['role', 'role'],
  ['-signedIn', 'signed in last'],
  ['-added', 'added last'],
] as const;

/** Who may sign in, as what, and what waits for a second admin. */
export function UsersPage({ proposals, viewer, isAlone, ...list }: UsersProps) {
  const { sort, page, pages } = list;
  return (
    <>
      <p>
        To add, to enable, to reset and to give a role needs two admins: one proposes, another one confirms within a
        week. To disable needs one, and acts at once.{' '}
        {isAlone ? <b>Nobody else is an admin, so you decide alone.</b> : null}
      </p>
      <p>
        <a href="/keys">Keys of programs</a> · <a href="/users.csv">as CSV</a>
      </p>
      <Proposals proposals={proposals} viewer={viewer} />
      <SortForm action="/users" sorts={SORTS} sort={sort} />
      <UserTable {...list} />
      <CountedPages page={page} pages={pages} hrefOf={(other) => hrefWith('/users', { sort, page: other })} />
      <AddForm />
    </>
  );
}

type UserTableProps = Pick<UsersProps, 'shown' | 'sort' | 'lastSignIns' | 'lastAdmin' | 'schedules'>;

function UserTable({ shown, sort, lastSignIns, lastAdmin, schedules }: UserTableProps) {
  const by = sortLinks<UserColumn>(sort, (other) => hrefWith('/users', { sort: other }));
  return (
    <Table
      caption={sort === 'name' ? 'Users by name' : 'Users'}
      columns={[
        { text: 'Name', sorts: by('name') },
        { text: 'Role', sorts: by('role') },
        'State',
        { text: 'Signed in last', sorts: by('signedIn', 'down') },
        { text: 'Added', sorts: by('added', 'down') },
        'Change',
      ]}
      class="users"
    >
      {shown.map((user, index) => (
        <tr key={user.name}>
          <th scope="row">{escapeUnseen(user.name)}</th>
          <td>{user.role}</td>
          <td>
            <State user={user} />
            {user.isDisabled ? <GoesOn names={schedules.filter(({ setBy }) => setBy === user.name)} /> : null}
          </td>
          <td>
            <LastSignIn at={lastSignIns.get(user.name)} />
          </td>
          <td>
            <Time at={user.addedAt} /> by {escapeUnseen(user.addedBy)}
          </td>
          <td>
            <Acts user={user} index={index} isLastAdmin={user.name === lastAdmin} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

function State({ user: { isDisabled, secretUntil, hasFactor } }: { user: User }) {
  if (isDisabled) return <span class="state cancelled">disabled</span>;
  if (secretUntil === null) return <span>may sign in{hasFactor ? ', with a second factor' : ''}</span>;
  return (
    <span class="state awaiting-approval">
      has a one-time secret until <Time at={secretUntil} />
    </span>
  );
}

/** What a user who is disabled scheduled; nothing where that is nothing. */
function GoesOn({ names }: { names: readonly { readonly name: string }[] }) {
  if (names.length === 0) return null;
  return (
    <>
      {' '}
      <a href="/schedules">{`schedules go on: ${names.map(({ name }) => name).join(', ')}`}</a>
    </>
  );
}

function LastSignIn({ at }: { at: number | undefined }) {
  return at === undefined ? <>never</> : <Time at={at} />;
}

interface ActsProps {
  readonly user: User;
  /** Its place on the page. */
  readonly index: number;
  readonly isLastAdmin: boolean;
}

function Acts({ user: { name, role, isDisabled, hasFactor }, index, isLastAdmin }: ActsProps) {
  return (
    <div class="people-acts">
      <Form action="/users/role" name={`role of ${name}`}>
        <input type="hidden" name="name" value={name} />
        <Choice
          ariaLabel={`Role of ${name}`}
          name="role"
          id={`role-${index}`}
          options={ROLES.map((one) => [one, one])}
          value={role}
        />
        <button type="submit" class="btn" aria-label={`Give ${name} this role`}>
          Give
        </button>
      </Form>
      {isDisabled ? (
        <Act action="/users/enable" name={name} words="Enable" />
      ) : (
        <Confirm
          action="/users/disable"
          name={`user ${name}`}
          words="Disable"
          whom={name}
          question={
            isLastAdmin
              ? `${escapeUnseen(name)} is the last admin who may sign in: nobody would be left to change users and keys here.`
              : `${escapeUnseen(name)} is signed out everywhere at once. To enable them again may need two admins.`
          }
        >
          <input type="hidden" name="name" value={name} />
        </Confirm>
      )}
      <Act action="/users/reset" name={name} words="Reset" />
      {hasFactor ? <Act action="/users/factor" name={name} words="Remove second factor" /> : null}
    </div>
  );
}

function Act({ action, name, words }: { action: string; name: string; words: string }) {
  return (
    <Form action={action} name={`user ${name}`}>
      <input type="hidden" name="name" value={name} />
      <button type="submit" class="btn" aria-label={`${words} ${name}`}>
        {words}
      </button>
    </Form>
  );
}

function AddForm() {
  return (
    <Form action="/users">
      <h2>Add a user</h2>
      <Field label="Name" name="name" required maxLength={64} hint="As histories will name them, such as anna.berg." />
      <Choice
        label="Role"
        name="role"
        options={ROLES.map((role) => [role, role])}
        hint="A viewer looks; a maker hands in and stops; a checker approves and lets go as well; an admin also decides on users and settings."
      />
      <button type="submit" class="btn btn-primary">
        Add
      </button>
    </Form>
  );
}
