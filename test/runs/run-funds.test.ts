import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { documentOf } from '../../src/runs/document.ts';
import { submitRun } from '../../src/runs/hand-in/submit.ts';
import { areFundsFresh, askRunFunds, withFunds } from '../../src/runs/preview/run-funds.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { openTestApp } from './opened-app.ts';

const HEADER = 'reference,beneficiaryIdentityId,amount,sourceCurrency,destinationCurrency';
const [ANNA, BERT] = ['aaaaaaaa-5f0a-4c56-9f5e-2b1d3c4a5e6f', 'bbbbbbbb-5f0a-4c56-9f5e-2b1d3c4a5e6f'];
const TIME_MS_MAX = 60_000;

const redis = await useTestRedis();

/** A run of three payouts that waits for approval: one of them is held, and one goes to somebody who is blocked. */
async function openWaiting() {
  const app = await openTestApp(redis.url);
  onTestFinished(() => app.close());
  const path = join(app.dir, 'wages.csv');
  writeFileSync(
    path,
    `${[HEADER, `A,${ANNA},100.00,USD,MXN`, `B,${ANNA},20.00,USD,MXN`, `C,${BERT},3.00,USD,MXN`].join('\n')}\n`,
  );
  const submitted = await submitRun(app, { path, actor: 'mia', skipInvalid: false });
  if (submitted.kind === 'refused') throw new Error('it was refused');
  const runId = submitted.run.id;
  await app.ledger.runs.note(runId, { state: 'awaiting-approval' });
  await app.ledger.payouts.move({ runId, line: 3, to: 'held', actor: 'test', reason: 'held' });
  await app.ledger.approvals.block(BERT, { by: 'root', reason: 'a fraud' });
  return { app, run: () => readRun(app, runId) };
}

test('what a run needs is what leaves for the payouts that are paid, with fees, and is kept with the run for every door', async () => {
  const { app, run } = await openWaiting();
  expect((await documentOf(app, await run())).funds).toBeNull();
  const found = await askRunFunds(app, await run(), { timeMsMax: TIME_MS_MAX });
  expect(found).toMatchObject({
    payouts: 2,
    unpriced: 0,
    needed: [{ currency: 'USD', amount: 10_000n, isEstimate: false }],
  });
  const kept = await run();
  expect(kept.funds).toEqual(found);
  const [needed] = (await documentOf(app, kept)).funds?.needed ?? [];
  expect(needed).toMatchObject({ currency: 'USD', amount: '100.00', estimate: false });
  expect(Number(needed?.needed)).toBeCloseTo(100 + Number(needed?.fees), 2);
  expect(Number(needed?.fees)).toBeGreaterThan(0);
  expect(areFundsFresh(app, kept)).toBe(true);
});

test('what a run needs is asked for again once other payouts wait, and not for one that does not wait for approval', async () => {
  const { app, run } = await openWaiting();
  await askRunFunds(app, await run(), { timeMsMax: TIME_MS_MAX });
  const { id } = await run();
  await app.ledger.approvals.unblock(BERT, 'root', []);
  await app.ledger.approvals.unblock(BERT, 'ada', []);
  await app.ledger.payouts.move({ runId: id, line: 2, to: 'cancelled', actor: 'test', reason: 'dropped' });
  expect(areFundsFresh(app, await run())).toBe(false);
  const again = await withFunds(app, await run(), TIME_MS_MAX);
  expect(again.funds?.needed).toMatchObject([{ amount: 300n }]);
  const paying = { ...(await run()), state: 'paying' as const, funds: null };
  expect((await withFunds(app, paying, TIME_MS_MAX)).funds).toBeNull();
});

test('a run is shown all the same where the service cannot be asked', async () => {
  const { app, run } = await openWaiting();
  const service = {
    url: 'http://127.0.0.1:9',
    clientId: 'i',
    clientSecret: 's',
    tenantId: 't',
    environment: 'test',
    audience: 'a',
  };
  const unreachable = { ...app, config: { ...app.config, service } } as typeof app;
  expect(await withFunds(unreachable, await run(), 1000)).toEqual(await run());
});
