import { REQUIRED_COLUMNS } from '../../intake/template/columns.ts';
import { Choice, Field, Hint, LongField, StageFields, Tick, useField, Wrong } from '../parts/fields.tsx';
import { shownCount } from '../parts/figures.ts';
import { Form } from '../parts/form.tsx';
import { useRefusal } from '../parts/refused-context.ts';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import type { TemplateChoice } from './templates.ts';
import type { Upload } from './upload.ts';

interface UploadPageProps {
  readonly templates: readonly TemplateChoice[];
  /** What this person, or for an admin anybody, has waiting. */
  readonly uploads: readonly Upload[];
  readonly fileBytesMax: number;
  /** Whether there is a service to compare costs with. */
  readonly canLimitCost: boolean;
}

/** Where a payout file is handed over, and what waits for review. */
export function UploadPage({ uploads, ...form }: UploadPageProps) {
  return (
    <>
      <UploadForm {...form} />
      <Waiting uploads={uploads} />
    </>
  );
}

/** The token comes first: the file is not taken before it was checked. */
function UploadForm({ templates, fileBytesMax, canLimitCost }: Omit<UploadPageProps, 'uploads'>) {
  const refused = useRefusal({ action: UPLOAD });
  return (
    <Form action={UPLOAD} encType="multipart/form-data" class="upload">
      <FileField fileBytesMax={fileBytesMax} />
      <NeededColumns />
      {templates.length === 0 ? null : <TemplateField templates={templates} />}
      <details open={refused !== null}>
        <summary>What it should hold, when it starts, and more</summary>
        <CheckFields />
        <StartFields />
        <StageFields empty="Empty: it is paid as a whole." />
        {canLimitCost ? <DriftField /> : null}
        <Tick
          name="again"
          label="Pay these rows again"
          hint="Only where the same rows were handed in before and none of them was paid."
        />
      </details>
      <p>
        <button type="submit" class="btn btn-primary">
          Upload and check
        </button>
      </p>
      <p class="hint">Nothing is paid by this. You see what is wrong, or what it comes to, and then hand it in.</p>
    </Form>
  );
}

const UPLOAD = '/upload';

/** No browser chooses a file for anybody, so it is asked for anew. */
function FileField({ fileBytesMax }: { fileBytesMax: number }) {
  const refused = useRefusal({ action: UPLOAD });
  const hint = `CSV, a workbook (.xlsx) or a payment message (.xml), up to ${shownCount(fileBytesMax)} bytes. It can be dropped here.`;
  const { problem, control } = useField({ name: 'file', hint });
  const note = problem ?? (refused === null ? undefined : 'Choose the file again: nothing of it was kept.');
  const describedBy = `${note === undefined ? '' : `problem-${control.id} `}hint-${control.id}`;
  return (
    <div class="drop p-4 rounded">
      <p class="field d-flex flex-column">
        <label class="form-label" htmlFor={control.id}>
          Payout file
        </label>
        <Wrong id={control.id} words={note} />
        <input type="file" class="form-control" required {...control} aria-describedby={describedBy} />
        <Hint id={control.id} words={hint} />
      </p>
      <output class="hint" data-chosen aria-live="polite" />
    </div>
  );
}

function NeededColumns() {
  return (
    <p class="hint">
      The first line of a plain payout file names its columns. It needs{' '}
      {REQUIRED_COLUMNS.map((column, at) => (
        <>
          {at === 0 ? null : ', '}
          <code>{column}</code>
        </>
      ))}
      . <a href="/upload/example.csv">An example to begin with</a>
    </p>
  );
}

function TemplateField({ templates }: { templates: readonly TemplateChoice[] }) {
  const options = templates.map(
    ({ file, name, description }) => [file, description === '' ? name : `${name}: ${description}`] as const,
  );
  return <Choice label="Template" name="template" options={[['', 'None: the plain payout file'], ...options]} />;
}

function CheckFields() {
  return (
    <fieldset class="form-fieldset">
      <legend class="form-label">What the file should hold</legend>
      <Field label="Expected rows" name="expectRows" inputMode="numeric" pattern="[0-9]{0,9}" />
      <LongField
        label="Expected totals"
        name="expectTotals"
        rows={3}
        hint="One in each line, such as USD 1234.56. The file is refused unless they fit; left empty, they are not compared."
      />
      <Tick
        name="skipInvalid"
        label="Skip invalid rows"
        hint="Pay the valid rows although others are refused. A damaged file is refused all the same."
      />
    </fieldset>
  );
}

function StartFields() {
  return (
    <fieldset class="form-fieldset">
      <legend class="form-label">When it is to start</legend>
      <Choice
        label="Start"
        name="start"
        options={[
          ['now', 'As soon as it may'],
          ['at', 'At the time below'],
          ['schedule', 'With the next schedule that starts runs'],
        ]}
      />
      <Field label="Start time" name="at" isTime placeholder="2026-03-30T06:30" />
      <Field label="Time zone" name="zone" value="UTC" maxLength={64} hint="Such as Europe/Berlin." />
    </fieldset>
  );
}

function DriftField() {
  return (
    <Field
      label="Largest drift of costs, in basis points"
      name="maxCostDrift"
      inputMode="numeric"
      pattern="[0-9]{0,5}"
      hint="A payout that costs so much more than when it was handed in is held. Empty: no limit."
    />
  );
}

const STATE_WORDS: Readonly<Record<Upload['state'], string>> = {
  receiving: 'is coming in',
  checked: 'waits for review',
  'handed-in': 'is being recorded',
  recorded: 'is a run',
};

function Waiting({ uploads }: { uploads: readonly Upload[] }) {
  if (uploads.length === 0) return <p class="empty">No uploaded file waits. Choose one above to begin with.</p>;
  return (
    <>
      <p>
        <a href="/uploads.csv">Uploaded files as CSV</a>
      </p>
      <Table
        caption="Uploaded files; what is not handed in within 24 hours is removed"
        columns={['File', 'State', 'Uploaded', 'By', { number: 'Bytes' }]}
      >
        {uploads.map(({ id, name, state, createdAt, person, bytes, runId }) => (
          <tr key={id}>
            <th scope="row">
              <a href={`/uploads/${id}`}>{name}</a>
            </th>
            <td>{runId === null ? STATE_WORDS[state] : <a href={`/runs/${runId}`}>Run {runId}</a>}</td>
            <td>
              <Time at={createdAt} />
            </td>
            <td>{person}</td>
            <td class="number">{shownCount(bytes)}</td>
          </tr>
        ))}
      </Table>
    </>
  );
}
