import { createHash } from 'node:crypto';
import type { Ledger } from '../../ledger/ledger.ts';
import { type SealVerdict, UNKNOWN_KEY } from '../../ledger/seals.ts';
import type { Payout, RefusedRow, Run } from '../../payout.ts';

/** What a look at seals found wrong, in words for people; a `false` one halts everything. */
export interface SealFinding {
  readonly verdict: Exclude<SealVerdict, 'true'>;
  readonly reason: string;
}

type Rows = readonly (Payout | RefusedRow)[];

/**
 * What of a run is not as payrun wrote it: its facts, its approvals, or the rows that people approve, each of which is read
 * and judged. `take` is given all rows in file order, also those of a run that needs no approval: what it makes of them
 * holds when nothing was found. Undefined when all of it is as payrun wrote it.
 */
export async function sealFinding(
  { ledger }: { readonly ledger: Pick<Ledger, 'seals' | 'runs'> },
  run: Run,
  take?: (rows: Rows) => void,
): Promise<SealFinding | undefined> {
  const facts = factsFinding(ledger, run);
  if (facts !== undefined || (run.rowsDigest === null && take === undefined)) return facts;
  const digest = createHash('sha256');
  let unknown: SealFinding | undefined;
  for await (const rows of ledger.runs.rows(run.id)) {
    const finding = rowsFinding({ ledger }, run, rows);
    if (finding?.verdict === 'false') return finding;
    unknown ??= finding;
    digest.update(sealsText(rows));
    take?.(rows);
  }
  return run.rowsDigest === null || digest.digest('hex') === run.rowsDigest ? unknown : changed('the rows of the run');
}

/** As the digest of the rows was made when they were recorded (`digestRows`). */
function sealsText(rows: Rows): string {
  return rows.map((row) => ('row' in row ? `${row.line} ${row.seals.row}\n` : '')).join('');
}

/** The same without its rows. */
export function factsFinding({ seals }: Pick<Ledger, 'seals'>, run: Run): SealFinding | undefined {
  const facts = seals.judgeRun(run);
  if (facts !== 'true') return findingOf(facts, `run ${run.id}`);
  for (const approval of run.approvals) {
    const verdict = seals.judgeApproval(run.id, approval);
    if (verdict !== 'true') return findingOf(verdict, `the approval of run ${run.id} by ${approval.by}`);
  }
  return undefined;
}

/** What of some rows of a run is not as payrun wrote it; a false one before one of an unknown key. */
export function rowsFinding(
  { ledger: { seals } }: { readonly ledger: Pick<Ledger, 'seals'> },
  { id }: Pick<Run, 'id'>,
  rows: Rows,
): SealFinding | undefined {
  let unknown: SealFinding | undefined;
  for (const row of rows) {
    const verdict = 'row' in row ? seals.judgePayout(row) : 'true';
    if (verdict === 'true') continue;
    const finding = findingOf(verdict, `line ${row.line} of run ${id}`);
    if (verdict === 'false') return finding;
    unknown ??= finding;
  }
  return unknown;
}

/** What to say of it. */
export function findingOf(verdict: SealFinding['verdict'], what: string): SealFinding {
  return verdict === 'false' ? changed(what) : { verdict, reason: `${what}: ${UNKNOWN_KEY}` };
}

function changed(what: string): SealFinding {
  return { verdict: 'false', reason: `${what} was changed in Redis by something else than payrun` };
}
