import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Payout, Run } from '../../payout.ts';
import { isRefused } from '../../report/row.ts';
import { twinOf } from '../../runs/story.ts';

const CODES_SHOWN_MAX = 5;
const REASON_CHARACTERS_MAX = 120;
/** States in which a payout waits for a person, or was not paid for a reason. */
const RESTING = ['held', 'rejected', 'failed', 'returned'] as const;

interface Reason {
  count: number;
  /** Of the first payout that has it. */
  readonly words: string;
  readonly twins: Set<string>;
}

/** How many rows of a run are held or were not paid, for which reasons, and the command that lists them; a line for each outcome. */
export async function reasonLines(
  { ledger }: { readonly ledger: Pick<Ledger, 'runs'> },
  run: Run,
): Promise<{ held: string[]; unpaid: string[] }> {
  const lines = new Map<string, string[]>();
  for (const state of RESTING) {
    if (run.counts[state] > 0) lines.set(state, [reasonLine(run, state, await reasonsOf(ledger, run, state))]);
  }
  const held = lines.get('held') ?? [];
  return { held, unpaid: RESTING.slice(1).flatMap((state) => lines.get(state) ?? []) };
}

type Resting = (typeof RESTING)[number];

async function reasonsOf({ runs }: Pick<Ledger, 'runs'>, run: Run, state: Resting): Promise<Map<string, Reason>> {
  const reasons = new Map<string, Reason>();
  for await (const batch of runs.rows(run.id, [state])) {
    // It may have moved since its line was found.
    for (const row of batch) if (!isRefused(row) && row.state === state) note(reasons, row);
  }
  return reasons;
}

function note(reasons: Map<string, Reason>, row: Payout): void {
  const code = row.reasonCode ?? 'in doubt';
  const reason = reasons.get(code) ?? { count: 0, words: row.reason ?? '', twins: new Set() };
  reason.count += 1;
  const twin = twinOf(row);
  if (twin !== null) reason.twins.add(twin.runId);
  reasons.set(code, reason);
}

function reasonLine(run: Run, state: Resting, reasons: ReadonlyMap<string, Reason>): string {
  const words = [...reasons]
    .toSorted(([, one], [, other]) => other.count - one.count)
    .slice(0, CODES_SHOWN_MAX)
    .map(([code, reason]) => {
      const count = reasons.size === 1 ? '' : ` ${reason.count}`;
      return `${code}${count}${state === 'held' ? twinWords(reason.twins, run) : reasonWords(reason)}`;
    });
  const more = reasons.size > CODES_SHOWN_MAX ? ', …' : '';
  return `${run.counts[state]} ${state}: ${words.join(', ')}${more} -> payrun list ${run.id} --outcome ${state}`;
}

/** What the service said of it. */
function reasonWords({ words }: Reason): string {
  const shown = escapeUnseen(words.slice(0, REASON_CHARACTERS_MAX));
  return words === '' ? '' : ` (${shown}${words.length > REASON_CHARACTERS_MAX ? '…' : ''})`;
}

function twinWords(twins: ReadonlySet<string>, run: Run): string {
  const [one, ...others] = [...twins].map((id) => (id === run.id ? 'this run' : `run ${id}`));
  if (one === undefined) return '';
  return ` (handed in already in ${others.length === 0 ? one : `${twins.size} runs, such as ${one}`})`;
}
