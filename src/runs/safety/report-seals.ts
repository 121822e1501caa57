import type { Ledger } from '../../ledger/ledger.ts';
import { UNKNOWN_KEY } from '../../ledger/seals.ts';
import type { Payout, RefusedRow, Run } from '../../payout.ts';
import { rowsOfPart } from '../../report/reconciliation.ts';
import { haltAll } from '../decide/control.ts';
import { factsFinding } from './seals.ts';

const LINES_SHOWN_MAX = 10;

/** What seals say of a run while its report is made. */
export interface ReportSeals {
  /** The rows as they come; the first that something else than payrun changed halts everything. */
  judged(batches: AsyncIterable<(Payout | RefusedRow)[]>): AsyncGenerator<(Payout | RefusedRow)[], void>;
  /** What is not as payrun wrote it, or cannot be told, a sentence each; complete once the rows were read. */
  faults(): readonly string[];
}

/** Judges the run and its approvals at once. One that was cancelled while it was recorded has no seal of its own. */
export async function openReportSeals({ ledger }: { readonly ledger: Ledger }, run: Run): Promise<ReportSeals> {
  const halt = async (reason: string): Promise<unknown> => await haltAll({ ledger }, { actor: 'payrun', reason });
  const facts = rowsOfPart(run) === undefined ? factsFinding(ledger, run) : undefined;
  if (facts?.verdict === 'false') await halt(facts.reason);
  const changed = openLines();
  const unknown = openLines();
  return {
    async *judged(batches) {
      for await (const batch of batches) {
        const wasSound = changed.count() === 0;
        for (const row of batch) {
          const verdict = 'row' in row ? ledger.seals.judgePayout(row) : 'true';
          if (verdict !== 'true') (verdict === 'false' ? changed : unknown).add(row.line);
        }
        if (wasSound && changed.count() > 0) {
          await halt(`line ${changed.first()} of run ${run.id} was changed in Redis by something else than payrun`);
        }
        yield batch;
      }
    },
    faults: () => [
      ...(facts === undefined ? [] : [`run: ${facts.reason}`]),
      ...changed.words(
        (count, lines) => `rows: something else than payrun changed ${count} of them in Redis, ${lines}`,
      ),
      ...unknown.words(
        (count, lines) => `rows: nobody can tell here whether ${count} of them were changed, ${lines}: ${UNKNOWN_KEY}`,
      ),
    ],
  };
}

/** Counts lines, and keeps the first of them. */
function openLines() {
  const shown: number[] = [];
  let count = 0;
  return {
    add(line: number) {
      count++;
      if (shown.length < LINES_SHOWN_MAX) shown.push(line);
    },
    count: () => count,
    first: () => shown[0],
    words: (say: (count: number, lines: string) => string): string[] =>
      count === 0 ? [] : [say(count, `on lines ${shown.join(', ')}`)],
  };
}
