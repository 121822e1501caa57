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
const begun: Mutation[] = [];
const caught: Mutation[] = [];

beforeAll(() => {
  copy = copyPayrun();
});

afterAll(() => {
  copy.remove();
  const nothing = { tries: 0, twice: 0, lost: 0, settledMs: null, boundMs: 0 };
  const outcome = `${caught.length} of ${begun.length} are caught`;
  if (begun.includes(SENT_TWICE)) {
    const seen = caught.includes(SENT_TWICE) ? 'the oracle sees it' : 'NOT SEEN';
    writeResult({ ...nothing, ids: ['F44'], fault: `without ${SENT_TWICE.guard}`, tries: 1, outcome: seen });
  }
  if (begun.length > 0)
    writeResult({ ...nothing, ids: ['F45'], fault: 'payrun without one of its guards', tries: begun.length, outcome });
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

test.each(tried.map((mutation) => [mutation.guard, mutation] as const))(
  'it is noticed when this is missing: %s',
  async (_guard, mutation) => {
    const { edits, caughtBy, says = '' } = mutation;
    begun.push(mutation);
    const ended = await copy.run(caughtBy, edits);
    expect(ended.filter(({ how, said }) => how !== 'assertion' || !said.includes(says))).toEqual([]);
    expect(ended.length).toBeGreaterThan(0);
    caught.push(mutation);
  },
  ONE_MS_MAX,
);
