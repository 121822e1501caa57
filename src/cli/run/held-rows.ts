import type { Ledger } from '../../ledger/ledger.ts';
import type { Run } from '../../payout.ts';
import { isRefused } from '../../report/row.ts';
import { twinOf } from '../../runs/story.ts';

const CODES_SHOWN_MAX = 5;

/** How many rows of a run are held, for which reasons, and the command that lists them; empty where none is. */
export async function heldText({ ledger }: { readonly ledger: Pick<Ledger, 'runs'> }, run: Run): Promise<string[]> {
  if (run.counts.held === 0) return [];
  const reasons = new Map<string, { count: number; readonly twins: Set<string> }>();
  for await (const batch of ledger.runs.rows(run.id, ['held'])) {
    for (const row of batch) {
      // It may have moved since its line was found.
      if (isRefused(row) || row.state !== 'held') continue;
      const code = row.reasonCode ?? 'in doubt';
      const reason = reasons.get(code) ?? { count: 0, twins: new Set() };
      reason.count += 1;
      const twin = twinOf(row);
      if (twin !== null) reason.twins.add(twin.runId);
      reasons.set(code, reason);
    }
  }
  const words = [...reasons]
    .toSorted(([, one], [, other]) => other.count - one.count)
    .slice(0, CODES_SHOWN_MAX)
    .map(([code, { count, twins }]) => `${code}${reasons.size === 1 ? '' : ` ${count}`}${twinWords(twins, run)}`);
  const more = reasons.size > CODES_SHOWN_MAX ? ', …' : '';
  return [`${run.counts.held} held: ${words.join(', ')}${more} -> payrun list ${run.id} --outcome held`];
}

function twinWords(twins: ReadonlySet<string>, run: Run): string {
  const [one, ...others] = [...twins].map((id) => (id === run.id ? 'this run' : `run ${id}`));
  if (one === undefined) return '';
  return ` (handed in already in ${others.length === 0 ? one : `${twins.size} runs, such as ${one}`})`;
}
