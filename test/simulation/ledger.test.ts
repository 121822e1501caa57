import { beforeAll, expect, test } from 'vitest';
import { ARM_REFUSALS, MOVE_RESULTS } from '../../src/ledger/payouts/acts.ts';
import { useTestRedis } from '../support/redis.ts';
import { openPair, type Pair, settled, teachScripts } from './pair.ts';
import { changeRun, changeSeason, compare, steer } from './pair-head.ts';
import { arm, defer, move, read } from './pair-payouts.ts';
import { compareRecords, withoutTimes } from './pair-records.ts';

const OPERATIONS = 100_000;
const OPERATIONS_PER_LEDGER = 1000;
const SEED = 20_260_131;

const server = await useTestRedis();
beforeAll(async () => {
  await teachScripts(server);
});

test(`the ledger in memory answers ${OPERATIONS} random operations as the scripts in Redis do, and ends with the same records`, async () => {
  let done = 0;
  const words = new Map<string, number>();
  for (let seed = SEED; done < OPERATIONS; seed++) {
    const pair = await openPair(server, seed);
    for (let here = 0; here < OPERATIONS_PER_LEDGER; ) here += await playSome(pair);
    for (const { what, mine, theirs } of pair.answers) {
      expect(withoutTimes(await theirs), `seed ${seed}: ${what}`).toEqual(withoutTimes(mine));
    }
    await compareRecords(pair, seed);
    done += pair.answers.length;
    for (const { mine } of pair.answers) countWord(words, mine);
  }
  // An answer that never came was never compared.
  const all = [
    ...MOVE_RESULTS,
    ...ARM_REFUSALS,
    ...RUN_RESULTS,
    'reference',
    'blocked',
    'armed',
    'compared',
    'open',
    'changed',
    'begun',
    'retired',
    'written-off',
  ];
  const never = all.filter((word) => !UNREACHED.includes(word) && (words.get(word) ?? 0) < 5);
  expect(never, 'answers that never came').toEqual([]);
  console.log(`differential: seed ${SEED}, ${done} operations`);
}, 300_000);

/** Answers that need a second server, a newer payrun, or somebody else who writes to Redis. */
const UNREACHED: readonly string[] = ['not-replicated', 'newer', 'settings', 'block-list'];
const RUN_RESULTS = ['there', 'forbidden', 'missing', 'open', 'halted', 'season', 'incomplete'] as const;

function countWord(words: Map<string, number>, answer: unknown): void {
  if (typeof answer !== 'object' || answer === null) return;
  const { result, refusal, armed } = answer as { result?: string; refusal?: string; armed?: boolean };
  const word = result ?? refusal ?? (armed === true ? 'armed' : undefined);
  if (word !== undefined) words.set(word, (words.get(word) ?? 0) + 1);
}

/** Everything of one kind that is asked for in one turn goes to Redis as one call, in this order. */
async function playSome(pair: Pair): Promise<number> {
  const { dice } = pair;
  const roll = dice.fraction();
  const count = dice.between(1, 40);
  const before = pair.answers.length;
  if (roll < 0.22) repeat(count, () => arm(pair));
  else if (roll < 0.68) repeat(count, () => move(pair));
  else if (roll < 0.76) repeat(count, () => read(pair));
  else if (roll < 0.84) repeat(dice.between(1, 5), () => defer(pair));
  else if (roll < 0.92 && !pair.goesInCircles) repeat(dice.between(1, 3), () => changeRun(pair));
  else if (pair.goesInCircles) repeat(count, () => arm(pair));
  else if (roll < 0.97) await steer(pair);
  else if (roll < 0.985) await changeSeason(pair);
  else repeat(2, () => compare(pair));
  await settled(pair);
  return pair.answers.length - before;
}

function repeat(count: number, play: () => void): void {
  for (let index = 0; index < count; index++) play();
}
