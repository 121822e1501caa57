import type { MoveResult } from '../ledger/payouts/acts.ts';
import type { PayoutValues } from '../ledger/payouts/values.ts';
import type { Payout } from '../payout.ts';
import type { Answer } from '../service/answer.ts';
import { moveWatched } from './breaker.ts';
import type { PayDeps } from './deps.ts';
import { FIRST_LOOK_UP_MS, nextQuoteMs } from './due.ts';
import { acceptPayment, exchangeOf, holdBreach, logFields, noteAnswer, placeOf, storePayment } from './facts.ts';
import { readLookUpAnswer } from './look-up/look-up-answer.ts';
import { type PaymentReading, readPaymentAnswer } from './payment-answer.ts';
import { badCertificate } from './refused.ts';
import type { StepResult } from './step-result.ts';
import { stopRun } from './stop.ts';

const QUOTED_AGAIN_MS = 1000;
const STORE_AGAIN_MS = 1000;
/** Seen as the quote failures that a payout has after a request that did not leave: a wait of one to two seconds. */
const NOT_SENT_BACK_OFF = 3;

/** An answered payment request: the payout as it was before its arming, and what was armed. */
export interface SentRequest {
  readonly answer: Answer;
  readonly quote: { readonly quoteId: string; readonly expiresAt: number | null };
  /** The payout's version since it was armed. */
  readonly version: number;
}

/** Writes down what came of a payment request (architecture.md, `POST /v2/payments`). */
export async function settleAnswer(deps: PayDeps, payout: Payout, sent: SentRequest): Promise<StepResult> {
  const isAgain = payout.state === 'quoted';
  const reading = readPaymentAnswer(sent.answer, {
    row: payout.row,
    quoteExpiresAt: sent.quote.expiresAt,
    armings: isAgain ? payout.armings + 1 : 1,
  });
  deps.log.debug('a payment request was answered', { ...logFields(payout), class: reading.kind });
  await noteYes(deps, payout, { reading, quoteId: sent.quote.quoteId });
  switch (reading.kind) {
    case 'accepted':
      await stored(deps, () =>
        storePayment(deps, payout, {
          quoteId: sent.quote.quoteId,
          payment: reading.payment,
          exchange: exchangeOf(sent.answer),
        }),
      );
      deps.at('C11');
      return 'done';
    case 'breach':
      await stored(deps, () =>
        holdBreach(deps, payout, {
          evidence: `the payment shows ${reading.evidence}`,
          quoteId: sent.quote.quoteId,
          paymentId: reading.payment.paymentId,
          exchange: exchangeOf(sent.answer),
        }),
      );
      return 'done';
    case 'not-sent':
      return await putBack(deps, payout, { sent, reading, isAgain });
    case 'again':
      await moveSent(deps, payout, {
        ...quotedMove(deps, payout, sent),
        dueMs: QUOTED_AGAIN_MS,
        reason: reading.reason,
      });
      return reading.status === 401 ? 'again' : 'done';
    case 'run-wide':
      await moveSent(deps, payout, { sent, to: 'unknown', dueMs: FIRST_LOOK_UP_MS, reason: reading.code });
      await stopRun(deps, payout.runId, reading);
      return 'done';
    case 'final':
      await rejectIfNotFound(deps, payout, { sent, code: reading.code, reason: reading.reason });
      return 'done';
    case 'unknown':
      await moveUnknown(deps, payout, { sent, reading });
      return 'done';
  }
}

/** Where the service began to say yes, the intent log has it first. */
async function noteYes(
  deps: PayDeps,
  payout: Payout,
  { reading, quoteId }: { reading: PaymentReading; quoteId: string },
): Promise<void> {
  const isNamed = reading.kind === 'accepted' || reading.kind === 'breach';
  if (!isNamed && !(reading.kind === 'unknown' && reading.seen2xx)) return;
  await noteAnswer(deps, payout, { quoteId, paymentId: isNamed ? reading.payment.paymentId : null });
}

/**
 * Nobody knows what came of it. Where the service began to say yes, that is noted whatever else became of the payout
 * meanwhile: this quote is never proven dead (architecture.md, rule 8).
 */
async function moveUnknown(
  deps: PayDeps,
  payout: Payout,
  { sent, reading }: { sent: SentRequest; reading: Extract<PaymentReading, { kind: 'unknown' }> },
): Promise<void> {
  const { reason, seen2xx } = reading;
  const values: PayoutValues = seen2xx ? { seen2xx } : {};
  const result = await moveSent(deps, payout, { sent, to: 'unknown', dueMs: FIRST_LOOK_UP_MS, reason, values });
  if (seen2xx && result !== 'moved') await noteSuccess(deps, payout, sent.quote.quoteId);
}

async function noteSuccess(deps: PayDeps, payout: Payout, quoteId: string): Promise<void> {
  const note = {
    ...placeOf(payout),
    quoteId,
    dueMs: 'as-it-is',
    actor: deps.owner,
    reason: '',
    values: { seen2xx: true },
  } as const;
  const { result } = await stored(deps, () => deps.payouts.move(note));
  if (result !== 'other-quote') return;
  const evidence = `the service said yes to the quote ${quoteId}, which the payout left behind`;
  await stored(deps, () => holdBreach(deps, payout, { evidence, quoteId }));
}

/** Writes until Redis takes it: what is known of a payment must not be lost because Redis was away for a while. */
async function stored<T>(deps: PayDeps, write: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await write();
    } catch (error) {
      deps.log.warn('the outcome of a payment request is not stored yet', { error });
      await deps.clock.sleep(STORE_AGAIN_MS);
    }
  }
}

interface SentMove {
  readonly sent: SentRequest;
  readonly to: 'quoted' | 'unknown' | 'rejected';
  readonly dueMs: number;
  readonly reason: string;
  readonly values?: PayoutValues;
}

/** Whoever arms the quote again sees by its seal that it was given for this payout (docs/security.md, "Seals"). */
function quotedMove({ seals }: PayDeps, payout: Payout, sent: SentRequest): Pick<SentMove, 'sent' | 'to' | 'values'> {
  return { sent, to: 'quoted', values: { quoteSeal: seals.quote(placeOf(payout), sent.quote) } };
}

async function moveSent(
  deps: PayDeps,
  payout: Payout,
  { sent, to, dueMs, reason, values }: SentMove,
): Promise<MoveResult> {
  const move = { ...placeOf(payout), to, version: sent.version, quoteId: sent.quote.quoteId, dueMs, reason };
  const rest = { actor: deps.owner, exchange: exchangeOf(sent.answer), values: values ?? {} };
  const { result } = await stored(deps, () => moveWatched(deps, { ...move, ...rest }));
  return result;
}

/**
 * No byte of this request left. A payout that was never sent is ready again without the quote; one whose quote an
 * earlier request spent keeps it (architecture.md, rule 6).
 */
async function putBack(
  deps: PayDeps,
  payout: Payout,
  why: { sent: SentRequest; reading: Extract<PaymentReading, { kind: 'not-sent' }>; isAgain: boolean },
): Promise<StepResult> {
  const { sent, reading, isAgain } = why;
  const isOurs = reading.reason === 'deadline' || reading.reason === 'no token';
  const dueMs = isOurs ? 0 : nextQuoteMs(NOT_SENT_BACK_OFF, deps.random);
  if (isAgain) {
    await moveSent(deps, payout, { ...quotedMove(deps, payout, sent), dueMs, reason: `not sent: ${reading.reason}` });
  } else {
    await deps.payouts.move({
      ...placeOf(payout),
      to: 'ready',
      version: sent.version,
      quoteId: sent.quote.quoteId,
      dropQuote: 'not-sent',
      dueMs,
      actor: deps.owner,
      reason: `not sent: ${reading.reason}`,
    });
    deps.at('C13');
  }
  if (reading.certificate) await stopRun(deps, payout.runId, badCertificate(reading.reason));
  return isAgain ? 'done' : 'deferred';
}

async function rejectIfNotFound(
  deps: PayDeps,
  payout: Payout,
  refusal: { sent: SentRequest; code: string; reason: string },
): Promise<void> {
  const { sent, code, reason } = refusal;
  const { quoteId, expiresAt } = sent.quote;
  const answer = await deps.service.readPayment(quoteId);
  const exchange = exchangeOf(answer);
  const reading = readLookUpAnswer(answer, payout, { ...deps.rules, paymentId: quoteId });
  if (reading.kind === 'found') {
    await acceptPayment(deps, payout, { quoteId, payment: reading.payment, exchange });
    return;
  }
  if (reading.kind === 'breach') {
    const shown = { quoteId, paymentId: reading.payment.paymentId };
    await holdBreach(deps, payout, { evidence: `the payment shows ${reading.evidence}`, quoteId, shown, exchange });
    return;
  }
  const lastLookMs = (expiresAt ?? deps.clock.now()) + deps.rules.quoteGraceMs - deps.clock.now();
  await (reading.kind === 'not-found'
    ? moveSent(deps, payout, {
        sent,
        to: 'rejected',
        dueMs: Math.max(0, lastLookMs),
        reason: code,
        values: { reasonCode: code, reason },
      })
    : moveSent(deps, payout, { sent, to: 'unknown', dueMs: FIRST_LOOK_UP_MS, reason: code }));
}
