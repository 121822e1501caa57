import { expect } from 'vitest';
import { longestTurnMs } from './turns.ts';

/** What something hostile may take. */
export interface Budget {
  readonly seconds: number;
  readonly mebibytes: number;
}

const MEBIBYTE = 1024 * 1024;
/** Of the processor, in one turn of the event loop. */
const TURN_MS_MAX = 100;
/** Other threads of the process count too, and a machine that does much else makes all of them slower. */
const TRIES = 3;
const SAMPLE_MS = 5;

/** Does it until no turn was too long; the last try stands. */
export async function withShortTurns<Value>(act: () => Promise<Value>): Promise<Value> {
  for (let left = TRIES; ; left--) {
    const { value, longestMs } = await longestTurnMs(act());
    if (longestMs > TURN_MS_MAX && left > 1) continue;
    expect(longestMs).toBeLessThanOrEqual(TURN_MS_MAX);
    return value;
  }
}

/** Does it in short turns, within a time and a growth of this process's memory; of several tries the last one stands. */
export async function withinBudget<Value>({ seconds, mebibytes }: Budget, act: () => Promise<Value>): Promise<Value> {
  const { value, took } = await withShortTurns(async () => await measured(act));
  expect(took.seconds).toBeLessThanOrEqual(seconds);
  expect(took.mebibytes).toBeLessThanOrEqual(mebibytes);
  return value;
}

async function measured<Value>(act: () => Promise<Value>): Promise<{ value: Value; took: Budget }> {
  const before = process.memoryUsage.rss();
  const began = performance.now();
  let most = before;
  const sample = (): void => {
    most = Math.max(most, process.memoryUsage.rss());
  };
  const samples = setInterval(sample, SAMPLE_MS);
  try {
    const value = await act();
    sample();
    return { value, took: { seconds: (performance.now() - began) / 1000, mebibytes: (most - before) / MEBIBYTE } };
  } finally {
    clearInterval(samples);
  }
}
