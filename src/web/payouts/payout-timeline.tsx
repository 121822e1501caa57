import type { ComponentChildren } from 'preact';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import { type Outcome, outcomeOf, type Payout, type Run } from '../../payout.ts';
import { STATE_WORDS } from '../parts/outcome-words.ts';
import { Time } from '../parts/time.tsx';

interface TimelineProps {
  readonly run: Run;
  /** Null for a row that intake refused. */
  readonly payout: Payout | null;
}

const LAST_STEPS: Readonly<Partial<Record<Outcome, string>>> = {
  failed: 'Failed',
  returned: 'Came back',
  rejected: 'Rejected',
  held: 'Held',
  cancelled: 'Cancelled',
};

/** From the hand-in to the end, each step with its time; a step that has none has not come yet. */
export function Timeline({ run, payout }: TimelineProps) {
  const approval = run.approvals.at(-1);
  return (
    <ol class="card card-body mb-3 ps-5 gap-2">
      <Step words="Handed in" at={run.createdAt}>
        by {escapeUnseen(run.createdBy)}
      </Step>
      {approval === undefined && run.state !== 'awaiting-approval' ? null : (
        <Step words="Approved" at={approval?.at ?? null}>
          {run.approvals.length === 0 ? null : `by ${run.approvals.map(({ by }) => escapeUnseen(by)).join(', ')}`}
        </Step>
      )}
      {payout === null ? (
        <Step words="Refused in the file" at={run.recordedAt ?? run.createdAt} />
      ) : (
        <Sent payout={payout} />
      )}
    </ol>
  );
}

function Sent({ payout }: { payout: Payout }) {
  const last = payout.history.at(-1)?.at ?? null;
  const words = LAST_STEPS[outcomeOf(payout.state)];
  const wasPaid = payout.state === 'completed' || payout.state === 'returned';
  return (
    <>
      {payout.sentAt === null && words !== undefined ? null : <Step words="Sent to the service" at={payout.sentAt} />}
      {words === undefined || wasPaid ? (
        <Step words="Paid" at={wasPaid ? (payout.history.find(({ to }) => to === 'completed')?.at ?? last) : null} />
      ) : null}
      {words === undefined ? null : (
        <Step words={words} at={last}>
          it {STATE_WORDS[payout.state]}
        </Step>
      )}
    </>
  );
}

interface StepProps {
  readonly words: string;
  /** Milliseconds since 1970; null before it has come. */
  readonly at: number | null;
  readonly children?: ComponentChildren;
}

function Step({ words, at, children }: StepProps) {
  return (
    <li class={at === null ? 'dim' : ''}>
      <b>{words}</b> {at === null ? 'not yet' : <Time at={at} />} <span class="dim">{children}</span>
    </li>
  );
}
