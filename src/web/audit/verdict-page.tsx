import { headText } from '../../audit/entry.ts';
import type { AuditVerdict } from '../../audit/verify.ts';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import { shownCount } from '../parts/figures.ts';

/** Whether the log holds, and where it does not. */
export function VerdictPage({ verdict: { entries, head, findings, uncopied } }: { verdict: AuditVerdict }) {
  const holds = findings.length === 0;
  return (
    <>
      <section class={holds ? 'empty' : 'problem'} role={holds ? 'status' : 'alert'}>
        <p>
          <b>{holds ? 'The audit log holds.' : 'THE AUDIT LOG DOES NOT HOLD.'}</b>
        </p>
        <ul>
          {findings.map(({ code, number, message }) => (
            <li key={`${code} ${number}`}>{escapeUnseen(message)}</li>
          ))}
        </ul>
        {holds ? null : (
          <p>
            Keep Redis and the data directory as they are, and compare the log with backups and with heads in reports.
          </p>
        )}
      </section>
      <dl class="card card-body facts">
        <dt>Entries</dt>
        <dd>{shownCount(entries)}</dd>
        <dt>Proven up to</dt>
        <dd>
          <code>{headText(head) ?? 'none'}</code>
        </dd>
        {uncopied === 0 ? null : (
          <>
            <dt>Without a copy</dt>
            <dd>
              {shownCount(uncopied)} of the last entries: the copy in the data directory follows with the next entry.
            </dd>
          </>
        )}
      </dl>
      <p>
        <a href="/audit">To the audit log</a>
      </p>
    </>
  );
}
