import { hashReference } from '../intake/row/reference-hash.ts';
import type { AnswerLine } from '../ledger/intents/intent-line.ts';
import type { MoveAnswer } from '../ledger/payouts/acts.ts';
import type { PayoutValues } from '../ledger/payouts/values.ts';
import { FREE_STATES, PAYMENT_STATES, type Payout, payoutId, placeOfId } from '../payout.ts';
import type { Answer } from '../service/answer.ts';
import type { PaymentReply } from '../service/replies.ts';
import { TokenRefused, TokenUnavailable } from '../service/token.ts';
import { moveWatched } from './breaker.ts';
import type { PayDeps } from './deps.ts';
import { FIRST_TRACK_MS, LOOK_DAILY_MS } from './due.ts';
import { readLookUpAnswer } from './look-up/look-up-answer.ts';
import { readShown, sumFees } from './quote/quote-answer.ts';
import { hasFailed } from './track/payment-end.ts';

const ACCEPT_TRIES_MAX = 3;

/** Of a payout that is held for nothing any more. */
export const NO_REASON = { reasonCode: null, reason: null } as const;

/** A payment of a payout that the service showed. */
interface FoundPayment {
  readonly quoteId: string;
  readonly payment: PaymentReply;
  readonly exchange: string;
  /** False for a payment that people named and that nothing ties to our request: it says nothing of the service. */
  readonly isOurs?: boolean;
  /** For the audit log, where people asked for it. */
  readonly act?: string;
  /** Two people settled the payout by it. They were shown what else was paid under its reference. */
  readonly isAgreed?: boolean;
  /** As in `PayoutMove`. */
  readonly leavesQuote?: boolean;
}

/** Writes down that a payout's payment exists: to the intent log, before the ledger (`storePayment`) where it is a fact. */
export async function acceptPayment(
  deps: PayDeps,
  payout: Payout,
  found: FoundPayment,
): Promise<'written' | 'changed'> {
  const { quoteId, payment, isOurs = true } = found;
  const line: AnswerLine = { quoteId, paymentId: payment.paymentId };
  if (isOurs) await noteAnswer(deps, payout, line);
  const result = await storePayment(deps, payout, found);
  // People's word counts once they settled by it; until then the audit log knows it.
  if (!isOurs && result === 'written') await noteAnswer(deps, payout, { ...line, isNamed: true });
  return result;
}

/**
 * Writes to the ledger that a payout's payment exists: a fact beats a doubt, whoever armed it (architecture.md, rule 7). A payment
 * of a quote that the payout has left behind is a breach (assertion A3), and so is one beside that of another payout with the same
 * reference. The intent log has it already.
 */
export async function storePayment(deps: PayDeps, payout: Payout, found: FoundPayment): Promise<'written' | 'changed'> {
  const { quoteId, payment, exchange, isOurs = true } = found;
  if (isOurs) await disproveOtherId(deps, payout, { quoteId, paymentId: payment.paymentId });
  let twin: string | undefined;
  for (let tries = 1; ; tries++) {
    const { answer, ...accepted } = await accept(deps, payout, found);
    if (answer.result === 'changed' || isHeldMeanwhile(found, answer)) return 'changed';
    twin ??= accepted.twin;
    const evidence = breachOf(answer, { quoteId, paymentId: payment.paymentId }) ?? twin;
    if (evidence === undefined) return 'written';
    // What was judged may have changed meanwhile: logs that are compared give a payout its quote back.
    const judged = tries < ACCEPT_TRIES_MAX ? { version: answer.version } : {};
    if (await holdBreach(deps, payout, { evidence, quoteId, exchange, ...judged })) return 'written';
  }
}

/** `twin`: what is said of the payment where another payout with the same reference has one too. */
async function accept(
  deps: PayDeps,
  payout: Payout,
  found: FoundPayment,
): Promise<{ answer: MoveAnswer; twin?: string | undefined }> {
  const { quoteId, payment, exchange, isOurs = true, act, leavesQuote = false } = found;
  const move = {
    ...placeOf(payout),
    to: 'accepted',
    quoteId,
    // A fact needs no version (architecture.md, rule 7); people's word alone does, for any move in between voids it (rule 9).
    ...(isOurs ? {} : { version: payout.version, from: payout.state }),
    ...(act === undefined ? {} : { act }),
    leavesQuote,
    // Nor does it end a breach that came since people saw the payout.
    isFact: isFact(found) || payout.reasonCode !== 'E_BREACH',
    referenceHash: hashReference(payout.row.reference),
    dueMs: FIRST_TRACK_MS,
    actor: deps.owner,
    reason: payment.paymentState ?? '',
    exchange,
    values: { ...paymentValues(payment, { ...payout, quoteId }), ...NO_REASON, notFoundAt: null },
  } as const;
  // One that failed pays nobody.
  const answer = await moveWatched(deps, { ...move, isAlone: isFact(found) && !hasFailed(payment) });
  if (answer.result !== 'shared') return { answer };
  return { answer: await moveWatched(deps, move), twin: await paidTwin(deps, payout) };
}

function isHeldMeanwhile({ isAgreed = false }: FoundPayment, { result, state }: MoveAnswer): boolean {
  return isAgreed && result === 'there' && state === 'held';
}

function isFact({ isOurs = true, isAgreed = false }: FoundPayment): boolean {
  return isOurs && !isAgreed;
}

/** What is said of a payment beside that of the payout's retry, or of the one that it retries. */
async function paidTwin(deps: PayDeps, payout: Payout): Promise<string | undefined> {
  for (const other of await deps.references.sharing(hashReference(payout.row.reference), payoutId(payout))) {
    const { payout: twin } = await deps.payouts.read(placeOfId(other));
    if (twin?.state === 'completed' || (twin?.state === 'accepted' && !(await hasFailedSince(deps, twin))))
      return `it has a payment, and so has payout ${other} with the same reference`;
  }
  return undefined;
}

/** Whether the payment of an accepted payout failed since: after a restore it was not followed yet. False where nobody can tell. */
async function hasFailedSince({ service, rules }: PayDeps, payout: Payout): Promise<boolean> {
  const paymentId = payout.paymentId ?? payout.quoteId ?? '';
  try {
    const reading = readLookUpAnswer(await service.readPayment(paymentId), payout, { ...rules, paymentId });
    return 'payment' in reading && hasFailed(reading.payment);
  } catch (error) {
    if (error instanceof TokenRefused || error instanceof TokenUnavailable) return false;
    throw error;
  }
}

function breachOf(answer: MoveAnswer, about: { quoteId: string; paymentId: string }): string | undefined {
  if (answer.result === 'payment-taken') return `the payment ${about.paymentId} belongs to another payout`;
  const isPaid = PAYMENT_STATES.some((state) => state === answer.state);
  const isBreach = answer.result === 'other-quote' || (answer.result === 'forbidden' && !isPaid);
  if (!isBreach) return undefined;
  return `a payment exists for the quote ${about.quoteId}, which the payout left behind (it is ${answer.state})`;
}

interface Breach {
  readonly evidence: string;
  readonly quoteId?: string;
  readonly paymentId?: string;
  /** A payment that a look-up showed: the intent log knows it too, for Redis may go back. */
  readonly shown?: { readonly quoteId: string; readonly paymentId: string };
  /** What the service calls the exchange that showed it. */
  readonly exchange?: string;
  /** The version on which it was judged; left out when it holds whatever became of the payout. */
  readonly version?: number;
}

/**
 * Holds a payout with the evidence of a broken assertion, then halts everything (architecture.md). False when the payout is not
 * any more what was judged.
 */
export async function holdBreach(
  deps: PayDeps,
  payout: Payout,
  { evidence, quoteId, paymentId, shown, exchange, version }: Breach,
): Promise<boolean> {
  if (shown !== undefined) await noteAnswer(deps, payout, shown);
  if (quoteId !== undefined && paymentId !== undefined) await disproveOtherId(deps, payout, { quoteId, paymentId });
  const breach = {
    ...placeOf(payout),
    ...(quoteId === undefined ? {} : { spentQuoteId: quoteId, foundQuoteId: quoteId }),
    referenceHash: hashReference(payout.row.reference),
    dueMs: LOOK_DAILY_MS,
    actor: deps.owner,
    reason: 'breach',
    exchange: exchange ?? '',
    values: {
      reasonCode: 'E_BREACH',
      reason: evidence,
      ...(paymentId === undefined || paymentId === quoteId ? {} : { paymentId }),
    },
  };
  const judged = version === undefined ? {} : { version };
  const { result } = await deps.payouts.move({ ...breach, ...judged, to: 'held', breach: true });
  if (result === 'changed') return false;
  deps.log.error('an assertion is broken: everything is halted', { ...logFields(payout), reason: evidence });
  if (result === 'there') await deps.payouts.move(breach);
  await deps.state.halt(deps.owner, `payout ${payoutId(payout)}: ${evidence}`);
  return true;
}

/** Nobody knows what came of its payment request: it is looked up from now on (architecture.md, rules 5 and 6). */
export async function markUnknown(deps: PayDeps, payout: Payout, reason: string): Promise<void> {
  // Not watched by the breaker: that one of us died says nothing of the service.
  await deps.payouts.move({
    ...placeOf(payout),
    to: 'unknown',
    version: payout.version,
    dueMs: 0,
    actor: deps.owner,
    reason,
  });
}

async function disproveOtherId(
  deps: PayDeps,
  payout: Payout,
  ids: { quoteId: string; paymentId: string },
): Promise<void> {
  if (ids.paymentId === ids.quoteId) return;
  // That of another quote of the payout, or one that was known before.
  if ((await deps.payouts.holderOf(ids.paymentId)) === payoutId(payout)) return;
  deps.log.error('a payment has another id than its quote: no quote is proven dead any more', logFields(payout));
  await deps.state.disprove('payment-id-is-quote-id', `payout ${payoutId(payout)}`);
}

/** What is known may be that of another payment. */
function withoutOthers(payment: PaymentReply, known: string | null): PayoutValues {
  const isOther = known !== null && known !== payment.paymentId;
  return isOther ? { sourceAmount: null, destinationAmount: null, rate: null, fees: null } : {};
}

/** What a payment shows; what it does not show stays as the quote had it. */
export function paymentValues(
  payment: PaymentReply,
  { row, quoteId, paymentId }: Pick<Payout, 'row' | 'quoteId' | 'paymentId'>,
): PayoutValues {
  const source = readShown(payment.sourceAmount, row.sourceCurrency);
  const destination = readShown(payment.destinationAmount, row.destinationCurrency);
  const fees = payment.fees.length === 0 ? undefined : sumFees(payment.fees);
  return {
    ...withoutOthers(payment, paymentId),
    ...(payment.paymentId !== quoteId ? { paymentId: payment.paymentId } : {}),
    // Another payment had settled it.
    ...(payment.paymentId === quoteId && paymentId !== null && paymentId !== quoteId ? { paymentId: null } : {}),
    ...(payment.paymentState === null ? {} : { paymentState: payment.paymentState }),
    ...(source ? { sourceAmount: source } : {}),
    ...(destination ? { destinationAmount: destination } : {}),
    ...(payment.rate === null ? {} : { rate: payment.rate }),
    ...(fees === undefined ? {} : { fees }),
  };
}

/** What the service calls the exchange that an answer belongs to, for the history; empty when it said nothing of it. */
export function exchangeOf(answer: Answer): string {
  return 'requestId' in answer ? (answer.requestId ?? '') : '';
}

/** Where a payout stands, for the ledger. */
export function placeOf(payout: Payout): { runId: string; line: number } {
  return { runId: payout.runId, line: payout.line };
}

/** Where a payout stands, for the log. */
export function logFields(payout: Payout): { payout: string } {
  return { payout: payoutId(payout) };
}

/** Writes to the intent log, before Redis, which may go back in time, that the service said yes to a quote. */
export async function noteAnswer(deps: PayDeps, payout: Payout, line: AnswerLine): Promise<void> {
  const referenceHash = hashReference(payout.row.reference);
  const isNothing = FREE_STATES.some((state) => state === payout.state);
  const overturns = isNothing && payout.settledAt !== null ? { overturns: payout.settledAt } : {};
  await deps.intents.noteAnswer({ ...line, referenceHash, ...overturns }).catch((error: unknown) => {
    deps.log.warn('the intent log lacks an answer of the service', { ...logFields(payout), error });
  });
}
