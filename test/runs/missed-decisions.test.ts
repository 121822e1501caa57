import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import { silentLog } from '../../src/log.ts';
import { blockBeneficiary } from '../../src/runs/block.ts';
import { cancelRun } from '../../src/runs/control.ts';
import { redoMissedDecisions } from '../../src/runs/missed-decisions.ts';
import { claimRun, DATA_DIR, freshRows, newLedger, payingRun, recordRows } from '../ledger/test-ledger.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';

const BENEFICIARY = '3e7a9d24-0b6c-4f18-a52d-9c4be8f1d073';
const ANNA = { actor: 'anna', reason: 'wrong month' };

let server: TestRedis;
let dataDir: string;
let ledger: Ledger;
let prefix: string;
let runId: string;

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(() => server.stop());
beforeEach(async () => {
  const { redis } = server;
  dataDir = mkdtempSync(join(tmpdir(), 'payrun-missed-'));
  ({ prefix } = await newLedger({ redis, arming: redis }));
  ledger = openLedger({ redis, arming: redis }, { prefix, dataDirId: DATA_DIR, dataDir });
  runId = await payingRun(ledger, freshRows(2));
  await ledger.audit.append({ actor: 'anna', action: 'run.submitted', target: runId, details: {} });
});
afterEach(() => rmSync(dataDir, { recursive: true }));

/** Everything that Redis holds of the ledger; gives what puts it back. */
async function copied(redis: Redis): Promise<() => Promise<void>> {
  const keys = await redis.keys(`${prefix}:*`);
  const dumps = await Promise.all(keys.map(async (key) => ({ key, dump: await redis.dumpBuffer(key) })));
  return async () => {
    await redis.del(await redis.keys(`${prefix}:*`));
    await Promise.all(dumps.map(({ key, dump }) => redis.restore(key, 0, dump)));
  };
}

/** What people do is forgotten by Redis, and not by the data directory. */
async function forgotten(act: () => Promise<unknown>): Promise<void> {
  const putBack = await copied(server.redis);
  await act();
  await putBack();
}

const redo = () => redoMissedDecisions({ ledger, log: silentLog });
const stateOf = async () => (await ledger.runs.read(runId))?.state;

describe('a Redis that forgot what people decided', () => {
  test('does the others again where a run in the copy waits for approval, and so cannot be paused', async () => {
    const rows = freshRows(1);
    runId = await claimRun(ledger, rows);
    await recordRows(ledger, runId, rows);
    await ledger.runs.move(runId, { from: 'recording', to: 'awaiting-approval', actor: 'anna', reason: 'submitted' });
    await forgotten(async () => {
      for (const action of ['run.approved', 'run.paused']) {
        await ledger.audit.append({ actor: 'anna', action, target: runId, details: {} });
      }
      await blockBeneficiary({ ledger }, BENEFICIARY, ANNA);
    });
    expect(await stateOf()).toBe('awaiting-approval');
    expect(await redo().catch(String)).toBeUndefined();
    expect(await stateOf()).toBe('awaiting-approval');
    expect((await ledger.head.read()).halt).toContain(`run.paused ${runId}`);
    expect((await ledger.approvals.blocked()).map(({ identityId }) => identityId)).toEqual([BENEFICIARY]);
    await ledger.head.release('anna');
    await ledger.head.release('bob');
    await redo();
    expect((await ledger.head.read()).halt).toBeNull();
  });

  test('is halted with what is missing, and blocks and cancels are done again', async () => {
    await forgotten(async () => {
      await blockBeneficiary({ ledger }, BENEFICIARY, ANNA);
      await cancelRun({ ledger, wake: async () => {} }, runId, ANNA);
    });
    expect([await stateOf(), await ledger.approvals.blocked()]).toEqual(['paying', []]);
    await redo();
    const { halt } = await ledger.head.read();
    expect(halt ?? '').toContain('2 decisions are missing in Redis');
    expect(halt ?? '').toContain(`beneficiary.blocked ${BENEFICIARY}`);
    expect(halt ?? '').toContain(`run.cancelled ${runId}`);
    expect((await ledger.approvals.blocked()).map(({ identityId }) => identityId)).toEqual([BENEFICIARY]);
    expect(await stateOf()).toBe('cancelled');
  });

  test('is halted once for what is missing', async () => {
    await forgotten(() => blockBeneficiary({ ledger }, BENEFICIARY, ANNA));
    await redo();
    await ledger.head.release('anna');
    expect(await ledger.head.release('bob')).toBe('released');
    await redo();
    expect((await ledger.head.read()).halt).toBeNull();
  });

  test('is not halted for what decides nothing', async () => {
    const seen = { actor: 'anna', action: 'report.downloaded', target: runId, details: {} };
    await forgotten(() => ledger.audit.append(seen));
    await redo();
    expect((await ledger.head.read()).halt).toBeNull();
  });
});
