import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEPTH } from './depth.ts';
import { copyPayrun, type Mutant } from './mutant-run.ts';
import type { Mutation } from './mutation.ts';
import { MUTATIONS, SENT_TWICE } from './mutations.ts';
import { writeResult } from './results.ts';

/*
 * The suite itself is tried here: each guard is taken out of a copy of the source, and the unchanged tests that are named
 * for it have to fail on the copy, by an assertion of theirs. The copy with all its guards has to pass all of them.
 */

const ONE_MS_MAX = 5 * 60_000;
const ALL_MS_MAX = 20 * 60_000;

const tried: readonly Mutation[] =
  DEPTH === 'long' ? [...MUTATIONS, SENT_TWICE] : DEPTH === 'short' ? MUTATIONS.filter(({ quick }) => quick) : [];

let copy: Mutant;
const caught: Mutation[] = [];

beforeAll(() => {
  copy = copyPayrun();
});

afterAll(() => {
  copy.remove();
  const nothing = { tries: 0, twice: 0, lost: 0, settledMs: null, boundMs: 0 };
  const outcome = `${caught.length} of ${tried.length} are caught`;
  const seen = caught.includes(SENT_TWICE) ? 'seen by the oracle' : 'not tried, or NOT SEEN';
  writeResult({ ...nothing, ids: ['F44'], fault: SENT_TWICE.guard, tries: 1, outcome: seen });
  writeResult({ ...nothing, ids: ['F45'], fault: 'payrun without one of its guards', tries: tried.length, outcome });
  for (const { guard, caughtBy } of caught) {
    console.log([guard, ...caughtBy.map(({ file, name }) => `    ${file}: ${name}`)].join('\n'));
  }
});

test.skipIf(tried.length === 0)(
  'payrun with all its guards passes each test that is named for one of them',
  async () => {
    const tests = tried.flatMap(({ caughtBy }) => caughtBy);
    const ended = await copy.run(tests, []);
    expect(tests.map((one, index) => ({ ...one, ...ended[index] })).filter(({ how }) => how !== 'passed')).toEqual([]);
  },
  ALL_MS_MAX,
);

test.each(tried)(
  'it is noticed when this is missing: $guard',
  async (mutation) => {
    const { edits, caughtBy, says = '' } = mutation;
    const ended = await copy.run(caughtBy, edits);
    expect(ended.filter(({ how, said }) => how !== 'assertion' || !said.includes(says))).toEqual([]);
    expect(ended.length).toBeGreaterThan(0);
    caught.push(mutation);
  },
  ONE_MS_MAX,
);
