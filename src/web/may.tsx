import { type ComponentChildren, createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Act } from '../access/roles.ts';

/** Whether whoever reads the page may do something. */
export const MayContext = createContext<(act: Act) => boolean>(() => false);

/** What is shown to those alone who may do it: nobody sees a link that leads to a refusal. */
export function May({ act, children }: { act: Act; children: ComponentChildren }) {
  return useContext(MayContext)(act) ? <>{children}</> : null;
}
