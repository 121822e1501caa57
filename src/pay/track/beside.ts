import type { PayoutMove } from '../../ledger/payouts/acts.ts';
import { type Payout, payoutId } from '../../payout.ts';
import type { PaymentReply } from '../../service/replies.ts';
import type { PayDeps } from '../deps.ts';
import { LOOK_DAILY_MS } from '../due.ts';
import { exchangeOf, holdBreach } from '../facts.ts';
import { readLookUpAnswer } from '../look-up/look-up-answer.ts';
import { canBeProvenDead, type DeathRules, isQuoteOver } from '../look-up/proof-of-death.ts';
import { hasFailed } from './payment-end.ts';

/**
 * `over`: none of the quotes is paid, or can be any more. `first`: so it was seen for the first time. `never`: nothing can
 * prove that one is not paid. `open`: that is not certain yet.
 */
type Beside = 'over' | 'first' | 'open' | 'never' | 'breach';

/** How the payment of a payout ended, and what that would move it to. */
interface Ended {
  readonly move: Partial<PayoutMove>;
  readonly paymentState: string;
  readonly rules: DeathRules;
}

/**
 * What a payment that failed or came back moves its payout to, beside which other quotes may have been armed; undefined where it was held
 * for what they brought to light.
 */
export async function moveBeside(
  deps: PayDeps,
  payout: Payout,
  { move, paymentState, rules }: Ended,
): Promise<Partial<PayoutMove> | undefined> {
  const beside = await lookBeside(deps, payout, rules);
  if (beside === 'breach') return undefined;
  if (beside === 'over') return move;
  if (beside === 'never' && payout.state === 'accepted') return holdBeside(payout, paymentState);
  const values = {
    ...(beside === 'first' && !wasFirst(payout) ? { notFoundAt: rules.now } : {}),
    ...(paymentState === payout.paymentState ? {} : { paymentState }),
  };
  return Object.keys(values).length === 0 ? {} : { values };
}

/** Whether the other quotes were missing before. While the payment had not failed, the time was that of its own absence. */
function wasFirst(payout: Payout): payout is Payout & { readonly notFoundAt: number } {
  return payout.notFoundAt !== null && hasFailed(payout);
}

/** The payment is over, but nothing can prove that no other quote of the payout was paid: people decide. */
export function holdBeside(payout: Payout, paymentState: string): Partial<PayoutMove> {
  const reason = `the payment ${payout.paymentId} is ${paymentState}, and nothing can prove that no other quote of it was paid`;
  return {
    to: 'held',
    reason: 'E_NOT_PROVABLE',
    dueMs: LOOK_DAILY_MS,
    values: { reasonCode: 'E_NOT_PROVABLE', reason, paymentState },
  };
}

/**
 * Looks up the quotes of a payout that were armed beside its payment: its reference is free only when each of them is proven dead, as
 * any other quote is (architecture.md, rules 1 and 8).
 */
async function lookBeside(deps: PayDeps, payout: Payout, rules: DeathRules): Promise<Beside> {
  const beside = await deps.runs.quotesBeside(payout.runId, payout.line);
  const missing: boolean[] = [];
  for (const quoteId of beside.filter((id) => id !== payout.paymentId)) {
    const found = await lookAtOne(deps, payout, { quoteId, rules });
    if (found === 'breach') return 'breach';
    if (found !== 'failed') missing.push(found === 'missing');
  }
  if (missing.length === 0) return 'over';
  if (!canBeProvenDead(payout, rules)) return 'never';
  if (!missing.every(Boolean)) return 'open';
  return wasFirst(payout) && rules.now - payout.notFoundAt >= rules.notFoundGapMs ? 'over' : 'first';
}

/** `missing`: the answer says that it is not paid, and it can be paid no more. */
async function lookAtOne(
  deps: PayDeps,
  payout: Payout,
  { quoteId, rules }: { quoteId: string; rules: DeathRules },
): Promise<'missing' | 'open' | 'failed' | 'breach'> {
  const answer = await deps.service.readPayment(quoteId);
  const reading = readLookUpAnswer(answer, payout, { ...deps.rules, paymentId: quoteId });
  if (reading.kind === 'nothing') return 'open';
  if (reading.kind === 'not-found') {
    if (!isBesideOver(payout, reading.date, rules)) return 'open';
    return (await deps.canary.sings(quoteId)) === false ? 'open' : 'missing';
  }
  if (hasFailed(reading.payment) || (await isOfAnother(deps, payout, reading.payment))) return 'failed';
  const { paymentState } = reading.payment;
  const evidence = `the quote ${quoteId} was armed too and has a payment, which is ${paymentState}`;
  await holdBreach(deps, payout, { evidence, quoteId, exchange: exchangeOf(answer) });
  return 'breach';
}

/** The payout's end is the last one of all its quotes. Other credentials than they were armed under need not be shown a payment. */
function isBesideOver(payout: Payout, date: number | null, rules: DeathRules): boolean {
  if (date === null || payout.credentials !== rules.credentials) return false;
  const armedAt = payout.armedAt ?? payout.history.at(-1)?.at ?? rules.now;
  return isQuoteOver({ ...payout, armedAt }, { ...rules, date });
}

async function isOfAnother({ payouts }: PayDeps, payout: Payout, { paymentId }: PaymentReply): Promise<boolean> {
  const holder = await payouts.holderOf(paymentId);
  return holder !== undefined && holder !== payoutId(payout);
}
