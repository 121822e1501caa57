import { expect, test } from 'vitest';
import { openProgress, progressLine } from '../../src/cli/run/progress.ts';
import { runOf } from '../report/rows.ts';

const CURRENCIES = ['EUR', 'GBP', 'USD', 'CHF', 'AUD', 'CAD'];
const MINOR = 63_153_341n;

const outcomes = { waiting: 0n, unknown: 0n, failed: 0n, returned: 0n, rejected: 0n, held: 0n, cancelled: 0n };
const run = runOf([], {
  fileTotals: CURRENCIES.map((currency) => ({ minor: MINOR, currency })),
  amounts: new Map(CURRENCIES.map((currency) => [currency, { ...outcomes, pending: 0n, refused: 0n, paid: MINOR }])),
});

test('a figure stands whole or not at all, at each width of a terminal, and what is left out is counted', () => {
  const whole = progressLine(run, { done: 0, perSecond: 0 }).split(' · ');
  for (let width = 28; width <= 200; width++) {
    const line = shownOn(width);
    const parts = line.split(' · ');
    const shown = parts.filter((part) => whole.includes(part)).length;
    expect(parts).toEqual([
      ...whole.slice(0, shown),
      ...(shown < whole.length ? [`+${whole.length - shown} more`] : []),
    ]);
    expect(line.length).toBeLessThan(width);
  }
  expect(shownOn(100)).toContain('EUR 631533.41');
});

function shownOn(width: number): string {
  const written: string[] = [];
  const write = (text: string | Uint8Array): boolean => written.push(String(text)) > 0;
  openProgress({ monotonic: () => 0 }, { isTTY: true, columns: width, write }).show(run);
  return written.join('').replace('\r\u001b[2K', '');
}

test('the time left is told from five seconds on, by the rate of the last ten', () => {
  let at = 0;
  const written: string[] = [];
  const write = (text: string | Uint8Array): boolean => written.push(String(text)) > 0;
  const progress = openProgress({ monotonic: () => at }, { isTTY: true, columns: 200, write });
  const shown = (done: number): string => {
    const counts = { ...run.counts, completed: done, ready: 1000 - done };
    progress.show({ ...run, rows: 1000, counts });
    return written.at(-1) ?? '';
  };
  expect(shown(0)).not.toContain('left');
  at = 4900;
  expect(shown(1)).not.toMatch(/rows\/s|left/);
  at = 10_000;
  shown(2);
  at = 20_000;
  expect(shown(102)).toContain('10 rows/s · 2 min left');
});
