import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readEntry } from '../../src/audit/entry.ts';
import { systemClock } from '../../src/clock.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import { ensureSeason } from '../../src/ledger/season/season.ts';
import { silentLog } from '../../src/log.ts';
import { blockBeneficiary } from '../../src/runs/block.ts';
import { cancelPayout, cancelRun, haltAll, pauseRun } from '../../src/runs/decide/control.ts';
import { decidePayout } from '../../src/runs/decide/decide.ts';
import { decideInBulk } from '../../src/runs/decide/in-bulk.ts';
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
import { useTestRedis } from '../support/redis.ts';

const ANNA = { actor: 'anna', reason: 'wrong month' };
const wake = async (): Promise<void> => {};

const FIRST = '3e7a9d24-0b6c-4f18-a52d-9c4be8f1d073';
const SECOND = '4e7a9d24-0b6c-4f18-a52d-9c4be8f1d073';

const server = await useTestRedis();
let dataDir: string;
let ledger: Ledger;
let prefix: string;
let runId: string;

beforeEach(async () => {
  const { redis } = server;
  dataDir = mkdtempSync(join(tmpdir(), 'payrun-missed-'));
  ({ prefix } = await newLedger({ redis, arming: redis }));
  ledger = openLedger({ redis, arming: redis }, { prefix, dataDirId: DATA_DIR, dataDir });
  runId = await payingRun(ledger, freshRows(2));
  await ledger.audit.append({ actor: 'anna', action: 'run.submitted', target: runId, details: {} });
});
afterEach(() => rmSync(dataDir, { recursive: true }));

/** As after a restart: what people decided is compared, then the worker sweeps. */
async function comesBack(): Promise<void> {
  await redoMissedDecisions({ ledger, clock: systemClock, log: silentLog }, (await ledger.state.season()).server);
  await ledger.audit.copyOthers();
}

async function actions(): Promise<string[]> {
  const found: string[] = [];
  for await (const text of ledger.audit.lines()) found.push(readEntry(text)?.action ?? text);
  return found;
}

test('a cancel is done again after a second restore of a copy in which an earlier "allow" waited for its entry', async () => {
  const place = { runId, line: 2 };
  await movePayout(ledger, place, { to: 'held', values: { reasonCode: 'E_LIMIT', reason: 'too much' } });
  // Two people allow it; the command is killed before its entry, and Redis is copied before a sweep.
  const act = await ledger.audit.waiting({
    actor: 'bob',
    action: 'payout.allow-confirmed',
    target: `${runId}-2`,
    details: { reason: 'checked' },
  });
  expect(await movePayout(ledger, place, { to: 'ready', act })).toMatchObject({ result: 'moved' });
  const putBack = await copyLedger(server.redis, prefix);
  // Later somebody cancels that payout.
  await cancelPayout({ ledger, wake, ensureSeason: async () => [] }, await readPayout(ledger, place), ANNA);
  expect((await actions()).slice(-2)).toEqual(['payout.allow-confirmed', 'payout.cancelled']);

  await putBack();
  await comesBack();
  expect(await readPayout(ledger, place)).toMatchObject({ state: 'held', reasonCode: 'E_GIVEN_UP' });

  await putBack();
  await comesBack();
  expect(await readPayout(ledger, place)).toMatchObject({ state: 'held', reasonCode: 'E_GIVEN_UP' });
});

test('an act has one entry in the log, although a copy in which it waited was put back', async () => {
  const payout = await readPayout(ledger, { runId, line: 2 });
  const act = await ledger.audit.waiting({
    actor: 'anna',
    action: 'payout.cancelled',
    target: `${runId}-2`,
    details: {},
  });
  await movePayout(ledger, payout, { to: 'cancelled', act });
  const putBack = await copyLedger(server.redis, prefix);
  await ledger.audit.copyOthers();
  await putBack();
  await comesBack();
  expect((await actions()).filter((action) => action === 'payout.cancelled')).toHaveLength(1);
});

test('a decision that is made again after a restore has an entry of its own, although the lost one says the same', async () => {
  const cancel = async () =>
    await cancelPayout(
      { ledger, wake, ensureSeason: async () => [] },
      await readPayout(ledger, { runId, line: 2 }),
      ANNA,
    );
  const putBack = await copyLedger(server.redis, prefix);
  for (const reason of ['one', 'two']) await pauseRun({ ledger, wake }, runId, { actor: 'anna', reason });
  await cancel();
  await putBack();
  // Another host goes on from there, so that the lost entry cannot be put back.
  const at = { prefix, dataDirId: 'dir-z' };
  const other = openLedger({ redis: server.redis, arming: server.redis }, at);
  await other.audit.append({ actor: 'ben', action: 'run.resumed', target: runId, details: { reason: '' } });
  await cancel();
  expect((await actions()).filter((action) => action === 'payout.cancelled')).toHaveLength(1);
});

const end = (): Promise<never> => Promise.reject(new Error('killed'));

/** The command is killed right after what it did to the run. */
function killed(): Ledger {
  return { ...ledger, audit: { ...ledger.audit, append: end, appendWaiting: end } };
}

test('a block, killed before its audit entry, is not forgotten by a restore', async () => {
  const { beneficiaryIdentityId } = (await readPayout(ledger, { runId, line: 2 })).row;
  const putBack = await copyLedger(server.redis, prefix);
  await expect(blockBeneficiary({ ledger: killed() }, beneficiaryIdentityId, ANNA)).rejects.toThrow('killed');
  await ledger.audit.copyOthers();
  await putBack();
  await comesBack();
  expect([(await ledger.state.read()).halt, (await ledger.approvals.blocked()).length]).not.toEqual([null, 0]);
});

test.each([
  ['cancel', cancelRun, 'cancelled'],
  ['pause', pauseRun, 'paused'],
] as const)('%s of a run, killed before its audit entry, is not forgotten by a restore', async (_, stop, state) => {
  const putBack = await copyLedger(server.redis, prefix);
  await expect(stop({ ledger: killed(), wake }, runId, ANNA)).rejects.toThrow('killed');
  expect(await ledger.runs.read(runId)).toMatchObject({ state });
  await ledger.audit.copyOthers();
  await putBack();
  await comesBack();
  // Nothing of it was noticed: no halt, and the run goes on.
  expect([(await ledger.state.read()).halt, (await ledger.runs.read(runId))?.state]).not.toEqual([null, 'paying']);
});

test('what two people dropped after the copy is not let go together with others, unseen', async () => {
  const place = { runId, line: 2 };
  const values = { reasonCode: 'E_QUOTE_AMOUNT', reason: 'the quote has another amount' };
  await movePayout(ledger, place, { to: 'held', values });
  const deps = {
    ledger,
    wake,
    ensureSeason: async () => [],
    openPay: () => Promise.reject(new Error('nothing is looked up')),
  };
  const scope = { runId, reason: 'E_QUOTE_AMOUNT' };
  const decide = async (decision: 'drop' | 'allow', by: string) =>
    await decideInBulk(deps, scope, { decision, by, reason: 'looked at' });

  const putBack = await copyLedger(server.redis, prefix);
  for (const by of ['anna', 'bob']) await decide('drop', by);
  expect(await readPayout(ledger, place)).toMatchObject({ state: 'cancelled' });
  await putBack();
  await comesBack();
  // Two others settle what is held, by its reason, and know nothing of the drop.
  for (const by of ['carl', 'dora']) await decide('allow', by);
  expect(await readPayout(ledger, place)).toMatchObject({ state: 'held' });
});

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
    compareDecisions: async ({ server: now }) => {
      await redoMissedDecisions({ ledger, clock: systemClock, log: silentLog }, now);
    },
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
  const place = { runId, line: 2 };
  await movePayout(ledger, place, { to: 'held', values: { reasonCode: 'E_NO_QUOTE', reason: 'no usable quote' } });
  const deps = {
    ledger,
    wake: async () => {},
    ensureSeason: async () => [],
    openPay: () => Promise.reject(new Error('nothing to look up')),
  };
  const decide = async (decision: 'allow' | 'drop', by: string) =>
    (await decidePayout(deps, await readPayout(ledger, place), { decision, paymentId: '', by, reason: 'seen' })).result;
  expect(await decide('allow', 'anna')).toBe('proposed');
  const putBack = await copyLedger(server.redis, prefix);
  // She finds that it is wrong, and proposes to drop it: from then on nobody can allow it without another proposal.
  expect(await decide('drop', 'anna')).toBe('proposed');
  await putBack();
  await comesBack();
  expect((await ledger.state.read()).halt).toContain('payout.drop-proposed');
  expect(await decide('allow', 'bob')).toBe('proposed');
});
