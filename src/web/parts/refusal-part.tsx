import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import type { RefusedForm } from '../web.ts';

/** Why a form was refused, above the page on which it stands; the keyboard is here unless a field is wrong. */
export function RefusalPart({ refused: { problem, requestId } }: { refused: RefusedForm }) {
  const { status, fields, message, remedy } = problem;
  const focus = Object.keys(fields).length === 0 ? { tabIndex: -1, autofocus: true } : {};
  return (
    <section class="problem refusal" role="alert" {...focus}>
      <p>{escapeUnseen(message)}</p>
      <p>{escapeUnseen(remedy)}</p>
      {status < 500 ? null : (
        <p>
          <small>Request {requestId}</small>
        </p>
      )}
    </section>
  );
}
