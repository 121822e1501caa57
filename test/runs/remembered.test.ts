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
