import { releasedTo } from '../src/config/stages.ts';
import { payPayout } from '../src/pay/pay-payout.ts';
import type { PayResult } from '../src/pay/step-result.ts';
import type { Run } from '../src/payout.ts';
import { approvalOf } from '../src/runs/decide/approval.ts';
import type { JobPayload } from './catalog.ts';
import type { JobDeps } from './deps.ts';
import { endRun } from './end-run.ts';

/** Pays the payouts of a slice, several at a time, wakes the feed when the window has room, and ends the run with its last slice. */
export async function pay(deps: JobDeps, { runId, from, to, stamp }: JobPayload<'pay'>): Promise<void> {
  const { app, stopping } = deps;
  const run = await app.ledger.runs.read(runId);
  if (run === undefined || !(await mayGoOn(deps, run, stamp))) return;
  const last = Math.min(to, releasedTo(run));
  const lines = Array.from({ length: Math.max(0, last - from + 1) }, (_, index) => from + index);
  const { fileSha256, contentHash } = run;
  const approval = approvalOf(run, app.config);
  const mayArm = run.state === 'paying';
  const results = await Promise.all(
    lines.map((line) =>
      deps.payGate(runId, async (): Promise<PayResult> => {
        if (stopping.aborted) return 'left';
        return await payPayout(deps.pay, { runId, line, mayArm, fileSha256, contentHash, approval }, stopping);
      }),
    ),
  );
  app.at('C12');
  const isPutOff = from === to && results[0] === 'deferred';
  if (results.includes('left') || isPutOff) return;
  const { out, more } = await app.ledger.slices.end(runId, { from, to, stamp });
  if (more && out <= app.config.window / 2) await app.wake(runId);
  if (!more && out === 0) await endRun(deps, runId);
}

/** In a run that was stopped no slice is paid; a payout that is due by itself, without a stamp, has a quote to be ended. */
async function mayGoOn(deps: JobDeps, run: Run, stamp: string): Promise<boolean> {
  return run.state === 'paying' ? await deps.isSealed(run) : stamp === '';
}
