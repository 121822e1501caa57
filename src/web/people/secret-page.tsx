import { escapeUnseen } from '../../intake/problems/shown-value.ts';

interface SecretProps {
  readonly name: string;
  readonly secret: string;
  /** Whether another admin has to confirm before it is good for anything. */
  readonly isProposed: boolean;
}

/** A one-time secret, shown this once: on the answer to the form, and nowhere else. */
export function SecretPage({ name, secret, isProposed }: SecretProps) {
  return (
    <>
      <p>
        Give this secret to {escapeUnseen(name)} in person or by a way that only they read. You alone are shown it, this
        once. It is good for choosing a password, within a day{' '}
        {isProposed ? 'of the moment at which another admin confirms, who is not shown it.' : 'from now on.'}
      </p>
      <dl class="card card-body facts user-select-all">
        <dt>Name</dt>
        <dd>{escapeUnseen(name)}</dd>
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

interface BearerProps extends Omit<SecretProps, 'secret'> {
  readonly bearer: string;
}

/** A key, shown this once. */
export function BearerPage({ name, bearer, isProposed }: BearerProps) {
  return (
    <>
      <p>
        This is the key {escapeUnseen(name)}. It is shown this once; whoever has it may do what its role may. A program
        sends it as <code>Authorization: Bearer KEY</code>.{' '}
        {isProposed ? 'It holds once another admin confirms, who is not shown it.' : ''}
      </p>
      <dl class="card card-body facts user-select-all">
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
