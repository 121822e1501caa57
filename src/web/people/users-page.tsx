import { escapeUnseen } from '../../intake/shown-value.ts';
import type { Proposal } from '../../ledger/people.ts';
import { ROLES, type Role } from '../../people/roles.ts';
import type { User } from '../../people/users.ts';
import { Field, Form } from '../parts/form.tsx';
import { Time } from '../parts/time.tsx';
import { Proposals } from './proposals-part.tsx';

interface UsersProps {
  /** Those of this page. */
  readonly users: readonly User[];
  readonly proposals: readonly Proposal[];
  readonly viewer: string;
  /** Nobody else is, or was, an admin. */
  readonly isAlone: boolean;
  /** From 1. */
  readonly page: number;
  readonly pages: number;
  /** Whether a proposal is to add somebody, and can be withdrawn. */
  readonly isToAdd: (proposal: Proposal) => boolean;
}

/** Who may sign in, as what, and what waits for a second admin. */
export function UsersPage(props: UsersProps) {
  const { users, proposals, viewer, isAlone, isToAdd } = props;
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
      <Proposals proposals={proposals} viewer={viewer} withdrawAt={(one) => (isToAdd(one) ? '/users/disable' : null)} />
      <UserTable users={users} />
      <Pages {...props} />
      <AddForm />
    </>
  );
}

function UserTable({ users }: Pick<UsersProps, 'users'>) {
  return (
    <div class="scroll">
      <table class="users">
        <caption>Users by name</caption>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Role</th>
            <th scope="col">State</th>
            <th scope="col">Added</th>
            <th scope="col">Change</th>
          </tr>
        </thead>
        <tbody>
          {users.map((user) => (
            <tr key={user.name}>
              <th scope="row">{escapeUnseen(user.name)}</th>
              <td>{user.role}</td>
              <td>
                <State user={user} />
              </td>
              <td>
                <Time at={user.addedAt} /> by {escapeUnseen(user.addedBy)}
              </td>
              <td>
                <Acts user={user} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function State({ user: { isDisabled, secretUntil } }: { user: User }) {
  if (isDisabled) return <span class="state cancelled">disabled</span>;
  if (secretUntil === null) return <span>may sign in</span>;
  return (
    <span class="state awaiting-approval">
      has a one-time secret until <Time at={secretUntil} />
    </span>
  );
}

function Acts({ user: { name, role, isDisabled } }: { user: User }) {
  return (
    <div class="people-acts">
      <Form action="/users/role">
        <input type="hidden" name="name" value={name} />
        <RoleChoice label={`Role of ${name}`} chosen={role} />
        <button type="submit" aria-label={`Give ${name} this role`}>
          Give
        </button>
      </Form>
      <Act
        action={isDisabled ? '/users/enable' : '/users/disable'}
        name={name}
        words={isDisabled ? 'Enable' : 'Disable'}
      />
      <Act action="/users/reset" name={name} words="Reset" />
    </div>
  );
}

function Act({ action, name, words }: { action: string; name: string; words: string }) {
  return (
    <Form action={action}>
      <input type="hidden" name="name" value={name} />
      <button type="submit" {...(words === 'Disable' ? { class: 'danger' } : {})} aria-label={`${words} ${name}`}>
        {words}
      </button>
    </Form>
  );
}

function RoleChoice({ label, chosen }: { label: string; chosen: Role }) {
  return (
    <select name="role" aria-label={label}>
      {ROLES.map((role) => (
        <option key={role} value={role} selected={role === chosen}>
          {role}
        </option>
      ))}
    </select>
  );
}

function AddForm() {
  return (
    <Form action="/users">
      <h2>Add a user</h2>
      <Field label="Name" name="name" required maxLength={64} hint="As histories will name them, such as anna.berg." />
      <p class="field">
        <label htmlFor="add-role">Role</label>
        <select id="add-role" name="role" aria-describedby="hint-add-role">
          {ROLES.map((role) => (
            <option key={role} value={role}>
              {role}
            </option>
          ))}
        </select>
        <small id="hint-add-role" class="hint">
          A viewer looks; a maker hands in and stops; a checker approves and lets go as well; an admin also decides on
          users and settings.
        </small>
      </p>
      <button type="submit" class="main">
        Add
      </button>
    </Form>
  );
}

function Pages({ page, pages }: Pick<UsersProps, 'page' | 'pages'>) {
  if (pages === 1) return null;
  return (
    <nav class="pages" aria-label="Pages">
      {page > 1 ? (
        <a rel="prev" href={`/users?page=${page - 1}`}>
          Before
        </a>
      ) : null}{' '}
      Page {page} of {pages}{' '}
      {page < pages ? (
        <a rel="next" href={`/users?page=${page + 1}`}>
          Next
        </a>
      ) : null}
    </nav>
  );
}
