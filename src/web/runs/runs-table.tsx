import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import type { Run } from '../../payout.ts';
import { fileTotals, outcomeCounts } from '../../report/totals.ts';
import type { RunColumn } from '../../runs/search/run-search.ts';
import { Badge } from '../parts/badge.tsx';
import { counted, shownCount } from '../parts/figures.ts';
import { Amount } from '../parts/money.tsx';
import { Bar } from '../parts/outcome-bar.tsx';
import { Line, type SortLinks, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { reconciledWords, runStatus } from '../run/run-status.ts';

/** More currencies are counted. */
const CURRENCIES_MAX = { long: 2, short: 1 };

interface RunsTableProps {
  readonly caption: string;
  readonly runs: readonly Run[];
  /** Beside something else: without what is paid of the money. */
  readonly isShort?: boolean;
  /** Where it can be sorted. */
  readonly by?: SortLinks<RunColumn>;
}

/** Runs, each known by its file, with what became of its rows. */
export function RunsTable({ caption, runs, isShort = false, by = () => undefined }: RunsTableProps) {
  return (
    <Table
      caption={caption}
      columns={[
        { text: 'File', sorts: by('file') },
        'Status',
        { text: 'Rows', sorts: by('rows', 'down') },
        { number: 'In the file', sorts: by('amount', 'down') },
        { text: 'Handed in', sorts: by('handedIn', 'down') },
      ]}
      class="runs"
    >
      {runs.map((run) => (
        <RunLine key={run.id} run={run} isShort={isShort} />
      ))}
    </Table>
  );
}

function RunLine({ run, isShort }: { run: Run; isShort: boolean }) {
  const { tone, words } = runStatus(run);
  return (
    <Line>
      <th scope="row" class="run-file">
        <a href={`/runs/${run.id}`}>{escapeUnseen(run.fileName)}</a>
        <div class="small text-nowrap">{run.id}</div>
      </th>
      <td>
        <Badge tone={tone}>{words}</Badge>
        {run.reconciled === null ? null : <div class="small">{reconciledWords(run.reconciled)}</div>}
      </td>
      <td class="run-progress">
        <Bar outcomes={outcomeCounts((state) => run.counts[state])} />
        <span class="small">{rowWords(run)}</span>
      </td>
      <td class="number">
        <FileMoney run={run} isShort={isShort} />
      </td>
      <td>
        <Time at={run.createdAt} />
        <div class="small">by {run.createdBy}</div>
      </td>
    </Line>
  );
}

function rowWords({ state, counts, rows }: Run): string {
  return state === 'recording' || state === 'awaiting-approval'
    ? counted(rows, 'row')
    : `${shownCount(counts.completed)} of ${shownCount(rows)} paid`;
}

function FileMoney({ run, isShort }: { run: Run; isShort: boolean }) {
  const totals = fileTotals(run.fileTotals, run.amounts);
  const shown = totals.slice(0, isShort ? CURRENCIES_MAX.short : CURRENCIES_MAX.long);
  const others = totals.length - shown.length;
  return (
    <>
      {shown.map(({ currency, file, outcomes: { paid, pending } }) => (
        <div key={currency}>
          <Amount money={{ minor: file, currency }} />
          {isShort ? null : (
            <div class="small">
              <Amount money={{ minor: paid + pending, currency }} /> paid or on the way
            </div>
          )}
        </div>
      ))}
      {others > 0 ? <div class="small">{`and ${others} more ${others === 1 ? 'currency' : 'currencies'}`}</div> : null}
    </>
  );
}
