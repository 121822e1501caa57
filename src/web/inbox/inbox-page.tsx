import { isAddress } from '../../config/inbox.ts';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import { shownCount } from '../parts/figures.ts';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { ProblemTable } from '../uploads/problem-table.tsx';
import { type FolderLook, type InboxFiles, type Refused } from './look.ts';
import type { ShownInbox } from './read-inboxes.ts';

/** What lies in the inboxes that somebody reads, and what became of it. */
export function InboxPage({ inboxes }: { inboxes: readonly ShownInbox[] }) {
  if (inboxes.length === 0) {
    return (
      <p class="empty">
        Nobody reads an inbox yet. <a href="/schedules">Set a schedule</a> that does, or have the web app started with{' '}
        <code>--inbox DIR</code>.
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
          Since <Time at={trouble.since} />: {escapeUnseen(trouble.text)}
        </p>
      )}
      {typeof folder === 'string' ? (
        <p class="hint">
          {folder}{' '}
          {isAddress(address) ? (
            <a href={`/inbox/server?${new URLSearchParams({ inbox: address })}`}>Look at what was refused there</a>
          ) : null}
        </p>
      ) : (
        <Folder address={address} folder={folder} />
      )}
    </section>
  );
}

function Folder({ address, folder }: { address: string; folder: FolderLook }) {
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
      <Files
        title="Refused lately"
        empty="Nothing was refused."
        files={folder.refused}
        when="Refused"
        hrefOf={(file) => hrefOfRefused(address, file)}
      />
      <Files title="Accepted lately" empty="Nothing was accepted." files={folder.accepted} when="Accepted" />
    </>
  );
}

interface FilesProps {
  readonly title: string;
  readonly empty: string;
  readonly files: InboxFiles;
  readonly when: string;
  /** Where it is told what is wrong with a file. */
  readonly hrefOf?: (file: string) => string;
}

const FILES_SHOWN = 10;

function Files({ title, empty, files, when, hrefOf }: FilesProps) {
  const { shown, count } = files;
  if (count === 0) return <p>{empty}</p>;
  return (
    <Table
      caption={`${title}: ${shownCount(count)}${count > FILES_SHOWN ? `, of which ${FILES_SHOWN} are shown` : ''}`}
      columns={['File', when, 'Run']}
    >
      {shown.slice(0, FILES_SHOWN).map(({ name, at, runId }) => (
        <tr key={name}>
          <th scope="row">
            {hrefOf === undefined ? escapeUnseen(name) : <a href={hrefOf(name)}>{escapeUnseen(name)}</a>}
          </th>
          <td>
            <Time at={at} />
          </td>
          <td>{runId === null ? 'none' : <a href={`/runs/${runId}`}>{runId}</a>}</td>
        </tr>
      ))}
    </Table>
  );
}

const NAMES_SHOWN = 100;

/** Files of an inbox on a server that were refused, each with a link to what is wrong with it. */
export function RefusedListPage({ inbox, files }: { inbox: string; files: readonly string[] }) {
  return (
    <>
      <p>
        From the inbox <code>{escapeUnseen(inbox)}</code>, as its server lists them now.
      </p>
      {files.length === 0 ? (
        <p class="empty">Nothing was refused.</p>
      ) : (
        <ul>
          {files.slice(0, NAMES_SHOWN).map((file) => (
            <li key={file}>
              <a href={hrefOfRefused(inbox, file)}>{escapeUnseen(file)}</a>
            </li>
          ))}
        </ul>
      )}
      {files.length > NAMES_SHOWN ? <p>and {shownCount(files.length - NAMES_SHOWN)} more</p> : null}
      <p>
        <a href="/inbox">Back to the inbox</a>
      </p>
    </>
  );
}

function hrefOfRefused(inbox: string, file: string): string {
  return `/inbox/refused?${new URLSearchParams({ inbox, file })}`;
}

const PROBLEMS_SHOWN_MAX = 25;

/** What is wrong with a refused file, and how to mend it. */
export function RefusedPage({ refused, inbox }: { refused: Refused; inbox: string }) {
  const { problems, problemsTotal } = refused;
  const shown = problems.slice(0, PROBLEMS_SHOWN_MAX);
  return (
    <>
      <p>
        From the inbox <code>{escapeUnseen(inbox)}</code>. Nothing of the file is paid: correct it, and drop it again.
      </p>
      <ProblemTable
        caption={
          shown.length < problemsTotal
            ? `The first ${shownCount(shown.length)} of ${shownCount(problemsTotal)} problems`
            : 'What is wrong with it'
        }
        problems={shown}
      />
      <p>
        <a href="/inbox">Back to the inbox</a>
      </p>
    </>
  );
}
