import { expect, test } from 'vitest';
import type { Payout } from '../../src/payout.ts';
import { openOverTime } from '../../src/web/run/over-time.ts';
import { payment } from '../report/rows.ts';

const START = Date.UTC(2026, 0, 15, 10, 0);

function paidAt(line: number, at: number): Payout {
  const { history, ...rest } = payment(line, 'completed', {});
  const step = { to: 'completed', at, actor: 'test', reason: 'test', exchange: '' } as const;
  return { ...rest, history: [...history.filter(({ to }) => to !== 'completed'), step] };
}

test('what was paid by when is told at 25 moments from the first payment to the last one, each row once', () => {
  const overTime = openOverTime();
  for (const [index, at] of [START, START + 12_000, START + 24_000].entries()) overTime.add(paidAt(index + 2, at));
  const told = overTime.result();
  expect(told.map(({ at }) => at - START)).toEqual(Array.from({ length: 25 }, (_, step) => step * 1000));
  expect(told.map(({ rows }) => rows)).toEqual([...Array(12).fill(1), ...Array(12).fill(2), 3]);
});

test('at very many moments too, in the same memory: none is lost, and none counts before its time', () => {
  const overTime = openOverTime();
  const moments = Array.from({ length: 20_000 }, (_, index) => START + index * 37);
  for (const [index, at] of moments.entries()) overTime.add(paidAt(index + 2, at));
  const told = overTime.result();
  const amount = payment(2, 'completed').sourceAmount?.minor ?? 0n;
  expect(told.at(-1)).toMatchObject({ rows: 20_000, money: [{ minor: amount * 20_000n }] });
  for (const { at, rows } of told) expect(rows).toBeLessThanOrEqual(moments.filter((moment) => moment <= at).length);
});
