import type { Ledger } from '../../ledger/ledger.ts';
import { type SealVerdict, UNKNOWN_KEY } from '../../ledger/seals.ts';
import type { Run } from '../../payout.ts';

/** What a look at seals found wrong, in words for people; a `false` one halts everything. */
export interface SealFinding {
  readonly verdict: Exclude<SealVerdict, 'true'>;
  readonly reason: string;
}

/**
 * What of a run is not as payrun wrote it: its facts, its approvals, or the rows that people approve (all their seals are
 * read). Undefined when all of it is.
 */
export async function sealFinding(
  { ledger }: { readonly ledger: Pick<Ledger, 'seals' | 'runs' | 'slices'> },
  run: Run,
): Promise<SealFinding | undefined> {
  const facts = factsFinding(ledger, run);
  if (facts !== undefined || run.rowsDigest === null) return facts;
  const { lastLine } = await ledger.slices.position(run.id);
  const isAsApproved = (await ledger.runs.digestRows(run.id, lastLine)) === run.rowsDigest;
  return isAsApproved ? undefined : changed('the rows of the run');
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

/** What to say of it. */
export function findingOf(verdict: SealFinding['verdict'], what: string): SealFinding {
  return verdict === 'false' ? changed(what) : { verdict, reason: `${what}: ${UNKNOWN_KEY}` };
}

function changed(what: string): SealFinding {
  return { verdict: 'false', reason: `${what} was changed in Redis by something else than payrun` };
}
