import { expect, test } from 'vitest';
import { takesTwo } from '../../src/runs/safety/adopt-settings.ts';
import { FILE, fileOf, useHandIns } from './hand-in-desk.ts';
import { armPayout, movePayout, payoutAt } from './recorded-run.ts';

const desk = useHandIns();

test('whoever hands in cannot make a reference free sooner than the ledger does', async () => {
  const { ledger } = desk.app;
  const { id: first } = await desk.submit(FILE);
  await armPayout(ledger, { runId: first, line: 2 }, 'quote-first');
  await movePayout(ledger, { runId: first, line: 2 }, 'accepted', 'completed');
  const hasty = await desk.openHost('hasty', { PAYRUN_REMEMBER: '1s', PAYRUN_DUPLICATES_WITHIN: 'off' });
  await expect
    .poll(async () => Date.now() - ((await payoutAt(ledger, { runId: first, line: 2 })).settledAt ?? 0))
    .toBeGreaterThan(1100);
  const { id: second } = await desk.submit(fileOf(1), { deps: hasty, name: 'second.csv' });
  expect(await payoutAt(ledger, { runId: second, line: 2 })).toMatchObject({
    state: 'held',
    reasonCode: 'E_DUP_HISTORY',
  });
  expect(takesTwo(desk.app.safety, hasty.safety)).toBe(true);
});

test('whoever hands in cannot switch off alone that likely duplicates are held', async () => {
  const { ledger } = desk.app;
  await desk.submit(fileOf(1), { name: 'first.csv' });
  const hasty = await desk.openHost('hasty', { PAYRUN_DUPLICATES_WITHIN: 'off' });
  const again = fileOf(1).replace('S-0', 'S-9');
  const { id } = await desk.submit(again, { deps: hasty, name: 'second.csv' });
  expect(await payoutAt(ledger, { runId: id, line: 2 })).toMatchObject({ state: 'held', reasonCode: 'E_DUP_LIKELY' });
  expect(takesTwo(desk.app.safety, hasty.safety)).toBe(true);
});

test('whoever looks further back than was agreed finds likely duplicates too', async () => {
  const { ledger } = desk.app;
  await desk.submit(fileOf(1), { name: 'first.csv' });
  const long = await desk.openHost('long', { PAYRUN_DUPLICATES_WITHIN: '8d' });
  const { id } = await desk.submit(fileOf(1).replace('S-0', 'S-9'), { deps: long, name: 'second.csv' });
  expect(await payoutAt(ledger, { runId: id, line: 2 })).toMatchObject({ state: 'held', reasonCode: 'E_DUP_LIKELY' });
});

test('likely duplicates are not forgotten when two people adopt another time', async () => {
  const { ledger } = desk.app;
  await desk.submit(fileOf(1), { name: 'first.csv' });
  const long = await desk.openHost('long', { PAYRUN_DUPLICATES_WITHIN: '14d' });
  await ledger.state.swapSafety(desk.app.safety, long.safety);
  const { id } = await desk.submit(fileOf(1).replace('S-0', 'S-9'), { deps: long, name: 'second.csv' });
  expect(await payoutAt(ledger, { runId: id, line: 2 })).toMatchObject({ state: 'held', reasonCode: 'E_DUP_LIKELY' });
});

test('a process that began before two people adopted a longer memory hands in by the longer one', async () => {
  const { ledger } = desk.app;
  const { id: first } = await desk.submit(FILE);
  await armPayout(ledger, { runId: first, line: 2 }, 'quote-first');
  await movePayout(ledger, { runId: first, line: 2 }, 'accepted', 'completed');
  const short = { PAYRUN_REMEMBER: '1s', PAYRUN_DUPLICATES_WITHIN: 'off' };
  const before = desk.app.safety;
  const server = await desk.openHost('server', short);
  await ledger.state.swapSafety(before, server.safety);
  const late = await desk.openHost('late', short);
  await ledger.state.swapSafety(server.safety, before);
  await expect
    .poll(async () => Date.now() - ((await payoutAt(ledger, { runId: first, line: 2 })).settledAt ?? 0))
    .toBeGreaterThan(1100);
  const { id: second } = await desk.submit(fileOf(1), { deps: late, name: 'second.csv' });
  expect(await payoutAt(ledger, { runId: second, line: 2 })).toMatchObject({ reasonCode: 'E_DUP_HISTORY' });
});
