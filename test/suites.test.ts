import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { filesOf, isIn, PLACES, suiteOf, TEST_FILES } from './suites.ts';

const SUITES = ['quick', 'system', 'isolated', 'containers', 'faults', 'hosts'] as const;

test('every test file is in exactly one suite', () => {
  expect(TEST_FILES.length).toBeGreaterThan(200);
  expect(SUITES.flatMap(filesOf).toSorted()).toEqual(TEST_FILES.toSorted());
});

test('a suite names only places that have tests, each of them to some effect', () => {
  const vain = PLACES.filter(
    ([place, suite]) => !TEST_FILES.some((file) => isIn(place, file) && suiteOf(file) === suite),
  );
  expect(vain).toEqual([]);
});

test('no test lies outside of the folder of tests', () => {
  const root = resolve(import.meta.dirname, '..');
  const names = ['src', 'jobs'].flatMap((name) =>
    readdirSync(resolve(root, name), { recursive: true, encoding: 'utf8' }),
  );
  expect(names.filter((name) => name.includes('.test.'))).toEqual([]);
});
