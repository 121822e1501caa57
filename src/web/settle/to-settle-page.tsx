import { escapeUnseen } from '../../intake/shown-value.ts';
import { formatAmount } from '../../money.ts';
import type { Payout } from '../../payout.ts';
import { choicesOf } from '../../runs/choices.ts';
import type { SettlePage, SettlePlace } from '../../runs/to-settle.ts';
import { Time } from '../parts/time.tsx';
import { hrefOfRow } from '../payouts/find-row.ts';
import { Indications } from './decide-part.tsx';
import { proposalWords } from './decisions.ts';

interface ToSettleProps extends SettlePage {
  readonly rules: { readonly now: number; readonly quoteGraceMs: number };
  readonly isFirst: boolean;
}

/** Payouts that are unknown or held, over all runs. */
export function ToSettlePage({ payouts, next, rules, isFirst }: ToSettleProps) {
  return (
    <>
      <p>
        A payout is unknown when a payment request may have been sent and nobody knows what came of it: it is looked up
        until it is known. A held one waits for people: one proposes what becomes of it, another one confirms.
      </p>
      {payouts.length === 0 ? <Nothing isLast={next === null} /> : <SettleTable payouts={payouts} rules={rules} />}
      <nav class="pages" aria-label="Pages">
        {isFirst ? null : <a href="/to-settle">Newest runs</a>}
        {next === null ? null : (
          <a rel="next" href={hrefFrom(next)}>
            Older
          </a>
        )}
      </nav>
      <p>
        <a href="/to-settle.csv">All of them as CSV</a> · <a href="/block-list">Blocked beneficiaries</a>
      </p>
    </>
  );
}

function hrefFrom({ runId, line }: SettlePlace): string {
  return `/to-settle?${new URLSearchParams({ run: runId, line: String(line) })}`;
}

function Nothing({ isLast }: { isLast: boolean }) {
  return (
    <p class="empty">
      {isLast
        ? 'Nothing is unknown or held here: there is nothing for people to settle. '
        : 'The runs of this page have nothing to settle; older ones follow. '}
      <a href="/runs">To the runs</a>
    </p>
  );
}

function SettleTable({ payouts, rules }: Pick<ToSettleProps, 'payouts' | 'rules'>) {
  return (
    <div class="scroll">
      <table class="to-settle">
        <caption>Unknown and held payouts, those of the newest run first</caption>
        <thead>
          <tr>
            <th scope="col">Reference</th>
            <th scope="col">Run</th>
            <th scope="col" class="number">
              Amount
            </th>
            <th scope="col">State</th>
            <th scope="col">Evidence</th>
            <th scope="col">Decision</th>
          </tr>
        </thead>
        <tbody>
          {payouts.map((payout) => (
            <SettleLine key={`${payout.runId}-${payout.line}`} payout={payout} rules={rules} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function SettleLine({ payout, rules }: { payout: Payout; rules: ToSettleProps['rules'] }) {
  const { row } = payout;
  const reason = [payout.reasonCode, payout.reason].filter((part) => part !== null).join(' ');
  return (
    <tr>
      <th scope="row">
        <a href={hrefOfRow({ run: payout.runId, line: payout.line })}>{row.reference}</a>
      </th>
      <td>
        <a href={`/runs/${payout.runId}`}>{payout.runId}</a>, line {payout.line}
      </td>
      <td class="number">
        {formatAmount(row.amount)} <abbr>{row.amount.currency}</abbr>
      </td>
      <td>
        <span class={`outcome ${payout.state}`}>{payout.state}</span> {escapeUnseen(reason)}
      </td>
      <td>
        <Indications payout={payout} />
      </td>
      <td>
        <DecisionCell payout={payout} rules={rules} />
      </td>
    </tr>
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
      {possible.length === 0 ? (
        'Nothing yet'
      ) : (
        <a href={href}>
          {proposal === null ? `Propose (${possible.map(({ decision }) => decision).join(', ')})` : 'Look and decide'}
        </a>
      )}
    </>
  );
}
