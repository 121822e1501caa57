import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { ArmingLimits } from '../../src/ledger/payouts/acts.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import {
  armingOf,
  connectArming,
  freshRows,
  movePayout,
  newLedger,
  payingRun,
  readPayout,
  type TestLedger,
} from './test-ledger.ts';

let server: TestRedis;
let arming: Redis;
let desk: TestLedger;
beforeAll(async () => {
  server = await startTestRedis();
  arming = await connectArming(server);
});
afterAll(async () => {
  arming.disconnect();
  await server.stop();
});
beforeEach(async () => {
  desk = await newLedger({ redis: server.redis, arming });
});

const LIMITS: ArmingLimits = {
  sums: [{ currency: 'USD', minor: 100n, most: { day: 100n, run: 100n } }],
  beneficiaryHash: 'b1',
  dayOffsetMs: 0,
};

test('what two people settle as not paid counts for no limit any more', async () => {
  const rows = freshRows(2).map((row) => ({ ...row, amount: { minor: 100n, currency: 'USD' } }));
  const runId = await payingRun(desk.ledger, rows);
  const arm = async (line: number) =>
    await desk.ledger.payouts.arm(armingOf(await readPayout(desk.ledger, { runId, line }), { limits: LIMITS }));
  expect(await arm(2)).toMatchObject({ armed: true });
  await movePayout(desk.ledger, { runId, line: 2 }, { to: 'unknown', dueMs: 0 });
  await movePayout(desk.ledger, { runId, line: 2 }, {
    to: 'held',
    values: { reasonCode: 'E_TRIED', reason: '' },
  } as never);
  // src/runs/decide/decide.ts, notPaidMove
  const settled = await movePayout(desk.ledger, { runId, line: 2 }, {
    to: 'rejected',
    dueMs: 86_400_000,
    values: { reasonCode: 'E_NOT_PAID', reason: '', rejectionConfirmed: true },
  } as never);
  expect(settled.result).toBe('moved');
  expect(await arm(3)).toMatchObject({ armed: true });
});
