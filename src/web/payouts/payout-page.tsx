import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import type { Payout } from '../../payout.ts';
import { type Story, storyFacts, twinOf } from '../../runs/story.ts';
import { shownAmount, shownAmountsIn, shownCount } from '../parts/figures.ts';
import { Table } from '../parts/table.tsx';
import { DecidePart } from '../settle/decide-part.tsx';
import type { Person } from '../web.ts';
import { hrefOfRow } from './find-row.ts';

interface PayoutProps {
  readonly story: Story;
  /** Null for a row that intake refused. */
  readonly payout: Payout | null;
  readonly who: Person | null;
  readonly rules: { readonly now: number; readonly quoteGraceMs: number };
}

/** The whole story of a row, and what people may decide of it. */
export function PayoutPage({ story, payout, who, rules }: PayoutProps) {
  const twin = twinOf(story);
  return (
    <>
      <p>
        <a href={`/runs/${story.runId}/payouts`}>All payouts of run {story.runId}</a>
      </p>
      <dl class="card card-body facts">
        {storyFacts(story).map(([label = '', words = '']) => (
          <Fact key={`${label} ${words}`} label={label} words={payout === null ? words : shownFact(label, words)} />
        ))}
        {payout === null || payout.costLimit === null ? null : (
          <Fact label="cost limit" words={costLimitWords(payout)} />
        )}
      </dl>
      {payout === null || payout.paymentId === null ? null : (
        <p>
          <a href={`${hrefOfRow({ run: story.runId, line: story.line })}/confirmation`}>Payment confirmation</a> to
          print
        </p>
      )}
      {twin === null ? null : (
        <p>
          Compare it with <a href={hrefOfRow({ run: twin.runId, line: twin.line })}>the payout that it may repeat</a>.
        </p>
      )}
      {payout === null || story.beneficiaryIdentityId === null || who?.may('block') !== true ? null : (
        <p>
          <a href={`/block-list?id=${encodeURIComponent(story.beneficiaryIdentityId)}`}>Block its beneficiary</a>
        </p>
      )}
      {payout === null ? null : <DecidePart payout={payout} who={who} rules={rules} />}
      {story.history.length === 0 ? null : <History story={story} />}
    </>
  );
}

function Fact({ label, words }: { label: string; words: string }) {
  return (
    <>
      <dt>{label}</dt>
      <dd>{escapeUnseen(words)}</dd>
    </>
  );
}

const AMOUNTS: ReadonlySet<string> = new Set(['asked for', 'source amount', 'destination amount', 'fee']);

function shownFact(label: string, words: string): string {
  return AMOUNTS.has(label) ? shownAmountsIn(words) : words;
}

function costLimitWords({ costLimit, row }: Payout): string {
  if (costLimit === null) return 'none';
  if (costLimit.debited === 0n) return 'its cost was not found out when it was handed in, so any is too much';
  const debited = shownAmount({ minor: costLimit.debited, currency: row.sourceCurrency });
  const arrives = shownAmount({ minor: costLimit.arrives, currency: row.destinationCurrency });
  return (
    `at most ${shownCount(costLimit.driftBp)} basis points dearer than ` +
    `${debited} ${row.sourceCurrency} for ${arrives} ${row.destinationCurrency}`
  );
}

function History({ story }: { story: Story }) {
  return (
    <section>
      <h2>History</h2>
      <Table
        caption="What became of it, the oldest first"
        columns={['Time', 'State', 'By', 'Reason', "Service's id of the exchange"]}
      >
        {story.history.map((step) => (
          <tr key={`${step.at} ${step.to}`}>
            <td>
              <time dateTime={step.at}>{step.at}</time>
            </td>
            <th scope="row">{step.to}</th>
            <td>{escapeUnseen(step.actor)}</td>
            <td>{escapeUnseen(step.reason)}</td>
            <td>
              <code>{escapeUnseen(step.exchange ?? '')}</code>
            </td>
          </tr>
        ))}
      </Table>
      <p>
        <a href={`${hrefOfRow({ run: story.runId, line: story.line })}/history.csv`}>The history as CSV</a>
      </p>
    </section>
  );
}
