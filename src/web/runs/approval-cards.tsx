import type { ComponentChildren } from 'preact';
import { stagesText } from '../../config/stages.ts';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import type { Money } from '../../money.ts';
import type { Run } from '../../payout.ts';
import type { BeneficiaryTotal } from '../../runs/beneficiaries.ts';
import { Badge, type Tone } from '../parts/badge.tsx';
import { shownCount, shownDecimal } from '../parts/figures.ts';
import { Icon, type IconName } from '../parts/icon.tsx';
import { Amount } from '../parts/money.tsx';
import { reasonWords } from '../parts/outcome-words.ts';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import type { ApprovalProps, Seen } from './approval-facts.ts';

/** More stand in the fold below. */
const CURRENCIES_MAX = 3;
const LINES_MAX = 10;

/** The money of the file, what changed against the run before it, and who is paid for the first time. */
export function ApprovalCards({ run, before, beneficiaries: { newOnes }, fees }: ApprovalProps) {
  const others = run.fileTotals.length - CURRENCIES_MAX;
  return (
    <div class="cards">
      <div class="card card-body">
        <h2 class="label">In the file</h2>
        {run.fileTotals.slice(0, CURRENCIES_MAX).map((total) => (
          <p key={total.currency} class="figure">
            <Amount money={total} />
          </p>
        ))}
        {others > 0 ? <p class="hint">{`and ${others} more ${others === 1 ? 'currency' : 'currencies'}`}</p> : null}
        <Fees quoted={fees} />
        {run.stages === null ? null : <p class="hint">Paid in stages: {stagesText(run.stages)}.</p>}
      </div>
      <BeforeCard run={run} before={before} />
      <div class="card card-body">
        <h2 class="label">Paid for the first time</h2>
        <p class={`figure ${run.newBeneficiaryRows === 0 ? '' : 'tone-wait'}`}>
          {shownCount(run.newBeneficiaryRows)} {run.newBeneficiaryRows === 1 ? 'row' : 'rows'}
        </p>
        {newOnes.beneficiaries === 0 ? null : (
          <p class="hint">
            {shownCount(newOnes.beneficiaries)} {newOnes.beneficiaries === 1 ? 'beneficiary gets' : 'beneficiaries get'}{' '}
            <Amounts amounts={newOnes.amounts} />
          </p>
        )}
      </div>
    </div>
  );
}

/** What quotes said when whoever handed it in asked for them. */
function Fees({ quoted }: { quoted: ApprovalProps['fees'] }) {
  const fees = quoted?.funds.filter((one) => /[1-9]/.test(one.fees)) ?? [];
  if (quoted === undefined) return <p class="hint">Fees come on top, as the service quotes them.</p>;
  return (
    <p class="hint">
      {fees.length === 0 ? 'No fees' : 'Fees of '}
      {fees.slice(0, CURRENCIES_MAX).map(({ currency, fees: amount, estimate }, at) => (
        <span key={currency}>
          {at === 0 ? '' : ', '}
          {estimate ? 'about ' : ''}
          {shownDecimal(amount)} {currency}
        </span>
      ))}{' '}
      come on top by quotes of <Time at={quoted.at} />.
    </p>
  );
}

function Amounts({ amounts }: { amounts: readonly Money[] }) {
  const others = amounts.length - CURRENCIES_MAX;
  return (
    <>
      {amounts.slice(0, CURRENCIES_MAX).map((money, at) => (
        <span key={money.currency}>
          {at === 0 ? null : ', '}
          <Amount money={money} />
        </span>
      ))}
      {others > 0 ? ` and ${others} more ${others === 1 ? 'currency' : 'currencies'}` : null}
    </>
  );
}

function BeforeCard({ run, before }: Pick<ApprovalProps, 'run' | 'before'>) {
  const [now, last] = [run.fileTotals, before?.fileTotals ?? []];
  const change = now.length === 1 && last.length === 1 ? changeOf(last[0], now[0]) : null;
  return (
    <div class="card card-body">
      <h2 class="label">Against the last file of this name</h2>
      {before === undefined ? (
        <p class="hint">There was none lately.</p>
      ) : (
        <>
          <p class="figure">{change ?? `${rowsChange(before, run)} rows`}</p>
          <p class="hint">
            {last.slice(0, CURRENCIES_MAX).map((total) => (
              <>
                <Amount money={total} />{' '}
              </>
            ))}
            in {shownCount(before.rows)} rows, <Time at={before.createdAt} />
          </p>
        </>
      )}
    </div>
  );
}

/** In whole per cent, such as `+ 31 %`; null for other currencies. */
function changeOf(last: Money | undefined, now: Money | undefined): string | null {
  if (last === undefined || now === undefined || last.currency !== now.currency || last.minor === 0n) return null;
  const perCent = ((now.minor - last.minor) * 100n) / last.minor;
  return perCent < 0n ? `− ${shownCount(-perCent)} %` : `+ ${shownCount(perCent)} %`;
}

function rowsChange(before: Run, run: Run): string {
  const more = run.rows - before.rows;
  return more < 0 ? `− ${shownCount(-more)}` : `+ ${shownCount(more)}`;
}

/** The largest of each currency, then the next ones, ten in all. */
export function TopBeneficiaries(props: ApprovalProps) {
  const { beneficiaries } = props;
  const { top, others } = beneficiaries;
  const lines = tenOf(top);
  const left = top.length - lines.length + others;
  const caption = left === 0 ? 'Who gets most' : `Who gets most: ${lines.length}, and ${shownCount(left)} more lines`;
  return (
    <div>
      <BlockedLines {...props} />
      <BeneficiaryLines caption={caption} lines={lines} seen={props} />
    </div>
  );
}

/** The largest of those who are blocked, wherever they stand. */
function BlockedLines(props: ApprovalProps) {
  const { blocked } = props.beneficiaries;
  if (blocked.length === 0) return null;
  const lines = blocked.slice(0, LINES_MAX);
  const left = blocked.length - lines.length;
  const caption = `Blocked: they are held when their turn comes${left === 0 ? '' : `; ${shownCount(left)} more lines`}`;
  return <BeneficiaryLines caption={caption} lines={lines} seen={props} />;
}

function tenOf(top: readonly BeneficiaryTotal[]): BeneficiaryTotal[] {
  const rank = new Map<BeneficiaryTotal, number>();
  const seen = new Map<string, number>();
  for (const line of top) {
    const place = seen.get(line.amount.currency) ?? 0;
    rank.set(line, place);
    seen.set(line.amount.currency, place + 1);
  }
  const chosen = new Set(
    top.toSorted((one, other) => (rank.get(one) ?? 0) - (rank.get(other) ?? 0)).slice(0, LINES_MAX),
  );
  return top.filter((line) => chosen.has(line));
}

interface LinesProps {
  readonly caption: string;
  readonly lines: readonly BeneficiaryTotal[];
  readonly seen: Seen;
}

/** Beneficiaries with what they get, and whether they are new or blocked. */
export function BeneficiaryLines({ caption, lines, seen: { names, neverPaid, blocked } }: LinesProps) {
  return (
    <Table
      caption={caption}
      columns={['Name at the service', { number: 'Payouts' }, { number: 'Amount' }, 'Look at']}
      class="stacked"
    >
      {lines.map(({ identityId, rows, amount }) => (
        <tr key={`${identityId} ${amount.currency}`}>
          <th scope="row">
            {names.get(identityId) ?? <span class="dim">not known</span>} <code>{identityId}</code>
          </th>
          <td class="number">{shownCount(rows)}</td>
          <td class="number">
            <Amount money={amount} />
          </td>
          <td>
            {blocked.has(identityId) ? <Badge tone="bad">blocked</Badge> : null}{' '}
            {neverPaid.has(identityId) ? <Badge tone="wait">never paid before</Badge> : null}
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** What was checked, each in a line with its result. */
export function Checks({ run, limits, beneficiaries, changes }: ApprovalProps) {
  const { refused, held } = run.counts;
  const stopped = new Set(beneficiaries.blocked.map(({ identityId }) => identityId));
  return (
    <div class="card card-body">
      <h2 class="label">Checks</h2>
      <ul class="checks">
        <Check isGood={refused === 0} good="All rows are well-formed.">
          {shownCount(refused)} {refused === 1 ? 'row was' : 'rows were'} refused in the file, and {isAre(refused)} not
          paid.
        </Check>
        <Check isGood={held === 0} good="No row is held.">
          {shownCount(held)} {held === 1 ? 'row is' : 'rows are'} held and {held === 1 ? 'waits' : 'wait'} for people:{' '}
          {beneficiaries.held
            .map(({ reason, rows }) => `${shownCount(rows)} because ${reasonWords(reason) ?? escapeUnseen(reason)}`)
            .join(', ')}
          .
        </Check>
        <Check isGood={stopped.size === 0} good="No beneficiary is blocked.">
          {shownCount(stopped.size)} {stopped.size === 1 ? 'beneficiary is' : 'beneficiaries are'} blocked.
        </Check>
        <Check isGood={run.newBeneficiaryRows === 0} good="Everybody was paid before.">
          {shownCount(run.newBeneficiaryRows)} rows go to somebody who was never paid before.
        </Check>
        <Check isGood={limits !== null} good="Limits are set, and count when it is paid.">
          No limits are set.
        </Check>
        <Check isGood={changes.length === 0} good="The way it came is not new.">
          Schedules on its way were changed lately; they stand below.
        </Check>
      </ul>
    </div>
  );
}

function isAre(count: number): string {
  return count === 1 ? 'is' : 'are';
}

function Check({ isGood, good, children }: { isGood: boolean; good: string; children: ComponentChildren }) {
  const [tone, icon]: [Tone, IconName] = isGood ? ['good', 'circle-check'] : ['wait', 'alert-triangle'];
  return (
    <li class={`tone-${tone}`}>
      <Icon name={icon} /> <span>{isGood ? good : children}</span>
    </li>
  );
}
