import type { PayoutReading } from '../../src/ledger/payouts/acts.ts';
import type { PayoutPlace } from '../../src/payout.ts';
import { DECISIONS, type Payout } from '../../src/payout.ts';
import { type Entry, entryId, PAID, type Store } from './store.ts';

export function readPayout(store: Store, { runId, line }: PayoutPlace, now: number): PayoutReading {
  const entry = store.entries.get(entryId(runId, line));
  return {
    payout: entry === undefined ? undefined : payoutOf(entry),
    waitMs: Math.max(0, store.waitUntil - now),
    halt: store.halt,
    disproved: [...store.disproved],
    now,
  };
}

/** The payout as its record shows it; undefined while the record lacks its row. */
export function payoutOf(entry: Entry): Payout | undefined {
  const { row, rowHash, state, quote, more } = entry;
  if (row === null || rowHash === null || state === 'refused') return undefined;
  return {
    runId: entry.runId,
    line: entry.line,
    row,
    seals: {
      row: rowHash,
      costLimit: null,
      beyondLimits: more['al'] ?? null,
      quote: more['qs'] ?? null,
      proposal: more['pr']?.split('\u001f')[6] ?? null,
    },
    version: entry.version,
    state,
    quoteId: quote,
    quoteExpiresAt: entry.expiresAt,
    quoteLifeMs: numberIn(more['ql']),
    attempts: entry.attempts,
    armings: entry.armings,
    quotes: entry.quotes,
    armingCounter: entry.counter,
    armedBy: entry.armedBy,
    armedAt: entry.armedAt,
    credentials: entry.credentials,
    notFoundAt: numberIn(more['nf']),
    seen2xx: more['z2'] !== undefined,
    rejectionConfirmed: more['ok'] !== undefined,
    costLimit: null,
    quoteFailures: entry.quoteFailures,
    lookUps: numberIn(more['lu']) ?? 0,
    paymentId: more['pid'] ?? (PAID.includes(state) ? quote : null),
    paymentState: more['ps'] ?? null,
    sourceAmount: moneyIn(more['sam'], row.sourceCurrency),
    destinationAmount: moneyIn(more['dam'], row.destinationCurrency),
    rate: more['rt'] ?? null,
    fees: feesIn(more['fe']),
    reasonCode: more['rc'] ?? null,
    reason: more['rs'] ?? null,
    quotedAt: numberIn(more['qa']),
    sentAt: quote === null ? null : entry.armedAt,
    settledAt: numberIn(more['st']),
    proposal: proposalIn(more['pr']),
    history: [...entry.history],
  };
}

function proposalIn(text: string | undefined): Payout['proposal'] {
  if (text === undefined) return null;
  const [word, by = '', at = '', paymentId = '', reason = '', seen = ''] = text.split('\u001f');
  const decision = DECISIONS.find((known) => known === word);
  return decision === undefined ? null : { decision, by, at: Number.parseInt(at, 10), paymentId, reason, seen };
}

function numberIn(text: string | undefined): number | null {
  return text === undefined ? null : Number.parseInt(text, 10);
}

function moneyIn(text: string | undefined, currency: string): Payout['sourceAmount'] {
  return text === undefined ? null : { minor: BigInt(text), currency };
}

function feesIn(text: string | undefined): Payout['fees'] {
  return (text ?? '')
    .split(',')
    .filter(Boolean)
    .map((fee) => ({ minor: BigInt(fee.split(' ')[0] ?? ''), currency: fee.split(' ')[1] ?? '' }));
}
