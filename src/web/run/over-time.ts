import { openTally, type Tally } from '../../intake/tally.ts';
import type { Money } from '../../money.ts';
import type { Payout } from '../../payout.ts';

/** Moments of a chart, from the first payment to the last one. */
const STEPS = 24;

/** What had been paid of a run by a moment. */
export interface PaidBy {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly rows: number;
  /** What left the payer's accounts, one entry for each currency. */
  readonly money: readonly Money[];
}

/** So many moments are kept apart; of more of them two that follow each other become one. */
const MOMENTS_MAX = 4096;

/** What was paid at a moment. */
interface Moment {
  rows: number;
  readonly money: Tally;
}

/**
 * Adds up what was paid by and by; what came back stays counted, for it was paid. Its memory does not grow with the rows: where
 * they were paid at very many moments, each counts at most 1/4096 of the time too late.
 */
export function openOverTime(): { add(payout: Payout): void; result(): PaidBy[] } {
  let widthMs = 1;
  let moments = new Map<number, Moment>();
  return {
    add({ history, sourceAmount, row }) {
      const at = history.find(({ to }) => to === 'completed')?.at;
      if (at === undefined) return;
      addMoment(moments, Math.ceil(at / widthMs), { rows: 1, money: [sourceAmount ?? row.amount] });
      while (moments.size > MOMENTS_MAX) {
        widthMs *= 2;
        const wider = new Map<number, Moment>();
        for (const [place, moment] of moments)
          addMoment(wider, Math.ceil(place / 2), { rows: moment.rows, money: moment.money.totals() });
        moments = wider;
      }
    },
    result() {
      const sorted = [...moments]
        .map(([place, moment]) => ({ at: place * widthMs, ...moment }))
        .toSorted((one, other) => one.at - other.at);
      return paidBy(sorted);
    },
  };
}

function addMoment(
  moments: Map<number, Moment>,
  place: number,
  { rows, money }: { rows: number; money: readonly Money[] },
): void {
  const moment = moments.get(place) ?? { rows: 0, money: openTally() };
  moment.rows += rows;
  for (const one of money) moment.money.add(one);
  moments.set(place, moment);
}

/** What had been paid by each step between the first moment and the last one. */
function paidBy(sorted: readonly (Moment & { readonly at: number })[]): PaidBy[] {
  const [first, last] = [sorted[0]?.at, sorted.at(-1)?.at];
  if (first === undefined || last === undefined) return [];
  const sums = openTally();
  let rows = 0;
  let place = 0;
  return Array.from({ length: STEPS + 1 }, (_, step) => {
    const at = Math.ceil(first + ((last - first) * step) / STEPS);
    for (let next = sorted[place]; next !== undefined && next.at <= at; next = sorted[++place]) {
      for (const one of next.money.totals()) sums.add(one);
      rows += next.rows;
    }
    return { at, rows, money: sums.totals() };
  });
}
