import { encode } from 'uqr';
import type { FactorOffer, OwnFactor } from '../../people/second-factor.ts';
import { Confirm } from '../parts/confirm.tsx';
import { Field } from '../parts/fields.tsx';
import { Form } from '../parts/form.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';

interface FactorProps {
  /** Undefined for whoever has none. */
  readonly factor: OwnFactor | undefined;
  /** The app that is being set up. */
  readonly offer: FactorOffer | undefined;
}

const CODE = { autocomplete: 'one-time-code', maxLength: 64, required: true } as const;

/** What somebody has beside the password, and how they set it up. */
export function FactorPage({ factor, offer }: FactorProps) {
  return (
    <>
      {factor === undefined ? (
        <p>
          You have none. With an authenticator app on your phone, or a passkey, payrun asks for it when you sign in, and
          again before you approve or decide anything.
        </p>
      ) : (
        <Present {...factor} />
      )}
      {offer === undefined ? (
        <Form action="/second-factor/begin">
          <button type="submit" class="btn btn-primary">
            {factor?.hasApp === true ? 'Set up another app in its place' : 'Set up an authenticator app'}
          </button>
        </Form>
      ) : (
        <Offer offer={offer} />
      )}
      <Form action="/second-factor/passkey" data-passkey-new="" hidden>
        <input type="hidden" name="credential" />
        <button type="submit" class="btn">
          Add a passkey
        </button>{' '}
        <output class="hint" data-passkey-note="" />
      </Form>
    </>
  );
}

function Present({ since, hasApp, passkeys, recoveryCodesLeft }: OwnFactor) {
  const keys = passkeys.length === 1 ? 'a passkey' : `${passkeys.length} passkeys`;
  const things = [...(hasApp ? ['an authenticator app'] : []), ...(passkeys.length > 0 ? [keys] : [])].join(' and ');
  return (
    <>
      <p>
        You have {things} since <Time at={since} />, and {recoveryCodesLeft} recovery codes that were not used. Lost all
        of them? Two admins can take them away.
      </p>
      {passkeys.length === 0 ? null : (
        <Table caption="Your passkeys" columns={['Passkey', 'Added', 'Remove']}>
          {passkeys.map(({ id, since: added }, at) => (
            <tr key={id}>
              <th scope="row">{at + 1}</th>
              <td>
                <Time at={added} />
              </td>
              <td>
                <Remove id={id} whom={`passkey ${at + 1}`} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      <Form action="/second-factor/recovery">
        <button type="submit" class="btn">
          Make ten new recovery codes
        </button>
      </Form>
      <Form action="/second-factor/prove">
        <Field
          label="Code"
          name="typed"
          secret
          {...CODE}
          data-passkey
          hint="Good for five minutes, for all that asks for a code."
        />
        <button type="submit" class="btn">
          Give a code now
        </button>
      </Form>
    </>
  );
}

function Remove({ id, whom }: { id: string; whom: string }) {
  const question = 'You can no longer sign in with it. You stay signed in here, and are signed out everywhere else.';
  return (
    <Confirm action="/second-factor/passkey/remove" name={id} words="Remove" whom={whom} question={question}>
      <input type="hidden" name="passkey" value={id} />
    </Confirm>
  );
}

function Offer({ offer: { secret, uri } }: { offer: FactorOffer }) {
  return (
    <section aria-labelledby="set-up">
      <h2 id="set-up">Set up your app</h2>
      <p>
        Read this picture with your authenticator app, or type the secret into it. It is shown for ten minutes, and
        never again after that.
      </p>
      <QrCode text={uri} />
      <dl class="card card-body facts user-select-all">
        <dt>Secret</dt>
        <dd>
          <code>{secret.match(/.{1,4}/g)?.join(' ')}</code>
        </dd>
      </dl>
      <Form action="/second-factor">
        <Field label="Code that the app shows now" name="typed" secret {...CODE} inputMode="numeric" />
        <button type="submit" class="btn btn-primary">
          Use this app
        </button>
      </Form>
    </section>
  );
}

/** A QR code, dark on light whatever the colours of the page. */
function QrCode({ text }: { text: string }) {
  const { data, size } = encode(text, { border: 4 });
  const dark = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])));
  return (
    <svg class="mw-100" width="224" viewBox={`0 0 ${size} ${size}`} role="img" aria-label="QR code of the secret">
      <rect width={size} height={size} fill="white" />
      <path d={dark.join('')} fill="black" />
    </svg>
  );
}

/** Recovery codes, shown this once. */
export function RecoveryCodesPage({ codes }: { codes: readonly string[] }) {
  return (
    <>
      <p>
        Write these down and keep them away from your phone: each is good for once, in the place of your app or passkey.
        They are shown this once. Former ones do not count any more.
      </p>
      <ol class="fs-3">
        {codes.map((code) => (
          <li key={code}>
            <code>{code.match(/.{1,4}/g)?.join('-')}</code>
          </li>
        ))}
      </ol>
      <p>
        <a href="/runs">To the runs</a>
      </p>
    </>
  );
}

/** The second step of a sign-in. */
export function AwaitedFactorPage({ next }: { next: string }) {
  return (
    <div class="sign-in container-tight">
      <Form action="/sign-in/second-factor">
        <input type="hidden" name="next" value={next} />
        <Field label="Code of your authenticator app, or a recovery code" name="typed" secret {...CODE} data-passkey />
        <button type="submit" class="btn btn-primary">
          Sign in
        </button>
      </Form>
    </div>
  );
}
