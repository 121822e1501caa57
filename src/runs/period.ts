import type { Outcome, Payout, RefusedRow, Run } from '../payout.ts';
import { openPeriod, type PeriodReport, periodFaults } from '../report/period/period.ts';
import type { ReportSource } from '../report/source.ts';
import { type ReportSummary, summarise } from '../report/summary.ts';
import { outcomeCounts } from '../report/totals.ts';
import { type ReportDeps, reportSource } from './after/report.ts';
import { readOnRecord } from './on-record.ts';

const OPEN: readonly Outcome[] = ['waiting', 'unknown', 'pending', 'held'];

/** Adds up the runs that were submitted from one moment to another. Every row of them is read once. */
export async function readPeriod(
  deps: ReportDeps,
  { from, end }: Pick<PeriodReport, 'from' | 'end'>,
): Promise<PeriodReport> {
  const period = openPeriod();
  const within: string[] = [];
  const leftOut: string[] = [];
  const earlier: PeriodReport['earlier'][number][] = [];
  for (const id of (await deps.ledger.runs.list()).toReversed()) {
    const run = await deps.ledger.runs.read(id);
    if (run === undefined || run.createdAt >= end) continue;
    if (run.createdAt < from) earlier.push({ runId: id, outcomes: openIn(run) });
    else if (run.purgedAt !== null || run.state === 'recording') leftOut.push(id);
    else within.push(id);
  }
  const summaries: ReportSummary[] = [];
  for (const [id, onRecord] of await readOnRecord(deps.ledger, within)) {
    summaries.push(await addRun(await reportSource(deps, id, onRecord), period));
  }
  const lines = await period.lines();
  return {
    from,
    end,
    createdAt: deps.clock.now(),
    runs: summaries.map(({ facts }) => facts.run.id),
    lines,
    leftOut,
    earlier: earlier.filter(({ outcomes }) => Object.keys(outcomes).length > 0),
    faults: await periodFaults(lines, summaries),
  };
}

async function addRun(source: ReportSource, period: ReturnType<typeof openPeriod>): Promise<ReportSummary> {
  async function* added(): AsyncGenerator<readonly (Payout | RefusedRow)[], void> {
    for await (const batch of source.rows) {
      period.add(source.run.id, batch);
      yield batch;
    }
  }
  return await summarise({ ...source, rows: added() });
}

function openIn({ counts }: Run): Partial<Record<Outcome, number>> {
  const outcomes = outcomeCounts((state) => counts[state]);
  return Object.fromEntries(
    OPEN.filter((outcome) => outcomes[outcome] > 0).map((outcome) => [outcome, outcomes[outcome]]),
  );
}
