import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import { Code } from '../code.tsx';
import { Field } from '../parts/fields.tsx';
import { Form } from '../parts/form.tsx';
import { Pages } from '../parts/pages.tsx';
import { Table } from '../parts/table.tsx';
import { Time, WithTimes } from '../parts/time.tsx';
import type { AuditLine, AuditWanted, NewestPage } from './newest.ts';

interface AuditProps extends NewestPage {
  readonly wanted: AuditWanted;
  /** The chain's end, as reports print it; null for a log without entries. */
  readonly head: string | null;
  readonly isFirst: boolean;
}

/** What people and schedules did, the newest first, with the end of the chain and its proof. */
export function AuditPage({ lines, older, wanted, head, isFirst }: AuditProps) {
  return (
    <>
      <p>
        Each entry holds the hash of the one before. Who keeps the head elsewhere, as reports do, can prove later that
        nothing up to it was changed.
      </p>
      <dl class="card card-body facts">
        <dt>Head</dt>
        <dd>
          <code>{head ?? 'none yet'}</code>
        </dd>
      </dl>
      <VerifyForm />
      <SearchForm wanted={wanted} />
      <p>
        <a href={`/audit.csv?${queryOf(wanted)}`}>All of these as CSV</a>
      </p>
      {lines.length === 0 ? <Nothing isOver={older === null} /> : <AuditTable lines={lines} />}
      <JumpForm wanted={wanted} />
      <Pages
        before={isFirst ? undefined : { href: `/audit?${queryOf(wanted)}`, words: 'Newest' }}
        after={
          older === null
            ? undefined
            : { href: `/audit?${queryOf(wanted)}&before=${older}`, words: `Older, before entry ${older}` }
        }
      />
    </>
  );
}

function Nothing({ isOver }: { isOver: boolean }) {
  return (
    <p class="empty">
      {isOver
        ? 'No entry is like that. '
        : 'None of the entries that were looked through is like that; go on with older ones. '}
      <a href="/audit">Show all entries</a>
    </p>
  );
}

/** To any place of the log. */
function JumpForm({ wanted }: Pick<AuditProps, 'wanted'>) {
  return (
    <form method="get" action="/audit" class="d-flex flex-wrap gap-2">
      {WANTED.map(({ name }) => (
        <input key={name} type="hidden" name={name} value={wanted[name]} />
      ))}
      <input
        type="number"
        class="form-control w-auto"
        name="before"
        aria-label="Entries before number"
        placeholder="Number of an entry"
        min={1}
        required
      />
      <button type="submit" class="btn">
        Go to what came before it
      </button>
    </form>
  );
}

function VerifyForm() {
  return (
    <Form action="/audit/verify" class="list-search">
      <Field
        label="Head from a report (optional)"
        name="head"
        maxLength={100}
        hint="NUMBER:HASH, as a report prints it: it has to be in the log."
      />
      <button type="submit" class="btn">
        Verify now
      </button>
    </Form>
  );
}

function SearchForm({ wanted }: { wanted: AuditWanted }) {
  return (
    <form method="get" action="/audit" class="list-search">
      {WANTED.map(({ name, label }) => (
        <Field key={name} label={label} name={name} value={wanted[name]} maxLength={200} />
      ))}
      <button type="submit" class="btn">
        Search
      </button>
    </form>
  );
}

const WANTED = [
  { name: 'actor', label: 'Who' },
  { name: 'action', label: 'Did' },
  { name: 'target', label: 'To (a run, a payout, a user)' },
] as const satisfies readonly { readonly name: keyof AuditWanted; readonly label: string }[];

function AuditTable({ lines }: { lines: readonly AuditLine[] }) {
  return (
    <Table
      caption="Entries, the newest first"
      columns={[{ number: 'Entry' }, 'Time', 'Who', 'Did', 'To', 'Details']}
      class="audit"
    >
      {lines.map((line) => (
        <AuditRow key={line.place} line={line} />
      ))}
    </Table>
  );
}

function AuditRow({ line: { place, record } }: { line: AuditLine }) {
  if (record === null) {
    return (
      <tr class="wrong">
        <th scope="row" class="number">
          {place}
        </th>
        <td colSpan={5}>This entry is not what its hash says: it was changed.</td>
      </tr>
    );
  }
  const { number, at, actor, action, target, details } = record;
  return (
    <tr>
      <th scope="row" class="number">
        <a href={`/audit?before=${number + 1}`}>{number}</a>
      </th>
      <td>
        <Time at={at} />
      </td>
      <td>{escapeUnseen(actor)}</td>
      <td>
        {escapeUnseen(wordsOf(action))}
        <Code code={action} />
      </td>
      <td>{escapeUnseen(target)}</td>
      <td>
        {Object.entries(details).map(([name, value]) => (
          <div key={name}>
            {escapeUnseen(wordsOf(name))}: <DetailValue name={name} value={value} />
          </div>
        ))}
      </td>
    </tr>
  );
}

/** A name that programs use, such as `user.sign-in-refused` or `refusedWithinHour`, as words. */
function wordsOf(name: string): string {
  return name
    .replace('.', ': ')
    .replaceAll('-', ' ')
    .replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** A moment is noted in milliseconds since 1970, or as RFC 3339. */
function DetailValue({ name, value }: { name: string; value: string }) {
  if (name.endsWith('At') && /^[0-9]{12,14}$/.test(value)) return <Time at={Number(value)} />;
  return <WithTimes text={escapeUnseen(value)} />;
}

function queryOf({ actor, action, target }: AuditWanted): string {
  return new URLSearchParams({ actor, action, target }).toString();
}
