import type { RunEvent } from '../../ledger/runs/runs.ts';
import type { Run } from '../../payout.ts';
import { Badge } from '../parts/badge.tsx';
import { shownCount } from '../parts/figures.ts';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { eventWords } from './run-status.ts';

const EVENTS_SHOWN_MAX = 100;

/** What people and payrun did to a run, the newest first. */
export function HistoryTable({ runId, events }: { runId: string; events: readonly RunEvent[] }) {
  if (events.length === 0) return <p class="empty">Nothing has happened to it yet.</p>;
  const shown = events.slice(-EVENTS_SHOWN_MAX).toReversed();
  return (
    <>
      <p>
        <a href={`/runs/${runId}/history.csv`}>History as CSV</a>
      </p>
      <Table
        caption={
          events.length > shown.length
            ? `The last ${shownCount(shown.length)} of ${shownCount(events.length)} events, the newest first`
            : 'Events, the newest first'
        }
        columns={['Time', 'Event', 'By', 'Reason']}
      >
        {shown.map(({ at, event, actor, reason }, index) => (
          <tr key={events.length - index}>
            <td>
              <Time at={at} />
            </td>
            <td>{eventWords(event)}</td>
            <td>{actor}</td>
            <td>{reason}</td>
          </tr>
        ))}
      </Table>
    </>
  );
}

/** The reports that were written, the newest first, with what their files must hash to. */
export function CopyTable({ run: { id, reportHashes }, signed }: { run: Run; signed: ReadonlySet<number> }) {
  if (reportHashes.length === 0) {
    return <p class="empty">No report has been written yet. A worker writes one when the run finishes.</p>;
  }
  const newest = reportHashes.at(-1)?.version ?? 0;
  const files = reportHashes
    .toReversed()
    .flatMap(({ version, csv, json }) => [
      { version, name: `v${version}.csv`, sha256: csv },
      { version, name: `v${version}.json`, sha256: json },
      ...(signed.has(version) ? [{ version, name: `v${version}.sig`, sha256: null }] : []),
    ]);
  return (
    <>
      <p>
        The newest that was written: <a href={`/runs/${id}/reports/v${newest}.csv`}>v{newest} as CSV</a>,{' '}
        <a href={`/runs/${id}/reports/v${newest}.json`}>as JSON</a>.
      </p>
      {reportHashes.slice(0, -1).map(({ version }) => (
        <p key={version}>
          v{version} is not the newest:{' '}
          <a href={`/runs/${id}/changes?since=${version}`}>
            what changed from v{version} to v{newest}
          </a>
        </p>
      ))}
      <details>
        <summary>All reports that were written, with their hashes</summary>
        <Table caption="Reports that were written, the newest first" columns={['File', 'SHA-256']}>
          {files.map(({ version, name, sha256 }) => (
            <tr key={name}>
              <th scope="row">
                <a href={`/runs/${id}/reports/${name}`}>
                  {id}.{name}
                </a>{' '}
                {version === newest ? null : <Badge tone="wait">v{newest} is newer</Badge>}
              </th>
              <td>{sha256 === null ? 'signature over the two files' : <code>{sha256}</code>}</td>
            </tr>
          ))}
        </Table>
        <p>
          <a href={`/runs/${id}/reports.csv`}>This list as CSV</a>
        </p>
      </details>
    </>
  );
}
