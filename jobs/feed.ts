import type { GivenSlice } from '../src/ledger/slices.ts';
import { feedRun, rankOf } from '../src/runs/feed.ts';
import type { JobPayload } from './catalog.ts';
import type { JobDeps } from './deps.ts';
import type { NewJob } from './open.ts';

/** Fills the window of a run. */
export async function feed({ app }: JobDeps, { runId }: JobPayload<'feed'>): Promise<void> {
  const slices = await feedRun(app.ledger, runId, app.config);
  await app.jobs.add(
    'pay',
    slices.map((slice) => payJob(runId, slice)),
  );
}

export function payJob(runId: string, { from, to, stamp }: GivenSlice): NewJob<'pay'> {
  return { id: `pay-${runId}-${from}-${to}`, payload: { runId, from, to, stamp }, rank: rankOf(from) };
}
