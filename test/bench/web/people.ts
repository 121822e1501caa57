import type { App } from '../../../src/app.ts';
import { userField } from '../../../src/ledger/people/people.ts';
import { startSession } from '../../../src/people/sessions.ts';
import { SESSION_COOKIE } from '../../../src/web/session.ts';

const nameOf = (place: number): string => `watcher-${place + 1}`;

/** Adds this many users who may look. None of them can sign in by a password: what is measured comes after that. */
export async function addWatchers({ ledger, clock }: App, count: number): Promise<void> {
  const { version } = await ledger.people.read();
  const addedAt = clock.now();
  const users = Array.from({ length: count }, (_, place) =>
    userField({
      name: nameOf(place),
      role: 'viewer',
      isDisabled: false,
      password: '-',
      secretUntil: null,
      epoch: 0,
      addedBy: 'bench',
      addedAt,
      vouched: null,
      factor: null,
    }),
  );
  const fields: Record<string, string> = Object.assign({}, ...users);
  const act = { actor: 'bench', action: 'user.added', target: 'user watchers', details: {} };
  if ((await ledger.people.change({ version, act, fields })) !== 'made') throw new Error('the people were changed');
}

/** A fresh session for each of them, as their browsers would name it. */
export async function cookiesOf(app: App, count: number): Promise<string[]> {
  const places = Array.from({ length: count }, (_, place) => place);
  return await Promise.all(places.map(async (place) => `${SESSION_COOKIE}=${await startSession(app, nameOf(place))}`));
}
