import type { DuePayout } from '../src/ledger/due-payouts.ts';
import { endStage } from '../src/runs/after/stage.ts';
import { startRun } from '../src/runs/hand-in/start.ts';
import { rowsTaken } from '../src/runs/progress.ts';
import { warnOfCutOffs } from './cut-offs.ts';
import type { JobDeps } from './deps.ts';
import { endRun } from './end-run.ts';
import { payJob } from './feed.ts';
import { shortenLocks } from './locks.ts';

/** How often the sweeper looks. */
export const SWEEP_EVERY_MS = 2000;

const LOOK_UPS_PER_SWEEP = 2000;
const LINES_PER_JOB = 25;
/** A turn ends before the next tick, also when that one comes a little early. */
const TURN_MARGIN_MS = 200;

/** Gives a job to whatever is due and has none, and ends runs that have nothing open any more. */
export async function sweep(deps: JobDeps): Promise<void> {
  const { app } = deps;
  if (!(await app.ledger.state.takeTurn('sweep', SWEEP_EVERY_MS - TURN_MARGIN_MS))) return;
  const steppedMs = await app.ledger.state.lookAtClock();
  if (steppedMs > 0) {
    app.log.warn('the clock of Redis stepped back: what waited is looked at now', { ms: steppedMs });
    await shortenLocks(app.jobs);
  }
  for (const runId of await app.ledger.runs.live()) {
    if (deps.stopping.aborted) return;
    await sweepRun(deps, runId);
  }
  await warnOfCutOffs(deps).catch((error: unknown) => app.log.warn('no cut-off could be foreseen', { error }));
  const track = Math.ceil((app.config.trackRatePerSecond * SWEEP_EVERY_MS) / 1000);
  await wakeDue(deps, await app.ledger.slices.takeDue({ look: LOOK_UPS_PER_SWEEP, track }));
  for (const runId of await app.ledger.runs.takeWatch(app.config.watchReturnsMs, app.clock.now())) {
    await app.jobs.add('watch', [{ id: `watch-${runId}`, payload: { runId } }]);
  }
}

async function sweepRun(deps: JobDeps, runId: string): Promise<void> {
  const { app } = deps;
  if (await endRun(deps, runId)) return;
  const run = await app.ledger.runs.read(runId);
  if (run !== undefined) await startRun(app, run);
  if (run !== undefined) await endStage(app.ledger, run);
  if (run?.state === 'paying') await app.ledger.runs.notePace(runId, rowsTaken(run));
  const slices = await app.ledger.slices.take(runId, app.config.window);
  await app.jobs.add(
    'pay',
    slices.map((slice) => payJob(runId, slice)),
  );
  await app.wake(runId);
}

async function wakeDue({ app }: JobDeps, due: readonly DuePayout[]): Promise<void> {
  const quoted = due.filter(({ state }) => state === 'quoted');
  await app.jobs.add(
    'pay',
    quoted.map(({ runId, line }) => payJob(runId, { from: line, to: line, stamp: '' })),
  );
  await wakeLines(
    app,
    'track',
    due.filter(({ state }) => state === 'accepted'),
  );
  await wakeLines(
    app,
    'look-up',
    due.filter(({ state }) => state !== 'accepted' && state !== 'quoted'),
  );
}

async function wakeLines(app: JobDeps['app'], name: 'track' | 'look-up', due: readonly DuePayout[]): Promise<void> {
  const linesOfRuns = new Map<string, number[]>();
  for (const { runId, line } of due) {
    const lines = linesOfRuns.get(runId);
    if (lines === undefined) linesOfRuns.set(runId, [line]);
    else lines.push(line);
  }
  for (const [runId, lines] of linesOfRuns) {
    await app.jobs.add(
      name,
      inPieces(lines).map((piece) => ({ id: `${name}-${runId}-${piece.join('-')}`, payload: { runId, lines: piece } })),
    );
  }
}

function inPieces(lines: readonly number[]): number[][] {
  const pieces: number[][] = [];
  for (let from = 0; from < lines.length; from += LINES_PER_JOB) pieces.push(lines.slice(from, from + LINES_PER_JOB));
  return pieces;
}
