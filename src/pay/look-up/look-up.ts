import type { MoveResult, PayoutReading } from '../../ledger/payouts/acts.ts';
import type { PayoutValues } from '../../ledger/payouts/values.ts';
import type { PayoutPlace } from '../../payout.ts';
import { type Payout, payoutId } from '../../payout.ts';
import type { PayDeps } from '../deps.ts';
import { LOOK_DAILY_MS, nextLookUpMs } from '../due.ts';
import { acceptPayment, exchangeOf, holdBreach, logFields, markUnknown, noteAnswer, placeOf } from '../facts.ts';
import { isArmedFor, isLeftArmed } from '../next-step.ts';
import { hasOthers, holdForPeople } from '../other-quotes.ts';
import { hasFailed, isKnownToHaveFailed } from '../track/payment-end.ts';
import { NO_CANARY } from './canary.ts';
import { type LookUpReading, readLookUpAnswer } from './look-up-answer.ts';
import {
  canBeProvenDead,
  type DeathRules,
  deathRules,
  isQuoteOver,
  isTriedLong,
  judgeNotFound,
  triedEnough,
} from './proof-of-death.ts';

/**
 * Looks up the payment of a payout whose request may have been sent, and moves the payout as far as the answer proves
 * anything (architecture.md, rules 5 to 8).
 */
export async function lookUpPayout(deps: PayDeps, place: PayoutPlace): Promise<void> {
  const reading = await deps.payouts.read(place);
  const { payout } = reading;
  if (payout === undefined || payout.quoteId === null) return;
  if (payout.state === 'armed') {
    const { armDeadlineMs, requestTimeoutMs } = deps.rules;
    const isOwnLeft = isArmedFor(payout, reading.now, armDeadlineMs + requestTimeoutMs);
    if (!isOwnLeft && !isLeftArmed(payout, { now: reading.now, armDeadlineMs, owner: deps.owner })) return;
    await markUnknown(deps, payout, 'armed by a process that did not come back');
    return;
  }
  if (payout.state !== 'unknown' && payout.state !== 'held' && payout.state !== 'rejected') return;
  if (payout.state !== 'unknown' && (await isPaidBeside(deps, payout))) return;
  await lookUpQuote(deps, payout, { reading, quoteId: payout.quoteId });
}

/** Holds a payout for a breach whose other quotes, which nobody has proven dead, have a payment after all. */
async function isPaidBeside(deps: PayDeps, payout: Payout): Promise<boolean> {
  // People know of it.
  if (payout.reasonCode === 'E_BREACH') return false;
  for (const quoteId of await deps.runs.quotesBeside(payout.runId, payout.line)) {
    if (quoteId === (payout.paymentId ?? payout.quoteId)) continue;
    const answer = await deps.service.readPayment(quoteId);
    const found = readLookUpAnswer(answer, payout, { ...deps.rules, paymentId: quoteId });
    // What shows the reference of another row is that row's.
    if ((found.kind !== 'found' && found.kind !== 'breach') || hasFailed(found.payment)) continue;
    const holder = await deps.payouts.holderOf(found.payment.paymentId);
    if (found.payment.internalId === null && holder !== undefined && holder !== payoutId(payout)) continue;
    const evidence = `the quote ${quoteId} was armed too and has a payment, which is ${found.payment.paymentState}`;
    const shown = { quoteId, paymentId: found.payment.paymentId };
    await holdBreach(deps, payout, { evidence, quoteId, shown, exchange: exchangeOf(answer) });
    return true;
  }
  return false;
}

async function lookUpQuote(
  deps: PayDeps,
  payout: Payout,
  at: { reading: PayoutReading; quoteId: string },
): Promise<void> {
  // One that was made under an id of its own is known by that.
  const paymentId = payout.paymentId ?? at.quoteId;
  const answer = await deps.service.readPayment(paymentId);
  const exchange = exchangeOf(answer);
  const found = readLookUpAnswer(answer, payout, { ...deps.rules, paymentId });
  deps.log.debug('a payment was looked up', { ...logFields(payout), class: found.kind });
  switch (found.kind) {
    case 'found':
    case 'breach':
      await readShown(deps, payout, { found, quoteId: at.quoteId, exchange });
      return;
    case 'not-found':
      await readNotFound(deps, payout, { ...at, date: found.date, exchange });
      return;
    case 'other-reference':
    case 'nothing':
      if (payout.state === 'unknown') await lookAgain(deps, payout, { ...at, reason: whyNothing(found) });
      else await note(deps, payout, { dueMs: LOOK_DAILY_MS });
  }
}

async function readShown(
  deps: PayDeps,
  payout: Payout,
  {
    found,
    quoteId,
    exchange,
  }: { found: Extract<LookUpReading, { kind: 'found' | 'breach' }>; quoteId: string; exchange: string },
): Promise<void> {
  const shown = { quoteId, paymentId: found.payment.paymentId };
  const isHeld = payout.state === 'held';
  if (isKnownToHaveFailed(payout, found.payment)) {
    await note(deps, payout, isHeld ? { dueMs: LOOK_DAILY_MS } : {});
  } else if (found.kind === 'breach') {
    if (isHeld) await noteBreach(deps, payout, { evidence: found.evidence, shown });
    else await holdBreach(deps, payout, { evidence: `the payment shows ${found.evidence}`, shown, exchange });
    // It is not over because one of its payments is there: people settle it.
  } else if (isHeld && payout.reasonCode === 'E_BREACH') await note(deps, payout, { dueMs: LOOK_DAILY_MS });
  else await acceptPayment(deps, payout, { quoteId, payment: found.payment, exchange });
}

function whyNothing(found: Extract<LookUpReading, { kind: 'nothing' | 'other-reference' }>): string {
  return found.kind === 'nothing' ? found.reason : `the payment shows the reference ${found.reference}`;
}

/** A payout that is held already keeps its state; everything is halted once, not again after two people released it. */
async function noteBreach(
  deps: PayDeps,
  payout: Payout,
  { evidence, shown }: { evidence: string; shown: { quoteId: string; paymentId: string } },
): Promise<void> {
  const isNews = payout.reasonCode !== 'E_BREACH';
  if (isNews) await noteAnswer(deps, payout, shown);
  const values = isNews ? { reasonCode: 'E_BREACH', reason: `the payment shows ${evidence}` } : {};
  await note(deps, payout, { dueMs: LOOK_DAILY_MS, values });
  if (isNews) await deps.state.halt(deps.owner, `payout ${payoutId(payout)}: the payment shows ${evidence}`);
}

interface NotFound {
  readonly reading: PayoutReading;
  readonly quoteId: string;
  readonly date: number | null;
  readonly exchange: string;
}

async function readNotFound(deps: PayDeps, payout: Payout, notFound: NotFound): Promise<void> {
  const { reading, quoteId, date, exchange } = notFound;
  const rules = deathRules(deps, reading);
  if (payout.state === 'held') {
    await note(deps, payout, { dueMs: LOOK_DAILY_MS });
    return;
  }
  if (payout.state === 'rejected') {
    await confirmRejection(deps, payout, { rules, date });
    return;
  }
  const verdict = judgeNotFound(payout, date, rules);
  if ((verdict === 'first' || verdict === 'dead') && !(await deps.canary.sings())) {
    await lookAgain(deps, payout, { reading, reason: NO_CANARY });
    return;
  }
  switch (verdict) {
    case 'dead':
      await discardDeadQuote(deps, payout, { reading, quoteId, exchange });
      return;
    case 'first':
      await note(deps, payout, {
        dueMs: nextLookUpMs({ ...payout, notFoundAt: date }, rules),
        values: { notFoundAt: date },
      });
      return;
    case 'early':
      await lookAgain(deps, payout, { reading, reason: 'not found' });
      return;
    case 'never':
      await lookAgainOrHold(deps, payout, reading);
  }
}

/** Whether the last look-up of a rejected payout, after its quote's end and grace, says that it was really not paid. */
async function confirmRejection(
  deps: PayDeps,
  payout: Payout,
  { rules, date }: { rules: DeathRules; date: number | null },
): Promise<void> {
  const canConfirm = date !== null && payout.credentials === rules.credentials && canBeProvenDead(payout, rules);
  const isOver = canConfirm && isQuoteOver(payout, { ...rules, date });
  if (!payout.rejectionConfirmed && isOver && (await hasOthers(deps, payout))) return await holdBeside(deps, payout);
  if (!canConfirm) {
    await note(deps, payout, { dueMs: LOOK_DAILY_MS });
    return;
  }
  const isConfirmed =
    isOver &&
    (await deps.canary.sings()) &&
    (await note(deps, payout, { values: { rejectionConfirmed: true } })) !== 'season';
  if (!isConfirmed) await note(deps, payout, { dueMs: nextLookUpMs(payout, rules), ...countLookUp(payout) });
}

/** The quote is proven dead: the payout is ready for a new one, unless it was tried often or long enough. */
async function discardDeadQuote(
  deps: PayDeps,
  payout: Payout,
  { reading, quoteId, exchange }: { reading: PayoutReading; quoteId: string; exchange: string },
): Promise<void> {
  if (payout.reasonCode === 'E_BREACH' || (await hasOthers(deps, payout))) {
    await holdBeside(deps, payout);
    return;
  }
  const enough = triedEnough(payout, reading.now);
  const isCancelled = (await deps.runs.read(payout.runId))?.state === 'cancelled';
  if (enough !== undefined && !isCancelled) {
    await hold(deps, payout, { code: 'E_TRIED', reason: `${enough}; the last quote is proven dead` });
    return;
  }
  const { result } = await deps.payouts.move({
    ...placeOf(payout),
    to: 'ready',
    cancelledIfRunIs: true,
    version: payout.version,
    quoteId,
    dropQuote: 'proven-dead',
    dueMs: 0,
    actor: deps.owner,
    reason: 'the quote is proven dead',
    exchange,
  });
  if (result === 'season') {
    await lookAgain(deps, payout, {
      reading,
      reason: 'not found, and data directories have yet to compare their logs',
    });
    return;
  }
  deps.at('C13');
}

/** Only people send a payout again of which another quote may be paid. What they know of a breach stands. */
async function holdBeside(deps: PayDeps, payout: Payout): Promise<void> {
  const { state, quoteId, reasonCode, reason } = payout;
  const held = holdForPeople(`the quote ${quoteId} ${state === 'rejected' ? 'was refused' : 'is proven dead'}`);
  await deps.payouts.move({
    ...placeOf(payout),
    version: payout.version,
    actor: deps.owner,
    ...held,
    breach: state === 'rejected',
    ...(reasonCode === 'E_BREACH' ? { reason: reasonCode, values: { reasonCode, reason } } : {}),
  });
}

/** Nothing can prove it dead: once the service says after the quote's end that it knows no payment, a person decides. */
async function lookAgainOrHold(deps: PayDeps, payout: Payout, reading: PayoutReading): Promise<void> {
  const { quoteGraceMs, notFoundGapMs, requestTimeoutMs } = deps.rules;
  const end = payout.quoteExpiresAt ?? (payout.armedAt ?? 0) + requestTimeoutMs;
  if (reading.now <= end + quoteGraceMs + notFoundGapMs) {
    await lookAgain(deps, payout, { reading, reason: 'not found' });
    return;
  }
  await hold(deps, payout, {
    code: 'E_NOT_PROVABLE',
    reason: 'nothing can prove that it was not paid; the last look-up: not found',
  });
}

/** Stays unknown, until it was tried for long enough: then a person decides. */
async function lookAgain(
  deps: PayDeps,
  payout: Payout,
  { reading, reason }: { reading: PayoutReading; reason: string },
): Promise<void> {
  const rules = deathRules(deps, reading);
  if (isTriedLong(payout.armedAt, reading.now)) {
    await hold(deps, payout, {
      code: 'E_TRIED',
      reason: `it was tried for 24 hours and is still unknown; the last look-up: ${reason}`,
    });
    return;
  }
  await note(deps, payout, {
    dueMs: nextLookUpMs(payout, rules),
    ...countLookUp(payout),
  });
}

function countLookUp(payout: Payout): { values: PayoutValues } {
  return { values: { lookUps: payout.lookUps + 1 } };
}

async function hold(deps: PayDeps, payout: Payout, { code, reason }: { code: string; reason: string }): Promise<void> {
  await deps.payouts.move({
    ...placeOf(payout),
    to: 'held',
    version: payout.version,
    dueMs: LOOK_DAILY_MS,
    actor: deps.owner,
    reason: code,
    values: { reasonCode: code, reason },
  });
}

async function note(
  deps: PayDeps,
  payout: Payout,
  what: { dueMs?: number; values?: PayoutValues },
): Promise<MoveResult> {
  const move = { ...placeOf(payout), version: payout.version, actor: deps.owner, reason: '', ...what };
  return (await deps.payouts.move(move)).result;
}
