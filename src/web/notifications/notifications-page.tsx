import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import type { EndpointDocument } from '../../notify/document.ts';
import type { Sent } from '../../notify/retry.ts';
import { Confirm } from '../parts/confirm.tsx';
import { shownCount } from '../parts/figures.ts';
import { Form } from '../parts/form.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';

/** Of those that were given up, so many of each endpoint are shown; the others are in the CSV. */
const LETTERS_SHOWN_MAX = 20;

interface NotificationsProps {
  readonly endpoints: readonly EndpointDocument[];
  readonly mayRetry: boolean;
  /** How many were put back, for whoever just did that. */
  readonly back: number | null;
  /** What came of trying an endpoint, for whoever just did that. */
  readonly tried: { readonly endpoint: string; readonly sent: Sent } | null;
}

/** Who is notified, what waits for them, and what was given up. */
export function NotificationsPage({ endpoints, mayRetry, back, tried }: NotificationsProps) {
  const given = endpoints.reduce((sum, { deadLetters }) => sum + deadLetters.length, 0);
  return (
    <>
      {back === null ? null : (
        <p class="proposal">
          <output>
            {shownCount(back)} {back === 1 ? 'was' : 'were'} put back; a worker delivers what waits.
          </output>
        </p>
      )}
      {tried === null ? null : (
        <p class={tried.sent.delivered ? 'proposal' : 'problem'}>
          <output>
            {escapeUnseen(tried.endpoint)}{' '}
            {tried.sent.delivered ? 'took the test.' : `did not take the test: ${escapeUnseen(tried.sent.reason)}.`}
          </output>
        </p>
      )}
      {endpoints.length === 0 ? (
        <p class="empty">
          Nobody is notified yet. Endpoints are set under <code>webhooks</code> and <code>mail</code> of{' '}
          <code>PAYRUN_CONFIG</code>.
        </p>
      ) : (
        <EndpointTable endpoints={endpoints} mayTry={mayRetry} />
      )}
      {given === 0 ? null : <GivenUp endpoints={endpoints} given={given} mayRetry={mayRetry} />}
      <p>
        <a href="/notifications.csv">All of them as CSV</a> · <a href="/settings">To the settings</a>
      </p>
    </>
  );
}

const ENDPOINT_COLUMNS = [
  'Endpoint',
  'Configured',
  { number: 'Waiting' },
  'Next try',
  'Last failure',
  { number: 'Given up' },
];

function EndpointTable({ endpoints, mayTry }: Pick<NotificationsProps, 'endpoints'> & { mayTry: boolean }) {
  return (
    <Table
      caption="Endpoints, and what waits for each"
      columns={mayTry ? [...ENDPOINT_COLUMNS, 'Try it'] : ENDPOINT_COLUMNS}
    >
      {endpoints.map(({ name, configured, waiting, nextTryAt, lastFailure, deadLetters, deadLettersDropped }) => (
        <tr key={name}>
          <th scope="row">{escapeUnseen(name)}</th>
          <td>{configured ? 'yes' : 'not here'}</td>
          <td class="number">{shownCount(waiting)}</td>
          <td>{nextTryAt === null ? 'none' : <Time at={Date.parse(nextTryAt)} />}</td>
          <td>{escapeUnseen(lastFailure ?? 'none')}</td>
          <td class="number">
            {shownCount(deadLetters.length)}
            {deadLettersDropped === 0 ? null : ` and ${shownCount(deadLettersDropped)} that were not kept`}
          </td>
          {mayTry ? <td>{configured ? <TryIt name={name} /> : null}</td> : null}
        </tr>
      ))}
    </Table>
  );
}

function TryIt({ name }: { name: string }) {
  return (
    <Form action="/notifications/test" name={`try ${name}`}>
      <input type="hidden" name="endpoint" value={name} />
      <button type="submit" class="btn" aria-label={`Try it: send ${name} a test`}>
        Try it
      </button>
    </Form>
  );
}

const LETTER_COLUMNS = ['Endpoint', 'Event', 'Run', 'Happened', 'Given up', 'Reason'];

function GivenUp({
  endpoints,
  given,
  mayRetry,
}: Pick<NotificationsProps, 'endpoints' | 'mayRetry'> & { readonly given: number }) {
  const shown = endpoints.reduce((sum, { deadLetters }) => sum + Math.min(LETTERS_SHOWN_MAX, deadLetters.length), 0);
  return (
    <section>
      <h2>Given up</h2>
      <p>
        What could not be delivered for three days, or had no room, is given up.{' '}
        {mayRetry ? '' : 'An admin puts it back.'} {shown < given ? `The newest are shown, ${shown} of ${given}.` : ''}
      </p>
      <Table
        caption="Notifications that were given up, by endpoint"
        columns={mayRetry ? [...LETTER_COLUMNS, 'Put back'] : LETTER_COLUMNS}
      >
        {endpoints.flatMap((endpoint) => letterRows(endpoint, mayRetry))}
      </Table>
      {mayRetry ? (
        <Confirm
          action="/notifications/retry"
          words="Put all back"
          question={`All ${shownCount(given)} wait again and are tried at once. ${TWICE}`}
        />
      ) : null}
    </section>
  );
}

const TWICE = 'Whoever got one of them although it counted as failed gets it a second time, with the same id.';

function letterRows({ name, deadLetters }: EndpointDocument, mayRetry: boolean) {
  return deadLetters.slice(-LETTERS_SHOWN_MAX).map(({ id, event, runId, at, givenUpAt, reason }) => (
    <tr key={`${name} ${id}`}>
      <th scope="row">{escapeUnseen(name)}</th>
      <td>{escapeUnseen(event)}</td>
      <td>{runId === null ? 'none' : <a href={`/runs/${encodeURIComponent(runId)}`}>{runId}</a>}</td>
      <td>
        <Time at={Date.parse(at)} />
      </td>
      <td>
        <Time at={Date.parse(givenUpAt)} />
      </td>
      <td>{escapeUnseen(reason)}</td>
      {mayRetry ? (
        <td>
          <PutBack id={id} whom={`${event} of ${at} for ${name}`} />
        </td>
      ) : null}
    </tr>
  ));
}

function PutBack({ id, whom }: { id: string; whom: string }) {
  const question = `It waits again and is tried at once. ${TWICE}`;
  return (
    <Confirm action="/notifications/retry" name={`put back ${id}`} words="Put back" whom={whom} question={question}>
      <input type="hidden" name="id" value={id} />
    </Confirm>
  );
}
