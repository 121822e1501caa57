import { escapeUnseen } from '../../intake/shown-value.ts';
import { formatAmount } from '../../money.ts';
import type { Payout } from '../../payout.ts';
import { type Story, storyFacts, twinOf } from '../../runs/story.ts';
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
      <dl class="facts">
        {storyFacts(story).map(([label = '', words = '']) => (
          <Fact key={`${label} ${words}`} label={label} words={words} />
        ))}
        {payout === null || payout.costLimit === null ? null : (
          <Fact label="cost limit" words={costLimitWords(payout)} />
        )}
      </dl>
      {twin === null ? null : (
        <p>
          Compare it with <a href={hrefOfRow({ run: twin.runId, line: twin.line })}>the payout that it may repeat</a>.
        </p>
      )}
      {payout === null || story.beneficiaryIdentityId === null ? null : (
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

function costLimitWords({ costLimit, row }: Payout): string {
  if (costLimit === null) return 'none';
  if (costLimit.debited === 0n) return 'its cost was not found out when it was handed in, so any is too much';
  const debited = formatAmount({ minor: costLimit.debited, currency: row.sourceCurrency });
  const arrives = formatAmount({ minor: costLimit.arrives, currency: row.destinationCurrency });
  return (
    `at most ${costLimit.driftBp} basis points dearer than ` +
    `${debited} ${row.sourceCurrency} for ${arrives} ${row.destinationCurrency}`
  );
}

function History({ story }: { story: Story }) {
  return (
    <section>
      <h2>History</h2>
      <div class="scroll">
        <table>
          <caption>What became of it, the oldest first</caption>
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col">State</th>
              <th scope="col">By</th>
              <th scope="col">Reason</th>
              <th scope="col">Service's id of the exchange</th>
            </tr>
          </thead>
          <tbody>
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
          </tbody>
        </table>
      </div>
      <p>
        <a href={`${hrefOfRow({ run: story.runId, line: story.line })}/history.csv`}>The history as CSV</a>
      </p>
    </section>
  );
}
