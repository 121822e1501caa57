import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PayoutState } from '../../src/payout.ts';
import { type Change, changesBetween } from '../../src/report/changes.ts';
import { reportJson } from '../../src/report/json.ts';
import { REPORT_COLUMNS, reportRow } from '../../src/report/row.ts';
import { payment, payout, type Row, refused, sourceOf, textOf } from './rows.ts';

/** A version of a report: its cells by line, as text. */
type Version = Map<number, Record<string, string | null>>;

function versionOf(rows: readonly Row[]): Version {
  return new Map(
    rows.map((row) => {
      const cells = reportRow(row);
      return [row.line, Object.fromEntries(REPORT_COLUMNS.map((column) => [column, textOfCell(cells[column])]))];
    }),
  );
}

function textOfCell(cell: string | number | null): string | null {
  return cell === null ? null : String(cell);
}

async function* linesOf(rows: readonly Row[]): AsyncGenerator<string> {
  yield* (await textOf(reportJson(sourceOf(rows)))).split('\n');
}

async function changes(from: readonly Row[], to: readonly Row[]): Promise<Change[]> {
  const found: Change[] = [];
  for await (const change of changesBetween(linesOf(from), linesOf(to))) found.push(change);
  return found;
}

/** What somebody does who has a version and the list of changes. */
function applied(version: Version, list: readonly Change[]): Version {
  const made: Version = new Map([...version].map(([line, cells]) => [line, { ...cells }]));
  for (const { line, column, from, to } of list) {
    const cells = made.get(line) ?? Object.fromEntries(REPORT_COLUMNS.map((name) => [name, null]));
    expect(cells[column]).toBe(from);
    made.set(line, { ...cells, [column]: to });
  }
  return new Map([...made].filter(([, cells]) => cells['line'] !== null).toSorted(([one], [other]) => one - other));
}

test('a payment that came back is a list of the cells that changed', async () => {
  const before = [payment(2, 'completed'), payout(3)];
  const after = [payment(2, 'returned', { reasonCode: 'AC04' }), payout(3)];
  const shared = { line: 2, reference: 'INV-2' };
  expect(await changes(before, after)).toEqual([
    { ...shared, column: 'outcome', from: 'paid', to: 'returned' },
    { ...shared, column: 'paymentState', from: 'COMPLETED', to: 'RETURNED' },
    { ...shared, column: 'reasonCode', from: null, to: 'AC04' },
  ]);
  expect(await changes(after, after)).toEqual([]);
});

const LINES = [2, 3, 4, 5, 6] as const;
const state = fc.constantFrom<PayoutState>('accepted', 'completed', 'failed', 'returned');
const reason = fc.option(fc.string({ maxLength: 12 }), { nil: null });
const row = (line: number): fc.Arbitrary<Row> =>
  fc.oneof(
    fc.record({ state, reason }).map((facts) => payment(line, facts.state, { reason: facts.reason })),
    fc.constantFrom<PayoutState>('ready', 'unknown', 'held', 'cancelled').map((one) => payout(line, { state: one })),
    fc.constant(refused(line)),
  );
/** Any rows of the file, for a run that was cut short has but some of them. */
const rows = fc
  .subarray([...LINES])
  .chain((lines) => fc.tuple(...lines.map(row)))
  .map((found): readonly Row[] => found);

test('the changes since the first version turn it into the third, and so do those of each version in turn', async () => {
  await fc.assert(
    fc.asyncProperty(rows, rows, rows, async (first, second, third) => {
      const expected = versionOf(third);
      expect(applied(versionOf(first), await changes(first, third))).toEqual(expected);
      const secondMade = applied(versionOf(first), await changes(first, second));
      expect(applied(secondMade, await changes(second, third))).toEqual(expected);
    }),
    { numRuns: 200 },
  );
});
