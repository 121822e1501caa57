import type { PayoutMove } from '../ledger/payouts/acts.ts';
import type { Payout, PayoutPlace, PayoutState } from '../payout.ts';
import type { PaymentReply } from '../service/replies.ts';
import type { PayDeps } from './deps.ts';
import { LOOK_DAILY_MS } from './due.ts';
import { exchangeOf, holdBreach, paymentValues, placeOf } from './facts.ts';
import { type LookUpReading, readLookUpAnswer } from './look-up/look-up-answer.ts';
import { wordsOf } from './refused.ts';

/**
 * What the service's states mean for a payout. A state that is not here leaves the payout
 * accepted and is shown as it is.
 */
const FINAL_STATES: ReadonlyMap<string, PayoutState> = new Map([
  ['COMPLETED', 'completed'],
  ['FAILED', 'failed'],
  ['DECLINED', 'failed'],
  ['RETURNED', 'returned'],
]);

/** What a payment's state means for its payout, where it is an end that is known. */
export function finalState(paymentState: string | null): PayoutState | undefined {
  return FINAL_STATES.get(paymentState ?? '');
}

/** Follows an accepted payment towards its end, or looks whether a completed one came back. */
export async function trackPayout(deps: PayDeps, place: PayoutPlace, signal: AbortSignal): Promise<void> {
  await deps.clock.sleep((await deps.trackPace.take(signal)) - deps.clock.monotonic(), signal);
  if (signal.aborted) return;
  const { payout, now } = await deps.payouts.read(place);
  if (payout === undefined || payout.paymentId === null) return;
  if (payout.state !== 'accepted' && payout.state !== 'completed') return;
  const answer = await deps.service.readPayment(payout.paymentId);
  const reading = readLookUpAnswer(answer, payout, { ...deps.rules, paymentId: payout.paymentId });
  // What people settled as it is shown is known.
  if (reading.kind === 'breach' && payout.reasonCode !== 'E_BREACH') {
    await holdBreach(deps, payout, {
      evidence: `the payment shows ${reading.evidence}`,
      exchange: exchangeOf(answer),
    });
    return;
  }
  const isAccepted = payout.state === 'accepted';
  // Whose payment it is was known before: its reference says nothing new.
  const move =
    'payment' in reading ? moveOf(payout, reading.payment) : await missingMove(deps, payout, { reading, now });
  if (move.to === undefined && !isAccepted) return;
  await deps.payouts.move({
    ...placeOf(payout),
    version: payout.version,
    actor: deps.owner,
    reason: '',
    exchange: exchangeOf(answer),
    ...(move.to === undefined ? { dueMs: deps.rules.trackEveryMs } : {}),
    ...move,
  });
}

/** A payment that the service made and does not know any more is held after this many times the grace of a quote. */
const GRACES_MISSING_MAX = 12;

/** What a look-up that does not show the payment says of it; `now`: Redis's time. */
async function missingMove(
  deps: PayDeps,
  payout: Payout,
  { reading, now }: { reading: LookUpReading; now: number },
): Promise<Partial<PayoutMove>> {
  if (reading.kind !== 'not-found' || payout.state !== 'accepted') return {};
  // Other credentials than it was made under need not be shown it.
  if (payout.credentials !== deps.service.fingerprint) return {};
  if (payout.notFoundAt === null) return { values: { notFoundAt: now } };
  const isLong = now - payout.notFoundAt > GRACES_MISSING_MAX * deps.rules.quoteGraceMs;
  const song = isLong && (await deps.canary.sings(payout.paymentId ?? undefined));
  if (!song) return {};
  const reason = `the service made the payment ${payout.paymentId} and does not know it any more`;
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
