import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openPaymentIds } from '../../src/report/tally/payment-ids.ts';
import { uuid } from './rows.ts';

function repeatedIn(ids: readonly string[]): number[][] {
  const paymentIds = openPaymentIds();
  for (const [line, id] of ids.entries()) paymentIds.add(id, line);
  return paymentIds.repeated();
}

describe('payment ids', () => {
  test('that are all different are not repeated, however many', () => {
    expect(repeatedIn(Array.from({ length: 5000 }, (_, number) => uuid(number)))).toEqual([]);
  });

  test('that stand on several rows are given with all their lines', () => {
    const ids = Array.from({ length: 3000 }, (_, number) => uuid(number));
    expect(repeatedIn(ids.with(2999, uuid(0)).with(1500, uuid(0)).with(7, uuid(8)))).toEqual([
      [0, 1500, 2999],
      [7, 8],
    ]);
  });

  test('that are one and the same on 200,000 rows are found in a time that grows with the rows alone', () => {
    expect(repeatedIn(Array.from({ length: 200_000 }, () => uuid(1)))[0]).toHaveLength(200_000);
  });

  test('of no row are none', () => {
    expect(repeatedIn([])).toEqual([]);
  });

  test('are found as a map of them would find them', () => {
    const anyIds = fc.array(fc.oneof(fc.constantFrom('a', 'b', 'c'), fc.uuid(), fc.string()), { maxLength: 50 });
    fc.assert(
      fc.property(anyIds, (ids) => {
        const lines = new Map<string, number[]>();
        for (const [line, id] of ids.entries())
          lines.set(id.toLowerCase(), [...(lines.get(id.toLowerCase()) ?? []), line]);
        expect(repeatedIn(ids)).toEqual([...lines.values()].filter((found) => found.length > 1));
      }),
    );
  });
});
