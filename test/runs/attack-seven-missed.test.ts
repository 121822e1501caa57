import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import { ensureSeason } from '../../src/ledger/season/season.ts';
import { silentLog } from '../../src/log.ts';
import { blockBeneficiary } from '../../src/runs/block.ts';
import { haltAll } from '../../src/runs/decide/control.ts';
import { decidePayout } from '../../src/runs/decide/decide.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { redoMissedDecisions } from '../../src/runs/safety/missed-decisions.ts';
import {
  copyLedger,
  DATA_DIR,
  freshRows,
  movePayout,
  newLedger,
  payingRun,
  readPayout,
} from '../ledger/test-ledger.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';

const FIRST = '3e7a9d24-0b6c-4f18-a52d-9c4be8f1d073';
const SECOND = '4e7a9d24-0b6c-4f18-a52d-9c4be8f1d073';

let server: TestRedis;
let dataDir: string;
let ledger: Ledger;
let prefix: string;

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(() => server.stop());
beforeEach(async () => {
  const { redis } = server;
  dataDir = mkdtempSync(join(tmpdir(), 'payrun-missed-'));
  ({ prefix } = await newLedger({ redis, arming: redis }));
  ledger = openLedger({ redis, arming: redis }, { prefix, dataDirId: DATA_DIR, dataDir });
});
afterEach(() => rmSync(dataDir, { recursive: true }));

/** As a worker that starts: what people decided is compared, then the logs. */
async function joins(): Promise<readonly string[]> {
  return await ensureSeason({
    state: ledger.state,
    dataDir,
    dataDirId: DATA_DIR,
    armDeadlineMs: 0,
    arms: true,
    clock: systemClock,
    log: silentLog,
    compareDecisions: async ({ server: now }) =>
      redoMissedDecisions({ ledger, clock: systemClock, log: silentLog }, now),
  });
}

test('a copy from while the block list was not as payrun wrote it opens its season: people can release it', async () => {
  await blockBeneficiary({ ledger }, FIRST, { actor: 'anna', reason: 'fraud' });
  // Somebody takes an entry out of Redis; a worker sees that, and everything is halted. Then Redis is copied.
  await server.redis.hset(`${prefix}:blocked`, FIRST, 'changed');
  await server.redis.hdel(`${prefix}:blocked`, FIRST);
  expect((await ledger.approvals.blockList()).verdict).toBe('false');
  const reason = 'the block list was changed in Redis by something else than payrun';
  await haltAll({ ledger }, { actor: 'payrun', reason });
  const putBack = await copyLedger(server.redis, prefix);
  // Two people look at it and release; then somebody blocks another beneficiary.
  for (const person of ['anna', 'bob']) await releaseHalt({ ledger }, person);
  expect((await ledger.approvals.blockList()).verdict).toBe('true');
  await blockBeneficiary({ ledger }, SECOND, { actor: 'anna', reason: 'fraud' });

  await putBack();
  // As after the restart that comes with it.
  await server.redis.hset(`${prefix}:head`, 'season', 'closed 1 2');
  await server.redis.hset(`${prefix}:dirs`, DATA_DIR, '-');
  const joined = await joins().catch(String);
  const released: string[] = [];
  for (const person of ['anna', 'bob']) released.push(await releaseHalt({ ledger }, person));
  const after = await joins().catch(String);
  expect({ joined, released, after }).toEqual({ joined: [], released: ['proposed', 'released'], after: [] });
  expect((await ledger.approvals.blocked()).map(({ identityId }) => identityId)).toContain(SECOND);
});

test('a proposal to allow a payout, which its proposer took back after the copy, lets nobody allow it alone', async () => {
  const runId = await payingRun(ledger, freshRows(1));
  const place = { runId, line: 2 };
  await movePayout(ledger, place, { to: 'held', values: { reasonCode: 'E_NO_QUOTE', reason: 'no usable quote' } });
  const deps = { ledger, wake: async () => {}, openPay: () => Promise.reject(new Error('nothing to look up')) };
  const decide = async (decision: 'allow' | 'drop', by: string) =>
    (await decidePayout(deps, await readPayout(ledger, place), { decision, paymentId: '', by, reason: 'seen' })).result;
  expect(await decide('allow', 'anna')).toBe('proposed');
  const putBack = await copyLedger(server.redis, prefix);
  // She finds that it is wrong, and proposes to drop it: from then on nobody can allow it without another proposal.
  expect(await decide('drop', 'anna')).toBe('proposed');
  await putBack();
  await redoMissedDecisions({ ledger, clock: systemClock, log: silentLog }, (await ledger.state.season()).server);
  expect((await ledger.state.read()).halt).toContain('payout.drop-proposed');
  expect(await decide('allow', 'bob')).toBe('proposed');
});
