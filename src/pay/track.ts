import type { PayoutMove } from '../ledger/payouts/acts.ts';
import { type Payout, type PayoutPlace, type PayoutState, payoutId } from '../payout.ts';
import type { PaymentReply } from '../service/replies.ts';
import type { PayDeps } from './deps.ts';
import { LOOK_DAILY_MS } from './due.ts';
import { exchangeOf, holdBreach, paymentValues, placeOf } from './facts.ts';
import { type LookUpReading, readLookUpAnswer } from './look-up/look-up-answer.ts';
import { canBeProvenDead, type DeathRules, deathRules, isQuoteOver } from './look-up/proof-of-death.ts';
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
  const read = await deps.payouts.read(place);
  const { payout } = read;
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
  const move = await nextMove(deps, payout, { reading, rules: deathRules(deps, read) });
  const isFollowed = payout.state === 'accepted';
  if (move === undefined || (move.to === undefined && move.values === undefined && !isFollowed)) return;
  await deps.payouts.move({
    ...placeOf(payout),
    version: payout.version,
    actor: deps.owner,
    reason: '',
    exchange: exchangeOf(answer),
    ...(move.to === undefined && isFollowed ? { dueMs: deps.rules.trackEveryMs } : {}),
    ...move,
  });
}

interface Looked {
  readonly reading: LookUpReading;
  readonly rules: DeathRules;
}

/** What a look-up moves the payout to; undefined where it was held for what it brought to light. */
async function nextMove(
  deps: PayDeps,
  payout: Payout,
  { reading, rules }: Looked,
): Promise<Partial<PayoutMove> | undefined> {
  // Whose payment it is was known before: its reference says nothing new.
  if (!('payment' in reading)) return await missingMove(deps, payout, { reading, now: rules.now });
  const move = moveOf(payout, reading.payment);
  if (move.to !== 'failed' && move.to !== 'returned') return move;
  const beside = await lookBeside(deps, payout, rules);
  if (beside === 'breach') return undefined;
  if (beside === 'over') return move;
  const paymentState = reading.payment.paymentState ?? '';
  if (beside === 'never' && payout.state === 'accepted') return holdBeside(payout, paymentState);
  const isFirst = beside === 'first' && payout.notFoundAt === null;
  const values = {
    ...(isFirst ? { notFoundAt: rules.now } : {}),
    ...(paymentState === payout.paymentState ? {} : { paymentState }),
  };
  return Object.keys(values).length === 0 ? {} : { values };
}

/** The payment is over, but nothing can prove that no other quote of the payout was paid: people decide. */
function holdBeside(payout: Payout, paymentState: string): Partial<PayoutMove> {
  const reason = `the payment ${payout.paymentId} is ${paymentState}, and nothing can prove that no other quote of it was paid`;
  return {
    to: 'held',
    reason: 'E_NOT_PROVABLE',
    dueMs: LOOK_DAILY_MS,
    values: { reasonCode: 'E_NOT_PROVABLE', reason, paymentState },
  };
}

/** Whether its money is not with the beneficiary, for good. */
export function hasFailed({ paymentState }: Pick<PaymentReply, 'paymentState'>): boolean {
  const end = finalState(paymentState);
  return end === 'failed' || end === 'returned';
}

/**
 * `over`: none of the quotes is paid, or can be any more. `first`: so it was seen for the first time. `never`: nothing can
 * prove that one is not paid. `open`: that is not certain yet.
 */
type Beside = 'over' | 'first' | 'open' | 'never' | 'breach';

/**
 * Looks up the quotes of a payout that were armed beside its payment: its reference is free only when each of them is proven dead, as
 * any other quote is (architecture.md, rules 1 and 8).
 */
async function lookBeside(deps: PayDeps, payout: Payout, rules: DeathRules): Promise<Beside> {
  const beside = await deps.runs.quotesBeside(payout.runId, payout.line);
  const missing: boolean[] = [];
  for (const quoteId of beside.filter((id) => id !== payout.paymentId)) {
    const answer = await deps.service.readPayment(quoteId);
    const reading = readLookUpAnswer(answer, payout, { ...deps.rules, paymentId: quoteId });
    if (reading.kind === 'not-found') {
      missing.push(
        isBesideOver(payout, reading.date ?? rules.now, rules) && (await deps.canary.sings(quoteId)) !== false,
      );
    } else if (reading.kind === 'nothing') missing.push(false);
    else if (!hasFailed(reading.payment) && !(await isOfAnother(deps, payout, reading.payment))) {
      const { paymentState } = reading.payment;
      const evidence = `the quote ${quoteId} was armed too and has a payment, which is ${paymentState}`;
      await holdBreach(deps, payout, { evidence, quoteId, exchange: exchangeOf(answer) });
      return 'breach';
    }
  }
  if (missing.length === 0) return 'over';
  if (!canBeProvenDead(payout, rules)) return 'never';
  if (!missing.every(Boolean)) return 'open';
  return payout.notFoundAt !== null && rules.now - payout.notFoundAt >= rules.notFoundGapMs ? 'over' : 'first';
}

/** The payout's end is the last one of all its quotes. Other credentials than they were armed under need not be shown a payment. */
function isBesideOver(payout: Payout, date: number, rules: DeathRules): boolean {
  const armedAt = payout.armedAt ?? payout.history.at(-1)?.at ?? rules.now;
  return payout.credentials === rules.credentials && isQuoteOver({ ...payout, armedAt }, { ...rules, date });
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
