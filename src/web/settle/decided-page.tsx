import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import type { Payout } from '../../payout.ts';
import type { Decided } from '../../runs/decide/decide.ts';
import { STATE_WORDS } from '../parts/outcome-words.ts';
import { hrefOfRow } from '../payouts/find-row.ts';

/** What came of a decision, with what the service said. */
export function DecidedPage({ payout, decided }: { payout: Payout; decided: Decided }) {
  return (
    <section class="decided">
      <p class="decided-result">
        {decided.result === 'proposed'
          ? 'Proposed. It is done once another person has confirmed it.'
          : `Confirmed by two people. It ${STATE_WORDS[payout.state]}.`}
      </p>
      {decided.evidence.length === 0 ? null : (
        <>
          <h2>What was found</h2>
          <ul>
            {decided.evidence.map((words) => (
              <li key={words}>{escapeUnseen(words)}</li>
            ))}
          </ul>
        </>
      )}
      <Onwards payout={payout} />
    </section>
  );
}

function Onwards({ payout }: { payout: Payout }) {
  return (
    <p>
      <a href={hrefOfRow({ run: payout.runId, line: payout.line })}>Back to the payout</a> ·{' '}
      <a href="/to-settle">What else is to settle</a>
    </p>
  );
}
