import type { Config } from '../../config/config.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { fundsField } from '../../ledger/runs/run-record.ts';
import type { RunFunds } from '../../money.ts';
import type { Run } from '../../payout.ts';
import { openCorridors } from './corridor.ts';
import { EVERY_ROW_MAX, previewRows, QUOTES_MAX, SAMPLE_ROWS } from './preview.ts';
import { type QuotingServiceDeps, withQuotingService } from './quoting-service.ts';

export interface FundsDeps extends QuotingServiceDeps {
  readonly config: Config;
  readonly ledger: Pick<Ledger, 'runs' | 'approvals'>;
}

/** Later on the service is asked again. */
const FRESH_MS = 60 * 60 * 1000;

/** Whether what was found out is still that of the payouts that wait to be paid. */
export function areFundsFresh(deps: Pick<FundsDeps, 'clock'>, { funds, counts }: Run): boolean {
  return funds !== null && funds.payouts === counts.ready && deps.clock.now() - funds.at < FRESH_MS;
}

/**
 * Asks the service what the payouts of a run that wait to be paid need, by quotes that are never armed, and keeps that with
 * the run. Those to blocked beneficiaries count as held. Null where the asking was ended, or told nothing.
 */
export async function askRunFunds(
  deps: FundsDeps,
  run: Run,
  { timeMsMax, signal = new AbortController().signal }: { timeMsMax: number; signal?: AbortSignal },
): Promise<RunFunds | null> {
  const blocked = new Set((await deps.ledger.approvals.blocked()).map(({ identityId }) => identityId));
  const corridors = openCorridors(run.counts.ready <= EVERY_ROW_MAX ? 'all' : SAMPLE_ROWS, QUOTES_MAX);
  for await (const batch of deps.ledger.runs.rows(run.id, ['ready'])) {
    for (const payout of batch)
      if ('row' in payout && !blocked.has(payout.row.beneficiaryIdentityId.toLowerCase())) corridors.add(payout.row);
  }
  const { config } = deps;
  const { funds, rowsUnpriced, quoting } = await withQuotingService(deps, (service) =>
    previewRows({ ...config, ...deps, service, defaults: config }, corridors.result(), { timeMsMax, signal }),
  );
  if (signal.aborted || (quoting.quoted.length === 0 && run.counts.ready > 0)) return null;
  const found = { at: deps.clock.now(), payouts: run.counts.ready, unpriced: rowsUnpriced, needed: funds };
  await deps.ledger.runs.note(run.id, fundsField(found));
  return found;
}

/** The same for a command: a run whose needs are not known, for the service does not answer, is shown all the same. */
export async function withFunds(deps: FundsDeps, run: Run, timeMsMax: number): Promise<Run> {
  if (run.state !== 'awaiting-approval' || areFundsFresh(deps, run)) return run;
  const end = new AbortController();
  const asked = askRunFunds(deps, run, { timeMsMax, signal: end.signal }).catch((error: unknown) => {
    deps.log.debug('nobody knows what a run needs', { run: run.id, error });
    return null;
  });
  const funds = await Promise.race([asked, deps.clock.sleep(timeMsMax, end.signal).then(() => null)]);
  end.abort();
  return funds === null ? run : { ...run, funds };
}
