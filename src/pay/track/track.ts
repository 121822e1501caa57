import type { PayoutMove } from '../../ledger/payouts/acts.ts';
import type { Payout, PayoutPlace } from '../../payout.ts';
import type { Answer } from '../../service/answer.ts';
import type { PaymentReply } from '../../service/replies.ts';
import type { PayDeps } from '../deps.ts';
import { LOOK_DAILY_MS } from '../due.ts';
import { exchangeOf, holdBreach, paymentValues, placeOf } from '../facts.ts';
import type { Song } from '../look-up/canary.ts';
import { type LookUpReading, readLookUpAnswer } from '../look-up/look-up-answer.ts';
import { hasOthers, holdForPeople } from '../other-quotes.ts';
import { wordsOf } from '../refused.ts';
import { finalState } from './payment-end.ts';

/** Follows an accepted payment towards its end, or looks whether a completed one came back. */
export async function trackPayout(deps: PayDeps, place: PayoutPlace, signal: AbortSignal): Promise<void> {
  await deps.clock.sleep((await deps.trackPace.take(signal)) - deps.clock.monotonic(), signal);
  if (signal.aborted) return;
  const read = await deps.payouts.read(place);
  const { payout } = read;
  if (!isTracked(payout)) return;
  const first = await look(deps, payout);
  const song = isMissedLong(deps, payout, { ...first, now: read.now }) && (await deps.canary.sings(payout.paymentId));
  // A gateway that hid it may have stopped meanwhile: what counts is what is shown after the canary sang.
  const { answer, reading } = song ? await look(deps, payout) : first;
  // What people settled as it is shown is known.
  if (reading.kind === 'breach' && payout.reasonCode !== 'E_BREACH') {
    await holdBreach(deps, payout, {
      evidence: `the payment shows ${reading.evidence}`,
      exchange: exchangeOf(answer),
    });
    return;
  }
  const move = await nextMove(deps, payout, { reading, now: read.now, song });
  await makeMove(deps, payout, { move, exchange: exchangeOf(answer) });
}

type PaidPayout = Payout & { readonly paymentId: string };

async function look(deps: PayDeps, payout: PaidPayout): Promise<{ answer: Answer; reading: LookUpReading }> {
  const { paymentId } = payout;
  const answer = await deps.service.readPayment(paymentId);
  return { answer, reading: readLookUpAnswer(answer, payout, { ...deps.rules, paymentId }) };
}

async function makeMove(
  deps: PayDeps,
  payout: Payout,
  { move, exchange }: { move: Partial<PayoutMove>; exchange: string },
): Promise<void> {
  const isFollowed = payout.state === 'accepted';
  if (move.to === undefined && move.values === undefined && !isFollowed) return;
  await deps.payouts.move({
    ...placeOf(payout),
    version: payout.version,
    actor: deps.owner,
    reason: '',
    exchange,
    ...(move.to === undefined && isFollowed ? { dueMs: deps.rules.trackEveryMs } : {}),
    ...move,
  });
}

function isTracked(payout: Payout | undefined): payout is PaidPayout {
  if (payout === undefined || payout.paymentId === null) return false;
  return payout.state === 'accepted' || payout.state === 'completed';
}

interface Looked {
  readonly reading: LookUpReading;
  /** Redis's time. */
  readonly now: number;
  /** What the service showed of all else since the first look-up that did not show the payment; false unless it was missed for long. */
  readonly song: Song;
}

async function nextMove(deps: PayDeps, payout: Payout, looked: Looked): Promise<Partial<PayoutMove>> {
  const { reading } = looked;
  // Whose payment it is was known before: its reference says nothing new.
  if (!('payment' in reading)) return missingMove(deps, payout, looked);
  const move = moveOf(payout, reading.payment);
  const isOver = move.to === 'failed' || move.to === 'returned';
  if (!isOver || !(await hasOthers(deps, payout))) return move;
  const held = holdForPeople(`the payment ${payout.paymentId} is ${move.reason}`);
  // One that was paid once is held by what should not be alone.
  return { ...held, breach: payout.state === 'completed', values: { ...move.values, ...held.values } };
}

/** A payment that the service made and does not know any more is held after this many times the grace of a quote. */
const GRACES_MISSING_MAX = 12;

type Missing = Extract<LookUpReading, { kind: 'not-found' | 'nothing' }>;

function isMissedLong(deps: PayDeps, payout: Payout, { reading, now }: Omit<Looked, 'song'>): boolean {
  const { notFoundAt } = payout;
  if (!isMissed(deps, payout, reading) || notFoundAt === null) return false;
  return now - notFoundAt > GRACES_MISSING_MAX * deps.rules.quoteGraceMs;
}

/** Other credentials than it was made under need not be shown it. */
function isMissed(deps: PayDeps, payout: Payout, reading: LookUpReading): reading is Missing {
  const isNotShown = reading.kind === 'not-found' || (reading.kind === 'nothing' && reading.isLasting);
  return payout.state === 'accepted' && isNotShown && payout.credentials === deps.service.fingerprint;
}

/** What a look-up that does not show the payment says of it. */
function missingMove(deps: PayDeps, payout: Payout, { reading, now, song }: Looked): Partial<PayoutMove> {
  if (!isMissed(deps, payout, reading)) return {};
  if (payout.notFoundAt === null) return { values: { notFoundAt: now } };
  if (song === false) return {};
  const gone = reading.kind === 'not-found' ? 'does not know it' : `does not show it (${reading.reason})`;
  const reason = `the service made the payment ${payout.paymentId} and ${gone} any more`;
  return {
    to: 'held',
    reason: 'E_PAYMENT_GONE',
    dueMs: LOOK_DAILY_MS,
    // The only one that is known goes on being asked for: a gateway may hide it as well.
    isPaymentGone: song === 'payment',
    values: { reasonCode: 'E_PAYMENT_GONE', reason, notFoundAt: null, seen2xx: true },
  };
}

/** What a payment's state moves its payout to; a state that is only news to us is noted without a move. */
function moveOf(payout: Payout, payment: PaymentReply): Partial<PayoutMove> {
  const shown = payment.paymentState ?? '';
  const to = finalState(shown);
  if (to === undefined || (payout.state === 'completed' && to !== 'returned')) {
    if (payout.notFoundAt === null && shown === payout.paymentState) return {};
    const found = payout.notFoundAt === null ? {} : { notFoundAt: null };
    return { values: shown === payout.paymentState ? found : { ...found, paymentState: shown } };
  }
  const [error] = payment.errors;
  const why = error === undefined ? {} : { reasonCode: error.code ?? '', reason: wordsOf(error) ?? '' };
  return { to, reason: shown, values: { ...paymentValues(payment, payout), ...why } };
}
