import { hash } from 'node:crypto';
import { hashReference } from '../intake/row/reference-hash.ts';
import type { Counted } from '../ledger/intents/intent-line.ts';
import { IntentLogFault } from '../ledger/intents/intent-log.ts';
import type { ArmAnswer, ArmingLimits, ArmRefusal } from '../ledger/payouts/acts.ts';
import type { PayoutValues } from '../ledger/payouts/values.ts';
import type { Money } from '../money.ts';
import type { Payout } from '../payout.ts';
import { type Answer, notSent } from '../service/answer.ts';
import { paymentBody } from '../service/bodies.ts';
import type { PayDeps } from './deps.ts';
import { holdBreach, logFields, markUnknown, placeOf } from './facts.ts';
import { armingLimits, beyondLimit, countedAs } from './limits.ts';
import { awaitPlace } from './pace.ts';
import { quoteAgain, settleUnsent } from './quote/quote-again.ts';
import { settleAnswer } from './settle-answer.ts';
import type { StepResult } from './step-result.ts';
import { stopRun } from './stop.ts';

/** How long after its request's time-out an armed payout is looked at by the sweeper. */
const ARMED_DUE_MARGIN_MS = 5000;

export interface QuoteToPay {
  readonly quote: { readonly quoteId: string; readonly expiresAt: number | null };
  /** What leaves by the quote; null where it does not say so. */
  readonly sourceAmount: Money | null;
  /** Monotonic milliseconds: the payout's place in the pace. */
  readonly startAt: number;
  /** Monotonic milliseconds after which the quote has too little life left; undefined when that cannot be told. */
  readonly endsAt: number | undefined;
  /** What the service calls the exchange that gave the quote, or empty. */
  readonly exchange: string;
  /** What the quote says. */
  readonly values: PayoutValues;
  /** SHA-256 of the payout file, and its content hash. */
  readonly fileSha256: string;
  readonly contentHash: string | undefined;
  readonly approval: string | null;
  readonly signal: AbortSignal;
}

/**
 * The dangerous act, in the order that makes it safe (architecture.md, rules 2 and 3): arm in the ledger, write the intent line
 * and sync it, send one payment request before the arm deadline, write down what came of it.
 */
export async function armAndPay(deps: PayDeps, payout: Payout, toPay: QuoteToPay): Promise<StepResult> {
  await awaitPlace(deps, toPay.startAt, toPay.signal);
  if (toPay.signal.aborted) return 'left';
  // Only now: whoever waited for its place may have lost the token meanwhile, and without one arming would be for nothing.
  await deps.service.ready();
  if (toPay.endsAt !== undefined && deps.clock.monotonic() > toPay.endsAt) return 'again';
  deps.at('C3');
  const sendBefore = deps.clock.monotonic() + deps.rules.armDeadlineMs;
  const limits = armingLimits(deps.rules.limits ?? null, {
    row: payout.row,
    sourceAmount: toPay.sourceAmount,
    nowMs: deps.clock.now(),
  });
  const armed = await arm(deps, payout, { ...toPay, limits });
  if (armed === undefined) return 'left';
  if (!armed.armed) return await readAnswer(deps, payout, armed);
  deps.at('C4');
  const body = paymentBody(payout.row, toPay.quote.quoteId);
  const counted = payout.state === 'ready' ? countedAs(limits, payout.row, armed.armedAt) : undefined;
  const isWritten = await writeIntent(deps, payout, { toPay, armed, body, counted });
  if (!isWritten) return 'left';
  deps.at('C6');
  const answer = await send(deps, body, sendBefore);
  deps.at('C10');
  return await settleAnswer(deps, payout, { answer, quote: toPay.quote, version: armed.version });
}

const HELD = {
  blocked: { code: 'E_BLOCKED', reason: 'its beneficiary is blocked' },
  'given-up': { code: 'E_GIVEN_UP', reason: 'it was given up, and Redis forgot that' },
} as const;

/** What people set between a payout and its arming: what they gave up, limits, a block list, their approval. */
async function readAnswer(
  deps: PayDeps,
  payout: Payout,
  refused: Extract<ArmAnswer, { armed: false }>,
): Promise<StepResult> {
  const { refusal } = refused;
  if (refusal === 'newer' || refusal === 'settings') {
    await deps.requireSafety();
    return 'again';
  }
  if (refusal === 'limit') {
    return await settleUnsent(deps, payout, beyondLimit(deps.rules.limits ?? null, refused.limit));
  }
  if (refusal === 'blocked' || refusal === 'given-up') {
    const { code, reason } = HELD[refusal];
    if (payout.state === 'quoted') return await endQuoted(deps, payout, reason);
    return await settleUnsent(deps, payout, { kind: 'held', code, reason });
  }
  if (refusal === 'reference') return await leaveReference(deps, payout, refused.holder);
  if (refusal === 'approval') {
    await stopRun(deps, payout.runId, { code: 'E_APPROVAL', reason: 'its approval does not hold (any more)' });
    return 'left';
  }
  return await readRefusal(deps, payout, refusal);
}

/** Its reference went to another payout: only people may let it be paid beside that one (architecture.md, rule 2). */
async function leaveReference(deps: PayDeps, payout: Payout, holder: string): Promise<StepResult> {
  const reason = `its reference belongs to payout ${holder}`;
  if (payout.state === 'quoted') return await endQuoted(deps, payout, reason);
  const values = { referenceHash: hashReference(payout.row.reference) };
  return await settleUnsent(deps, payout, { kind: 'held', code: 'E_DUP_HISTORY', reason, values });
}

async function send(deps: PayDeps, body: string, sendBefore: number): Promise<Answer> {
  if (deps.clock.monotonic() >= sendBefore) return notSent('deadline');
  return await deps.service.createPayment(body, { sendBefore });
}

/** Undefined when nobody knows whether it is armed: the reply was lost, and nothing is sent (C14). */
async function arm(
  deps: PayDeps,
  payout: Payout,
  { quote, values, exchange, approval, limits }: QuoteToPay & { readonly limits: ArmingLimits | null },
): Promise<ArmAnswer | undefined> {
  if (deps.blockList.has(payout.row.beneficiaryIdentityId)) return { armed: false, refusal: 'blocked' };
  try {
    return await deps.payouts.arm({
      ...placeOf(payout),
      version: payout.version,
      rowSeal: payout.seals.row,
      referenceHash: hashReference(payout.row.reference),
      quoteId: quote.quoteId,
      quoteExpiresAt: quote.expiresAt,
      owner: deps.owner,
      credentials: deps.service.fingerprint,
      dueMs: deps.rules.armDeadlineMs + deps.rules.requestTimeoutMs + ARMED_DUE_MARGIN_MS,
      exchange,
      values,
      approval,
      blockList: deps.blockList.kept(),
      limits,
    });
  } catch (error) {
    deps.log.warn('no answer to an arming: nothing is sent', { ...logFields(payout), error });
    await doubtArming(deps, payout, quote.quoteId);
    return undefined;
  }
}

/** If the arming was carried out after all, the payout is looked up from now on rather than at its due time. */
async function doubtArming(deps: PayDeps, payout: Payout, quoteId: string): Promise<void> {
  const move = { ...placeOf(payout), to: 'unknown', quoteId, dueMs: 0, actor: deps.owner } as const;
  try {
    await deps.payouts.move({ ...move, reason: 'its arming was not answered' });
  } catch (error) {
    deps.log.warn('the payout waits for its due time', { ...logFields(payout), error });
  }
}

const REFUSAL_RESULTS: Readonly<
  Record<
    Exclude<ArmRefusal, 'season' | 'newer' | 'settings' | 'row' | 'quotes' | 'quote-taken' | 'block-list'>,
    StepResult
  >
> = {
  halted: 'left',
  run: 'left',
  wait: 'again',
  changed: 'again',
  armings: 'again',
  'not-replicated': 'left',
};

async function readRefusal(
  deps: PayDeps,
  payout: Payout,
  refusal: Exclude<ArmRefusal, 'newer' | 'settings'>,
): Promise<StepResult> {
  if (refusal === 'season') return (await deps.ensureSeason()).length === 0 ? 'again' : 'left';
  // People changed it since it was read, or somebody else did: then the next slice finds that.
  if (refusal === 'block-list') return (await deps.blockList.refresh()) === 'true' ? 'again' : 'left';
  if (refusal === 'row') {
    await holdBreach(deps, payout, { evidence: 'the row is not the one that was recorded' });
    return 'done';
  }
  if (refusal === 'quotes') {
    await holdTried(deps, payout);
    return 'done';
  }
  if (refusal === 'quote-taken')
    return await quoteAgain(deps, payout, { reason: 'the service gave a quote that is in use' });
  if (payout.state === 'quoted' && (refusal === 'run' || refusal === 'halted')) return await endQuoted(deps, payout);
  return REFUSAL_RESULTS[refusal];
}

async function holdTried(deps: PayDeps, payout: Payout): Promise<void> {
  await deps.payouts.move({
    ...placeOf(payout),
    to: 'held',
    version: payout.version,
    actor: deps.owner,
    reason: 'E_TRIED',
    values: { reasonCode: 'E_TRIED', reason: 'as many quotes as are allowed were tried' },
  });
}

/** A spent quote in a run that is not being paid any more is looked up from now on (architecture.md). */
async function endQuoted(
  deps: PayDeps,
  payout: Payout,
  reason = 'the run was paused or cancelled',
): Promise<StepResult> {
  await markUnknown(deps, payout, reason);
  return 'done';
}

interface Intent {
  readonly toPay: QuoteToPay;
  readonly armed: Extract<ArmAnswer, { armed: true }>;
  readonly body: string;
  readonly counted: Counted | undefined;
}

/** False when the line is not certainly on disk: the payout is as it was, and waits until the disk takes lines again. */
async function writeIntent(deps: PayDeps, payout: Payout, { toPay, armed, body, counted }: Intent): Promise<boolean> {
  try {
    await deps.intents.append({
      ...placeOf(payout),
      fileSha256: toPay.fileSha256,
      contentHash: toPay.contentHash,
      counted,
      referenceHash: hashReference(payout.row.reference),
      attempt: payout.attempts + 1,
      quoteId: toPay.quote.quoteId,
      quoteExpiresAt: toPay.quote.expiresAt,
      bodyHash: hash('sha256', body, 'hex'),
      armingCounter: armed.counter,
      owner: deps.owner,
      armedAt: armed.armedAt,
      credentials: deps.service.fingerprint,
    });
    return true;
  } catch (error) {
    if (!(error instanceof IntentLogFault)) throw error;
    if (error.poisoned) {
      deps.log.error('the intent log failed: nothing is sent', { ...logFields(payout), error: error.cause });
      throw error;
    }
    deps.log.debug('the intent log took no line: nothing is sent', { ...logFields(payout), error: error.cause });
    await settleAnswer(deps, payout, {
      answer: notSent('intent log'),
      quote: toPay.quote,
      version: armed.version,
    });
    return false;
  }
}
