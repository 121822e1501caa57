import type { AuditLog } from '../../audit/audit-log.ts';
import { readEntry } from '../../audit/entry.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Payout } from '../../payout.ts';
import { isRefused } from '../../report/row.ts';

/** More would be a slip; those that were proposed last are shown. */
export const PROPOSED_SHOWN_MAX = 100;

interface ProposedDeps {
  readonly ledger: { readonly audit: Pick<AuditLog, 'head' | 'lines'>; readonly runs: Pick<Ledger['runs'], 'row'> };
}

/**
 * Reads the payouts that are neither unknown nor held and for which somebody has proposed something, such as one that was
 * rejected and is said to be paid. The audit log tells where one was ever proposed; it is read once, and from then on what
 * is new of it. Any move of a payout voids its proposal, so one that is gone never comes back without a new entry.
 */
export function openProposed({ ledger }: ProposedDeps): () => Promise<Payout[]> {
  const open = new Set<string>();
  let read = 0;

  async function readOn(): Promise<void> {
    // A Redis that went back in time has a shorter log.
    if ((await ledger.audit.head()).number < read) read = 0;
    for await (const line of ledger.audit.lines(read + 1)) {
      read++;
      // Most entries are something else, and are not looked at more closely.
      const entry = line.includes('-proposed') ? readEntry(line) : undefined;
      if (entry === undefined || !/^payout\.[a-z-]+-proposed$/.test(entry.action)) continue;
      // Those that were proposed last are at the end.
      open.delete(entry.target);
      open.add(entry.target);
    }
  }

  let reading: Promise<void> | undefined;
  return async () => {
    reading ??= readOn().finally(() => {
      reading = undefined;
    });
    await reading;
    const payouts: Payout[] = [];
    for (const target of [...open].toReversed()) {
      const payout = await payoutAt(ledger, target);
      if (payout === undefined) open.delete(target);
      else payouts.push(payout);
      if (payouts.length === PROPOSED_SHOWN_MAX) break;
    }
    return payouts;
  };
}

/** The payout, if something is proposed for it and it does not show among the unknown and held ones. */
async function payoutAt({ runs }: ProposedDeps['ledger'], target: string): Promise<Payout | undefined> {
  const [, runId = '', line = ''] = /^(.+)-([0-9]{1,15})$/.exec(target) ?? [];
  const row = runId === '' ? undefined : await runs.row(runId, Number.parseInt(line, 10));
  if (row === undefined || isRefused(row) || row.proposal === null) return undefined;
  return row.state === 'unknown' || row.state === 'held' ? undefined : row;
}
