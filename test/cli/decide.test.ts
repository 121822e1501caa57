import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openLiving } from '../../jobs/living.ts';
import { startOwnSandbox } from '../../src/cli/serve/sandbox-service.ts';
import { openTestApp } from '../runs/opened-app.ts';
import { armPayout, movePayout, payoutAt, recordRun } from '../runs/recorded-run.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';
import { paySecretly, runSandbox } from '../web/secretly-paid.ts';
import { parsed, payoutFile, runSchema, usePayrun } from './payrun.ts';

const QUOTE = '9b2f7a31-0c3d-4f57-8a86-2f3c5c1d7e90';

const redis = await useTestRedis();
const payrun = usePayrun({ REDIS_URL: redis.url });
const byItself = usePayrun();
vi.setConfig({ testTimeout: 180_000 });

test.each([
  ['another process runs', true],
  ['nobody runs', false],
])('resolve asks the sandbox that %s', async (_who, isRunning) => {
  const place = { PAYRUN_PREFIX: freshPrefix(), PAYRUN_DATA_DIR: join(payrun.dir, `data-${isRunning}`) };
  const app = await openTestApp(redis.url, place);
  onTestFinished(() => app.close());
  const own = isRunning ? await startOwnSandbox(app.config.dataDir, app) : undefined;
  onTestFinished(async () => await own?.sandbox.close());
  const runId = await recordRun(app.ledger, { lines: [2] });
  await armPayout(app.ledger, { runId, line: 2 }, QUOTE);
  await movePayout(app.ledger, { runId, line: 2 }, 'unknown', 'held');

  const resolve = (name: string, ...more: readonly string[]) =>
    payrun.run(['resolve', runId, 'INV-2', '--not-paid', '--reason', 'the bank says no', '--as', name, ...more], place);
  const proposed = await resolve('anna');
  expect(proposed).toMatchObject({ code: 0 });
  expect(proposed.stdout).toContain(`the service knows no payment for the quote ${QUOTE}`);
  expect(await resolve('anna')).toMatchObject({ code: 2 });
  const first = await resolve('bob');
  expect([first.code, first.stdout]).toEqual([5, expect.stringContaining('under other credentials')]);
  expect((await payoutAt(app.ledger, { runId, line: 2 })).state).toBe('held');
  expect(await resolve('bob', '--yes')).toMatchObject({ code: 0 });
  expect((await payoutAt(app.ledger, { runId, line: 2 })).state).toBe('rejected');
});

test('payouts of one reason are settled together by two people, and what changed meanwhile is left out and named', async () => {
  const place = { PAYRUN_PREFIX: freshPrefix(), PAYRUN_DATA_DIR: join(payrun.dir, 'data-bulk') };
  const app = await openTestApp(redis.url, place);
  onTestFinished(() => app.close());
  const runId = await recordRun(app.ledger, { lines: [2, 3, 4, 5] });
  const hold = (line: number, reasonCode: string) =>
    app.ledger.payouts.move({
      runId,
      line,
      to: 'held',
      actor: 'test',
      reason: reasonCode,
      values: { reasonCode, reason: 'a reason' },
    });
  for (const line of [2, 3, 4]) await hold(line, 'E_LIKELY');
  await hold(5, 'E_OTHER');

  const words = ['allow', runId, '--reason-code', 'E_LIKELY', '--reason', 'agreed'];
  expect(await payrun.run([...words, '--as', 'anna'], place)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('E_LIKELY: 0 done, 3 proposed, 0 left out'),
    stderr: expect.stringContaining('another person'),
  });
  await app.ledger.payouts.move({ runId, line: 3, actor: 'test', reason: 'a note' });
  const own = await payrun.run([...words, '--as', 'anna'], place);
  expect(own.code).toBe(4);
  expect(own.stdout).toContain('line 2, INV-2: anna has proposed this');
  const confirmed = await payrun.run([...words, '--as', 'bob', '--json'], place);
  expect(JSON.parse(confirmed.stdout)).toMatchObject({ runId, reasonCode: 'E_LIKELY', done: 3, leftOut: [] });
  const states = await Promise.all(
    [2, 3, 4, 5].map(async (line) => (await payoutAt(app.ledger, { runId, line })).state),
  );
  expect(states).toEqual(['ready', 'ready', 'ready', 'held']);
  const entries: string[] = [];
  for await (const line of app.ledger.audit.lines(1)) entries.push(line);
  expect(entries.filter((line) => line.includes('payout.allow-confirmed'))).toHaveLength(3);
});

test('what many payouts have in common is said once, with a count', async () => {
  const place = { PAYRUN_PREFIX: freshPrefix(), PAYRUN_DATA_DIR: join(payrun.dir, 'data-many') };
  const app = await openTestApp(redis.url, place);
  onTestFinished(() => app.close());
  const lines = [2, 3, 4, 5, 6, 7, 8];
  const runId = await recordRun(app.ledger, { lines });
  const values = { reasonCode: 'E_LIKELY', reason: 'a reason' };
  for (const line of lines)
    await app.ledger.payouts.move({ runId, line, to: 'held', actor: 'test', reason: 'E_LIKELY', values });
  const words = ['allow', runId, '--reason-code', 'E_LIKELY', '--reason', 'agreed', '--as', 'anna'];
  await payrun.run(words, place);
  const { stdout } = await payrun.run(words, place);
  expect(stdout.trim().split('\n')).toEqual([
    'E_LIKELY: 0 done, 0 proposed, 7 left out',
    expect.stringContaining('line 2, INV-2: anna has proposed this'),
    expect.stringContaining('line 3, INV-3: '),
    expect.stringContaining('line 4, INV-4: '),
    'and 4 more for the same reason',
  ]);
});

test('unknown payouts of one reason are settled by two people as paid, each by its own payment; what the service does not have is named', async () => {
  const place = { PAYRUN_PREFIX: freshPrefix(), PAYRUN_DATA_DIR: join(payrun.dir, 'data-own') };
  const app = await openTestApp(redis.url, place);
  onTestFinished(() => app.close());
  const pay = await runSandbox(app);
  const runId = await recordRun(app.ledger, { lines: [2, 3, 4] });
  for (const line of [2, 3, 4]) {
    const quoteId = line === 4 ? QUOTE : await paySecretly(pay, await payoutAt(app.ledger, { runId, line }));
    await armPayout(app.ledger, { runId, line }, quoteId);
    await app.ledger.payouts.move({ runId, line, to: 'unknown', actor: 'test', reason: 'HTTP_503' });
  }
  const words = ['resolve', runId, '--reason-code', 'HTTP_503', '--own-payment', '--reason', 'on the statement'];
  const proposed = await payrun.run([...words, '--as', 'anna'], place);
  expect(proposed.stdout).toContain('HTTP_503: 0 done, 2 proposed, 1 left out');
  expect(proposed.stdout).toContain(`line 4, INV-4: The payout of INV-4 cannot be settled like this`);
  const confirmed = await payrun.run([...words, '--as', 'bob'], place);
  expect(confirmed.stdout).toContain('HTTP_503: 2 done, 0 proposed, 1 left out');
  const states = await Promise.all([2, 3, 4].map(async (line) => (await payoutAt(app.ledger, { runId, line })).state));
  expect(states).toEqual(['accepted', 'accepted', 'unknown']);
  const alone = await payrun.run(
    ['resolve', runId, 'INV-4', '--own-payment', '--reason', 'on the statement', '--as', 'anna'],
    place,
  );
  expect(alone.code).toBe(2);
});

test('all payouts of a reason are not settled as paid, for a payment is of one', async () => {
  const ended = await payrun.run(
    ['resolve', 'r1', '--reason-code', 'E_DIR_LOST', '--paid', 'p', '--reason', 'x', '--as', 'a'],
    {},
  );
  expect(ended.code).toBe(2);
});

test('status tells when a run ends; it, and what steers a run, tell why rows are held, and the command that lists them', async () => {
  const place = { PAYRUN_PREFIX: freshPrefix(), PAYRUN_DATA_DIR: join(payrun.dir, 'data-held') };
  const app = await openTestApp(redis.url, place);
  onTestFinished(() => app.close());
  await openLiving(redis.redis, `${app.config.prefix}:bull`).note();
  const runId = await recordRun(app.ledger, { lines: [2, 3, 4] });
  expect((await payrun.run(['status', runId], { ...place, PAYRUN_RATE: '3' })).stderr).toMatch(
    /^Ends about 20\d\d-\d\d-\d\dT\d\d:\d\dZ at 3 payments a second\.$/m,
  );
  // As the sweeper notes it: none was taken in the first three of the last six seconds, then one.
  const now = Date.now();
  await app.ledger.runs.note(runId, { pace: `${now - 6000}:0 ${now - 3000}:0 ${now}:1` });
  const shown = await payrun.run(['status', runId, '--json'], place);
  expect(JSON.parse(shown.stdout)).toMatchObject({
    runId,
    ending: { at: expect.stringMatching(/Z$/), perSecond: 1 / 6, isMeasured: true, missed: null },
  });
  for (const [line, reasonCode] of [
    [2, 'E_LIMIT'],
    [3, 'E_LIMIT'],
    [4, 'E_BLOCKED'],
  ] as const) {
    const move = { runId, line, to: 'held', actor: 'test', reason: reasonCode, values: { reasonCode } } as const;
    await app.ledger.payouts.move(move);
  }
  const told = `3 held: E_LIMIT 2, E_BLOCKED 1 -> payrun list ${runId} --outcome held`;
  for (const words of [
    ['status', runId],
    ['pause', runId, '--reason', 'a look'],
    ['resume', runId],
  ]) {
    expect((await payrun.run(words, place)).stdout).toContain(told);
  }
});

test('a held row is allowed by two people also where each command starts the private Redis anew', async () => {
  for (const [name, reference] of [
    ['first.csv', 'A-1'],
    ['second.csv', 'B-1'],
  ] as const) {
    writeFileSync(join(byItself.dir, name), payoutFile([[reference, '10.00']]));
  }
  expect(await byItself.run(['run', 'first.csv'])).toMatchObject({ code: 0 });
  const { stdout } = await byItself.run(['run', 'second.csv', '--json']);
  const { runId, outcomes } = parsed(runSchema, stdout);
  expect(outcomes).toMatchObject({ held: 1 });
  for (const name of ['anna', 'bob']) {
    const words = ['allow', runId, 'B-1', '--reason', 'another invoice', '--as', name, '--yes'];
    expect(await byItself.run(words)).toMatchObject({ code: 0 });
  }
  expect(await byItself.run(['run', 'second.csv'])).toMatchObject({ code: 0 });
});

test.each([
  ['E_LIKELY', /^All of one reason: payrun allow \S+ --reason-code E_LIKELY --reason TEXT --as NAME \(or drop/m],
  ['E_DIR_LOST', /^None of them can be decided now\. Why, and from when on: payrun show \S+ REFERENCE$/m],
])('the list of what is held for %s names a command that can work now', async (reasonCode, told) => {
  const place = { PAYRUN_PREFIX: freshPrefix(), PAYRUN_DATA_DIR: join(payrun.dir, `data-${reasonCode}`) };
  const app = await openTestApp(redis.url, place);
  onTestFinished(() => app.close());
  const runId = await recordRun(app.ledger, { lines: [2] });
  const hold = { runId, line: 2, to: 'held', actor: 'test', reason: reasonCode } as const;
  await app.ledger.payouts.move({ ...hold, values: { reasonCode, reason: 'a reason' } });
  expect((await payrun.run(['list', runId, '--outcome', 'held'], place)).stderr).toMatch(told);
});
