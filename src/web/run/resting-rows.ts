import type { Clock } from '../../clock.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Payout, RefusedRow } from '../../payout.ts';

const REST_MS = 100;

/** All rows of a run, with a rest after each batch: pages come in between, and each of them bears at most one batch. */
export async function* restingRows(
  { ledger, clock }: { readonly ledger: Pick<Ledger, 'runs'>; readonly clock: Pick<Clock, 'sleep'> },
  runId: string,
): AsyncGenerator<(Payout | RefusedRow)[]> {
  for await (const batch of ledger.runs.rows(runId)) {
    yield batch;
    await clock.sleep(REST_MS);
  }
}
