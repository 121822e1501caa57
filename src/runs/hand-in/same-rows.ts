import type { CheckedFile } from '../../intake/check-file.ts';
import { readPayoutFile } from '../../intake/read-file.ts';
import { hashReference } from '../../intake/row/reference-hash.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { PAYOUT_STATES, type PayoutRow, type Run } from '../../payout.ts';

/**
 * Whether a file of the same rows can stand for the one of a run that Redis forgot: each payout that came back from an intent
 * log stands on the line of its own reference. Where none came back, any order will do: all of its rows are in doubt.
 */
export async function standsOnSameLines(
  ledger: Pick<Ledger, 'references'>,
  run: Run,
  { path, checked }: { path: string; checked: CheckedFile },
): Promise<boolean> {
  let found = 0;
  for await (const batch of readPayoutFile(path, checked)) {
    const rows = batch.filter((row): row is PayoutRow => 'reference' in row);
    const holders = await ledger.references.holders(rows.map(({ reference }) => hashReference(reference)));
    for (const [index, ids] of holders.entries()) {
      const own = ids.filter((id) => id.startsWith(`${run.id}-`));
      if (own.some((id) => id !== `${run.id}-${rows[index]?.line}`)) return false;
      found += own.length;
    }
  }
  return (found > 0 || run.isInDoubt) && found === PAYOUT_STATES.reduce((sum, state) => sum + run.counts[state], 0);
}
