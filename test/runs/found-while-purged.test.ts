import type { Redis } from 'ioredis';
import { expect, test, vi } from 'vitest';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import { ledgerKeys } from '../../src/ledger/keys.ts';
import { openPurging } from '../../src/ledger/runs/purging.ts';
import { OWN, payment, useBesideDesk } from './beside-desk.ts';
import { armPayout, recordRun, rowAt } from './recorded-run.ts';

const desk = await useBesideDesk();

/** Calls `then` between the reading of a payout's record and the script that removes it. */
function whileRowIsPurged(redis: Redis, then: () => Promise<void>): void {
  const evalsha = redis.evalsha.bind(redis);
  const spy = vi.spyOn(redis, 'evalsha').mockImplementation(async (...args: Parameters<Redis['evalsha']>) => {
    if (!args.some((one) => one === OWN)) return await evalsha(...args);
    spy.mockRestore();
    await then();
    return await evalsha(...args);
  });
}

test('a payment that is found while its row is purged keeps its reference: no other file pays by it', async () => {
  const { ledger, config } = desk.app;
  const { redis } = desk.server;
  const tried = { reasonCode: 'E_TRIED', reason: 'it was tried for 24 hours' };
  await ledger.payouts.move({ ...desk.place, to: 'held', actor: 'w', reason: 'E_TRIED', values: tried });
  expect((await desk.settle('not-paid', '', await desk.onDay(2)))[1]).toMatch(/^done/);
  await redis.hset(`${config.prefix}:run:${desk.runId}`, 'purgedAt', String(Date.now()));
  desk.answer({ [OWN]: payment(OWN, 'COMPLETED') });
  whileRowIsPurged(redis, async () => await desk.lookUp(await desk.onDay(3)));
  const referenceHash = hashReference(rowAt(2).reference);
  await openPurging(redis, ledgerKeys(config.prefix)).rows(desk.runId, [[{ line: 2, referenceHash }]]);
  const place = { runId: await recordRun(ledger, { id: 'r3', lines: [2] }), line: 2 };
  await expect(armPayout(ledger, place, '0b9a4c1e-77d2-4f35-8e60-000000000041')).rejects.toThrow(/not armed/);
});
