import { beforeEach, describe, expect, test } from 'vitest';
import { KNOWN_PAYMENTS_MAX } from '../../src/ledger/keys.ts';
import { useTestRedis } from '../support/redis.ts';
import {
  armPayout,
  claimRun,
  freshRows,
  movePayout,
  newLedger,
  payingRun,
  sendTo,
  type TestLedger,
  useArming,
} from './test-ledger.ts';

const server = await useTestRedis();
const arming = await useArming(server);
let desk: TestLedger;

beforeEach(async () => {
  desk = await newLedger({ redis: server.redis, arming });
});

async function known(credentials: string | null): Promise<readonly string[]> {
  return await desk.ledger.payouts.knownPayments(credentials ?? '');
}

describe('a payment that is known to exist', () => {
  test('is found whatever became of it, and however many runs of which nothing was paid came later', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    const { paymentId, credentials } = await sendTo(desk.ledger, { runId, line: 2 }, 'failed');
    for (let runs = 0; runs < 20; runs++) await claimRun(desk.ledger, freshRows(1));
    // With none, a gateway that answers the token test and the list of identities proves quotes dead.
    expect(await known(credentials)).toEqual([paymentId]);
  });

  test('is found on any line of its run, beside many others that were made under former credentials', async () => {
    const runId = await payingRun(desk.ledger, freshRows(25));
    const accept = async (line: number, credentials: string): Promise<void> => {
      await armPayout(desk.ledger, { runId, line }, { credentials });
      await movePayout(desk.ledger, { runId, line }, { to: 'accepted', dueMs: 1000 });
    };
    for (let line = 3; line <= 26; line++) await accept(line, 'former');
    await accept(2, 'present');
    expect(await known('present')).toHaveLength(1);
    expect(await known('former')).toHaveLength(KNOWN_PAYMENTS_MAX);
    expect(await known('none')).toEqual([]);
  });
});
