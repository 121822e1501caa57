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
