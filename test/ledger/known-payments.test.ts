import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { findKnownPayments } from '../../src/runs/known-payment.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import {
  armPayout,
  claimRun,
  connectArming,
  freshRows,
  movePayout,
  newLedger,
  payingRun,
  sendTo,
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

describe('a payment that is known to exist', () => {
  test('is found among 200 later runs of which nothing was paid yet, as those that are handed in ahead with a time', async () => {
    const first = await payingRun(desk.ledger, freshRows(1));
    const { paymentId, credentials } = await sendTo(desk.ledger, { runId: first, line: 2 }, 'completed');
    expect(await findKnownPayments(desk.ledger, credentials ?? '')).toEqual([paymentId]);
    for (let runs = 0; runs < 200; runs++) await claimRun(desk.ledger, freshRows(1));
    // With none, a gateway that answers the token test and the list of identities proves quotes dead.
    expect(await findKnownPayments(desk.ledger, credentials ?? '')).toEqual([paymentId]);
  });

  test('is found behind 20 others of its run that were made under former credentials', async () => {
    const runId = await payingRun(desk.ledger, freshRows(25));
    for (let line = 2; line <= 26; line++) {
      await armPayout(desk.ledger, { runId, line }, { credentials: line <= 21 ? 'former' : 'present' });
      await movePayout(desk.ledger, { runId, line }, { to: 'accepted', dueMs: 1000 });
    }
    expect((await findKnownPayments(desk.ledger, 'present')).length).toBeGreaterThan(0);
  });
});

test('a payment under the present credentials is found in a run that is older than 20 runs of 100 under former ones', async () => {
  const first = await payingRun(desk.ledger, freshRows(3));
  for (let runs = 0; runs < 20; runs++) {
    const runId = await payingRun(desk.ledger, freshRows(100));
    for (let line = 2; line <= 101; line++) {
      await armPayout(desk.ledger, { runId, line }, { credentials: 'former' });
      await movePayout(desk.ledger, { runId, line }, { to: 'accepted', dueMs: 1000 });
    }
  }
  // The run that waited (for an approval, for its time) is paid after the credentials were rotated.
  for (let line = 2; line <= 4; line++) {
    await armPayout(desk.ledger, { runId: first, line }, { credentials: 'present' });
    await movePayout(desk.ledger, { runId: first, line }, { to: 'accepted', dueMs: 1000 });
  }
  expect((await findKnownPayments(desk.ledger, 'present')).length).toBeGreaterThan(0);
}, 120_000);
