import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { describeProblems } from '../../src/cli/run/problem-text.ts';
import { problemsDocument } from '../../src/intake/problems/document.ts';
import { PROBLEM_KINDS } from '../../src/intake/problems/problem-kinds.ts';
import { makeProblemTable } from '../support/make-problem-table.ts';
import { check, file, line } from './payout-text.ts';

describe('problems as text', () => {
  test('name line, column, code, value, message and remedy', async () => {
    const checked = await check(file(line({ reference: 'INV-1' }), line({ reference: 'INV-2', amount: '$5' })));
    expect(describeProblems(checked).split('\n')).toEqual([
      'test.csv: 1 problem. 1 of 2 rows are refused.',
      'line 3, amount: E_AMOUNT "$5"',
      '  The amount has more in it than a number, such as the sign or code of a currency.',
      '  Write it as 1234.56: digits and one decimal mark, nothing else.',
    ]);
  });

  test('show the first 1,000, say how many more there are and where to have all of them', async () => {
    const rows = Array.from({ length: 1030 }, (_, at) => line({ reference: `INV-${at}`, amount: 'x' }));
    const text = describeProblems(await check(file(...rows)));
    expect(text.match(/E_AMOUNT/g)).toHaveLength(1000);
    expect(text).toContain('\nand 30 more: "payrun validate FILE --marked-up COPY" writes all of them');
    const unmarkable = await check(file(...rows, 'x,"'));
    expect(describeProblems(unmarkable)).toMatch(/\nand 31 more$/);
  });

  test('tell warnings of one code together: how many, the first places, and once what to do', async () => {
    const rows = Array.from({ length: 21 }, (_, at) => line({ reference: `Apr-${at + 10}` }));
    const text = describeProblems(await check(file(...rows)));
    expect(text.split('\n')).toHaveLength(3);
    expect(text).toMatch(
      /^W_DATE, 21 times: line 2, reference "Apr-10"; (line [3-6], reference "Apr-1[1-4]"; ){4}16 more\n {2}\S/,
    );
  });

  test('tell a warning that is alone as they tell a problem', async () => {
    expect(describeProblems(await check(file(line({ reference: 'Apr-10' }))))).toMatch(
      /^line 2, reference: W_DATE "Apr-10"\n/,
    );
  });

  test('say nothing about a file without problems', async () => {
    expect(describeProblems(await check(file(line({ reference: 'INV-1' }))))).toBe('');
  });

  test('say when the whole file is refused, and escape its name', async () => {
    const checked = await check(file('x'));
    expect(describeProblems({ ...checked, name: 'a\u001B[2J.csv' })).toContain(
      'a\\u{1b}[2J.csv: 1 problem. The file is refused',
    );
  });
});

describe('problems as JSON', () => {
  test('are the document that people and programs read', async () => {
    const checked = await check(file(line({ reference: 'INV-1', amount: '1234.5' }), line({ reference: '' })));
    expect(JSON.parse(JSON.stringify(problemsDocument(checked)))).toEqual({
      file: 'test.csv',
      rows: 2,
      valid: 1,
      totals: [{ currency: 'USD', file: '1334.50' }],
      problems: [
        {
          code: 'E_REFERENCE',
          line: 3,
          column: 'reference',
          value: '',
          message: 'The reference is missing.',
          remedy: PROBLEM_KINDS.E_REFERENCE.remedy,
        },
      ],
      problemsTotal: 1,
    });
  });
});

describe('the table of problems', () => {
  const path = join(import.meta.dirname, '../../docs/problems.md');
  if (process.env['UPDATE_DOCS'] === '1') writeFileSync(path, makeProblemTable());

  test('is the one of docs/problems.md', () => {
    expect(readFileSync(path, 'utf8')).toBe(makeProblemTable());
  });

  test.each(Object.entries(PROBLEM_KINDS))('%s is told in whole sentences', (code, { verdict, message, remedy }) => {
    expect(code).toMatch(verdict === 'warning' ? /^W_[A-Z_0-9]+$/ : /^E_[A-Z_0-9]+$/);
    expect(message).toMatch(/^[A-Z{].*\.$/);
    expect(remedy).toMatch(/^[A-Z].*\.$/);
  });
});
