import { trackPayout } from '../src/pay/track.ts';
import type { JobPayload } from './catalog.ts';
import type { JobDeps } from './deps.ts';
import { reportJob } from './report.ts';

/** Follows accepted payments, and has the report of a run that is over written anew. */
export async function track(deps: JobDeps, { runId, lines }: JobPayload<'track'>): Promise<void> {
  await trackLines(deps, runId, lines);
  await reportAgain(deps, runId);
}

/** Looks whether completed payments of a finished run came back. */
export async function watch(deps: JobDeps, { runId }: JobPayload<'watch'>): Promise<void> {
  for await (const lines of deps.app.ledger.runs.linesIn(runId, { state: 'completed' })) {
    if (deps.stopping.aborted) return;
    await trackLines(deps, runId, lines);
  }
  await reportAgain(deps, runId);
}

async function reportAgain({ app }: JobDeps, runId: string): Promise<void> {
  const run = await app.ledger.runs.read(runId);
  if (run !== undefined && run.finishedAt !== null) await app.jobs.add('report', [reportJob(run, app.clock.now())]);
}

async function trackLines(deps: JobDeps, runId: string, lines: readonly number[]): Promise<void> {
  await Promise.all(
    lines.map((line) =>
      deps.trackGate(runId, async () => {
        if (!deps.stopping.aborted) await trackPayout(deps.pay, { runId, line }, deps.stopping);
      }),
    ),
  );
}
