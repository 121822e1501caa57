import type { App } from '../../app.ts';
import { purgeRun } from '../../runs/after/purge.ts';
import { Problem } from '../problem.ts';

/** A run, how long ago it must have ended (undefined: as PAYRUN_RETENTION says), and who purges it. */
export interface PurgeAsked {
  readonly runId: string;
  readonly olderThanMs: number | undefined;
  readonly actor: string;
}

/** Purges a run, or carries its purge on. Throws a Problem (409) for one that is kept, with the reason. */
export async function purgeOne(app: App, { runId, olderThanMs, actor }: PurgeAsked): Promise<void> {
  const ageMs = olderThanMs ?? app.config.retentionMs;
  if (ageMs === undefined)
    throw new Problem(
      409,
      'No retention period is set.',
      'Say how long ago the run must have ended, for example 400d.',
    );
  await app.ensureSeason();
  const result = await purgeRun(app, runId, { actor, olderThanMs: ageMs });
  if (result === 'purged' || result === 'purged before') return;
  throw new Problem(
    409,
    `Run ${runId} cannot be purged: ${result}.`,
    'It is kept as it is; try again once that has changed.',
  );
}
