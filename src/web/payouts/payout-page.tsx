import { outcomeOf, type Payout, type Run } from '../../payout.ts';
import type { DecisionRules } from '../../runs/decide/choices.ts';
import { type Story, twinOf } from '../../runs/story.ts';
import { Badge } from '../parts/badge.tsx';
import { OUTCOME_TONES, OUTCOME_WORDS, STATE_WORDS } from '../parts/outcome-words.ts';
import { DecidePart } from '../settle/decide-part.tsx';
import type { Person } from '../web.ts';
import { hrefOfRow } from './find-row.ts';
import { PayoutCards, WhatNext } from './payout-cards.tsx';
import { TechnicalEvidence } from './payout-evidence.tsx';
import { Timeline } from './payout-timeline.tsx';

interface PayoutProps {
  readonly story: Story;
  readonly run: Run;
  /** Null for a row that intake refused. */
  readonly payout: Payout | null;
  readonly who: Person | null;
  readonly rules: DecisionRules;
}

/** Around the title of a row: its place, and how it stands. */
export function payoutHead({ story, run }: Pick<PayoutProps, 'story' | 'run'>) {
  const outcome = outcomeOf(story.state);
  return {
    above: (
      <>
        <a href="/runs">Runs</a> / <a href={`/runs/${run.id}`}>{run.fileName}</a> /{' '}
        <a href={`/runs/${run.id}/payouts`}>Payouts</a> / line {story.line}
      </>
    ),
    below: (
      <p>
        <Badge tone={OUTCOME_TONES[outcome]}>{OUTCOME_WORDS[outcome]}</Badge> It {STATE_WORDS[story.state]}.
      </p>
    ),
  };
}

/** A row: who gets how much, when it came how far, what to do next, what people may decide, and all evidence in a fold. */
export function PayoutPage({ story, run, payout, who, rules }: PayoutProps) {
  const twin = twinOf(story);
  const here = hrefOfRow({ run: story.runId, line: story.line });
  return (
    <>
      <PayoutCards story={story} payout={payout} />
      <div class="today">
        <div>
          <WhatNext story={story} payout={payout} run={run} />
          {payout === null || payout.paymentId === null ? null : (
            <p>
              <a href={`${here}/confirmation`}>Payment confirmation</a> to print
            </p>
          )}
          {twin === null ? null : (
            <p>
              Compare it with{' '}
              <a href={hrefOfRow({ run: twin.runId, line: twin.line })}>the payout that it may repeat</a>.
            </p>
          )}
          {payout === null || story.beneficiaryIdentityId === null || who?.may('block') !== true ? null : (
            <p>
              <a href={`/block-list?id=${encodeURIComponent(story.beneficiaryIdentityId)}`}>Block its beneficiary</a>
            </p>
          )}
        </div>
        <Timeline run={run} payout={payout} />
      </div>
      {payout === null ? null : <DecidePart payout={payout} who={who} rules={rules} />}
      <TechnicalEvidence story={story} payout={payout} />
    </>
  );
}
