import { setTimeout as delay } from 'node:timers/promises';
import type { PurgeTaken } from './purge-task.ts';
import { type Environment, openStuck, PREFIX, type Rig } from './rig.ts';

const LOOK_MS = 250;

/** Resolves when every payment of the run is settled and reported and nobody looks at it; a worker with PAYRUN_WATCH_RETURNS=0ms must follow it. */
export async function settled({ runs, redis: { redis } }: Rig, runId: string): Promise<void> {
  const idle = openStuck('following payments');
  for (;;) {
    const run = await runs.read(runId);
    const isReported = run !== undefined && run.reportedChanges === run.changes;
    const isWatched = await redis.zscore(`${PREFIX}:watch`, runId);
    const isLive = (await runs.live()).includes(runId);
    if (run?.counts.accepted === 0 && isReported && !isLive) {
      if (isWatched === null) return;
      // The next look for returns is a day away: that day is over.
      await redis.zadd(`${PREFIX}:watch`, 'XX', 1, runId);
    }
    idle(JSON.stringify([run?.counts, isReported, isLive, isWatched]));
    await delay(LOOK_MS);
  }
}

/** Purges what is final. */
export async function purge(rig: Rig, changes?: Environment): Promise<void> {
  const { results } = await rig.child('purge-task', [], rig.env(changes)).told<PurgeTaken>();
  if (!results.includes('purged')) throw new Error(`nothing was purged: ${results.join(', ')}`);
}
