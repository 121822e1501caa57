import type { ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import { Field } from './fields.tsx';
import { CsrfContext, type FormPlace, OwnRefusalContext, useRefusal } from './refused-context.ts';

interface FormProps extends FormPlace {
  readonly children: ComponentChildren;
  readonly class?: string;
  /** How it is sent, where that is not as text. */
  readonly encType?: 'multipart/form-data';
  /** For the script, which shows the form where a browser has passkeys. */
  readonly 'data-passkey-new'?: '';
  readonly hidden?: boolean;
}

/**
 * A form that changes something; it repeats the token of its session, before anything else. One that was refused shows
 * again what was typed into its fields (fields.tsx), and beside them what is wrong; where the second factor was missing, it
 * has a field for that.
 */
export function Form({ action, name, children, ...rest }: FormProps) {
  const csrf = useContext(CsrfContext);
  const refused = useRefusal({ action, name });
  const asksFactor = refused?.problem.fields['code'] !== undefined;
  return (
    <form method="post" action={action} {...rest}>
      <input type="hidden" name="csrf" value={csrf} />
      {name === undefined ? null : <input type="hidden" name="form" value={name} />}
      <OwnRefusalContext.Provider value={refused}>
        {asksFactor ? (
          <Field label="Code of your second factor" name="code" secret autocomplete="one-time-code" data-passkey />
        ) : null}
        {children}
      </OwnRefusalContext.Provider>
    </form>
  );
}
