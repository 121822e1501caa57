import { type ComponentChildren, createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { RefusedForm } from '../web.ts';

/** The token of the session that a page is made for. */
export const CsrfContext = createContext('');

/** The form that was just refused, where the page is shown for that; it is one of the page, or was. */
export const RefusedContext = createContext<RefusedForm | null>(null);

/** The same within the form that it is. */
export const OwnRefusalContext = createContext<RefusedForm | null>(null);

interface FormPlace {
  readonly action: string;
  /** Tells it from others of the page that go to the same address. */
  readonly name?: string | undefined;
}

/** What was refused of this very form; null for nothing. */
export function useRefusal({ action, name = '' }: FormPlace): RefusedForm | null {
  const refused = useContext(RefusedContext);
  return refused !== null && refused.action === action && refused.form === name ? refused : null;
}

interface FormProps extends FormPlace {
  readonly children: ComponentChildren;
  readonly class?: string;
  /** How it is sent, where that is not as text. */
  readonly encType?: 'multipart/form-data';
}

/**
 * A form that changes something; it repeats the token of its session, before anything else. One that was refused shows
 * again what was typed into its fields (fields.tsx), and beside them what is wrong.
 */
export function Form({ action, name, children, ...rest }: FormProps) {
  const csrf = useContext(CsrfContext);
  const refused = useRefusal({ action, name });
  return (
    <form method="post" action={action} {...rest}>
      <input type="hidden" name="csrf" value={csrf} />
      {name === undefined ? null : <input type="hidden" name="form" value={name} />}
      <OwnRefusalContext.Provider value={refused}>{children}</OwnRefusalContext.Provider>
    </form>
  );
}
