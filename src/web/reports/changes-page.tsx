import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import type { Run } from '../../payout.ts';
import type { Change } from '../../report/changes.ts';
import { shownCount } from '../parts/figures.ts';
import { Table } from '../parts/table.tsx';

/** More changes than a page shows are in the CSV. */
export const CHANGES_SHOWN_MAX = 500;

interface ChangesProps {
  readonly run: Pick<Run, 'id'>;
  readonly since: number;
  /** The newest. */
  readonly version: number;
  /** One more than is shown, where there are more. */
  readonly changes: readonly Change[];
}

/** Each cell in which the newest report of a run differs from an earlier one. */
export function ChangesPage({ run: { id }, since, version, changes }: ChangesProps) {
  const shown = changes.slice(0, CHANGES_SHOWN_MAX);
  const caption =
    changes.length > shown.length
      ? `The first ${shownCount(shown.length)} cells that changed; the CSV has all of them`
      : 'Cells that changed, in file order';
  return (
    <>
      <p>
        <a href={`/runs/${id}`}>Run {id}</a>.{' '}
        {since < version ? `v${version} is newer than v${since}.` : `v${version} is the newest report.`}{' '}
        <a href={`/runs/${id}/changes.csv?since=${since}`}>Changes as CSV</a>
      </p>
      {shown.length === 0 ? (
        <p class="empty">Nothing changed.</p>
      ) : (
        <Table caption={caption} columns={[{ number: 'Line' }, 'Reference', 'Column', 'From', 'To']}>
          {shown.map(({ line, reference, column, from, to }) => (
            <tr key={`${line} ${column}`}>
              <td class="number">
                <a href={`/runs/${id}/payouts/${line}`}>{line}</a>
              </td>
              <td>{escapeUnseen(reference ?? '')}</td>
              <td>{column}</td>
              <td>{cellWords(from)}</td>
              <td>{cellWords(to)}</td>
            </tr>
          ))}
        </Table>
      )}
    </>
  );
}

function cellWords(cell: string | null) {
  return cell === null ? <i>none</i> : escapeUnseen(cell);
}
