import type { OwnSession } from '../../people/sessions.ts';
import { Confirm } from '../parts/confirm.tsx';
import { Form } from '../parts/form.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';

/** Where somebody is signed in, the session used last first. */
export function SessionsPage({ sessions }: { sessions: readonly OwnSession[] }) {
  return (
    <>
      <p>
        You are signed in here. If you do not know one of these, end it and <a href="/password">change your password</a>
        : that ends all of them.
      </p>
      <Table caption="Your sessions" columns={['Browser', 'Address', 'Signed in', 'Last used', 'End']}>
        {sessions.map((session) => (
          <tr key={session.label}>
            <th scope="row">{session.browser === '' ? 'unknown' : session.browser}</th>
            <td>{session.ip === '' ? 'unknown' : session.ip}</td>
            <td>
              <Time at={session.createdAt} />
            </td>
            <td>
              <Time at={session.seenAt} />
            </td>
            <td>{session.isThis ? 'this one' : <End {...session} />}</td>
          </tr>
        ))}
      </Table>
      {sessions.length > 1 ? (
        <Confirm
          action="/sessions/end-others"
          words="End all others"
          question="Only this browser stays signed in. Everything else that is open under your name is closed."
        />
      ) : null}
    </>
  );
}

function End({ label, browser, ip }: OwnSession) {
  return (
    <Form action="/sessions/end" name={label}>
      <input type="hidden" name="session" value={label} />
      <button type="submit" class="btn" aria-label={`End ${browser} at ${ip}`}>
        End
      </button>
    </Form>
  );
}
