import type { Run, RunState } from '../../payout.ts';
import type { Reconciled } from '../../reconciled.ts';
import type { Tone } from '../parts/badge.tsx';
import { shownCount } from '../parts/figures.ts';

/** States of runs in the words of people; programs have the names. */
export const RUN_STATE_WORDS: Readonly<Record<RunState, string>> = {
  recording: 'being recorded',
  'awaiting-approval': 'waits for approval',
  paying: 'paying',
  paused: 'paused, or starts later',
  finished: 'finished',
  cancelled: 'cancelled',
};

const EVENT_WORDS: Readonly<Record<string, string>> = {
  ...RUN_STATE_WORDS,
  paying: 'began to pay',
  paused: 'paused',
  approved: 'approved by one person',
  stage: 'went on to the next stage',
  'put-off': 'starts later than planned',
};

/** What happened to a run in the words of people; what has none is told by its name. */
export function eventWords(event: string): string {
  return EVENT_WORDS[event] ?? event;
}

/** What became of the rows of a run, as people ask for it. */
export interface RowsBecame {
  readonly paid: number;
  /** The service has a payment for it that has not ended. */
  readonly onTheWay: number;
  readonly notStarted: number;
  /** A payment request may have been sent, and nobody knows yet what came of it. */
  readonly unknown: number;
  /** Held: a person decides. */
  readonly needYou: number;
  /** Failed, returned, rejected, cancelled, or refused in the file. */
  readonly notPaid: number;
}

export function rowsBecame({ counts }: Pick<Run, 'counts'>): RowsBecame {
  const { failed, returned, rejected, cancelled, refused, armed, quoted, unknown } = counts;
  return {
    paid: counts.completed,
    onTheWay: counts.accepted,
    notStarted: counts.ready,
    unknown: armed + quoted + unknown,
    needYou: counts.held,
    notPaid: failed + returned + rejected + cancelled + refused,
  };
}

/** Such as `reconciled 998 of 1,000`: payments that stand on a statement of the bank. */
export function reconciledWords({ reconciled, payments }: Reconciled): string {
  return `reconciled ${shownCount(reconciled)} of ${shownCount(payments)}`;
}

/** How a run stands, told by what became of its rows: good only where all of them are paid. */
export function runStatus(run: Pick<Run, 'state' | 'startAt' | 'counts' | 'rows'>): { tone: Tone; words: string } {
  const became = rowsBecame(run);
  const { needYou } = became;
  const needs = needYou === 0 ? '' : `: ${shownCount(needYou)} ${needYou === 1 ? 'needs' : 'need'} you`;
  switch (run.state) {
    case 'recording':
      return { tone: 'busy', words: 'Being recorded' };
    case 'awaiting-approval':
      return { tone: 'wait', words: 'Waits for approval' };
    case 'paying':
      return { tone: needYou === 0 ? 'busy' : 'wait', words: `Paying${needs}` };
    case 'paused':
      return run.startAt === null
        ? { tone: 'wait', words: `Paused${needs}` }
        : { tone: 'still', words: `Starts later${needs}` };
    case 'cancelled':
      return { tone: needYou === 0 ? 'still' : 'wait', words: `Cancelled: ${becameWords(became)}` };
    case 'finished':
      return finishedStatus(run.rows, became);
  }
}

function finishedStatus(rows: number, became: RowsBecame): { tone: Tone; words: string } {
  const { paid, onTheWay, needYou, notPaid } = became;
  if (paid === rows) return { tone: 'good', words: `All ${shownCount(rows)} paid` };
  const words = `Finished: ${becameWords(became)}`;
  if (needYou > 0) return { tone: 'wait', words };
  if (notPaid === rows) return { tone: 'bad', words: 'Finished: nothing was paid' };
  if (notPaid > 0) return { tone: 'bad', words };
  return { tone: onTheWay > 0 ? 'busy' : 'still', words };
}

/** Such as `947 paid, 35 not paid, 18 need you`. */
function becameWords({ paid, onTheWay, notStarted, unknown, needYou, notPaid }: RowsBecame): string {
  const parts: readonly (readonly [number, string])[] = [
    [paid, 'paid'],
    [onTheWay, 'on the way'],
    [notStarted, 'not started'],
    [unknown, 'not known yet'],
    [notPaid, 'not paid'],
    [needYou, needYou === 1 ? 'needs you' : 'need you'],
  ];
  const told = parts.filter(([count]) => count > 0).map(([count, words]) => `${shownCount(count)} ${words}`);
  return told.join(', ') || 'no rows';
}
