import type { PayoutMove } from '../ledger/payouts/acts.ts';
import { type Payout, type PayoutPlace, type PayoutState, payoutId } from '../payout.ts';
import type { PaymentReply } from '../service/replies.ts';
import type { PayDeps } from './deps.ts';
import { LOOK_DAILY_MS } from './due.ts';
import { exchangeOf, holdBreach, paymentValues, placeOf } from './facts.ts';
import { type LookUpReading, readLookUpAnswer } from './look-up/look-up-answer.ts';
import { isQuoteOver } from './look-up/proof-of-death.ts';
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
  const move = await nextMove(deps, payout, { reading, now });
  if (move === undefined || (move.to === undefined && payout.state !== 'accepted')) return;
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

/** What a look-up moves the payout to; undefined where it was held for what it brought to light. `now`: Redis's time. */
async function nextMove(
  deps: PayDeps,
  payout: Payout,
  { reading, now }: { reading: LookUpReading; now: number },
): Promise<Partial<PayoutMove> | undefined> {
  // Whose payment it is was known before: its reference says nothing new.
  if (!('payment' in reading)) return await missingMove(deps, payout, { reading, now });
  const move = moveOf(payout, reading.payment);
  if (move.to !== 'failed' && move.to !== 'returned') return move;
  const beside = await lookBeside(deps, payout, now);
  if (beside === 'breach') return undefined;
  return beside === 'over' ? move : {};
}

/** Whether its money is not with the beneficiary, for good. */
export function hasFailed({ paymentState }: PaymentReply): boolean {
  const end = finalState(paymentState);
  return end === 'failed' || end === 'returned';
}

/**
 * Looks up the quotes of a payout that were armed beside its payment: its reference is free only when none of them is paid, or can be
 * any more (architecture.md, rule 1). `open`: that is not certain yet.
 */
async function lookBeside(deps: PayDeps, payout: Payout, now: number): Promise<'over' | 'open' | 'breach'> {
  const beside = await deps.runs.quotesBeside(payout.runId, payout.line);
  let isOver = true;
  for (const quoteId of beside.filter((id) => id !== payout.paymentId)) {
    const answer = await deps.service.readPayment(quoteId);
    const reading = readLookUpAnswer(answer, payout, { ...deps.rules, paymentId: quoteId });
    if (reading.kind === 'not-found') {
      // Other credentials than it was armed under need not be shown it.
      isOver &&= payout.credentials === deps.service.fingerprint;
      isOver &&= isBesideOver(deps, payout, { date: reading.date ?? now, now });
      isOver &&= (await deps.canary.sings(quoteId)) !== false;
    } else if (reading.kind === 'nothing') isOver = false;
    else if (!hasFailed(reading.payment) && !(await isOfAnother(deps, payout, reading.payment))) {
      const { paymentState } = reading.payment;
      const evidence = `the quote ${quoteId} was armed too and has a payment, which is ${paymentState}`;
      await holdBreach(deps, payout, { evidence, quoteId, exchange: exchangeOf(answer) });
      return 'breach';
    }
  }
  return isOver ? 'over' : 'open';
}

/** The payout's end is the last one of all its quotes; without one a day has to do. */
function isBesideOver(deps: PayDeps, payout: Payout, { date, now }: { date: number; now: number }): boolean {
  const armedAt = payout.armedAt ?? payout.history.at(-1)?.at ?? now;
  if (payout.quoteExpiresAt === null) return now - armedAt > LOOK_DAILY_MS;
  const quoteGraceMs = deps.rules.quoteGraceMs + deps.service.clockDifferenceMs();
  return isQuoteOver({ ...payout, armedAt }, { date, now, quoteGraceMs });
}

async function isOfAnother({ payouts }: PayDeps, payout: Payout, { paymentId }: PaymentReply): Promise<boolean> {
  const holder = await payouts.holderOf(paymentId);
  return holder !== undefined && holder !== payoutId(payout);
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
