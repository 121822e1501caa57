import { expect, test } from 'vitest';
import { openProgress, progressLine } from '../../src/cli/run/progress.ts';
import { openTerminal } from '../../src/cli/terminal.ts';
import { withMove } from '../../src/runs/progress.ts';
import { runOf } from '../report/rows.ts';

const PLAIN = { NO_COLOR: '1' };
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

test('payments that settle are told in one line on a narrow terminal too, which nothing could write over', () => {
  const settling = {
    ...run,
    state: 'finished' as const,
    rows: 1000,
    counts: { ...run.counts, accepted: 497, completed: 503 },
  };
  expect(shownOn(100, settling)).toContain(
    'paid; waiting for the service to settle 497, 10 s at most; 1,000/1,000 rows',
  );
  expect(shownOn(60, settling)).toBe('paid; waiting for the service to settle 497, 10 s at most');
  expect(shownOn(50, settling)).toMatch(/^paid; 1,000\/1,000 rows/);
  for (let width = 28; width <= 200; width++) expect(shownOn(width, settling).length).toBeLessThan(width);
});

function shownOn(width: number, shown = run): string {
  const written: string[] = [];
  const write = (text: string | Uint8Array): boolean => written.push(String(text)) > 0;
  openProgress({ monotonic: () => 0 }, openTerminal({ isTTY: true, columns: width, write }, PLAIN)).show(shown, {
    isWaitedFor: true,
  });
  return written.join('').replace('\r\u001b[2K', '');
}

/** A terminal that is shown a run of 1,000 rows each 200 ms while it goes at some rows a second. */
function watchedTerminal() {
  let at = 0;
  let done = 0;
  const written: string[] = [];
  const write = (text: string | Uint8Array): boolean => written.push(String(text)) > 0;
  const progress = openProgress({ monotonic: () => at }, openTerminal({ isTTY: true, columns: 200, write }, PLAIN));
  const show = (): string => {
    const counts = { ...run.counts, completed: Math.floor(done), ready: 1000 - Math.floor(done) };
    progress.show({ ...run, state: 'paying', rows: 1000, counts }, { isWaitedFor: true });
    return written.at(-1) ?? '';
  };
  return {
    progress,
    show,
    pass(seconds: number, perSecond = 0): string {
      let line = show();
      for (const until = at + seconds * 1000; at < until; line = show()) {
        at += 200;
        done += perSecond / 5;
      }
      return line;
    },
    skip(seconds: number) {
      at += seconds * 1000;
    },
  };
}

test('the time left is told from five seconds on, by the rate of the last ten', () => {
  const terminal = watchedTerminal();
  expect(terminal.show()).not.toContain('left');
  expect(terminal.pass(4.8, 1)).not.toMatch(/rows\/s|left/);
  terminal.pass(5, 1);
  expect(terminal.pass(10, 10)).toContain('10 rows/s · 2 min left');
});

test('nothing is told of a time in which nobody looked, nor of the rate right after it', () => {
  const terminal = watchedTerminal();
  expect(terminal.pass(20, 10)).toContain('10 rows/s');
  terminal.skip(60);
  expect(terminal.pass(4.8, 20)).not.toMatch(/rows\/s|left/);
  expect(terminal.pass(1, 20)).toContain('20 rows/s');
});

test('no rate is told while something is away, and afterwards none over that time', () => {
  const terminal = watchedTerminal();
  terminal.pass(20, 10);
  terminal.progress.setAway(['service']);
  expect(terminal.pass(20)).not.toMatch(/rows\/s|left/);
  expect(terminal.pass(5)).toContain(' rows · waiting for the service · ');
  terminal.progress.setAway([]);
  expect(terminal.pass(4.8, 20)).not.toMatch(/rows\/s|left|waiting/);
  expect(terminal.pass(1, 20)).toContain('20 rows/s');
});

test('the time in which nothing was sent yet after an outage, or before the next stage, counts for no rate', () => {
  const terminal = watchedTerminal();
  terminal.pass(20, 10);
  terminal.progress.setAway(['redis']);
  terminal.pass(10);
  terminal.progress.setAway([]);
  terminal.pass(8);
  expect(terminal.pass(5.4, 10)).toContain('10 rows/s');
  const stages = {
    ends: [
      { rows: 10, line: 11 },
      { rows: 1000, line: 1001 },
    ],
    at: 0,
    goesOnIfPaid: true,
    isOver: false,
  };
  const waiting = {
    ...run,
    state: 'paying' as const,
    rows: 1000,
    stages,
    counts: { ...run.counts, completed: 10, ready: 990 },
  };
  const before = [
    { atMs: 0, done: 0 },
    { atMs: 9000, done: 10 },
  ];
  expect(withMove(before, waiting, { atMs: 10_000, isCut: false })).toEqual([{ atMs: 10_000, done: 10 }]);
  const next = { ...waiting, stages: { ...stages, at: 1 } };
  expect(withMove([{ atMs: 10_000, done: 10 }], next, { atMs: 12_000, isCut: false })).toEqual([
    { atMs: 12_000, done: 10 },
  ]);
});

/** All that is written of two looks at the run, to a terminal with these variables. */
function writtenWith(variables: Record<string, string>, isTTY = true): string {
  const written: string[] = [];
  const write = (text: string | Uint8Array): boolean => written.push(String(text)) > 0;
  const progress = openProgress({ monotonic: () => 0 }, openTerminal({ isTTY, columns: 200, write }, variables));
  progress.phase('recording', '24000/60000 rows');
  progress.show(run, { isWaitedFor: true });
  progress.show(run, { isWaitedFor: true });
  progress.end();
  return written.join('');
}

test('the phase stands out on a terminal, but for one with NO_COLOR', () => {
  const bold = '\u001b[1mrecording\u001b[22m 24000/60000 rows';
  expect(writtenWith({ TERM: 'xterm' })).toContain(bold);
  expect(writtenWith({ TERM: 'xterm', NO_COLOR: '1' })).not.toContain('\u001b[1m');
});

test('where lines cannot be written over, each phase has a line, and nothing steers', () => {
  for (const written of [writtenWith({ TERM: 'dumb' }), writtenWith({}, false)]) {
    expect(written).not.toContain('\u001b');
    expect(written).not.toContain('\r');
    expect(written.split('\n').map((line) => line.split(' ')[0])).toEqual(['recording', 'finished', 'finished', '']);
  }
});

test.each([{ LANG: 'C' }, { LANG: 'de_DE.UTF-8', LC_ALL: 'POSIX' }])('%j gets ASCII alone', (variables) => {
  const written = writtenWith(variables);
  expect(written).toMatch(/ \| EUR 631533\.41 \| /);
  expect(written).toMatch(/^\p{ASCII}*$/u);
});

test.each([{}, { LANG: 'C.UTF-8' }, { LANG: 'C', LC_ALL: 'en_US.UTF-8' }])('%j gets the usual signs', (variables) => {
  expect(writtenWith(variables)).toContain(' · EUR 631533.41 · ');
});

test('the name of a file that is longer than the line is cut with a mark', () => {
  for (const [width, shown] of [
    [60, 'reading payouts-of-the-second-half-of-march-in-all-curre...'],
    [200, 'reading payouts-of-the-second-half-of-march-in-all-currencies-and-countries.csv'],
  ] as const) {
    const written: string[] = [];
    const write = (text: string | Uint8Array): boolean => written.push(String(text)) > 0;
    const terminal = openTerminal({ isTTY: true, columns: width, write }, PLAIN);
    openProgress({ monotonic: () => 0 }, terminal).phase(
      'reading',
      'payouts-of-the-second-half-of-march-in-all-currencies-and-countries.csv',
    );
    expect(written.join('')).toBe(`\r\u001b[2K${shown}`);
  }
});

test('numbers of rows have separators', () => {
  const counts = { ...run.counts, completed: 24_000, held: 1500, ready: 34_500 };
  const line = progressLine({ ...run, rows: 60_000, counts }, { done: 25_500, perSecond: 1200 });
  expect(line).toContain('25,500/60,000 rows · 1,200 rows/s');
  expect(line).toContain('1,500 held');
});

test.each([
  ['FAIL          Redis  no', '\u001b[31mFAIL\u001b[39m          Redis  no'],
  ['warning       Redis  no', '\u001b[33mwarning\u001b[39m       Redis  no'],
  ['!!! THIS REPORT DOES NOT TIE: do not', '\u001b[31m!!! THIS REPORT DOES NOT TIE: do not\u001b[39m'],
  ['a\n3 held: E_LIMIT -> payrun list', 'a\n\u001b[33m3 held\u001b[39m: E_LIMIT -> payrun list'],
  ['Everything is halted: x', '\u001b[31mEverything is halted: x\u001b[39m'],
  ['ok            Redis  yes', 'ok            Redis  yes'],
])('of %j the warning has a colour on a terminal, and none elsewhere or with NO_COLOR', (text, coloured) => {
  const toned = (isTTY: boolean, variables: Record<string, string>): string =>
    openTerminal({ isTTY, columns: 80, write: () => true }, variables).toned(text);
  expect(toned(true, { TERM: 'xterm' })).toBe(coloured);
  expect([toned(false, {}), toned(true, PLAIN), toned(true, { TERM: 'dumb' })]).toEqual([text, text, text]);
});
