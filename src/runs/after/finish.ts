import type { Ledger } from '../../ledger/ledger.ts';
import type { FormerQuote } from '../../ledger/runs/runs.ts';
import type { PayDeps } from '../../pay/deps.ts';
import { holdBreach } from '../../pay/facts.ts';
import { type LookUpReading, readLookUpAnswer } from '../../pay/look-up/look-up-answer.ts';
import { hasFailed } from '../../pay/track/payment-end.ts';
import { OPEN_STATES, type Payout, placeOfId, type Run } from '../../payout.ts';
import type { PaymentReply } from '../../service/replies.ts';
import { TokenRefused, TokenUnavailable } from '../../service/token.ts';
import { cancelReady } from '../decide/cancel-ready.ts';
import { hasEnded } from '../decide/control.ts';
import { otherOfPayment } from '../decide/same-reference.ts';

/** Ends a run that has nothing open any more, and carries a cancelled one to its end. Gives true when it is over. */
export async function finishRun(ledger: Ledger, runId: string): Promise<boolean> {
  const run = await ledger.runs.read(runId);
  if (run === undefined) return false;
  if (run.state === 'cancelled') {
    if (run.counts.ready > 0) await cancelReady(ledger, runId, 'payrun');
    const after = await ledger.runs.read(runId);
    return after !== undefined && hasEnded(after);
  }
  if (run.state !== 'paying' && run.state !== 'paused') return run.state === 'finished';
  if (OPEN_STATES.some((state) => run.counts[state] > 0)) return false;
  const { result } = await ledger.runs.move(runId, {
    to: 'finished',
    actor: 'payrun',
    reason: 'nothing is open any more',
  });
  return result === 'moved' || result === 'there';
}

/**
 * Looks up once more each quote of a finished run that its payouts left behind, and notes how many that were proven dead have a
 * payment after all (architecture.md, rule 8). That is a breach, as is a payment beside the one that settled its payout. Only a well-formed "not found" after the
 * end of the quote counts as not found: else nothing is noted and the next call asks again. Does nothing when it was done before.
 */
export async function lookUpDeadQuotes(deps: PayDeps & { ledger: Ledger }, run: Run): Promise<void> {
  if (run.deadQuotesFound !== null) return;
  const { runs } = deps.ledger;
  const all = await runs.formerQuotes(run.id);
  // People know of those that were found, and may have settled them since.
  const told = await runs.quotesFound(run.id);
  const former = all.filter(({ quoteId }) => !told.has(quoteId));
  let isCertain = true;
  for (const quote of await quotesToAsk(deps, run, former)) {
    const { payout, now } = await deps.payouts.read({ runId: run.id, line: quote.line });
    const isAsked = payout === undefined || (await lookUpFormer(deps, payout, { ...quote, now }));
    isCertain &&= isAsked;
  }
  if (isCertain) await runs.noteAsked(run.id, all.length);
}

/** All of them at first and at last; in between only those that may still be paid. */
async function quotesToAsk(
  deps: PayDeps,
  { id, reportVersion }: Run,
  former: readonly FormerQuote[],
): Promise<readonly FormerQuote[]> {
  if (reportVersion === 0) return former;
  const open: FormerQuote[] = [];
  for (const quote of former.filter(({ isProvenDead }) => !isProvenDead)) {
    const { payout, now } = await deps.payouts.read({ runId: id, line: quote.line });
    if (payout !== undefined && mayBePaid(deps, payout, { ...quote, now })) open.push(quote);
  }
  return open.length > 0 ? open : former;
}

/** Looks up one quote that a payout left behind, and holds the payout where it has a payment that should not be. False where it has to be asked for again. */
async function lookUpFormer(
  deps: PayDeps & { ledger: Ledger },
  payout: Payout,
  { quoteId, isProvenDead, now }: FormerQuote & { readonly now: number },
): Promise<boolean> {
  if (quoteId === payout.paymentId) return true;
  const reading = await lookUpPatiently(deps, payout, quoteId);
  if (reading.kind === 'nothing') return false;
  if (reading.kind === 'not-found') return !mayBePaid(deps, payout, { quoteId, isProvenDead, now });
  if (await isOfAnother(deps.ledger, payout, reading.payment)) return true;
  // A payment that came to nothing pays nobody; that its quote had been proven dead is broken all the same.
  if (!isProvenDead && hasFailed(reading.payment)) return true;
  const was = isProvenDead ? 'proven dead' : 'armed too';
  const evidence = `the quote ${quoteId} was ${was} and has a payment, which is ${reading.payment.paymentState}`;
  await holdBreach(deps, payout, { evidence, quoteId, shown: { quoteId, paymentId: reading.payment.paymentId } });
  return true;
}

/** Whether the end of a quote that is not proven dead may be ahead; of another one than the payout's own it is not kept. */
function mayBePaid(
  { rules }: Pick<PayDeps, 'rules'>,
  { quoteId: own, quoteExpiresAt, armedAt }: Payout,
  { quoteId, isProvenDead, now }: Pick<FormerQuote, 'quoteId' | 'isProvenDead'> & { readonly now: number },
): boolean {
  const end = (quoteId === own ? quoteExpiresAt : null) ?? (armedAt ?? 0) + DAY_MS;
  return !isProvenDead && now <= end + rules.quoteGraceMs;
}

/** A payment that shows the reference of another row, which has no other payment: else that row was paid twice. */
async function isOfAnother(ledger: Ledger, payout: Payout, payment: PaymentReply): Promise<boolean> {
  const holder = await otherOfPayment(ledger, payout, payment);
  if (holder === '') return false;
  const { payout: other } = await ledger.payouts.read(placeOfId(holder));
  // One without a record is known by the payment alone, or its rows were removed.
  return other === undefined || [other.quoteId, other.paymentId].includes(payment.paymentId);
}

const DAY_MS = 24 * 60 * 60 * 1000;
const LOOK_UP_TRIES_MAX = 5;
const LOOK_UP_AGAIN_MS = 500;

/** Asks a few times before an answer that says nothing counts. */
async function lookUpPatiently(deps: PayDeps, payout: Payout, quoteId: string): Promise<LookUpReading> {
  for (let tries = 1; ; tries++) {
    const reading = await lookUpQuote(deps, payout, quoteId);
    if (reading.kind !== 'nothing' || tries >= LOOK_UP_TRIES_MAX) return reading;
    await deps.clock.sleep(LOOK_UP_AGAIN_MS * tries);
  }
}

/** A token that cannot be had says nothing either. */
async function lookUpQuote(deps: PayDeps, payout: Payout, quoteId: string): Promise<LookUpReading> {
  try {
    const answer = await deps.service.readPayment(quoteId);
    return readLookUpAnswer(answer, payout, { ...deps.rules, paymentId: quoteId });
  } catch (error) {
    if (error instanceof TokenRefused || error instanceof TokenUnavailable)
      return { kind: 'nothing', reason: error.code, isLasting: false };
    throw error;
  }
}
