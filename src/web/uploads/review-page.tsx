import { wordsForPages } from '../page-words.ts';
import { Confirm } from '../parts/confirm.tsx';
import { shownCount, shownDecimal } from '../parts/figures.ts';
import { Form } from '../parts/form.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import type { UploadCost } from './cost.ts';
import { CostPart } from './cost-part.tsx';
import { ProblemTable } from './problem-table.tsx';
import type { Review } from './review.ts';
import type { Upload } from './upload.ts';

interface ReviewPageProps {
  readonly upload: Upload;
  readonly review: Review;
  readonly cost: UploadCost | undefined;
  /** How many people have to approve its run. */
  readonly approvals: number;
  /** Whether the reader is who uploaded it: nobody hands in in another's name. */
  readonly isOwn: boolean;
}

/** What is wrong with an uploaded file, or what it comes to; from here it is handed in or discarded. */
export function ReviewPage({ upload, review, cost, approvals, isOwn }: ReviewPageProps) {
  return (
    <>
      {upload.trouble === null ? null : (
        <p class="problem" role="alert">
          {wordsForPages(upload.trouble)}
        </p>
      )}
      <Verdict upload={upload} review={review} />
      <Facts upload={upload} review={review} approvals={approvals} />
      <Totals review={review} />
      <p>
        <a href={`/uploads/${upload.id}/totals.csv`}>Totals as CSV</a>
      </p>
      {review.isPayable ? <CostPart id={upload.id} cost={cost} /> : null}
      <Buttons upload={upload} isPayable={review.isPayable} isOwn={isOwn} />
      <Problems id={upload.id} review={review} />
    </>
  );
}

function Verdict({ upload: { state }, review }: Pick<ReviewPageProps, 'upload' | 'review'>) {
  const { isPayable, fileRefused, problemsTotal } = review;
  if (state === 'handed-in') {
    return (
      <p class="problem">
        It was handed in and is being recorded. If that was interrupted, it is carried on by itself; you may also hand
        it in once more: it becomes one run.
      </p>
    );
  }
  if (isPayable && problemsTotal === 0) return <p class="empty">The file is sound and can be handed in.</p>;
  if (isPayable) return <p class="empty">The valid rows can be handed in; {refusedText(review)}.</p>;
  return (
    <p class="problem">
      {fileRefused ? 'The file is refused as a whole.' : `Of its rows ${refusedText(review)}.`} Nothing of it can be
      handed in. Correct the file and <a href="/upload">upload it again</a>.
    </p>
  );
}

function refusedText({ rows, valid }: Review): string {
  return rows - valid === 1 ? '1 is refused' : `${shownCount(rows - valid)} are refused`;
}

function Facts({ upload, review, approvals }: Pick<ReviewPageProps, 'upload' | 'review' | 'approvals'>) {
  const { options } = upload;
  return (
    <dl class="card card-body facts">
      <dt>File</dt>
      <dd>
        {upload.name}, {shownCount(upload.bytes)} bytes
      </dd>
      <dt>Rows</dt>
      <dd>
        {shownCount(review.rows)}, {shownCount(review.valid)} of them valid, {shownCount(review.rows - review.valid)}{' '}
        refused
      </dd>
      <dt>SHA-256</dt>
      <dd>
        <code>{review.sha256 === '' ? 'not known: the file was not read to its end' : review.sha256}</code>
      </dd>
      <dt>Uploaded</dt>
      <dd>
        <Time at={upload.createdAt} /> by {upload.person}
      </dd>
      <dt>Template</dt>
      <dd>{options.template ?? 'none'}</dd>
      <dt>Invalid rows</dt>
      <dd>{options.skipInvalid ? 'are skipped' : 'refuse the file'}</dd>
      <dt>Start</dt>
      <dd>{startText(options)}</dd>
      {options.maxCostDriftBp === null ? null : (
        <>
          <dt>Largest drift of costs</dt>
          <dd>{shownCount(options.maxCostDriftBp)} basis points</dd>
        </>
      )}
      {options.again ? (
        <>
          <dt>Again</dt>
          <dd>Its rows are paid anew if none of them was paid before</dd>
        </>
      ) : null}
      {review.isPayable ? (
        <>
          <dt>Approval</dt>
          <dd>{approvalText(approvals)}</dd>
        </>
      ) : null}
    </dl>
  );
}

function startText({ at, zone }: Upload['options']): string {
  if (at === null) return 'as soon as it may';
  return at === 'schedule' ? 'with the next schedule that starts runs' : `${at} ${zone ?? ''}`;
}

function approvalText(approvals: number): string {
  if (approvals === 0) return 'nobody has to approve it';
  const people = approvals === 1 ? 'one other person has' : `${approvals} other people have`;
  return `${people} to approve it before anything is paid`;
}

function Totals({ review: { totals, validTotals, rows, valid } }: Pick<ReviewPageProps, 'review'>) {
  const validOf = new Map(validTotals.map(({ currency, amount }) => [currency, amount]));
  return (
    <Table caption="Totals per currency" columns={['Currency', 'In the file', 'Valid rows']} class="totals">
      <tr>
        <th scope="row">Rows</th>
        <td>{shownCount(rows)}</td>
        <td>{shownCount(valid)}</td>
      </tr>
      {totals.map(({ currency, amount }) => (
        <tr key={currency}>
          <th scope="row">{currency}</th>
          <td>{shownDecimal(amount)}</td>
          <td>{shownDecimal(validOf.get(currency) ?? '–')}</td>
        </tr>
      ))}
    </Table>
  );
}

function Buttons({ upload, isPayable, isOwn }: Pick<ReviewPageProps, 'upload' | 'isOwn'> & { isPayable: boolean }) {
  return (
    <div class="buttons">
      {isPayable && isOwn ? (
        <Form action={`/uploads/${upload.id}/hand-in`}>
          <button type="submit" class="btn btn-primary">
            Hand in
          </button>
        </Form>
      ) : null}
      {upload.state === 'handed-in' ? null : (
        <Confirm
          action={`/uploads/${upload.id}/discard`}
          words="Discard"
          question="The file and what was found are removed. To use it again, it has to be uploaded again."
        />
      )}
    </div>
  );
}

function Problems({ id, review }: { id: string; review: Review }) {
  const { problems, problemsTotal, warnings, hasMarkedUpCopy } = review;
  if (problemsTotal === 0 && warnings.length === 0) return null;
  const shown = problems.length < problemsTotal ? `, the first ${shownCount(problems.length)} shown` : '';
  return (
    <section aria-labelledby="problems">
      <h2 id="problems">Problems</h2>
      <p>
        {shownCount(problemsTotal)} {problemsTotal === 1 ? 'problem' : 'problems'}
        {shown}. <a href={`/uploads/${id}/problems.csv`}>As CSV</a>,{' '}
        <a href={`/uploads/${id}/problems.xlsx`}>as a workbook</a>{' '}
        {hasMarkedUpCopy ? (
          <a href={`/uploads/${id}/marked-up.csv`}>The file with its problems in two more columns</a>
        ) : null}
      </p>
      {problems.length === 0 ? null : <ProblemTable caption="What is wrong" problems={problems} />}
      {warnings.length === 0 ? null : (
        <ProblemTable caption="What is odd, and no reason to refuse" problems={warnings} />
      )}
    </section>
  );
}

/** An upload whose content was a run before. */
export function KnownPage({ upload }: { upload: Upload }) {
  return (
    <p class="empty">
      The content of {upload.name} is run <a href={`/runs/${upload.runId}`}>{upload.runId}</a> already. It was not
      recorded again, and nothing of it is paid twice.
    </p>
  );
}
