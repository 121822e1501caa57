import type { ComponentChildren } from 'preact';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import { type Money, sumMoney } from '../../money.ts';
import type { Run } from '../../payout.ts';
import { reasonWords } from '../../runs/decide/reason-words.ts';
import type { Tone } from '../parts/badge.tsx';
import { counted, shownCount } from '../parts/figures.ts';
import { Icon, type IconName } from '../parts/icon.tsx';
import { hrefOfRows } from '../payouts/wanted.ts';
import { hrefOfGroup } from '../settle/groups.ts';
import { Amounts } from './approval-cards.tsx';
import { type ApprovalProps, isDuplicate, type Seen } from './approval-facts.ts';

/** Blocked beneficiaries that are linked. */
const LINKS_MAX = 10;

/** What was checked, each in a line with its result, and what is not as it should be with its rows and their sums. */
export function Checks({ run, limits, beneficiaries, changes }: ApprovalProps) {
  const { refused } = run.counts;
  const { held, blocked } = beneficiaries;
  const stopped = new Set(blocked.map(({ identityId }) => identityId));
  const others = held.filter(({ reason }) => !isDuplicate(reason));
  const rowsOf = (wanted: Parameters<typeof hrefOfRows>[1]) => hrefOfRows(run.id, wanted);
  return (
    <div class="card card-body">
      <h2 class="label">Checks</h2>
      <ul class="checks">
        <Check isGood={refused === 0} good="All rows are well-formed.">
          <a href={rowsOf({ outcome: 'refused' })}>
            {shownCount(refused)} {refused === 1 ? 'row was' : 'rows were'} refused in the file
          </a>{' '}
          and {isAre(refused)} not paid: <Amounts amounts={refusedOf(run)} />.
        </Check>
        <HeldCheck
          run={run}
          groups={held.filter(({ reason }) => isDuplicate(reason))}
          good="No row is a likely duplicate."
        />
        <HeldCheck run={run} groups={others} good={held.length === 0 ? 'No row is held.' : 'No other row is held.'} />
        <Check isGood={blocked.length === 0} good="No beneficiary is blocked.">
          {shownCount(stopped.size)} {stopped.size === 1 ? 'beneficiary is' : 'beneficiaries are'} blocked:{' '}
          <Amounts amounts={sumMoney(blocked.map(({ amount }) => amount))} />,{' '}
          {blocked.slice(0, LINKS_MAX).map(({ identityId, rows, amount }, at) => (
            <span key={`${identityId} ${amount.currency}`}>
              {at === 0 ? '' : ', '}
              <a href={rowsOf({ text: identityId })}>{counted(rows, 'row')}</a>
            </span>
          ))}
          {blocked.length > LINKS_MAX ? ` and ${shownCount(blocked.length - LINKS_MAX)} more lines` : null}.
        </Check>
        <Check isGood={run.newBeneficiaryRows === 0} good="Everybody was paid before.">
          {counted(run.newBeneficiaryRows, 'row')} {run.newBeneficiaryRows === 1 ? 'goes' : 'go'} to somebody who was
          never paid before.
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

interface HeldProps {
  readonly run: Run;
  readonly groups: Seen['beneficiaries']['held'];
  readonly good: string;
}

/** Rows that wait for people, by why, each with a link to them. */
function HeldCheck({ run, groups, good }: HeldProps) {
  const rows = groups.reduce((sum, one) => sum + one.rows, 0);
  return (
    <Check isGood={rows === 0} good={good}>
      {shownCount(rows)} {rows === 1 ? 'row is' : 'rows are'} held and {rows === 1 ? 'waits' : 'wait'} for people:{' '}
      {groups.map(({ reason, rows: count, amounts }, at) => (
        <span key={reason}>
          {at === 0 ? '' : '; '}
          <a
            href={hrefOfGroup({ runId: run.id, state: 'held', reason }) ?? hrefOfRows(run.id, { outcome: 'held' })}
          >{`${shownCount(count)} because ${reasonWords(reason) ?? escapeUnseen(reason)}`}</a>{' '}
          (<Amounts amounts={amounts} />)
        </span>
      ))}
      .
    </Check>
  );
}

function refusedOf({ amounts }: Run): Money[] {
  return [...amounts]
    .map(([currency, { refused }]) => ({ currency, minor: refused }))
    .filter(({ minor }) => minor > 0n);
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
