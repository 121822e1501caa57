import { SANDBOX_NAME } from '../src/config/config.ts';
import { refreshNames } from '../src/runs/identities.ts';
import type { JobDeps } from './deps.ts';

const EVERY_MS = 10 * 60_000;
/** Our own sandbox learns an identity with its first payment. */
const SANDBOX_EVERY_MS = 10_000;

/** Lets one worker of all ask, once in a while, what the service calls its identities. Nobody waits for it, and it throws nothing. */
export async function tellNames({ app, pay }: Pick<JobDeps, 'app' | 'pay'>): Promise<void> {
  const everyMs = app.serviceName === SANDBOX_NAME ? SANDBOX_EVERY_MS : EVERY_MS;
  try {
    if (!(await app.ledger.state.takeTurn('names', everyMs))) return;
    await refreshNames({ ...app, service: pay.service });
  } catch (error) {
    app.log.warn('the names of identities could not be refreshed', { error });
  }
}
