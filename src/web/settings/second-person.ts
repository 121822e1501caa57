import type { App } from '../../app.ts';
import { releaseHalt } from '../../runs/decide/release.ts';
import { type Adopted, adoptSettings } from '../../runs/safety/adopt-settings.ts';
import { Problem } from '../problem.ts';

/** Proposes to release a halt, or confirms it. Throws a Problem (409) for who has proposed it, (503) for a closed season. */
export async function releaseByTwo(app: App, actor: string): Promise<'proposed' | 'released' | 'not-halted'> {
  await app.ensureSeason();
  const result = await releaseHalt(app, actor);
  // What had to wait for the lists that hold now is done again.
  if (result === 'released') await app.ensureSeason();
  if (result === 'same-person')
    throw new Problem(409, 'You have proposed the release.', 'Another person has to look and to confirm it.');
  if (result === 'season')
    throw new Problem(
      503,
      'Redis was restarted or went back in time, and what was sent is not known yet.',
      'Start a worker on each data directory: it compares its intent logs within seconds. Then release the halt.',
    );
  return result;
}

/**
 * Makes this process's safety settings those of the ledger, of which somebody saw `before`. Throws a Problem (409) when the
 * ledger has others by now.
 */
export async function adoptSeen(
  app: App,
  { before, actor }: { readonly before: string; readonly actor: string },
): Promise<Adopted> {
  if ((await app.ledger.state.read()).safety !== before)
    throw new Problem(409, "The ledger's settings have changed since you looked.", 'Look at them again.');
  return await adoptSettings(app, actor);
}
