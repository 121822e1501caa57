import { inspect } from 'node:util';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import type { Arming, PayoutMove } from '../../src/ledger/payouts/acts.ts';
import type { PayoutValues } from '../../src/ledger/payouts/values.ts';
import type { PayoutPlace } from '../../src/payout.ts';
import { PAYOUT_STATES, type Payout, type PayoutState } from '../../src/payout.ts';
import { armPayout, deferPayout, movePayout } from './commit.ts';
import { ask, DIRS, HOUR_MS, now, type Pair, payoutAt, pickPlace } from './pair.ts';
import { readPayout } from './read-payout.ts';

/* What processes ask of a payout, at random. */

export function arm(pair: Pair): void {
  const { dice, store, real, other } = pair;
  const place = pickPlace(pair);
  const payout = payoutAt(pair, place);
  const isTidy = pair.goesInCircles && dice.chance(0.97);
  const old = !isTidy && dice.chance(0.15) && pair.quotes.length > 0 ? dice.pick(pair.quotes) : undefined;
  const quoteId = old ?? (payout?.state === 'quoted' && payout.quoteId !== null ? payout.quoteId : dice.uuid());
  pair.quotes.push(quoteId);
  const arming: Arming = {
    ...place,
    version: (payout?.version ?? 1) + (!isTidy && dice.chance(0.1) ? 1 : 0),
    rowSeal: !isTidy && dice.chance(0.03) ? 'other' : (payout?.seals.row ?? ''),
    referenceHash: !isTidy && dice.chance(0.03) ? '0123456789abcdef' : hashReference(payout?.row.reference ?? ''),
    quoteId,
    quoteExpiresAt: dice.chance(0.2) ? null : 1_900_000_000_000,
    owner: dice.pick(['w1', 'w2']),
    credentials: isTidy ? 'A' : dice.pick(['A', 'A', 'A', 'B']),
    dueMs: dice.between(1, 3) * HOUR_MS,
    exchange: dice.pick(['', 'x-request-id: r1']),
    values: dice.chance(0.5)
      ? {
          quotedAt: 5,
          quoteLifeMs: 4000,
          sourceAmount: { minor: 12345n, currency: 'USD' },
          rate: '17.5',
          fees: [{ minor: 100n, currency: 'USD' }],
        }
      : {},
  };
  const dataDirId = isTidy || dice.chance(0.85) ? DIRS[0] : DIRS[1];
  const mine = armPayout(store, arming, { dataDirId, sawCounter: 0, now: now() });
  const ledger = dataDirId === DIRS[0] ? real.ledger : other;
  ask(pair, `arm ${inspect(arming)} from ${dataDirId}`, { mine, theirs: ledger.payouts.arm(arming) });
}

/** Mostly a move that the table might have, with the right quote and version; everything else now and then. */
export function move(pair: Pair): void {
  const { dice, store, real } = pair;
  const place = pickPlace(pair);
  const payout = payoutAt(pair, place);
  const to = drawTarget(pair, payout);
  const asked: PayoutMove = {
    ...place,
    actor: dice.pick(['w1', 'anna']),
    reason: dice.pick(['', 'a reason']),
    ...(to === undefined ? {} : { to }),
    ...drawGuards(pair, payout, to),
    ...drawWrites(pair, place),
  };
  const mine = movePayout(store, asked, now());
  ask(pair, `move ${inspect(asked)}`, { mine, theirs: real.ledger.payouts.move(asked) });
}

const LIKELY: Readonly<Partial<Record<PayoutState, readonly PayoutState[]>>> = {
  ready: ['held', 'rejected', 'cancelled'],
  armed: ['accepted', 'quoted', 'quoted', 'ready', 'ready', 'rejected', 'unknown', 'unknown'],
  quoted: ['unknown', 'accepted', 'held'],
  unknown: ['accepted', 'ready', 'ready', 'ready', 'held'],
  rejected: ['accepted'],
  held: ['ready', 'ready', 'cancelled', 'accepted', 'rejected'],
  accepted: ['completed', 'failed', 'returned'],
};

/** Payouts that go round in circles come to the limits of armings and quotes. */
const IN_CIRCLES: typeof LIKELY = {
  armed: ['quoted', 'quoted', 'quoted', 'quoted', 'unknown'],
  quoted: ['unknown'],
  unknown: ['ready'],
};

function drawTarget({ dice, goesInCircles }: Pair, payout: Payout | undefined): PayoutState | undefined {
  if (dice.chance(0.2)) return undefined;
  const likely = payout === undefined ? undefined : (goesInCircles ? IN_CIRCLES : LIKELY)[payout.state];
  if (goesInCircles && (likely === undefined || (payout?.state === 'quoted' && dice.chance(0.7)))) return undefined;
  if (goesInCircles && dice.chance(0.97)) return dice.pick(likely ?? []);
  return likely === undefined || dice.chance(0.1) ? dice.pick(PAYOUT_STATES) : dice.pick(likely);
}

function drawGuards(
  { dice, goesInCircles }: Pair,
  payout: Payout | undefined,
  to: PayoutState | undefined,
): Partial<PayoutMove> {
  const version = (payout?.version ?? 1) - (dice.chance(0.1) ? 1 : 0);
  const drops = payout?.state === 'unknown' ? 'proven-dead' : 'not-sent';
  const wantsDrop = (to === 'ready' || to === 'cancelled') && payout !== undefined && payout.quoteId !== null;
  const isBreach = !goesInCircles && dice.chance(0.02);
  return {
    ...(dice.chance(0.6) ? { version } : {}),
    ...(dice.chance(0.4) ? { quoteId: dice.chance(0.9) ? (payout?.quoteId ?? 'none') : dice.uuid() } : {}),
    ...(wantsDrop !== dice.chance(0.08) ? { dropQuote: drops } : {}),
    ...(dice.chance(0.5) ? { cancelledIfRunIs: true } : {}),
    ...(isBreach ? { breach: true, to: 'held' as const } : {}),
    ...(dice.chance(0.03) ? { spentQuoteId: dice.uuid() } : {}),
    ...(dice.chance(0.1) ? { foundQuoteId: dice.uuid() } : {}),
    ...(to === 'accepted' && payout !== undefined
      ? { isAlone: dice.chance(0.5), referenceHash: hashReference(payout.row.reference) }
      : {}),
    ...(dice.chance(0.3) ? { outcomesRemembered: dice.between(1, 4) } : {}),
    ...(dice.chance(0.2) ? { exchange: 'x-correlation-id: c1' } : {}),
  };
}

const TAKEN_AWAY: readonly PayoutValues[] = [
  { reasonCode: null, reason: null },
  { notFoundAt: null },
  { reasonCode: null, reason: null, quoteFailures: null },
  { seen2xx: null },
];

function drawWrites({ dice, quotes, real }: Pair, place: PayoutPlace): Partial<PayoutMove> {
  const proposal = { decision: 'allow', by: 'anna', at: 7, paymentId: '', reason: 'it is fine', seen: '' } as const;
  const shown: PayoutValues = {
    paymentState: dice.pick(['PROCESSING', 'COMPLETED']),
    destinationAmount: { minor: 99n, currency: 'MXN' },
    fees: [
      { minor: 1n, currency: 'USD' },
      { minor: 2n, currency: 'MXN' },
    ],
  };
  const values: PayoutValues = {
    ...(dice.chance(0.1) ? { reasonCode: 'E_X', reason: 'why' } : {}),
    ...(dice.chance(0.1) ? { notFoundAt: 1_900_000_000_000 } : {}),
    ...(dice.chance(0.05) ? { seen2xx: true } : {}),
    ...(dice.chance(0.1) ? { lookUps: dice.between(1, 9) } : {}),
    ...(dice.chance(0.1) ? shown : {}),
    ...(dice.chance(0.05) ? { rejectionConfirmed: true } : {}),
    ...(dice.chance(0.02) ? { referenceHash: hashReference(`INV-${dice.between(2, 6)}`) } : {}),
    ...(dice.chance(0.04)
      ? { paymentId: dice.chance(0.5) && quotes.length > 0 ? dice.pick(quotes) : dice.uuid() }
      : {}),
    ...(dice.chance(0.05)
      ? {
          proposal: {
            proposal,
            seal: real.ledger.seals.proposal({ ...place, history: [] }, proposal),
          },
        }
      : {}),
    ...(dice.chance(0.1) ? dice.pick(TAKEN_AWAY) : {}),
  };
  return {
    ...(Object.keys(values).length > 0 ? { values } : {}),
    ...(dice.chance(0.1)
      ? {
          sawHolders: dice.pick([[], ['run-1-2'], ['run-2-3'], ['run-1-2', 'run-2-3']]).map((id) => ({
            id,
            state: dice.pick(['', 'ready', 'held']),
          })),
        }
      : {}),
    ...(dice.chance(0.6)
      ? { dueMs: dice.chance(0.1) ? ('as-it-is' as const) : dice.between(0, 4) * HOUR_MS + 0.5 }
      : {}),
  };
}

export function read(pair: Pair): void {
  const place = pickPlace(pair);
  ask(pair, `read ${place.runId}-${place.line}`, {
    mine: readPayout(pair.store, place, { now: now(), seals: pair.real.ledger.seals }),
    theirs: pair.real.ledger.payouts.read(place),
  });
}

export function defer(pair: Pair): void {
  const { dice, store, real } = pair;
  const place = pickPlace(pair);
  const how = { ms: dice.between(0, 3) * HOUR_MS, quoteFailed: dice.chance(0.6) };
  ask(pair, `defer ${JSON.stringify(how)}`, {
    mine: deferPayout(store, place, { ...how, now: now() }),
    theirs: real.ledger.payouts.defer(place, how),
  });
}
