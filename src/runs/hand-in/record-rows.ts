import { duplicateKey } from '../../intake/row/duplicate-key.ts';
import { hashReference } from '../../intake/row/reference-hash.ts';
import type { ContentHash } from '../../intake/row/row-hash.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { refusedFields, rowFields } from '../../ledger/payouts/record.ts';
import type { RowRecord } from '../../ledger/runs/recording.ts';
import type { Seals } from '../../ledger/seals.ts';
import type { Cost } from '../../pay/quote/cost.ts';
import type { CostLimit, PayoutRow, RefusedRow } from '../../payout.ts';
import type { IdentityBook } from '../identities.ts';
import { refuseOtherRows, refuseRestarted } from './refusals.ts';

const QUOTES_AT_A_TIME = 16;

/** What recording takes of `SubmitDeps`. */
export interface RecordDeps {
  readonly ledger: Pick<Ledger, 'runs' | 'seals'>;
  readonly config: { readonly rememberMs: number; readonly duplicatesWithinMs?: number | undefined };
  /** The identities that the service lists; none where nobody can say. */
  readonly identities?: IdentityBook | undefined;
  /** What a row costs now; needed only for a submission that limits the drift of costs. */
  readonly previewCost?: ((row: PayoutRow) => Promise<Cost | null>) | undefined;
}

interface Batch {
  readonly batch: readonly (PayoutRow | RefusedRow)[];
  readonly maxCostDriftBp: bigint | undefined;
  /** Is told of the rows that are not refused. */
  readonly accepted: Pick<ContentHash, 'addRow'>;
}

/** Records a batch of rows as they are judged. Throws a Refusal (unavailable) where Redis restarted meanwhile. */
export async function recordRows(
  deps: RecordDeps,
  runId: string,
  { batch, maxCostDriftBp, accepted }: Batch,
): Promise<void> {
  const judged = batch.map((row) => ('reference' in row ? (deps.identities?.judge(row) ?? row) : row));
  for (const row of judged) if ('reference' in row) accepted.addRow(row);
  const limits = await costLimits(deps, judged, maxCostDriftBp);
  const { seals } = deps.ledger;
  const records = judged.map((row, index) => {
    const record = recordOf({ runId, row, seals }, { ...deps.config, costLimit: limits.get(row.line) });
    const sound = batch[index];
    if (record.state === 'ready' || sound === undefined || !('reference' in sound)) return record;
    return { ...record, sound: recordOf({ runId, row: sound, seals }, { costLimit: undefined }) };
  });
  const result = await deps.ledger.runs.record(runId, records, deps.config.rememberMs);
  // `closed`: another process recorded the same file to its end.
  if (result === 'season') throw refuseRestarted();
  if (result === 'other-rows') throw refuseOtherRows(runId);
}

/** The cost limit of each line; a few rows are quoted at a time. */
async function costLimits(
  { previewCost }: RecordDeps,
  rows: Batch['batch'],
  driftBp: bigint | undefined,
): Promise<ReadonlyMap<number, CostLimit>> {
  const limits = new Map<number, CostLimit>();
  if (driftBp === undefined) return limits;
  const left = rows.filter((row) => 'reference' in row);
  const quoteNext = async (): Promise<void> => {
    for (let row = left.shift(); row !== undefined; row = left.shift()) {
      const cost = await previewCost?.(row);
      limits.set(row.line, { ...(cost ?? { debited: 0n, arrives: 1n }), driftBp });
    }
  };
  await Promise.all(Array.from({ length: QUOTES_AT_A_TIME }, quoteNext));
  return limits;
}

interface RecordRules {
  readonly duplicatesWithinMs?: number | undefined;
  readonly costLimit: CostLimit | undefined;
}

interface RowToRecord {
  readonly runId: string;
  readonly row: PayoutRow | RefusedRow;
  readonly seals: Seals;
}

function recordOf({ runId, row, seals }: RowToRecord, { duplicatesWithinMs, costLimit }: RecordRules): RowRecord {
  if ('reference' in row) {
    const place = { runId, line: row.line };
    const limit = costLimit === undefined ? undefined : { limit: costLimit, seal: seals.costLimit(place, costLimit) };
    return {
      line: row.line,
      state: 'ready',
      fields: rowFields(row, seals.row(place, row, costLimit !== undefined), limit),
      amount: row.amount,
      referenceHash: hashReference(row.reference),
      duplicateKey:
        duplicatesWithinMs === undefined ? undefined : { hash: duplicateKey(row), withinMs: duplicatesWithinMs },
    };
  }
  return { line: row.line, state: 'refused', fields: refusedFields(row), amount: row.amount, referenceHash: null };
}
