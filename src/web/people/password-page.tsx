import { PASSWORD_ADVICE } from '../../people/password.ts';
import { Field } from '../parts/fields.tsx';
import { Form } from '../parts/form.tsx';

interface PasswordProps {
  /** Whose password it is. */
  readonly name: string;
  /** Whether they have a one-time secret and no password of their own. */
  readonly isFirst: boolean;
}

/** The form by which people choose their password. */
export function PasswordPage({ name, isFirst }: PasswordProps) {
  return (
    <>
      <p>
        {isFirst
          ? 'A one-time secret lets you choose a password, once. Nobody else will know it.'
          : 'All your other sessions end when you change it.'}
      </p>
      <Form action="/password">
        <input type="hidden" name="kind" value={isFirst ? 'first' : 'change'} />
        <Field label="Name" name="name" value={name} autocomplete="username" readOnly />
        <Field
          label={isFirst ? 'One-time secret, once more' : 'Present password'}
          name="password"
          secret
          required
          maxLength={1000}
          autocomplete="current-password"
        />
        <Field
          label="New password"
          name="newPassword"
          secret
          required
          maxLength={1000}
          autocomplete="new-password"
          hint={PASSWORD_ADVICE}
        />
        <Field
          label="New password, once more"
          name="repeated"
          secret
          required
          maxLength={1000}
          autocomplete="new-password"
        />
        <button type="submit" class="btn btn-primary">
          Choose this password
        </button>
      </Form>
    </>
  );
}

/** That it was changed. */
export function PasswordChangedPage({ isShort }: { isShort: boolean }) {
  return (
    <>
      <p>Your password is changed. You are signed in here, and nowhere else.</p>
      {isShort ? <p class="hint">It is shorter than we advise. {PASSWORD_ADVICE}</p> : null}
      <p>
        <a href="/runs">To the runs</a>
      </p>
    </>
  );
}
