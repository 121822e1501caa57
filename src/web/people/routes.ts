import type { Web, WebDeps } from '../web.ts';
import { addKeyPages } from './key-routes.ts';
import { addSignInPages } from './sign-in-routes.ts';
import { addUserPages } from './user-routes.ts';
import { addWithdrawPage } from './withdraw-routes.ts';

/** Who may come in, and how they do. */
export function addPeoplePages(web: Web, deps: WebDeps): void {
  addSignInPages(web, deps);
  addUserPages(web, deps);
  addKeyPages(web, deps);
  addWithdrawPage(web, deps);
}
