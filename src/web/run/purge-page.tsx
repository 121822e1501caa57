import type { Run } from '../../payout.ts';
import { Field } from '../parts/fields.tsx';
import { counted } from '../parts/figures.ts';
import { Form } from '../parts/form.tsx';
import { Time } from '../parts/time.tsx';
import { RUN_STATE_WORDS } from './run-status.ts';

const DAY_MS = 24 * 60 * 60_000;

/** Asks once more before the rows of a run go, with what goes and what stays. */
export function PurgePage({ run, retentionMs }: { run: Run; retentionMs: number | undefined }) {
  return (
    <>
      <p>
        {run.fileName}, {counted(run.rows, 'row')}, {RUN_STATE_WORDS[run.state]}
        {run.finishedAt === null ? null : (
          <>
            {' '}
            since <Time at={run.finishedAt} />
          </>
        )}
        .
      </p>
      <p>
        Its rows, their stories and its report files on this host are removed <b>for good</b>, and no report can be made
        of it any more. Its numbers, its history, and the SHA-256 of its file and of each report stay, so that the same
        file is never paid again.
      </p>
      {run.purgedAt === null ? null : (
        <p class="hint">
          This was begun on <Time at={run.purgedAt} />. If it was interrupted, it is carried on.
        </p>
      )}
      <Form action={`/runs/${run.id}/purge`}>
        <Field
          label="Only if it ended at least so long ago"
          name="olderThan"
          value={retentionMs === undefined ? '' : retentionText(retentionMs)}
          required
          maxLength={20}
          hint="Such as 400d; one day at least. How long files are kept is a matter of law and contracts."
        />
        <button type="submit" class="btn btn-outline-danger">
          Purge run {run.id}
        </button>
      </Form>
      <p>
        <a href={`/runs/${run.id}`}>Back, and leave it as it is</a>
      </p>
    </>
  );
}

function retentionText(ms: number): string {
  return ms % DAY_MS === 0 ? `${ms / DAY_MS}d` : `${ms}ms`;
}
