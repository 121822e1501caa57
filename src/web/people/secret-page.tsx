import { rfc3339 } from '../../clock.ts';
import { escapeUnseen } from '../../intake/shown-value.ts';
import type { WithSecret } from '../../people/users.ts';

/** A one-time secret, shown this once: on the answer to the form, and nowhere else. */
export function SecretPage({ user, secret }: Pick<WithSecret, 'user' | 'secret'>) {
  const until = user.secretUntil === null ? '' : `, until ${rfc3339(user.secretUntil)}`;
  return (
    <>
      <p>
        Give this secret to {escapeUnseen(user.name)} ({user.role}) in person or by a way that only they read. It is
        shown this once, holds for a day{until}, and is good for choosing a password.
      </p>
      <dl class="facts secret">
        <dt>Name</dt>
        <dd>{escapeUnseen(user.name)}</dd>
        <dt>One-time secret</dt>
        <dd>
          <code>{secret}</code>
        </dd>
      </dl>
      <p>
        <a href="/users">To the users</a>
      </p>
    </>
  );
}

/** A key, shown this once. */
export function BearerPage({ name, bearer }: { name: string; bearer: string }) {
  return (
    <>
      <p>
        This is the key {escapeUnseen(name)}. It is shown this once; whoever has it may do what its role may. A program
        sends it as <code>Authorization: Bearer KEY</code>.
      </p>
      <dl class="facts secret">
        <dt>Key</dt>
        <dd>
          <code>{bearer}</code>
        </dd>
      </dl>
      <p>
        <a href="/keys">To the keys</a>
      </p>
    </>
  );
}
