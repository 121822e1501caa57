import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import { outcomeOf, type Payout, payoutId } from '../../payout.ts';
import { choicesOf, type DecisionRules } from '../../runs/decide/choices.ts';
import { reasonWords } from '../../runs/decide/reason-words.ts';
import { type SettlePage, settleReason, TO_SETTLE } from '../../runs/decide/to-settle.ts';
import { Badge } from '../parts/badge.tsx';
import { Choice, Field } from '../parts/fields.tsx';
import { shownAmountsIn } from '../parts/figures.ts';
import { Identity } from '../parts/identity.tsx';
import { Amount } from '../parts/money.tsx';
import { OUTCOME_WORDS } from '../parts/outcome-words.ts';
import { Pages } from '../parts/pages.tsx';
import { Line, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { hrefOfRow } from '../payouts/find-row.ts';
import { GroupTable } from './bulk-page.tsx';
import { Indications } from './decide-part.tsx';
import { proposalWords } from './decisions.ts';
import type { SettleGroups } from './groups.ts';
import { PROPOSED_SHOWN_MAX } from './proposed.ts';
import { hrefOfList, type SettleWanted } from './wanted.ts';

interface ToSettleProps extends SettlePage, SettleGroups {
  readonly rules: DecisionRules & {
    /** Whether who looks may propose and confirm. */
    readonly maySettle: boolean;
  };
  readonly wanted: SettleWanted;
  readonly isFirst: boolean;
  /** Those of other states for which somebody has proposed something. */
  readonly proposed: readonly Payout[];
  /** For which payouts wait. */
  readonly reasons: readonly string[];
}

/** Payouts that are unknown or held, over all runs, and those of other states for which somebody has proposed something. */
export function ToSettlePage(props: ToSettleProps) {
  const { payouts, next, rules, wanted, isFirst, proposed } = props;
  return (
    <>
      <p>
        A payout is unknown when a payment request may have been sent and nobody knows what came of it: it is looked up
        until it is known. A held one waits for people: one proposes what becomes of it, another one confirms.
      </p>
      <FilterForm {...props} />
      <GroupTable {...props} />
      {proposed.length === 0 ? null : (
        <SettleTable
          caption={`Payouts of other states that wait for another person${proposed.length < PROPOSED_SHOWN_MAX ? '' : `: the last ${PROPOSED_SHOWN_MAX} that were proposed`}`}
          payouts={proposed}
          rules={rules}
        />
      )}
      {payouts.length === 0 ? (
        <Nothing isLast={next === null} isAll={proposed.length === 0} />
      ) : (
        <SettleTable
          caption="Unknown and held payouts, those of the newest run first"
          payouts={payouts}
          rules={rules}
        />
      )}
      <Pages
        before={isFirst ? undefined : { href: hrefOfList({ ...wanted, from: '' }), words: 'Newest runs' }}
        after={next === null ? undefined : { href: hrefOfList({ ...wanted, from: payoutId(next) }), words: 'Older' }}
      />
      <p>
        <a href="/to-settle.csv">All of them as CSV</a> · <a href="/block-list">Blocked beneficiaries</a>
      </p>
    </>
  );
}

function FilterForm({ wanted: { run, state, reason, hours }, reasons }: Pick<ToSettleProps, 'wanted' | 'reasons'>) {
  const choices = [...new Set([...reasons, reason])].filter((one) => one !== '');
  return (
    <details open={[run, state, reason, hours].some((one) => one !== '')}>
      <summary>Show only some of them</summary>
      <form method="get" action="/to-settle" class="list-search">
        <Choice
          label="State"
          name="state"
          value={state}
          options={[['', 'any'], ...TO_SETTLE.map((one) => [one, OUTCOME_WORDS[one]] as const)]}
        />
        <Choice
          label="Reason"
          name="reason"
          value={reason}
          options={[['', 'any'], ...choices.map((one) => [one, reasonWords(one) ?? escapeUnseen(one)] as const)]}
        />
        <Field label="Run" name="run" value={run} maxLength={64} />
        <Field label="Has waited for hours" name="hours" value={String(hours)} inputMode="numeric" maxLength={6} />
        <button type="submit" class="btn">
          Show
        </button>
        <a class="btn" href="/to-settle">
          Show all
        </a>
      </form>
    </details>
  );
}

function Nothing({ isLast, isAll }: { isLast: boolean; isAll: boolean }) {
  return (
    <p class="empty">
      {isLast
        ? `Nothing is unknown or held here${isAll ? ': there is nothing for people to settle' : ''}. `
        : 'The runs of this page have nothing to settle; older ones follow. '}
      <a href="/runs">To the runs</a>
    </p>
  );
}

function SettleTable({ caption, payouts, rules }: Pick<ToSettleProps, 'payouts' | 'rules'> & { caption: string }) {
  return (
    <Table
      caption={caption}
      columns={['Reference', 'Beneficiary', 'Run', { number: 'Amount' }, 'State', 'Evidence', 'Decision']}
      class="to-settle"
    >
      {payouts.map((payout) => (
        <SettleLine key={`${payout.runId}-${payout.line}`} payout={payout} rules={rules} />
      ))}
    </Table>
  );
}

function SettleLine({ payout, rules }: { payout: Payout; rules: ToSettleProps['rules'] }) {
  const { row } = payout;
  const reason = payout.reason ?? reasonWords(settleReason(payout)) ?? settleReason(payout);
  return (
    <Line>
      <th scope="row">
        <a href={hrefOfRow({ run: payout.runId, line: payout.line })}>{row.reference}</a>
      </th>
      <td>
        <Identity id={row.beneficiaryIdentityId} name={payout.beneficiaryName} />
      </td>
      <td>
        <a href={`/runs/${payout.runId}`}>{payout.runId}</a>, line {payout.line}
      </td>
      <td class="number">
        <Amount money={row.amount} />
      </td>
      <td>
        <Badge tone="wait">{OUTCOME_WORDS[outcomeOf(payout.state)]}</Badge> {escapeUnseen(shownAmountsIn(reason))}
      </td>
      <td>
        <Indications payout={payout} rules={rules} />
      </td>
      <td>
        <DecisionCell payout={payout} rules={rules} />
      </td>
    </Line>
  );
}

function DecisionCell({ payout, rules }: { payout: Payout; rules: ToSettleProps['rules'] }) {
  const { proposal } = payout;
  const href = `${hrefOfRow({ run: payout.runId, line: payout.line })}#settle`;
  const possible = choicesOf(payout, rules).filter(({ whyNot }) => whyNot === null);
  return (
    <>
      {proposal === null ? null : (
        <p class="proposal">
          {escapeUnseen(proposal.by)} proposed {escapeUnseen(proposalWords(proposal))} on <Time at={proposal.at} />:{' '}
          {escapeUnseen(proposal.reason)}
        </p>
      )}
      {possible.length === 0 || !rules.maySettle ? (
        <NoDecision isPossible={possible.length > 0} href={href} />
      ) : (
        <a href={href}>{proposal === null ? 'Propose what becomes of it' : 'Look and decide'}</a>
      )}
    </>
  );
}

function NoDecision({ isPossible, href }: { isPossible: boolean; href: string }) {
  return isPossible ? <a href={href}>Look</a> : <>Nothing yet</>;
}
