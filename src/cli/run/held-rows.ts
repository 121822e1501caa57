import type { App } from '../../app.ts';
import type { Run } from '../../payout.ts';
import { isRefused } from '../../report/row.ts';

const CODES_SHOWN_MAX = 5;

/** How many rows of a run are held, for which reasons, and the command that lists them; empty where none is. */
export async function heldText({ ledger }: Pick<App, 'ledger'>, run: Run): Promise<string[]> {
  if (run.counts.held === 0) return [];
  const reasons = new Map<string, number>();
  for await (const batch of ledger.runs.rows(run.id)) {
    for (const row of batch) {
      if (isRefused(row) || row.state !== 'held') continue;
      const code = row.reasonCode ?? 'in doubt';
      reasons.set(code, (reasons.get(code) ?? 0) + 1);
    }
  }
  const words = [...reasons]
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, CODES_SHOWN_MAX)
    .map(([code, count]) => (reasons.size === 1 ? code : `${code} ${count}`));
  const more = reasons.size > CODES_SHOWN_MAX ? ', …' : '';
  return [`${run.counts.held} held: ${words.join(', ')}${more} -> payrun list ${run.id} --outcome held`];
}
