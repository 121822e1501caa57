import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test, vi } from 'vitest';
import { EXIT } from '../../src/cli/exit-code.ts';
import { readBook } from '../support/paid-once.ts';
import { payoutFile, usePayrun } from './payrun.ts';

// It pays through a sandbox of its own.
vi.setConfig({ testTimeout: 180_000 });

const payrun = usePayrun();
beforeAll(() => {
  const rows = Array.from({ length: 12 }, (_, index) => [`INV-${index}`, `${index + 1}.00`] as const);
  writeFileSync(join(payrun.dir, 'payouts.csv'), payoutFile(rows));
});

const paid = () => readBook(join(payrun.dir, 'data/sandbox')).length;

test('payrun run --stage pays the first rows, ends with the command that releases the rest, and is carried on after it', async () => {
  const first = await payrun.run(['run', 'payouts.csv', '--stage', '3,50%,rest', '--as', 'anna']);
  expect(first.stdout).toMatch(/stage 1 of 3, to row 3 of 12, is over \(3 paid\): look at it before it goes on/);
  const [, runId = ''] =
    /paused after stage 1 of 3 -> payrun resume (\S+) --stage 1 --as NAME/.exec(first.stdout) ?? [];
  expect([first.code, paid()]).toEqual([EXIT.notPaid, 3]);
  const again = await payrun.run(['run', 'payouts.csv', '--stage', '1,rest']);
  expect(again.stderr).toContain('--stage changes nothing: the file was handed in before');
  expect(paid()).toBe(3);
  const resumed = await payrun.run(['resume', runId, '--stage', '1', '--as', 'anna']);
  expect(resumed.stdout).toMatch(/stages +stage 2 of 3, to row 9 of 12: 3 rows first; then 6, then 3, each when/);
  const second = await payrun.run(['run', 'payouts.csv']);
  expect(second.stdout).toContain('paused after stage 2 of 3');
  expect(paid()).toBe(9);
  await payrun.run(['resume', runId, '--as', 'anna']);
  const third = await payrun.run(['run', 'payouts.csv']);
  expect([third.code, paid()]).toEqual([EXIT.ok, 12]);
});

test('payrun run --stage --go-on-if-paid pays a run of which all is paid without anybody', async () => {
  const rows = Array.from({ length: 6 }, (_, index) => [`ALL-${index}`, `${index + 20}.00`] as const);
  writeFileSync(join(payrun.dir, 'all.csv'), payoutFile(rows));
  const ended = await payrun.run(['run', 'all.csv', '--stage', '1,2,rest', '--go-on-if-paid', '--json']);
  expect(ended.code).toBe(EXIT.ok);
  expect(JSON.parse(ended.stdout)).toMatchObject({ state: 'finished', outcomes: { paid: 6 } });
});

test('stages that mean nothing are refused, and so is going on without any', async () => {
  const odd = await payrun.run(['run', 'payouts.csv', '--stage', '10,100']);
  expect([odd.code, odd.stderr]).toEqual([EXIT.usage, expect.stringContaining('must be such as 10,100,rest')]);
  const half = await payrun.run(['run', 'payouts.csv', '--go-on-if-paid']);
  expect([half.code, half.stderr]).toEqual([EXIT.usage, expect.stringContaining('--go-on-if-paid is for --stage')]);
});

test('files of inboxes are paid in the stages that the settings name', async () => {
  const config = join(payrun.dir, 'payrun.json');
  writeFileSync(config, JSON.stringify({ inbox: { stages: { sizes: '1,rest' } } }));
  const inbox = join(payrun.dir, 'inbox/in');
  mkdirSync(inbox, { recursive: true });
  const rows = Array.from({ length: 3 }, (_, index) => [`BOX-${index}`, `${index + 40}.00`] as const);
  writeFileSync(join(inbox, 'box.csv'), payoutFile(rows));
  const before = paid();
  const words = ['inbox', join(payrun.dir, 'inbox'), '--once', '--with-worker', '--sandbox', '--as', 'anna'];
  await payrun.run(words, { PAYRUN_CONFIG: config });
  const ack = JSON.parse(readFileSync(join(payrun.dir, 'inbox/reports/box.csv.ack.json'), 'utf8')) as { runId: string };
  const { stdout } = await payrun.run(['status', ack.runId]);
  expect(stdout).toContain('stage 1 of 2, to row 1 of 3');
  expect(paid()).toBe(before + 1);
});
