import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import { type ScheduleDocument, TIMES_SHOWN } from '../../schedules/document.ts';
import { doesWords } from '../../schedules/schedule.ts';
import { openZone, timeIn } from '../../zone.ts';
import { hrefWith } from '../lists/href.ts';
import { SortForm } from '../lists/list-fields.tsx';
import type { Listed } from '../lists/listed.ts';
import { Confirm } from '../parts/confirm.tsx';
import { Choice, Field, StageFields } from '../parts/fields.tsx';
import { shownCount } from '../parts/figures.ts';
import { Form } from '../parts/form.tsx';
import { CountedPages } from '../parts/pages.tsx';
import { sortLinks, Table } from '../parts/table.tsx';
import { utcText } from '../parts/time.tsx';

/** A schedule as the list shows it. */
export interface ListedSchedule {
  readonly name: string;
  /** Null where this payrun cannot read it. */
  readonly document: ScheduleDocument | null;
  /** Planned times that have come and are not done. */
  readonly waiting: number;
}

/** What a schedule may do, as its form has it. */
export const ACT_KINDS = ['start', 'inbox', 'look-up', 'purge'] as const;

/** What stands in the form before anybody types. */
export interface AskedSchedule {
  readonly name: string;
  readonly cron: string;
  readonly zone: string;
  readonly act: (typeof ACT_KINDS)[number];
  readonly dir: string;
  readonly window: string;
  readonly stage: string;
  readonly goOnIfPaid: boolean;
}

export const SCHEDULE_COLUMNS = ['name', 'next', 'last'] as const;
type ScheduleColumn = (typeof SCHEDULE_COLUMNS)[number];

const SORTS = [
  ['name', 'name'],
  ['next', 'done next'],
  ['-last', 'done last'],
] as const;

interface SchedulesProps extends Listed<ListedSchedule> {
  readonly sort: ScheduleColumn | `-${ScheduleColumn}`;
  readonly form: AskedSchedule;
  readonly maySet: boolean;
}

const ACTS: Readonly<Record<AskedSchedule['act'], string>> = {
  start: 'start the runs that wait for a schedule',
  inbox: 'read an inbox',
  'look-up': 'look unknown payouts up now',
  purge: 'purge old runs',
};

/** What payrun does by the clock, and what sets it. */
export function SchedulesPage({ form, ...list }: SchedulesProps) {
  const { shown, sort, page, pages, maySet } = list;
  return (
    <>
      {shown.length === 0 ? (
        <p class="empty">There are no schedules yet. One reads an inbox, or starts runs, at its times.</p>
      ) : (
        <>
          <SortForm action="/schedules" sorts={SORTS} sort={sort} />
          <ScheduleTable {...list} />
          <CountedPages page={page} pages={pages} hrefOf={(other) => hrefWith('/schedules', { sort, page: other })} />
        </>
      )}
      <p>
        <a href="/schedules.csv">The schedules as CSV</a>
      </p>
      {maySet ? <ScheduleForm form={form} /> : <p class="hint">Your role may look at them, and not set them.</p>}
    </>
  );
}

function ScheduleTable({ shown, sort, maySet }: Pick<SchedulesProps, 'shown' | 'sort' | 'maySet'>) {
  const by = sortLinks<ScheduleColumn>(sort, (other) => hrefWith('/schedules', { sort: other }));
  const columns = [
    { text: 'Name', sorts: by('name') },
    'Does',
    'When',
    { text: 'Next', sorts: by('next') },
    { text: 'Done last', sorts: by('last', 'down') },
    'Missed last',
    'Set by',
  ];
  return (
    <Table
      class="schedules"
      caption="Schedules; times are those of the schedule's zone"
      columns={maySet ? [...columns, 'Change'] : columns}
    >
      {shown.map(({ name, document, waiting }) => (
        <tr key={name}>
          <th scope="row">{name}</th>
          {document === null ? (
            <td colSpan={6}>Another version of payrun has set it; this one cannot read it.</td>
          ) : (
            <Cells document={document} waiting={waiting} />
          )}
          {maySet ? <Change name={name} /> : null}
        </tr>
      ))}
    </Table>
  );
}

function Cells({ document, waiting }: { document: ScheduleDocument; waiting: number }) {
  const { do: does, stages, words, zone, windowMs, next, last, missed, setBy, fault } = document;
  return (
    <>
      <td>
        {escapeUnseen(doesWords(does, stages))}
        {fault === null ? null : <p class="wrong">It could not be done: {escapeUnseen(fault)}</p>}
        {waiting === 0 ? null : <p>{shownCount(waiting)} to be done</p>}
      </td>
      <td>
        {words} ({zone}); made up for within {windowMs / 60_000} minutes
      </td>
      <td>
        {next.slice(0, 1).map((time) => (
          <ZoneTime key={time} text={time} zone={zone} />
        ))}
        <details>
          <summary>The {TIMES_SHOWN - 1} after it</summary>
          <ol class="m-0 ps-3">
            {next.slice(1).map((time) => (
              <li key={time}>
                <ZoneTime text={time} zone={zone} />
              </li>
            ))}
          </ol>
        </details>
      </td>
      <td>{last.planned === null ? 'never' : <ZoneTime text={last.planned} zone={zone} />}</td>
      <td>{missed === null ? 'none' : <ZoneTime text={missed} zone={zone} />}</td>
      <td>{escapeUnseen(setBy)}</td>
    </>
  );
}

function ZoneTime({ text, zone }: { text: string; zone: string }) {
  return (
    <time dateTime={text} title={utcText(Date.parse(text))} data-told>
      {timeIn(openZone(zone), Date.parse(text))}
    </time>
  );
}

function Change({ name }: { name: string }) {
  return (
    <td>
      <p>
        <a href={`/schedules?set=${encodeURIComponent(name)}#set`} aria-label={`Change schedule ${name}`}>
          Change
        </a>
      </p>
      <Confirm
        action="/schedules/remove"
        name={`remove ${name}`}
        words="Remove"
        whom={`schedule ${name}`}
        question="What it planned is not done any more."
      >
        <input type="hidden" name="name" value={name} />
      </Confirm>
    </td>
  );
}

function ScheduleForm({ form }: { form: AskedSchedule }) {
  return (
    <Form action="/schedules">
      <h2 id="set">Set a schedule</h2>
      <p class="hint">One that has the same name is replaced.</p>
      <Field label="Name" name="name" value={form.name} required maxLength={40} hint="Such as morning." />
      <Choice label="What it does" name="act" options={ACT_KINDS.map((kind) => [kind, ACTS[kind]])} value={form.act} />
      <Field
        label="Inbox"
        name="dir"
        value={form.dir}
        hint="Only to read one: its folder on the workers' machine, or sftp://user@host/path."
      />
      <StageFields
        stage={form.stage}
        goOnIfPaid={form.goOnIfPaid}
        empty="Only to read an inbox. Empty: its files are paid as the settings say."
      />
      <Field
        label="Cron"
        name="cron"
        value={form.cron}
        required
        maxLength={200}
        hint="Minute, hour, day of the month, month, day of the week: 30 6 * * 1-5 is 06:30 from Monday to Friday."
      />
      <Field label="Time zone" name="zone" value={form.zone} required maxLength={64} hint="Such as Europe/Berlin." />
      <Field
        label="Window"
        name="window"
        value={form.window}
        required
        maxLength={20}
        hint="So long after its time it is still done: from 1m to 7d."
      />
      <button type="submit" class="btn btn-primary">
        Set the schedule
      </button>
    </Form>
  );
}
