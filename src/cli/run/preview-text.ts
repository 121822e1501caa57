import { durationText } from '../../duration.ts';
import { addMoney, formatAmount, type Money } from '../../money.ts';
import { balanceLines, neededDocument } from '../../report/document.ts';
import type { Preview } from '../../runs/preview/preview.ts';
import type { CorridorPreview } from '../../runs/preview/sums.ts';
import { columns } from '../columns.ts';
import { fileTotals } from './file-totals.ts';
import { describeProblems } from './problem-text.ts';

const LISTED_MAX = 20;

/** A preview for a terminal; estimates begin with `~`. */
export function previewText(preview: Preview, service: { name: string; sandbox: boolean }): string {
  const { checked, corridors } = preview;
  const parts = [
    columns([
      ['file', checked.name],
      ['rows', `${checked.rows}, ${checked.valid} of them valid`],
      ['service', service.sandbox ? 'sandbox: simulated rates and fees, no money moves' : service.name],
      ['quotes', quotesText(preview)],
      ['time', timeText(preview)],
    ]),
    fileTotals(checked),
    corridors.length === 0 ? '' : moneyTable(preview),
    balanceLines(preview.funds.map(neededDocument)).join('\n'),
    corridors.length === 0 ? '' : corridorTable(corridors),
    unquotedText(preview),
    describeProblems(checked),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function quotesText({ checked, sample, quoting, corridors, rowsUnpriced }: Preview): string {
  const { quoted, unquoted, unasked, ended } = quoting;
  const asked = quoted.length + unquoted.length + unasked;
  if (asked === 0) {
    return `none was asked for: the file ${checked.valid === 0 ? 'has no row that could be paid' : 'was not read to its end'}`;
  }
  const isEstimate = corridors.some((corridor) => corridor.isEstimate);
  return [
    sample === 'all'
      ? `one for each valid row (${asked})`
      : `a sample of ${asked}: ${sample} rows of each corridor, evenly over the file, with its smallest and its largest`,
    ...(isEstimate ? ['what is marked ~ is estimated from them'] : []),
    ...(unasked === 0
      ? []
      : [`${unasked} of them were not asked for or not answered: ${ended?.reason ?? 'no time was left'}`]),
    ...(rowsUnpriced === 0 ? [] : [`${rowsUnpriced} rows are in no figure, for no quote shows what they come to`]),
  ].join('; ');
}

function timeText({ time }: Preview): string {
  if (time === null) return 'not known';
  const { ms, basis, ratePerSecond, quoteMs, concurrency } = time;
  const why =
    basis === 'rate'
      ? `by PAYRUN_RATE, ${ratePerSecond} payments a second`
      : `by the service: a quote took ${Math.ceil(quoteMs ?? 0)} ms and a payment is taken to take as long, ` +
        `with ${concurrency} requests at a time (PAYRUN_CONCURRENCY) in one process`;
  return `about ${durationText(ms)} ${why}`;
}

function moneyTable({ funds, arriving, corridors }: Preview): string {
  const arrives = new Map(arriving.map((entry) => [entry.currency, entry]));
  const needs = new Map(funds.map((entry) => [entry.currency, entry]));
  const currencies = [...new Set([...needs.keys(), ...arrives.keys()])].toSorted();
  return columns(
    [
      ['', 'source amounts', 'fees and taxes', 'funds needed', 'arrives'],
      ...currencies.map((currency) => {
        const need = needs.get(currency);
        const arrival = arrives.get(currency);
        const needed = need && { ...need, minor: need.amount + need.fees };
        return [
          currency,
          figure(need && { ...need, minor: need.amount }),
          figure(need && { ...exactFees(corridors, currency), isEstimate: need.isEstimate }),
          figure(needed),
          figure(arrival && { ...arrival, minor: arrival.amount }),
        ];
      }),
    ],
    { rightFrom: 1 },
  );
}

/** As the quotes have them, where the funds needed are whole minor units. */
function exactFees(corridors: readonly CorridorPreview[], currency: string): Money {
  return corridors
    .flatMap(({ fees }) => fees ?? [])
    .filter((fee) => fee.currency === currency)
    .reduce(addMoney, { minor: 0n, currency });
}

function figure(money: (Money & { isEstimate: boolean }) | undefined): string {
  if (money === undefined) return '-';
  return `${money.isEstimate ? '~' : ''}${formatAmount(money)}`;
}

function corridorTable(corridors: readonly CorridorPreview[]): string {
  return columns(
    [
      ['corridor', 'rows', 'source amounts', 'fees and taxes', 'arrives', 'rates', 'quotes'],
      ...corridors.map((corridor) => {
        const { source, destination, fees, isEstimate } = corridor;
        const shown = (money: Money | null): string =>
          money === null ? '-' : `${figure({ ...money, isEstimate })} ${money.currency}`;
        return [
          corridor.key,
          String(corridor.rows),
          shown(source),
          fees === null ? '-' : fees.map(shown).join(' + '),
          shown(destination),
          ratesText(corridor),
          String(corridor.quoted),
        ];
      }),
    ],
    { rightFrom: 1 },
  );
}

function ratesText({ rates }: CorridorPreview): string {
  if (rates === null) return '-';
  return rates.lowest === rates.highest ? rates.lowest : `${rates.lowest} to ${rates.highest}`;
}

function unquotedText({ sample, quoting: { unquoted, quoted } }: Preview): string {
  if (unquoted.length === 0) return '';
  const lines = unquoted
    .slice(0, LISTED_MAX)
    .map(({ row, outcome, code, reason }) => [`line ${row.line}`, row.reference, outcome, code, reason]);
  const left = unquoted.length - lines.length;
  return [
    `${unquoted.length} of ${unquoted.length + quoted.length} quotes could not be had. Rows that would be held or rejected are in no figure${sample === 'all' ? '.' : '; rows like them that were not asked for still are.'}`,
    columns(lines),
    ...(left === 0 ? [] : [`and ${left} more`]),
  ].join('\n');
}
