import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..');
const PAGE = readFileSync(join(ROOT, 'docs/security.md'), 'utf8');

/** How many sections each chapter of OWASP ASVS 5.0 has; 11.7 (data in use) is for level 3 alone. */
const SECTIONS = [5, 4, 7, 4, 4, 8, 6, 4, 2, 7, 6, 3, 4, 3, 4, 5, 3] as const;

/** The sections that a row of the table names: `1.1, 1.2`, `8.1 to 8.4` or a whole chapter, such as `9`. */
function sectionsOf(cell: string): string[] {
  return [...cell.matchAll(/(\d+)(?:\.(\d+))?(?: to \d+\.(\d+))?/g)].flatMap(([, chapter = '', first, last]) => {
    const from = first === undefined ? 1 : Number(first);
    const to = first === undefined ? (SECTIONS[Number(chapter) - 1] ?? 0) : Number(last ?? first);
    return Array.from({ length: to - from + 1 }, (_, at) => `${chapter}.${from + at}`);
  });
}

test('docs/security.md names tests that there are', () => {
  const named = [...PAGE.matchAll(/`(test\/[\w./-]+)`/g)].map(([, path = '']) => path);
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test('docs/security.md has one row for each section of ASVS, and each row names a test or says that there is nothing', () => {
  const table = /## What holds\n([^]*?)\n## /.exec(PAGE)?.[1] ?? '';
  const rows = [...table.matchAll(/^\| ((?:\d+(?:\.\d+)?(?:, | to )?)+) [^|]*\|([^|]*)\|([^|]*)\|/gm)];
  const named = rows.flatMap(([, sections = '']) => sectionsOf(sections));
  const all = SECTIONS.flatMap((count, at) => Array.from({ length: count }, (_, one) => `${at + 1}.${one + 1}`));
  expect(named.toSorted()).toEqual(all.toSorted());
  for (const [, sections, holds = '', test_ = ''] of rows) {
    expect(`${sections}: ${holds.trim() === 'there are none' || test_.includes('`test/')}`).toBe(`${sections}: true`);
  }
});

/** The requirements of ASVS 5.0 that payrun was made to meet: those of level 2, and of level 3 what sending money asks for. */
const REQUIREMENTS = [
  '1.2.1 1.2.4 1.2.5 1.2.10 1.3.12 1.5.2 1.5.3 2.1.3 2.3.1 2.3.2 2.3.4 2.3.5',
  '3.3.1 3.3.2 3.3.3 3.3.4 3.4.3 3.4.4 3.4.5 3.4.6 3.5.1 3.5.2 3.5.3',
  '5.1.1 5.2.1 5.2.2 5.2.3 5.2.4 5.2.5 5.3.1 5.3.2 5.4.1 5.4.2 5.4.3',
  '6.1.1 6.2.1 6.2.2 6.2.3 6.2.4 6.2.5 6.2.6 6.2.7 6.2.8 6.2.9 6.2.10 6.2.11 6.2.12 6.3.1 6.3.8 6.4.1',
  '7.2.3 7.2.4 7.3.1 7.3.2 7.4.1 7.4.2 7.5.3 8.2.1 8.2.2 8.3.1 11.4.2 12.2.1 12.3.1 12.3.2',
  '13.2.1 13.2.2 13.2.4 13.2.5 13.3.1 13.3.2 13.3.4 13.4.2 13.4.6 14.1.2 14.2.1 14.2.4 14.3.2',
  '15.1.2 15.2.1 15.2.4 15.3.2 15.3.3 15.3.4 15.4.2',
  '16.2.1 16.2.2 16.2.5 16.3.1 16.3.2 16.3.3 16.3.4 16.4.1 16.4.2 16.4.3 16.5.1 16.5.3 16.5.4',
].join(' ');

/** The ids of a cell: `2.1.3, 2.3.1 to 2.3.5`. */
function requirementsOf(cell: string): string[] {
  return [...cell.matchAll(/(\d+\.\d+)\.(\d+)(?: to \d+\.\d+\.(\d+))?/g)].flatMap(
    ([, section = '', first = '', last = first]) =>
      Array.from({ length: Number(last) - Number(first) + 1 }, (_, at) => `${section}.${Number(first) + at}`),
  );
}

test('docs/security.md says of each requirement whether it holds, and which test shows it or what the operator does', () => {
  const table = /## By requirement\n([^]*?)\n## /.exec(PAGE)?.[1] ?? '';
  const rows = [...table.matchAll(/^\| (\d[^|]*) \|([^|]*)\|([^|]*)\|$/gm)];
  expect(rows.flatMap(([, ids = '']) => requirementsOf(ids)).toSorted()).toEqual(REQUIREMENTS.split(' ').toSorted());
  for (const [, ids, state = '', shown = ''] of rows) {
    expect(`${ids}: ${state.trim()}`).toMatch(/: (?:holds|partly|operator)(?:: .+)?$/);
    const isTold = / (?:holds|operator): /.test(state);
    expect(`${ids}: ${isTold || shown.includes('`test/')}`).toBe(`${ids}: true`);
    expect(`${ids}: ${state.startsWith(' holds') || state.includes(': ')}`).toBe(`${ids}: true`);
  }
});
