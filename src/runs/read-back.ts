import type { Ledger } from '../ledger/ledger.ts';
import { formatAmount, type Money, moneyOfDecimal } from '../money.ts';
import type { PayDeps } from '../pay/deps.ts';
import { finalState, hasFailed } from '../pay/track/payment-end.ts';
import { type Outcome, outcomeOf, PAYMENT_STATES, type Payout } from '../payout.ts';
import { isRefused } from '../report/row.ts';
import type { Answer } from '../service/answer.ts';
import { type PaymentReply, parseErrors, parsePayment } from '../service/replies.ts';
import { TokenRefused, TokenUnavailable } from '../service/token.ts';

const ASKED_TOGETHER = 8;

/** One thing in which the ledger and the service differ about a row. */
export interface Difference {
  readonly line: number;
  readonly reference: string;
  /** The payment that was asked for. */
  readonly paymentId: string;
  readonly what: string;
  /** As the ledger has it, and as the service shows it; null for what is not there. */
  readonly ledger: string | null;
  readonly service: string | null;
}

/** What came of reading the payments of some rows back. */
export interface ReadBack {
  /** Payments that were asked for, and quotes without one: also those that a payout left behind. */
  readonly asked: number;
  readonly differences: readonly Difference[];
  /** Rows of which the service's answers said nothing; with any of them nothing is proven. */
  readonly unanswered: readonly number[];
}

type Reader = Pick<PayDeps, 'service' | 'clock' | 'trackPace' | 'rules'>;

/**
 * Reads the payment of each row of a run from the service again, at the pace of PAYRUN_TRACK_RATE, and compares it with the
 * row: id, state, outcome, amounts, currencies, beneficiary, reference. A row that was sent and has no payment must have
 * none there either, and neither must a quote that its payout left behind. What the service does not show is no difference.
 * Changes nothing; gives one entry a batch of rows.
 */
export async function* readBack(deps: Reader & { readonly ledger: Ledger }, runId: string): AsyncGenerator<ReadBack> {
  const { runs } = deps.ledger;
  const left = new Map<number, string[]>();
  for (const { line, quoteId } of await runs.formerQuotes(runId)) {
    left.set(line, [...(left.get(line) ?? []), quoteId]);
  }
  for await (const batch of runs.rows(runId)) {
    const asked = batch.flatMap((row) => {
      if (isRefused(row)) return [];
      const id = row.paymentId ?? row.quoteId;
      const own = id === null ? [] : [{ payout: row, id, isLeft: false }];
      const former = (left.get(row.line) ?? []).filter((quoteId) => quoteId !== id);
      return [...own, ...former.map((quoteId) => ({ payout: row, id: quoteId, isLeft: true }))];
    });
    for (let from = 0; from < asked.length; from += ASKED_TOGETHER) {
      const some = asked.slice(from, from + ASKED_TOGETHER);
      const found = await Promise.all(some.map((one) => compareOne(deps, one)));
      yield {
        asked: some.length,
        differences: found.flatMap((differences) => differences ?? []),
        unanswered: some.flatMap(({ payout: { line } }, index) => (found[index] === undefined ? [line] : [])),
      };
    }
  }
}

interface AskedPayment {
  readonly payout: Payout;
  readonly id: string;
  /** Of a quote that the payout left behind. */
  readonly isLeft: boolean;
}

/** Undefined when the answer says nothing. */
async function compareOne(
  deps: Reader,
  { payout, id, isLeft }: AskedPayment,
): Promise<readonly Difference[] | undefined> {
  await deps.clock.sleep((await deps.trackPace.take()) - deps.clock.monotonic());
  const shown = readShown(await answerFor(deps, id), deps.rules);
  if (shown === undefined) return undefined;
  const differs = (what: string, ledger: string | null, service: string | null): Difference => ({
    line: payout.line,
    reference: payout.row.reference,
    paymentId: id,
    what,
    ledger,
    service,
  });
  if (isLeft) {
    const isPaid = shown !== 'not-found' && isPayment(shown) && !hasFailed(shown);
    return isPaid ? [differs('payment of a quote that was left behind', null, shown.paymentState)] : [];
  }
  const outcome = outcomeOf(payout.state);
  const hasPayment = PAYMENT_STATES.includes(payout.state);
  if (shown === 'not-found') return hasPayment ? [differs('payment', outcome, null)] : [];
  const isMade = isPayment(shown) && !hasFailed(shown);
  if (!hasPayment) return isMade ? [differs('payment', outcome, shown.paymentState)] : [];
  return factsOf(payout, shown).flatMap(([what, ledger, service]) =>
    service === null || service === ledger ? [] : [differs(what, ledger, service)],
  );
}

async function answerFor({ service }: Reader, id: string): Promise<Answer | undefined> {
  try {
    return await service.readPayment(id);
  } catch (error) {
    if (error instanceof TokenRefused || error instanceof TokenUnavailable) return undefined;
    throw error;
  }
}

function readShown(
  answer: Answer | undefined,
  { notFoundCodes }: Reader['rules'],
): PaymentReply | 'not-found' | undefined {
  if (answer?.kind !== 'answered') return undefined;
  if (answer.status === 404) {
    const code = parseErrors(answer.json)[0]?.code ?? null;
    return code !== null && notFoundCodes.has(code) ? 'not-found' : undefined;
  }
  return answer.status === 200 ? parsePayment(answer.json) : undefined;
}

/** A quote that nobody paid may be shown under its id as well. */
function isPayment({ paymentState }: PaymentReply): boolean {
  return paymentState !== null && paymentState !== 'QUOTED';
}

type Fact = readonly [what: string, ledger: string | null, service: string | null];

function factsOf(payout: Payout, shown: PaymentReply): Fact[] {
  const { row } = payout;
  const isSource = row.amountType === 'SOURCE_AMOUNT';
  return [
    ['payment id', payout.paymentId, shown.paymentId],
    ['state', payout.paymentState, shown.paymentState],
    ['outcome', outcomeOf(payout.state), shown.paymentState === null ? null : outcomeAt(shown.paymentState)],
    ['reference', row.reference, shown.internalId],
    ['beneficiary', row.beneficiaryIdentityId, shown.beneficiaryIdentityId],
    ['source currency', row.sourceCurrency, shown.sourceCurrency],
    ['destination currency', row.destinationCurrency, shown.destinationCurrency],
    ['source amount', ...amounts(isSource ? row.amount : payout.sourceAmount, shown.sourceAmount)],
    ['destination amount', ...amounts(isSource ? payout.destinationAmount : row.amount, shown.destinationAmount)],
  ];
}

function outcomeAt(paymentState: string): Outcome {
  return outcomeOf(finalState(paymentState) ?? 'accepted');
}

/** Both in the currency's digits, where the service's has no more of them; an amount that the ledger never learned is not compared. */
function amounts(ours: Money | null, theirs: string | null): [ledger: string | null, service: string | null] {
  if (ours === null || theirs === null) return [null, null];
  const money = moneyOfDecimal(theirs, ours.currency);
  return [formatAmount(ours), money === undefined ? theirs : formatAmount(money)];
}
