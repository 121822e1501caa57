import { rfc3339 } from '../../clock.ts';
import { REQUIRED_COLUMNS } from '../../intake/template/columns.ts';
import type { TableCell } from '../../report/table-csv.ts';
import type { ForeseenDocument } from '../../runs/hand-in/foreseen-document.ts';
import type { UploadCost } from './cost.ts';
import type { Review } from './review.ts';
import type { Upload } from './upload.ts';

type Rows = readonly (readonly TableCell[])[];

/** A payout file with one row, to begin with. */
export const EXAMPLE_ROWS: Rows = [
  REQUIRED_COLUMNS,
  ['INV-2026-001', '7d9f1c1e-5f0a-4c56-9f5e-2b1d3c4a5e6f', { exact: '12.50' }, 'USD', 'MXN'],
];

/** The uploads that wait. */
export function uploadRows(uploads: readonly Upload[]): Rows {
  return [
    ['upload', 'file', 'state', 'run', 'uploadedAt', 'uploadedBy', 'bytes'],
    ...uploads.map(({ id, name, state, runId, createdAt, person, bytes }) => [
      { exact: id },
      name,
      state,
      runId,
      { exact: rfc3339(createdAt) },
      person,
      bytes,
    ]),
  ];
}

/** Totals per currency, as the review shows them. */
export function totalRows({ totals, validTotals, rows, valid }: Review): Rows {
  const validOf = new Map(validTotals.map(({ currency, amount }) => [currency, amount]));
  return [
    ['currency', 'inFile', 'validRows'],
    ['rows', rows, valid],
    ...totals.map(({ currency, amount }) => [currency, exact(amount), exact(validOf.get(currency))]),
  ];
}

/** Rows that would not be paid, as far as they are named. */
export function stoppedRows(foreseen: Pick<ForeseenDocument, 'stopped'> | undefined): Rows {
  return [
    ['line', 'reference', 'beneficiaryIdentityId', 'amount', 'currency', 'wouldBe', 'code', 'reason', 'other'],
    ...(foreseen?.stopped ?? []).flatMap(({ code, becomes, reason, named }) =>
      named.map(({ line, reference, beneficiaryIdentityId, amount, currency, other }) => [
        line,
        reference,
        { exact: beneficiaryIdentityId },
        { exact: amount },
        currency,
        becomes,
        code,
        reason,
        other,
      ]),
    ),
  ];
}

/** The tables of what paying would cost; `cost` is undefined before somebody asked. */
export const COST_TABLES = { funds: fundRows, corridors: corridorRows, unquoted: unquotedRows } as const;

type Part<Name extends keyof UploadCost> = Pick<UploadCost, Name> | undefined;

function fundRows(cost: Part<'funds' | 'arriving'>): Rows {
  return [
    ['currency', 'sourceAmount', 'fees', 'needed', 'isEstimate', 'arrives', 'arrivesIsEstimate'],
    ...currenciesOf(cost).map(({ currency, needs, arrives }) => [
      currency,
      exact(needs?.amount),
      exact(needs?.fees),
      exact(needs?.needed),
      yesOrNo(needs?.estimate),
      exact(arrives?.amount),
      yesOrNo(arrives?.estimate),
    ]),
  ];
}

/** Each currency of what is needed and of what arrives. */
export function currenciesOf(cost: Part<'funds' | 'arriving'>) {
  const arriving = new Map(cost?.arriving.map((one) => [one.currency, one]));
  const funds = new Map(cost?.funds.map((one) => [one.currency, one]));
  const currencies = [...new Set([...funds.keys(), ...arriving.keys()])].toSorted();
  return currencies.map((currency) => ({ currency, needs: funds.get(currency), arrives: arriving.get(currency) }));
}

function corridorRows(cost: Part<'corridors'>): Rows {
  return [
    [
      'corridor',
      'rows',
      'sourceAmount',
      'sourceCurrency',
      'fees',
      'arrives',
      'destinationCurrency',
      'lowestRate',
      'highestRate',
      'isEstimate',
    ],
    ...(cost?.corridors ?? []).map((one) => [
      one.corridor,
      one.rows,
      exact(one.sourceAmount),
      one.sourceCurrency,
      one.fees?.map(({ amount, currency }) => `${amount} ${currency}`).join('; ') ?? null,
      exact(one.destinationAmount),
      one.destinationCurrency,
      exact(one.rates?.lowest),
      exact(one.rates?.highest),
      yesOrNo(one.estimate),
    ]),
  ];
}

function unquotedRows(cost: Part<'unquotedRows'>): Rows {
  const rows = cost?.unquotedRows ?? [];
  return [
    ['line', 'reference', 'wouldBe', 'code', 'reason'],
    ...rows.map(({ line, reference, outcome, code, reason }) => [line, reference, outcome, code, reason]),
  ];
}

function exact(amount: string | null | undefined): TableCell {
  return amount === null || amount === undefined ? null : { exact: amount };
}

function yesOrNo(holds: boolean | undefined): TableCell {
  return holds === undefined ? null : holds ? 'yes' : 'no';
}
