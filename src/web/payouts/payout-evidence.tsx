import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import type { Payout } from '../../payout.ts';
import { type Story, storyFacts } from '../../runs/story.ts';
import { shownAmount, shownAmountsIn, shownCount } from '../parts/figures.ts';
import { Line, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { hrefOfRow } from './find-row.ts';

/** All that the ledger has of a row, for those who look closely: counters, codes, processes and the service's ids. */
export function TechnicalEvidence({ story, payout }: { story: Story; payout: Payout | null }) {
  return (
    <details class="my-3">
      <summary>Technical evidence</summary>
      <dl class="card card-body facts">
        {storyFacts(story).map(([label = '', words = '']) => (
          <Fact key={`${label} ${words}`} label={label} words={payout === null ? words : shownFact(label, words)} />
        ))}
        {payout === null || payout.costLimit === null ? null : (
          <Fact label="cost limit" words={costLimitWords(payout)} />
        )}
      </dl>
      {story.history.length === 0 ? null : <History story={story} />}
    </details>
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
          <Line key={`${step.at} ${step.to}`}>
            <td>
              <Time at={Date.parse(step.at)} />
            </td>
            <th scope="row">{step.to}</th>
            <td>{escapeUnseen(step.actor)}</td>
            <td>{escapeUnseen(step.reason)}</td>
            <td>
              <code>{escapeUnseen(step.exchange ?? '')}</code>
            </td>
          </Line>
        ))}
      </Table>
      <p>
        <a href={`${hrefOfRow({ run: story.runId, line: story.line })}/history.csv`}>The history as CSV</a>
      </p>
    </section>
  );
}
