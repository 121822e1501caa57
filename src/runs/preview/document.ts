import { problemsDocument } from '../../intake/problems/document.ts';
import { formatAmount, type Money } from '../../money.ts';
import { neededDocument } from '../../report/document.ts';
import type { AmountText } from '../../report/row.ts';
import { costText } from './cost-basis.ts';
import type { Preview } from './preview.ts';
import type { UnquotedRow } from './quotes.ts';
import type { CorridorPreview } from './sums.ts';

const LISTED_MAX = 1000;

/**
 * A preview as `preview --json` prints it and pages show it: the document of `validate` for the file, and what the quotes
 * say. Money is a decimal with the currency's digits, or null where no quote shows it; `costBasis` has `debited arrives` in
 * minor units for each corridor.
 */
export function previewDocument(preview: Preview, service: { name: string; sandbox: boolean }): object {
  const { checked, quoting, corridors, funds, arriving, time } = preview;
  return {
    ...problemsDocument(checked),
    sha256: checked.sha256,
    service: service.name,
    sandbox: service.sandbox,
    quotes: {
      sample: preview.sample,
      asked: quoting.quoted.length + quoting.unquoted.length + quoting.unasked,
      usable: quoting.quoted.length,
      unquoted: quoting.unquoted.length,
      unasked: quoting.unasked,
      ended: quoting.ended,
    },
    funds: funds.map(neededDocument),
    arriving: arriving.map(({ currency, amount, isEstimate }) => ({
      currency,
      amount: formatAmount({ minor: amount, currency }),
      estimate: isEstimate,
    })),
    rowsUnpriced: preview.rowsUnpriced,
    corridors: corridors.map(corridorDocument),
    unquotedRows: quoting.unquoted.slice(0, LISTED_MAX).map(unquotedDocument),
    time: time && { ...time, quoteMs: time.quoteMs === null ? null : Math.round(time.quoteMs) },
    costBasis: Object.fromEntries(
      Array.from(preview.costBasis, ([key, { mean, worst }]) => [
        key,
        { mean: costText(mean), worst: costText(worst) },
      ]),
    ),
  };
}

function corridorDocument(corridor: CorridorPreview): object {
  return {
    corridor: corridor.key,
    sourceCurrency: corridor.sourceCurrency,
    destinationCurrency: corridor.destinationCurrency,
    amountType: corridor.amountType,
    thirdParty: corridor.isThirdParty,
    rows: corridor.rows,
    amount: formatAmount(corridor.amount),
    quoted: corridor.quoted,
    unquoted: corridor.unquoted,
    payable: corridor.payable,
    estimate: corridor.isEstimate,
    sourceAmount: corridor.source && formatAmount(corridor.source),
    destinationAmount: corridor.destination && formatAmount(corridor.destination),
    fees: corridor.fees?.map(amountText) ?? null,
    rates: corridor.rates,
  };
}

function amountText(money: Money): AmountText {
  return { amount: formatAmount(money), currency: money.currency };
}

function unquotedDocument({ row, outcome, code, reason }: UnquotedRow): object {
  const { line, reference, amount } = row;
  return { line, reference, amount: formatAmount(amount), currency: amount.currency, outcome, code, reason };
}
