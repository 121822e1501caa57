import type { PayoutValues } from '../ledger/payouts/values.ts';
import { type SealVerdict, UNKNOWN_KEY } from '../ledger/seals.ts';
import type { Payout } from '../payout.ts';
import type { Answer } from '../service/answer.ts';
import { quoteBody } from '../service/bodies.ts';
import { TokenRefused, TokenUnavailable } from '../service/token.ts';
import { armAndPay } from './arm-and-pay.ts';
import type { PayDeps } from './deps.ts';
import { exchangeOf, holdBreach, markUnknown } from './facts.ts';
import { type NextStep, nextStep, QUOTE_LIFE_MS_MIN } from './next-step.ts';
import { costOf, tooDear } from './quote/cost.ts';
import { quoteAgain, settleUnsent } from './quote/quote-again.ts';
import { readQuoteAnswer, type UsableQuote } from './quote/quote-answer.ts';
import type { PayOrder, PayResult, StepResult } from './step-result.ts';
import { stopRun } from './stop.ts';

const STEPS_MAX = 20;

type ArmingStep = Extract<NextStep, { kind: 'quote' | 'arm-again' }>;

/**
 * Takes a payout as far as it will go now: quote, arm, pay, write down what came of it. Safe to run twice, by several
 * processes at once, and to be ended at any point.
 */
export async function payPayout(deps: PayDeps, order: PayOrder, signal: AbortSignal): Promise<PayResult> {
  for (let step = 0; step < STEPS_MAX; step++) {
    const result = await takeStepWithToken(deps, order, signal);
    if (result !== 'again') return result;
    if (signal.aborted) return 'left';
  }
  return 'left';
}

/** Without a token nothing new is armed; a payout that was armed before is found by the sweeper. */
async function takeStepWithToken(deps: PayDeps, order: PayOrder, signal: AbortSignal): Promise<StepResult> {
  try {
    return await takeStep(deps, order, signal);
  } catch (error) {
    if (error instanceof TokenRefused) {
      await stopRun(deps, order.runId, { code: error.code, reason: error.message });
      return 'left';
    }
    if (!(error instanceof TokenUnavailable)) throw error;
    if (error.certificate) await stopRun(deps, order.runId, { code: 'E_CERTIFICATE', reason: error.message });
    deps.log.warn('no access token for now', { run: order.runId, reason: error.reason });
    return 'left';
  }
}

async function takeStep(deps: PayDeps, order: PayOrder, signal: AbortSignal): Promise<StepResult> {
  const reading = await deps.payouts.read(order);
  const { owner, service, rules } = deps;
  const self = { owner, armDeadlineMs: rules.armDeadlineMs, credentials: service.fingerprint };
  const step = nextStep(reading, self);
  if (step.kind === 'quote' || step.kind === 'arm-again') {
    const refused = await refuseArming(deps, step, order);
    if (refused !== undefined) return refused;
  }
  switch (step.kind) {
    case 'nothing':
      return 'done';
    case 'stop':
      return 'left';
    case 'wait':
      await deps.clock.sleep(step.ms, signal);
      return 'again';
    case 'mark-unknown':
      await markUnknown(deps, step.payout, step.reason);
      return 'done';
    case 'quote':
      return await quotePayout(deps, step.payout, { ...order, signal });
    case 'arm-again': {
      const startAt = await deps.pace.take(signal);
      const quote = { quoteId: step.quoteId, expiresAt: step.payout.quoteExpiresAt };
      return await armAndPay(deps, step.payout, {
        quote,
        // It counted when it was armed first.
        sourceAmount: null,
        startAt,
        endsAt: undefined,
        values: {},
        exchange: '',
        fileSha256: order.fileSha256,
        contentHash: order.contentHash,
        approval: order.approval ?? null,
        signal,
      });
    }
  }
}

/** Undefined when the payout may be armed, as far as this process can tell. */
async function refuseArming(deps: PayDeps, step: ArmingStep, order: PayOrder): Promise<StepResult | undefined> {
  if (!order.mayArm) return await leaveUnpaid(deps, step, 'the run was paused or cancelled');
  if (!(await deps.intents.hasRoom())) return 'left';
  return await judgeSeals(deps, step);
}

/** A spent quote that is not armed again is looked up from now on. */
async function leaveUnpaid(deps: PayDeps, step: ArmingStep, reason: string): Promise<StepResult> {
  if (step.kind === 'quote') return 'left';
  await markUnknown(deps, step.payout, reason);
  return 'done';
}

/** Undefined when the row is as payrun wrote it, and so is a quote that is to be armed again. */
async function judgeSeals(deps: PayDeps, step: ArmingStep): Promise<StepResult | undefined> {
  const { payout } = step;
  const row = deps.seals.judgePayout(payout);
  if (row !== 'true') return await refuseSeal(deps, payout, { verdict: row, what: 'its row' });
  if (step.kind === 'quote') return undefined;
  // An earlier payrun gave it none.
  if (payout.seals.quote === null) return await leaveUnpaid(deps, step, 'its quote has no seal');
  const quote = deps.seals.judgeQuote(payout);
  return quote === 'true' ? undefined : await refuseSeal(deps, payout, { verdict: quote, what: 'its quote' });
}

/** Nothing is paid that is not as payrun wrote it (docs/security.md, "Seals"). */
async function refuseSeal(
  deps: PayDeps,
  payout: Payout,
  { verdict, what }: { verdict: Exclude<SealVerdict, 'true'>; what: string },
): Promise<StepResult> {
  if (verdict === 'unknown-key') {
    await stopRun(deps, payout.runId, { code: 'E_LEDGER_KEY', reason: UNKNOWN_KEY });
    return 'left';
  }
  await holdBreach(deps, payout, { evidence: `${what} was changed in Redis by something else than payrun` });
  return 'done';
}

async function quotePayout(
  deps: PayDeps,
  payout: Payout,
  { fileSha256, contentHash, approval, signal }: PayOrder & { signal: AbortSignal },
): Promise<StepResult> {
  const startAt = await deps.pace.take(signal);
  await deps.clock.sleep(startAt - deps.quoteLead.ms() - deps.clock.monotonic(), signal);
  if (signal.aborted) return 'left';
  deps.at('C1');
  const askedAt = deps.clock.monotonic();
  const answer = await deps.service.quote(quoteBody(payout.row, deps.rules));
  const answeredAt = deps.clock.monotonic();
  deps.quoteLead.saw(answeredAt - askedAt);
  deps.at('C2');
  const reading = readQuoteAnswer(answer, payout.row);
  switch (reading.kind) {
    case 'usable': {
      const { lifeMs } = reading.quote;
      if (lifeMs !== null && lifeMs < QUOTE_LIFE_MS_MIN)
        return await quoteAgain(deps, payout, { reason: 'the quote is too short-lived' });
      const dear = tooDear(costOf(reading.quote, payout.row), payout.costLimit);
      if (dear !== undefined) {
        return await settleUnsent(deps, payout, {
          kind: 'held',
          code: 'E_COST_DRIFT',
          reason: dear,
          exchange: exchangeOf(answer),
        });
      }
      const endsAt = lifeMs === null ? undefined : answeredAt + lifeMs - QUOTE_LIFE_MS_MIN;
      return await armAndPay(deps, payout, {
        quote: reading.quote,
        sourceAmount: reading.quote.sourceAmount,
        startAt,
        endsAt,
        values: quoteValues(deps, reading.quote),
        exchange: exchangeOf(answer),
        fileSha256,
        contentHash,
        approval: approval ?? null,
        signal,
      });
    }
    case 'held':
    case 'rejected':
      return await settleUnsent(deps, payout, { ...reading, exchange: exchangeOf(answer) });
    case 'pause':
      await stopRun(deps, payout.runId, reading);
      return 'left';
    case 'again':
      return await quoteAgain(deps, payout, { reason: reading.reason, isAnswer: isAnswer(answer) });
  }
}

/** Gateways answer for a service that does not. */
const NO_ANSWER_STATUSES: readonly number[] = [502, 503, 504];

function isAnswer(answer: Answer): boolean {
  return answer.kind === 'answered' && answer.isPage !== true && !NO_ANSWER_STATUSES.includes(answer.status);
}

function quoteValues(deps: PayDeps, quote: UsableQuote): PayoutValues {
  const { sourceAmount, destinationAmount, rate, fees, lifeMs } = quote;
  return {
    quotedAt: deps.clock.now(),
    ...(lifeMs === null ? {} : { quoteLifeMs: lifeMs }),
    ...(sourceAmount === null ? {} : { sourceAmount }),
    ...(destinationAmount === null ? {} : { destinationAmount }),
    ...(rate === null ? {} : { rate }),
    ...(fees.length === 0 ? {} : { fees }),
  };
}
