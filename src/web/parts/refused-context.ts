import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { RefusedForm } from '../web.ts';

/** The token of the session that a page is made for. */
export const CsrfContext = createContext('');

/** The form that was just refused, where the page is shown for that; it is one of the page, or was. */
export const RefusedContext = createContext<RefusedForm | null>(null);

/** The same within the form that it is. */
export const OwnRefusalContext = createContext<RefusedForm | null>(null);

export interface FormPlace {
  readonly action: string;
  /** Tells it from others of the page that go to the same address. */
  readonly name?: string | undefined;
}

/** What was refused of this very form; null for nothing. */
export function useRefusal({ action, name = '' }: FormPlace): RefusedForm | null {
  const refused = useContext(RefusedContext);
  return refused !== null && refused.action === action && refused.form === name ? refused : null;
}
