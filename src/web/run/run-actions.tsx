import { isOver, type Run } from '../../payout.ts';
import { Field } from '../parts/fields.tsx';
import { counted, shownCount } from '../parts/figures.ts';
import { Form } from '../parts/form.tsx';
import { Icon } from '../parts/icon.tsx';
import type { Person } from '../web.ts';

interface ActionsProps {
  readonly run: Run;
  readonly who: Person;
  /** Rows of the retry file; null until they are counted. */
  readonly retryRows: number | null;
}

/** What the person may do with the run in its state; the domain decides again when they do it. */
export function RunActions({ run, who, retryRows }: ActionsProps) {
  const { id, state, startAt } = run;
  const isPaused = state === 'paused';
  const isWaiting = isPaused && startAt !== null;
  return (
    <div class="run-actions">
      <ApproveLink run={run} who={who} />
      <SettleLink run={run} isMain={run.state !== 'awaiting-approval' || !who.may('approve')} />
      <FileLinks run={run} retryRows={retryRows} />
      {isPaused && who.may('resume') ? <ReasonForm id={id} act="resume" words={resumeWords(run)} seen={run} /> : null}
      {isWaiting && who.may('pause') ? <ReasonForm id={id} act="pause" words="Do not start by itself" /> : null}
      {state === 'paying' && who.may('pause') ? <ReasonForm id={id} act="pause" words="Pause" /> : null}
      <EndLinks run={run} who={who} />
    </div>
  );
}

function resumeWords({ startAt, stages }: Run): string {
  if (startAt !== null) return 'Start now';
  return stages?.isOver === true ? 'Release the next stage' : 'Resume';
}

/** What cannot be undone is asked for on a page of its own. */
function EndLinks({ run, who }: { run: Run; who: Person }) {
  const { id, purgedAt } = run;
  const mayEnd = isOver(run) ? purgedAt === null && who.may('settings') : who.may('cancel');
  if (!mayEnd) return null;
  return (
    <a class="btn btn-outline-danger" href={`/runs/${id}/${isOver(run) ? 'purge' : 'cancel'}`}>
      {isOver(run) ? 'Purge its rows…' : 'Cancel this run…'}
    </a>
  );
}

/** One button of a page stands out. */
function SettleLink({ run: { id, counts }, isMain }: { run: Run; isMain: boolean }) {
  if (counts.held === 0) return null;
  return (
    <a class={isMain ? 'btn btn-primary' : 'btn'} href={`/runs/${id}/settle`}>
      <Icon name="user-question" /> Settle {shownCount(counts.held)}
    </a>
  );
}

/** What is taken away of a run that is over. */
function FileLinks({ run, retryRows }: Pick<ActionsProps, 'run' | 'retryRows'>) {
  const { id, counts, purgedAt } = run;
  if (!isOver(run) || purgedAt !== null) return null;
  const { failed, returned, rejected, cancelled } = counts;
  return (
    <>
      <a class="btn" href={`/runs/${id}/report?format=csv`}>
        <Icon name="download" /> Report
      </a>
      {failed + returned + rejected + cancelled === 0 || retryRows === 0 ? null : (
        <a class="btn" href={`/runs/${id}/retry-file`}>
          <Icon name="file-export" /> Retry file {retryRows === null ? null : `with ${counted(retryRows, 'row')}`}
        </a>
      )}
    </>
  );
}

interface ReasonFormProps {
  readonly id: string;
  readonly act: 'pause' | 'resume';
  readonly words: string;
  /** The paused run that the page shows. */
  readonly seen?: Run;
}

function ReasonForm({ id, act, words, seen }: ReasonFormProps) {
  const stage = seen?.stages?.at;
  return (
    <Form action={`/runs/${id}/${act}`} class="run-action">
      {stage === undefined ? null : <input type="hidden" name="stage" value={stage + 1} />}
      {seen === undefined ? null : <input type="hidden" name="pauses" value={seen.pauses} />}
      <Field
        label={`Reason to ${act}`}
        name="reason"
        id={`reason-${act}`}
        value={act === 'resume' ? 'resumed' : ''}
        required
        maxLength={200}
      />
      <button type="submit" class="btn">
        {words}
      </button>
    </Form>
  );
}

function ApproveLink({ run: { id, state, approvals }, who }: { run: Run; who: Person }) {
  const isAsked = state === 'awaiting-approval';
  if (!isAsked && (state !== 'paused' || approvals.length === 0)) return null;
  if (who.may('approve')) {
    return (
      <a class={isAsked ? 'btn btn-primary' : 'btn'} href={`/runs/${id}/approve`}>
        <Icon name="checklist" /> {isAsked ? 'Look at it and approve' : 'Its approvals'}
      </a>
    );
  }
  return isAsked ? <p class="hint">A checker or an admin who did not submit it approves it.</p> : null;
}

/** Asks once more before a run is given up, with what is left of it. */
export function CancelPage({ run }: { run: Run }) {
  const { ready, armed, quoted, unknown, held } = run.counts;
  const sent = armed + quoted + unknown;
  return (
    <>
      <p>
        {run.fileName}, {counted(run.rows, 'row')}. <b>{shownCount(ready)}</b> payouts that were never sent will be
        cancelled, and a cancelled run does not go on again.
      </p>
      {sent === 0 ? null : (
        <p>
          <b>{shownCount(sent)}</b> may have been sent: they are looked up until it is known whether they were paid.
        </p>
      )}
      {held === 0 ? null : (
        <p>
          <b>{shownCount(held)}</b> held payouts stay held until people decide.
        </p>
      )}
      <Form action={`/runs/${run.id}/cancel`} class="run-action">
        <Field label="Reason to cancel" name="reason" required maxLength={200} />
        <button type="submit" class="btn btn-outline-danger">
          Cancel run {run.id}
        </button>
      </Form>
      <p>
        <a href={`/runs/${run.id}`}>Back, and leave it as it is</a>
      </p>
    </>
  );
}

/** Asks why a run is not approved. */
export function SendBackPage({ run }: { run: Run }) {
  return (
    <>
      <p>
        None of its {counted(run.rows, 'row')} has been paid, and none will be: the run ends. {run.createdBy}, who
        handed it in, reads your reason on its page, mends the file and hands it in again.
      </p>
      <Form action={`/runs/${run.id}/send-back`} class="run-action">
        <Field
          label="What needs to be corrected"
          name="reason"
          required
          maxLength={200}
          hint="For the history and the audit log."
        />
        <button type="submit" class="btn btn-danger">
          Send it back
        </button>
      </Form>
      <p>
        <a href={`/runs/${run.id}/approve`}>Back to the approval</a>
      </p>
    </>
  );
}
