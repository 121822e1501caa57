import { formatAmount } from '../../money.ts';
import { OUTCOMES, type Run } from '../../payout.ts';
import type { TableCell } from '../../report/table-csv.ts';
import { fileTotals, outcomeCounts, sumOutcomes } from '../../report/totals.ts';
import { rowsCounted } from '../../runs/progress.ts';
import type { Seen } from '../approval/approval-facts.ts';

type Rows = readonly (readonly TableCell[])[];

/** Money and rows per outcome, as the page of a run shows them. */
export function outcomeRows(run: Run): Rows {
  const counts = outcomeCounts((state) => run.counts[state]);
  return [
    ['currency', 'inFile', ...OUTCOMES],
    ['rows', run.rows, ...OUTCOMES.map((outcome) => counts[outcome])],
    ...fileTotals(run.fileTotals, run.amounts).map(({ currency, file, outcomes }) => [
      currency,
      exact(file, currency),
      ...OUTCOMES.map((outcome) => exact(outcomes[outcome], currency)),
    ]),
  ];
}

/** The file against the ledger. */
export function tieRows(run: Run): Rows {
  const counted = rowsCounted(run);
  return [
    ['currency', 'inFile', 'computed', 'ties'],
    ['rows', run.rows, counted, yesOrNo(counted === run.rows)],
    ...fileTotals(run.fileTotals, run.amounts).map(({ currency, file, outcomes }) => {
      const computed = sumOutcomes(outcomes);
      return [currency, exact(file, currency), exact(computed, currency), yesOrNo(computed === file)];
    }),
  ];
}

/** The reports that were written, the newest first. */
export function reportRows({ id, reportHashes }: Run, signed: ReadonlySet<number>): Rows {
  const files = reportHashes
    .toReversed()
    .flatMap(({ version, csv, json }) => [
      [`${id}.v${version}.csv`, csv],
      [`${id}.v${version}.json`, json],
      ...(signed.has(version) ? [[`${id}.v${version}.sig`, null]] : []),
    ]);
  return [['file', 'sha256'], ...files];
}

/** Money in the file, as who approves sees it. */
export function fileRows({ fileTotals: totals, amounts }: Run): Rows {
  return [
    ['currency', 'total', 'refused'],
    ...totals.map(({ currency, minor }) => [
      currency,
      exact(minor, currency),
      exact(amounts.get(currency)?.refused ?? 0n, currency),
    ]),
  ];
}

/** Who gets most. */
export function beneficiaryRows({
  beneficiaries,
  names,
  neverPaid,
}: Pick<Seen, 'names' | 'neverPaid'> & { beneficiaries: Pick<Seen['beneficiaries'], 'top'> }): Rows {
  return [
    ['name', 'beneficiaryIdentityId', 'payouts', 'amount', 'currency', 'neverPaidBefore'],
    ...beneficiaries.top.map(({ identityId, rows, amount }) => [
      names.get(identityId) ?? null,
      identityId,
      rows,
      exact(amount.minor, amount.currency),
      amount.currency,
      yesOrNo(neverPaid.has(identityId)),
    ]),
  ];
}

function exact(minor: bigint, currency: string): TableCell {
  return { exact: formatAmount({ minor, currency }) };
}

function yesOrNo(holds: boolean): string {
  return holds ? 'yes' : 'no';
}
