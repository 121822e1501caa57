import type { RunEvent } from '../../ledger/runs.ts';
import type { Run } from '../../payout.ts';
import { Time } from '../parts/time.tsx';

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
      <div class="scroll">
        <table>
          <caption>
            {events.length > shown.length
              ? `The last ${shown.length} of ${events.length} events, the newest first`
              : 'Events, the newest first'}
          </caption>
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col">Event</th>
              <th scope="col">By</th>
              <th scope="col">Reason</th>
            </tr>
          </thead>
          <tbody>
            {shown.map(({ at, event, actor, reason }, index) => (
              <tr key={events.length - index}>
                <td>
                  <Time at={at} />
                </td>
                <td>{event}</td>
                <td>{actor}</td>
                <td>{reason}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

/** The reports that were written, the newest first, with what their files must hash to. */
export function CopyTable({ run: { id, reportHashes } }: { run: Run }) {
  if (reportHashes.length === 0) {
    return <p class="empty">No report has been written yet. A worker writes one when the run finishes.</p>;
  }
  const files = reportHashes.toReversed().flatMap(({ version, csv, json }) => [
    { name: `v${version}.csv`, sha256: csv },
    { name: `v${version}.json`, sha256: json },
  ]);
  return (
    <div class="scroll">
      <table>
        <caption>Reports that were written, the newest first</caption>
        <thead>
          <tr>
            <th scope="col">File</th>
            <th scope="col">SHA-256</th>
          </tr>
        </thead>
        <tbody>
          {files.map(({ name, sha256 }) => (
            <tr key={name}>
              <th scope="row">
                <a href={`/runs/${id}/reports/${name}`}>
                  {id}.{name}
                </a>
              </th>
              <td>
                <code>{sha256}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
