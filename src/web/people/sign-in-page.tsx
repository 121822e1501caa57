import { Field } from '../parts/fields.tsx';
import { Form } from '../parts/form.tsx';

interface SignInProps {
  /** Where they wanted to go. */
  readonly next: string;
  /** Whether an identity provider can say who they are. */
  readonly hasProvider: boolean;
  readonly hasUsers: boolean;
}

/** The form to sign in, by password or by the identity provider. */
export function SignInPage({ next, hasProvider, hasUsers }: SignInProps) {
  return (
    <div class="sign-in container-tight">
      {hasProvider ? (
        <p>
          <a class="sign-in-provider" href={`/sign-in/provider?next=${encodeURIComponent(next)}`}>
            Sign in with your organisation
          </a>
        </p>
      ) : null}
      {hasUsers || hasProvider ? null : (
        <p class="empty">
          There are no users yet. Add the first admin on the command line of this host:{' '}
          <code>payrun user add NAME --role admin --as NAME</code>
        </p>
      )}
      <Form action="/sign-in">
        <input type="hidden" name="next" value={next} />
        <Field label="Name" name="name" required maxLength={200} autocomplete="username" />
        <Field
          label="Password, or one-time secret"
          name="password"
          secret
          required
          maxLength={1000}
          autocomplete="current-password"
        />
        <button type="submit" class="btn btn-primary">
          Sign in
        </button>
      </Form>
    </div>
  );
}

/** Shown for a moment, so that the next page is asked for by a page of ours, with the cookie. */
export function GoOnPage({ to }: { to: string }) {
  return (
    <p>
      <a href={to}>Go on</a>
    </p>
  );
}
