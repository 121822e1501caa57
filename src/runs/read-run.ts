import type { Ledger } from '../ledger/ledger.ts';
import type { Run } from '../payout.ts';
import { Refusal, withSteps } from '../refusal.ts';

/** The run, or a Refusal when there is none with that id. */
export async function readRun(deps: { ledger: Pick<Ledger, 'runs'> }, runId: string): Promise<Run> {
  const run = await deps.ledger.runs.read(runId);
  if (run !== undefined) return run;
  throw new Refusal(`There is no run ${runId}.`, withSteps`See ${{ to: 'see-runs' }} for all runs.`);
}
