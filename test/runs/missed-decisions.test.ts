import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openAuditLog } from '../../src/audit/audit-log.ts';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { openAuditStore } from '../../src/ledger/audit.ts';
import { ledgerKeys } from '../../src/ledger/keys.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import { silentLog } from '../../src/log.ts';
import { createKey, revokeKey } from '../../src/people/keys.ts';
import { openPasswords } from '../../src/people/password.ts';
import { addUser, disableUser } from '../../src/people/users.ts';
import { blockBeneficiary } from '../../src/runs/block.ts';
import { cancelPayout, cancelRun } from '../../src/runs/decide/control.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { redoMissedDecisions } from '../../src/runs/safety/missed-decisions.ts';
import {
  armPayout,
  claimRun,
  copyLedger,
  DATA_DIR,
  freshRows,
  newLedger,
  payingRun,
  readPayout,
  recordRows,
} from '../ledger/test-ledger.ts';
import { CHEAP } from '../people/people-rig.ts';
import { useTestRedis } from '../support/redis.ts';

const BENEFICIARY = '3e7a9d24-0b6c-4f18-a52d-9c4be8f1d073';
const ANNA = { actor: 'anna', reason: 'wrong month' };

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

/** What people do is forgotten by Redis, and not by the data directory. */
async function forgotten(act: () => Promise<unknown>): Promise<void> {
  const putBack = await copyLedger(server.redis, prefix);
  await act();
  await putBack();
}

const redo = async () =>
  await redoMissedDecisions({ ledger, clock: systemClock, log: silentLog }, (await ledger.state.season()).server);
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
    expect(await redo().catch(String)).toBe(true);
    expect(await stateOf()).toBe('awaiting-approval');
    expect((await ledger.state.read()).halt).toContain(`run.paused ${runId}`);
    expect((await ledger.approvals.blocked()).map(({ identityId }) => identityId)).toEqual([BENEFICIARY]);
    await releaseHalt({ ledger }, 'anna');
    await releaseHalt({ ledger }, 'bob');
    await redo();
    expect((await ledger.state.read()).halt).toBeNull();
  });

  test('does the others again where a run in the copy is over, and so cannot be paused', async () => {
    await cancelRun({ ledger, wake: async () => {} }, runId, ANNA);
    await forgotten(async () => {
      await ledger.audit.append({ actor: 'anna', action: 'run.paused', target: runId, details: {} });
      await blockBeneficiary({ ledger }, BENEFICIARY, ANNA);
    });
    expect(await redo().catch(String)).toBe(true);
    expect(await stateOf()).toBe('cancelled');
    expect((await ledger.approvals.blocked()).map(({ identityId }) => identityId)).toEqual([BENEFICIARY]);
  });

  test('is halted with what is missing, and blocks and cancels are done again', async () => {
    await forgotten(async () => {
      await blockBeneficiary({ ledger }, BENEFICIARY, ANNA);
      await cancelRun({ ledger, wake: async () => {} }, runId, ANNA);
    });
    expect([await stateOf(), await ledger.approvals.blocked()]).toEqual(['paying', []]);
    await redo();
    const { halt } = await ledger.state.read();
    expect(halt ?? '').toContain('2 decisions are missing in Redis');
    expect(halt ?? '').toContain(`beneficiary.blocked ${BENEFICIARY}`);
    expect(halt ?? '').toContain(`run.cancelled ${runId}`);
    expect((await ledger.approvals.blocked()).map(({ identityId }) => identityId)).toEqual([BENEFICIARY]);
    expect(await stateOf()).toBe('cancelled');
  });

  test('cancels a run again that was paused after it was cancelled, by payrun itself or by people', async () => {
    await forgotten(async () => {
      await cancelRun({ ledger, wake: async () => {} }, runId, ANNA);
      await ledger.audit.append({ actor: 'payrun', action: 'run.paused', target: runId, details: {} });
    });
    await redo();
    expect(await stateOf()).toBe('cancelled');
  });

  test('holds a payout that was given up once its row comes, where the copy was made while its file was recorded', async () => {
    const rows = freshRows(2);
    const id = await claimRun(ledger, rows);
    await forgotten(() =>
      ledger.audit.append({ actor: 'anna', action: 'payout.cancelled', target: `${id}-2`, details: {} }),
    );
    await redo();
    await recordRows(ledger, id, rows);
    const states = await Promise.all(
      [2, 3].map(async (line) => (await readPayout(ledger, { runId: id, line })).reasonCode),
    );
    expect(states).toEqual(['E_GIVEN_UP', null]);
  });

  test('is compared again on a server that took the place of the one for which its loss was said', async () => {
    await forgotten(() => blockBeneficiary({ ledger }, BENEFICIARY, ANNA));
    await redoMissedDecisions({ ledger, clock: systemClock, log: silentLog }, 'another server');
    await server.redis.del(`${prefix}:blocked`, `${prefix}:blocked-seal`);
    await redo();
    expect((await ledger.approvals.blocked()).map(({ identityId }) => identityId)).toEqual([BENEFICIARY]);
  });

  test('blocks a beneficiary again who was blocked last, though the clock of Redis stepped back before', async () => {
    await forgotten(async () => {
      await ledger.audit.append({ actor: 'anna', action: 'beneficiary.unblocked', target: BENEFICIARY, details: {} });
      const store = openAuditStore(server.redis, ledgerKeys(prefix));
      const look = async () => ({ ...(await store.look()), at: Date.now() - 7_200_000 });
      const earlier = openAuditLog({ ...store, look }, { dataDirId: DATA_DIR, dataDir });
      await earlier.append({ actor: 'anna', action: 'beneficiary.blocked', target: BENEFICIARY, details: {} });
    });
    await redo();
    expect((await ledger.approvals.blocked()).map(({ identityId }) => identityId)).toEqual([BENEFICIARY]);
  });

  test('keeps users out and keys revoked that people had stopped', async () => {
    const people = { ledger, clock: systemClock, random: systemRandom, passwords: openPasswords(systemRandom, CHEAP) };
    await addUser(people, { name: 'anna', role: 'admin', actor: 'anna' });
    await addUser(people, { name: 'mallory', role: 'maker', actor: 'anna' });
    await createKey(people, { name: 'erp', role: 'maker', actor: 'anna' });
    await forgotten(async () => {
      await disableUser(people, { name: 'mallory', actor: 'anna' });
      await revokeKey(people, { name: 'erp', actor: 'anna' });
      await createKey(people, { name: 'erp', role: 'viewer', actor: 'anna' });
    });
    await redo();
    // A former list lets nobody in, and nobody changes it, before two people have seen it.
    await expect(ledger.people.read()).rejects.toThrow('Nobody is let in');
    for (const person of ['bob', 'carl']) await releaseHalt({ ledger }, person);
    await redo();
    const { users, keys } = await ledger.people.read();
    expect(users.flatMap(({ name, isDisabled }) => (isDisabled ? [name] : []))).toEqual(['mallory']);
    expect(keys).toEqual([]);
  });

  test('holds a payout that two people had settled as not paid, and which the copy has as it was before', async () => {
    const before = await readPayout(ledger, { runId, line: 2 });
    expect(before.state).toBe('ready');
    await forgotten(() =>
      ledger.audit.append({ actor: 'bob', action: 'payout.not-paid-confirmed', target: `${runId}-2`, details: {} }),
    );
    await redo();
    expect(await readPayout(ledger, before)).toMatchObject({ state: 'held', reasonCode: 'E_GIVEN_UP' });
  });

  test('holds a payout that one person had cancelled', async () => {
    const payout = await readPayout(ledger, { runId, line: 2 });
    await forgotten(() => cancelPayout({ ledger, wake: async () => {}, ensureSeason: async () => [] }, payout, ANNA));
    expect((await readPayout(ledger, payout)).state).toBe('ready');
    await redo();
    expect(await readPayout(ledger, payout)).toMatchObject({ state: 'held', reasonCode: 'E_GIVEN_UP' });
  });

  test('holds what people gave up once it is known not to have been sent, where it may have been sent in the copy', async () => {
    const place = { runId, line: 2 };
    const said = { decision: 'allow', by: 'anna', at: 1, paymentId: '', reason: 'no twin', seen: '' } as const;
    await armPayout(ledger, place);
    await ledger.payouts.move({ ...place, to: 'unknown', actor: 'w1', reason: 'no answer', dueMs: 0 });
    const seal = ledger.seals.proposal(await readPayout(ledger, place), said);
    const values = { proposal: { proposal: said, seal } };
    await ledger.payouts.move({ ...place, actor: 'anna', reason: '', values, dueMs: 0 });
    await forgotten(() =>
      ledger.audit.append({ actor: 'bob', action: 'payout.drop-confirmed', target: `${runId}-2`, details: {} }),
    );
    await redo();
    expect(await readPayout(ledger, place)).toMatchObject({ state: 'unknown', proposal: null });
    await ledger.payouts.move({ ...place, to: 'ready', actor: 'w1', reason: 'dead', dropQuote: 'proven-dead' });
    for (const person of ['anna', 'bob']) await releaseHalt({ ledger }, person);
    await ledger.runs.move(runId, { to: 'paying', actor: 'anna', reason: '' });
    await expect(armPayout(ledger, place)).rejects.toThrow('given-up');
    for (const to of ['held', 'ready'] as const)
      await ledger.payouts.move({ ...place, to, actor: 'anna and bob', reason: '' });
    expect((await armPayout(ledger, place)).state).toBe('armed');
  });

  test('holds a payout that one person had cancelled once its row comes, where its run is forgotten too', async () => {
    const rows = freshRows(2);
    let id = '';
    await forgotten(async () => {
      id = await claimRun(ledger, rows);
      const { fileSha256 = '', contentHash = '' } = (await ledger.runs.read(id)) ?? {};
      const details = { fileSha256, contentHash };
      await ledger.audit.append({ actor: 'anna', action: 'run.submitted', target: id, details });
      await ledger.audit.append({ actor: 'anna', action: 'payout.cancelled', target: `${id}-2`, details: {} });
    });
    await redo();
    await recordRows(ledger, id, rows);
    expect(await readPayout(ledger, { runId: id, line: 2 })).toMatchObject({
      state: 'held',
      reasonCode: 'E_GIVEN_UP',
    });
    expect((await readPayout(ledger, { runId: id, line: 3 })).state).toBe('ready');
  });

  test('knows the file of a run again that was handed in, with the rows in any spelling, and nothing of it looks new', async () => {
    const details = { fileSha256: 'f'.repeat(64), contentHash: 'c'.repeat(64) };
    await forgotten(() => ledger.audit.append({ actor: 'anna', action: 'run.submitted', target: 'R2', details }));
    await redo();
    expect(await ledger.runs.read('R2')).toMatchObject({ state: 'recording', isInDoubt: true, rows: 0 });
    const claim = { id: 'R3', fileName: 'a.csv', rows: 1, fileTotals: [], createdBy: 'bob' };
    for (const same of [details, { ...details, fileSha256: 'e'.repeat(64) }]) {
      expect(await ledger.runs.claim({ ...claim, ...same })).toEqual({ id: 'R2', result: 'known' });
    }
  });

  test('is halted for a decision between others that it has, where another directory wrote on before', async () => {
    const other = openLedger({ redis: server.redis, arming: server.redis }, { prefix, dataDirId: 'dir-b' });
    await forgotten(() => blockBeneficiary({ ledger }, BENEFICIARY, ANNA));
    await other.audit.append({ actor: 'bob', action: 'run.attached', target: runId, details: {} });
    await ledger.audit.append({ actor: 'anna', action: 'run.attached', target: runId, details: {} });
    await redo();
    expect((await ledger.state.read()).halt ?? '').toContain(`beneficiary.blocked ${BENEFICIARY}`);
    expect((await ledger.approvals.blocked()).map(({ identityId }) => identityId)).toEqual([BENEFICIARY]);
  });

  test('says what is missing where everything is halted already', async () => {
    await ledger.state.halt('anna', 'the bank called');
    await forgotten(() => blockBeneficiary({ ledger }, BENEFICIARY, ANNA));
    await redo();
    expect((await ledger.state.read()).halt).toMatch(/^the bank called; .*beneficiary\.blocked/);
  });

  test('is halted once for what is missing', async () => {
    await forgotten(() => blockBeneficiary({ ledger }, BENEFICIARY, ANNA));
    await redo();
    await releaseHalt({ ledger }, 'anna');
    expect(await releaseHalt({ ledger }, 'bob')).toBe('released');
    await redo();
    expect((await ledger.state.read()).halt).toBeNull();
  });

  test('is not halted for what decides nothing', async () => {
    const seen = { actor: 'anna', action: 'report.downloaded', target: runId, details: {} };
    await forgotten(() => ledger.audit.append(seen));
    await redo();
    expect((await ledger.state.read()).halt).toBeNull();
  });
});
