import type { ListedName } from '../../access/listed-name.ts';
import type { ForeseenDocument } from '../../runs/hand-in/foreseen-document.ts';
import { counted, shownAmountsIn, shownCount, shownDecimal } from '../parts/figures.ts';
import { Icon } from '../parts/icon.tsx';
import { Identity } from '../parts/identity.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { hrefOfRow } from '../payouts/find-row.ts';

type Stopped = ForeseenDocument['stopped'][number];
type Row = ForeseenDocument['first'][number];
type Names = ReadonlyMap<string, ListedName>;

const SHOWN_ROWS = 3;
const SHOWN_TOTALS = 3;
/** Of many currencies the first ones. */
const LARGEST_MAX = 10;

/** What each reason comes to in words, and what is said where nothing stands against the rows. */
const CHECKS = [
  [['E_DUP_HISTORY', 'E_DIR_LOST'], 'No reference was used before'],
  [['E_DUP_LIKELY'], 'No payout is like another one'],
  [['E_BLOCKED'], 'No beneficiary is blocked'],
  [['E_LIMIT'], 'Within all limits'],
] as const;

/** Rows that would be held or rejected although nothing is wrong with them, and what else the run would meet. */
export function ForeseenPart({ id, foreseen }: { id: string; foreseen: ForeseenDocument }) {
  const { stopped, untold, waiting, cutOffs, at } = foreseen;
  return (
    <section aria-labelledby="foreseen">
      <h2 id="foreseen">What will happen to the valid rows</h2>
      {stopped.length === 0 ? null : <StoppedTable id={id} stopped={stopped} />}
      <div class="checks">
        {CHECKS.filter(([codes]) => !stopped.some((one) => codes.some((code) => code === one.code))).map(
          ([, words]) => (
            <p key={words} class="tie tone-good">
              <Icon name="circle-check" /> {words}
            </p>
          ),
        )}
        {waiting === null ? (
          <p class="tie tone-good">
            <Icon name="circle-check" /> It can start as soon as it is handed in and approved
          </p>
        ) : (
          <p class="tie tone-wait">
            <Icon name="calendar-clock" /> It will wait: {waiting.reason}
          </p>
        )}
        {cutOffs.map((one) => (
          <CutOff key={one.currency} one={one} />
        ))}
        {untold === 0 ? null : (
          <p class="tie tone-wait">
            <Icon name="info-circle" /> {counted(untold, 'row')}: only a quote tells whether a limit stands against{' '}
            {untold === 1 ? 'it' : 'them'}
          </p>
        )}
      </div>
      <p class="hint">
        Looked up on <Time at={Date.parse(at)} />. It is decided anew when the file is handed in and each payout is
        sent.
      </p>
    </section>
  );
}

/** A currency's cut-off, with how many rows are in it and which. */
function CutOff({ one: { currency, cutOff, zone, shut, rows, named } }: { one: ForeseenDocument['cutOffs'][number] }) {
  const shown = named.slice(0, SHOWN_ROWS);
  const others = rows - shown.length;
  return (
    <p class={`tie tone-${shut === null ? 'good' : 'wait'}`}>
      <Icon name={shut === null ? 'circle-check' : 'calendar-clock'} />{' '}
      <span>
        {shut ?? `${currency}: enough time before the cut-off at ${cutOff} (${zone})`}: {counted(rows, 'row')},{' '}
        {shown.map(({ line, reference }) => `line ${line} ${reference}`).join(', ')}
        {others > 0 ? ` and ${shownCount(others)} more` : null}
      </span>
    </p>
  );
}

function StoppedTable({ id, stopped }: { id: string; stopped: readonly Stopped[] }) {
  return (
    <>
      <Table
        caption="What will not be paid by itself"
        columns={[{ number: 'Rows' }, { number: 'Money' }, 'Why', 'What happens', 'Which']}
      >
        {stopped.map((group) => (
          <tr key={`${group.code} ${group.reason}`}>
            <td class="number">{shownCount(group.rows)}</td>
            <td class="number">{totalsText(group.totals)}</td>
            <th scope="row">{shownAmountsIn(group.reason)}</th>
            <td>{group.becomes === 'held' ? 'held: a person decides' : 'rejected: not paid'}</td>
            <td>
              <Which group={group} />
            </td>
          </tr>
        ))}
      </Table>
      <p>
        <a href={`/uploads/${id}/not-paid.csv`}>These rows as CSV</a>
        {stopped.some(({ rows, named }) => named.length < rows) ? ', the first 1,000 of each reason' : null}
      </p>
    </>
  );
}

function Which({ group: { rows, named } }: { group: Stopped }) {
  const shown = named.slice(0, SHOWN_ROWS);
  return (
    <>
      {shown.map(({ line, reference, other }) => (
        <span key={line} class="d-block">
          line {line}, {reference}
          {other === null ? null : (
            <>
              : see <Other other={other} />
            </>
          )}
        </span>
      ))}
      {rows > shown.length ? <span class="dim">and {shownCount(rows - shown.length)} more</span> : null}
    </>
  );
}

/** A payout's id leads to its page; a line of the same file is only named. */
function Other({ other }: { other: string }) {
  const [, run, line] = /^(.+)-([0-9]+)$/.exec(other) ?? [];
  if (run === undefined || line === undefined) return <>{other}</>;
  return <a href={hrefOfRow({ run, line: Number.parseInt(line, 10) })}>{other}</a>;
}

/** The rows by which somebody knows whether it is the file that they mean. */
export function FewRows({ foreseen: { first, largest }, names }: { foreseen: ForeseenDocument; names: Names }) {
  return (
    <div class="few-rows">
      <RowTable caption="The first rows" rows={first} names={names} />
      <RowTable caption="The largest rows" rows={largest.slice(0, LARGEST_MAX)} names={names} />
    </div>
  );
}

function RowTable({ caption, rows, names }: { caption: string; rows: readonly Row[]; names: Names }) {
  return (
    <Table caption={caption} columns={[{ number: 'Line' }, 'Reference', 'Beneficiary', { number: 'Amount' }]}>
      {rows.map(({ line, reference, beneficiaryIdentityId, amount, currency }) => (
        <tr key={line}>
          <td class="number">{line}</td>
          <th scope="row">{reference}</th>
          <td>
            <Identity id={beneficiaryIdentityId} name={names.get(beneficiaryIdentityId)} />
          </td>
          <td class="number">
            {shownDecimal(amount)} <abbr>{currency}</abbr>
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** Sums of several currencies; of many the first ones. */
export function totalsText(totals: Stopped['totals']): string {
  const shown = totals.slice(0, SHOWN_TOTALS).map(({ currency, amount }) => `${shownDecimal(amount)} ${currency}`);
  const left = totals.length - shown.length;
  return [...shown, ...(left === 0 ? [] : [`${left} more currencies`])].join(', ');
}
