import type { ListedName } from '../../access/listed-name.ts';
import type { ForeseenDocument } from '../../runs/hand-in/foreseen-document.ts';
import { Confirm } from '../parts/confirm.tsx';
import { counted, shownCount, shownDecimal } from '../parts/figures.ts';
import { Form } from '../parts/form.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import type { UploadCost } from './cost.ts';
import { CostPart } from './cost-part.tsx';
import type { Costing } from './costing.ts';
import { FewRows, ForeseenPart, totalsText } from './foreseen-part.tsx';
import { Problems } from './problem-table.tsx';
import { hasRowsToPay, type Review } from './review.ts';
import type { Upload } from './upload.ts';

interface ReviewPageProps {
  readonly upload: Upload;
  readonly review: Review;
  /** What the ledger knew against its rows; undefined where none can be paid. */
  readonly foreseen: ForeseenDocument | undefined;
  /** Of the rows that are shown. */
  readonly names: ReadonlyMap<string, ListedName>;
  readonly cost: UploadCost | undefined;
  readonly costing: ReturnType<Costing['stateOf']>;
  /** How many people have to approve its run. */
  readonly approvals: number;
  /** Whether the reader is who uploaded it: nobody hands in in another's name. */
  readonly isOwn: boolean;
}

/** What is wrong with an uploaded file, or what it comes to; from here it is handed in or discarded. */
export function ReviewPage({ upload, review, foreseen, names, cost, costing, approvals, isOwn }: ReviewPageProps) {
  const isKnown = foreseen !== undefined && foreseen.knownRun !== null;
  return (
    <>
      {upload.trouble === null ? null : (
        <p class="problem" role="alert">
          {upload.trouble}
        </p>
      )}
      <Verdict upload={upload} review={review} foreseen={foreseen} />
      <Buttons upload={upload} review={review} isOwn={isOwn} isKnown={isKnown} />
      <Problems id={upload.id} review={review} />
      {foreseen === undefined || isKnown ? null : (
        <>
          <ForeseenPart id={upload.id} foreseen={foreseen} />
          <CostPart id={upload.id} cost={cost} costing={costing} />
          <FewRows foreseen={foreseen} names={names} />
        </>
      )}
      <Totals review={review} />
      <p>
        <a href={`/uploads/${upload.id}/totals.csv`}>Totals as CSV</a>
      </p>
      <details>
        <summary>The file, and how it was uploaded</summary>
        <Facts upload={upload} review={review} approvals={approvals} />
      </details>
    </>
  );
}

function Verdict({ upload, review, foreseen }: Pick<ReviewPageProps, 'upload' | 'review' | 'foreseen'>) {
  const { isPayable, problemsTotal } = review;
  if (upload.state === 'handed-in') {
    return (
      <p class="problem">
        It was handed in and is being recorded. If that was interrupted, it is carried on by itself; you may also hand
        it in once more: it becomes one run.
      </p>
    );
  }
  if (foreseen !== undefined && foreseen.knownRun !== null) return <KnownVerdict {...foreseen.knownRun} />;
  const isAllPaid = foreseen === undefined || (foreseen.stopped.length === 0 && foreseen.untold === 0);
  if (isPayable && problemsTotal === 0 && isAllPaid) {
    return (
      <p class="empty">The file is sound and can be handed in. {foreseen === undefined ? null : paysText(foreseen)}</p>
    );
  }
  return (
    <div class={isPayable ? 'proposal' : 'problem'}>
      {isPayable ? <PayableVerdict review={review} /> : <RefusedVerdict review={review} />}
      <Outlook isPayable={isPayable} foreseen={foreseen} />
    </div>
  );
}

function Outlook({ isPayable, foreseen }: Pick<ReviewPageProps, 'foreseen'> & { isPayable: boolean }) {
  if (foreseen === undefined) return null;
  return <p>{isPayable ? paysText(foreseen) : `Of its valid rows alone: ${paysText(foreseen)}`}</p>;
}

function PayableVerdict({ review }: Pick<ReviewPageProps, 'review'>) {
  if (review.problemsTotal === 0) return <p>The file can be handed in. Perhaps not all of it will be paid.</p>;
  return <p>The valid rows can be handed in; {refusedText(review)}.</p>;
}

function RefusedVerdict({ review }: Pick<ReviewPageProps, 'review'>) {
  const { fileRefused } = review;
  return (
    <p>
      {fileRefused ? 'The file is refused as a whole.' : `Of its rows ${refusedText(review)}.`} Nothing of it can be
      handed in as it is. Correct the file and <a href="/upload">upload it again</a>
      {hasRowsToPay(review) ? ', or hand in its valid rows alone' : ''}.
    </p>
  );
}

function KnownVerdict({ runId, state, createdAt }: NonNullable<ForeseenDocument['knownRun']>) {
  return (
    <p class="problem">
      The content of this file is run <a href={`/runs/${runId}`}>{runId}</a> already, handed in on{' '}
      <Time at={Date.parse(createdAt)} /> and now {state}. Handing it in again adds nothing to that run, and pays
      nothing twice.
    </p>
  );
}

/** What becomes of the rows that can be handed in: `18 rows will be paid: 1,200.00 USD. 18 will not: ….` */
function paysText({ pays, stopped, untold }: ForeseenDocument): string {
  const rows = counted(pays.rows, 'row');
  const paid = pays.rows === 0 ? 'No row will be paid by itself.' : `${rows} will be paid: ${totalsText(pays.totals)}.`;
  const counts = (['held', 'rejected'] as const).map((becomes) => ({
    becomes,
    rows: stopped.filter((group) => group.becomes === becomes).reduce((sum, group) => sum + group.rows, 0),
  }));
  const others = counts.filter((one) => one.rows > 0).map((one) => `${shownCount(one.rows)} will be ${one.becomes}.`);
  const isUntold = `Of ${shownCount(untold)} of them only a quote tells whether a limit stands against it.`;
  return [paid, ...others, ...(untold === 0 ? [] : [isUntold])].join(' ');
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
      {options.stage === null ? null : (
        <>
          <dt>Stages</dt>
          <dd>
            {options.stage}: it pauses after {options.goOnIfPaid ? 'one in which a payout was not paid' : 'each'}
          </dd>
        </>
      )}
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

function Buttons({
  upload,
  review,
  isOwn,
  isKnown,
}: Pick<ReviewPageProps, 'upload' | 'review' | 'isOwn'> & { isKnown: boolean }) {
  const mayHandIn = isOwn && !isKnown;
  return (
    <div class="buttons">
      {mayHandIn && review.isPayable ? (
        <Form action={`/uploads/${upload.id}/hand-in`}>
          <button type="submit" class="btn btn-primary">
            Hand in
          </button>
        </Form>
      ) : null}
      {mayHandIn && !review.isPayable && hasRowsToPay(review) ? (
        <Form action={`/uploads/${upload.id}/hand-in`}>
          <input type="hidden" name="skipInvalid" value="yes" />
          <button type="submit" class="btn btn-primary">
            Hand in the {shownCount(review.valid)} valid {review.valid === 1 ? 'row' : 'rows'}
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

/** An upload whose content was a run before. */
export function KnownPage({ upload }: { upload: Upload }) {
  return (
    <p class="empty">
      The content of {upload.name} is run <a href={`/runs/${upload.runId}`}>{upload.runId}</a> already. It was not
      recorded again, and nothing of it is paid twice.
    </p>
  );
}
