import type { ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import { REQUIRED_COLUMNS } from '../../intake/columns.ts';
import { shownCount } from '../parts/figures.ts';
import { CsrfContext } from '../parts/form.tsx';
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

/** Its token comes first: the file is not taken before it was checked. */
function UploadForm({ templates, fileBytesMax, canLimitCost }: Omit<UploadPageProps, 'uploads'>) {
  const csrf = useContext(CsrfContext);
  return (
    <form method="post" action="/upload" encType="multipart/form-data" class="upload">
      <input type="hidden" name="csrf" value={csrf} />
      <FileField fileBytesMax={fileBytesMax} />
      <NeededColumns />
      {templates.length === 0 ? null : <TemplateField templates={templates} />}
      <CheckFields />
      <StartFields />
      <details>
        <summary>More</summary>
        {canLimitCost ? <DriftField /> : null}
        <Tick
          name="again"
          label="Pay these rows again"
          hint="Only where the same rows were handed in before and none of them was paid."
        />
      </details>
      <p>
        <button type="submit" class="main">
          Upload and check
        </button>
      </p>
      <p class="hint">Nothing is paid by this. You see what is wrong, or what it comes to, and then hand it in.</p>
    </form>
  );
}

function FileField({ fileBytesMax }: { fileBytesMax: number }) {
  const bytes = shownCount(fileBytesMax);
  return (
    <div class="drop">
      <Labelled
        label="Payout file"
        name="file"
        hint={`CSV, a workbook (.xlsx) or a payment message (.xml), up to ${bytes} bytes. It can be dropped here.`}
      >
        <input type="file" id="field-file" name="file" required aria-describedby="hint-file" />
      </Labelled>
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

/** A labelled field, with what helps to fill it in. */
function Labelled(props: { label: string; name: string; hint?: string; children: ComponentChildren }) {
  const { label, name, hint, children } = props;
  return (
    <p class="field">
      <label for={`field-${name}`}>{label}</label>
      {children}
      {hint === undefined ? null : (
        <small id={`hint-${name}`} class="hint">
          {hint}
        </small>
      )}
    </p>
  );
}

function TemplateField({ templates }: { templates: readonly TemplateChoice[] }) {
  return (
    <Labelled label="Template" name="template">
      <select id="field-template" name="template">
        <option value="">None: the plain payout file</option>
        {templates.map(({ file, name, description }) => (
          <option key={file} value={file}>
            {description === '' ? name : `${name}: ${description}`}
          </option>
        ))}
      </select>
    </Labelled>
  );
}

function CheckFields() {
  return (
    <fieldset>
      <legend>What the file should hold</legend>
      <Labelled label="Expected rows" name="expectRows">
        <input type="text" inputMode="numeric" pattern="[0-9]{0,9}" id="field-expectRows" name="expectRows" />
      </Labelled>
      <Labelled
        label="Expected totals"
        name="expectTotals"
        hint="One in each line, such as USD 1234.56. The file is refused unless they fit; left empty, they are not compared."
      >
        <textarea id="field-expectTotals" name="expectTotals" rows={3} aria-describedby="hint-expectTotals" />
      </Labelled>
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
    <fieldset>
      <legend>When it is to start</legend>
      <Labelled label="Start" name="start">
        <select id="field-start" name="start">
          <option value="now">As soon as it may</option>
          <option value="at">At the time below</option>
          <option value="schedule">With the next schedule that starts runs</option>
        </select>
      </Labelled>
      <Labelled label="Start time" name="at">
        <input type="datetime-local" id="field-at" name="at" placeholder="2026-03-30T06:30" />
      </Labelled>
      <Labelled label="Time zone" name="zone" hint="Such as Europe/Berlin.">
        <input type="text" id="field-zone" name="zone" value="UTC" maxLength={64} aria-describedby="hint-zone" />
      </Labelled>
    </fieldset>
  );
}

function DriftField() {
  return (
    <Labelled
      label="Largest drift of costs, in basis points"
      name="maxCostDrift"
      hint="A payout that costs so much more than when it was handed in is held. Empty: no limit."
    >
      <input
        type="text"
        inputMode="numeric"
        pattern="[0-9]{0,5}"
        id="field-maxCostDrift"
        name="maxCostDrift"
        aria-describedby="hint-maxCostDrift"
      />
    </Labelled>
  );
}

function Tick({ name, label, hint }: { name: string; label: string; hint: string }) {
  return (
    <p class="tick">
      <input type="checkbox" id={`field-${name}`} name={name} value="yes" aria-describedby={`hint-${name}`} />{' '}
      <label for={`field-${name}`}>{label}</label>{' '}
      <small id={`hint-${name}`} class="hint">
        {hint}
      </small>
    </p>
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
