import { ANSWER_ENDINGS } from '../../inbox/names.ts';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import { wordsForPages } from '../page-words.ts';
import { shownCount } from '../parts/figures.ts';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { type FolderLook, type InboxFiles, SHOWN_MAX } from './look.ts';
import type { ShownInbox } from './read-inboxes.ts';

/** What lies in the inboxes that somebody reads, and what became of it. */
export function InboxPage({ inboxes }: { inboxes: readonly ShownInbox[] }) {
  if (inboxes.length === 0) {
    return (
      <p class="empty">
        Nobody reads an inbox yet. <a href="/schedules">Set a schedule</a> that does, or start{' '}
        <code>payrun serve --inbox DIR</code>.
      </p>
    );
  }
  return (
    <>
      {inboxes.map((inbox) => (
        <OneInbox key={inbox.address} inbox={inbox} />
      ))}
      <p>
        <a href="/inbox.csv">The files as CSV</a>
      </p>
    </>
  );
}

function OneInbox({ inbox: { address, readBy, folder, trouble } }: { inbox: ShownInbox }) {
  return (
    <section class="inbox">
      <h2>
        <code>{escapeUnseen(address)}</code>
      </h2>
      <p>Read by {readBy.join(', ')}.</p>
      {trouble === null ? null : (
        <p class="problem" role="alert">
          Since <Time at={trouble.since} />: {escapeUnseen(wordsForPages(trouble.text))}
        </p>
      )}
      {typeof folder === 'string' ? <p class="hint">{folder}</p> : <Folder folder={folder} />}
    </section>
  );
}

function Folder({ folder }: { folder: FolderLook }) {
  return (
    <>
      {folder.isCut ? <p class="hint">There are more files than one look reads; some are missing here.</p> : null}
      <Files title="Waiting to be taken" empty="Nothing waits in in/." files={folder.waiting} when="Written" />
      <Files
        title="Taken, and not reported to the end"
        empty="Nothing that was taken is open."
        files={folder.claimed}
        when="Taken"
      />
      <Files title="Refused lately" empty="Nothing was refused." files={folder.refused} when="Refused" />
      {folder.refused.count === 0 ? null : (
        <p class="hint">
          What is wrong with a file says <code>reports/NAME{ANSWER_ENDINGS.nack}</code>.
        </p>
      )}
      <Files title="Accepted lately" empty="Nothing was accepted." files={folder.accepted} when="Accepted" />
    </>
  );
}

function Files({ title, empty, files, when }: { title: string; empty: string; files: InboxFiles; when: string }) {
  const { shown, count } = files;
  if (count === 0) return <p>{empty}</p>;
  return (
    <Table
      caption={`${title}: ${shownCount(count)}${count > SHOWN_MAX ? `, of which ${SHOWN_MAX} are shown` : ''}`}
      columns={['File', when, 'Run']}
    >
      {shown.map(({ name, at, runId }) => (
        <tr key={name}>
          <th scope="row">{escapeUnseen(name)}</th>
          <td>
            <Time at={at} />
          </td>
          <td>{runId === null ? 'none' : <a href={`/runs/${runId}`}>{runId}</a>}</td>
        </tr>
      ))}
    </Table>
  );
}
