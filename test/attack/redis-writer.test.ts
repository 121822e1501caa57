import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { systemRandom } from '../../src/clock.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { PEOPLE_CHANGED } from '../../src/ledger/people/people-list.ts';
import { openSeals } from '../../src/ledger/seals.ts';
import { openPasswords } from '../../src/people/password.ts';
import { signIn } from '../../src/people/sign-in.ts';
import { decidePayout } from '../../src/runs/decide/decide.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { requireTrueRows } from '../../src/runs/safety/shown-seals.ts';
import { CHEAP } from '../people/people-rig.ts';
import { beginRun, movePayout, payoutAt } from '../runs/recorded-run.ts';
import { changeStored, readValues } from '../support/records.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';
import { openWebRig } from '../web/rig.ts';

/*
 * Attacks of who can write to Redis and has no key of the ledger, alone or with one person of the company. Each test says what
 * has to hold (docs/security.md, "Seals"); those that fail show what does not.
 */

const server = await useTestRedis();

/** A ledger of its own, in an open season. */
async function openFresh() {
  const { redis } = server;
  const prefix = freshPrefix();
  const ledger = openLedger({ redis, arming: redis }, { prefix, dataDirId: 'd1' });
  const claim = { knownInstance: '', newInstance: prefix, service: 'sandbox', safety: 'test', requireMatch: true };
  await ledger.state.open(claim);
  await ledger.state.enterDir('d1');
  const { server: name } = await ledger.state.season();
  await ledger.state.compare({ dataDirId: 'd1', server: name, last: true, json: '[]', peers: ['d1'] });
  return { ledger, prefix };
}

describe('a release that nobody proposed', () => {
  test('a maker who can write to Redis does not make an admin by "confirming" it', async () => {
    const rig = await openWebRig(server.url, { env: { PAYRUN_LEDGER_KEY: 'a key that is not in Redis, of the test' } });
    await rig.person('ada', 'admin');
    await rig.person('carl', 'checker');
    const mia = await rig.person('mia', 'maker');
    const { prefix } = rig.app.config;
    // In Redis: a user of their own making, a halt, and somebody's word that it may be released.
    const passwords = openPasswords(systemRandom, CHEAP);
    const ada = JSON.parse((await server.redis.hget(`${prefix}:people`, 'user ada')) ?? '{}');
    const eve = { ...ada, name: 'eve', password: await passwords.hash('a password of eve'), secretUntil: null };
    await server.redis.hset(`${prefix}:people`, 'user eve', JSON.stringify(eve));
    await server.redis.hset(`${prefix}:head`, { halt: PEOPLE_CHANGED, releaseBy: 'carl' });
    // In the browser: one click of one maker.
    await mia.get('/settings');
    await mia.post('/release');
    const answer = await signIn(
      { ledger: rig.app.ledger, clock: rig.app.clock, passwords },
      { name: 'eve', password: 'a password of eve', ip: '192.0.2.1' },
    ).catch(() => ({ kind: 'refused' as const }));
    expect(answer.kind).toBe('refused');
  });

  test('a maker who can write to Redis does not end a block by "confirming" it', async () => {
    const rig = await openWebRig(server.url, { env: { PAYRUN_LEDGER_KEY: 'a key that is not in Redis, of the test' } });
    await rig.person('carl', 'checker');
    const mia = await rig.person('mia', 'maker');
    const { prefix } = rig.app.config;
    const { approvals } = rig.app.ledger;
    await approvals.block('11111111-2222-4333-8444-555555555555', { by: 'carl', reason: 'fraud' });
    await approvals.block('21111111-2222-4333-8444-555555555555', { by: 'carl', reason: 'fraud' });
    await server.redis.hdel(`${prefix}:blocked`, '11111111-2222-4333-8444-555555555555');
    await server.redis.hset(`${prefix}:head`, {
      halt: 'the block list was changed in Redis by something else than payrun',
      releaseBy: 'carl',
    });
    await mia.get('/settings');
    await mia.post('/release');
    expect((await approvals.blockList()).verdict).not.toBe('true');
  });
});

describe('a word that does not stand any more', () => {
  test('what one person proposed and took back with another proposal is not put back and confirmed by one other', async () => {
    const { ledger, prefix } = await openFresh();
    const runId = await beginRun(ledger, { lines: [2] });
    await ledger.runs.move(runId, { to: 'paying', actor: 'test', reason: 'submitted' });
    const place = { runId, line: 2 };
    const deps = {
      ledger,
      wake: async () => {},
      ensureSeason: async () => [],
      openPay: async () => {
        throw new Error('nothing was sent');
      },
    };
    const hold = async (reasonCode: string) => {
      const values = { reasonCode, reason: 'a reason' };
      await ledger.payouts.move({ ...place, to: 'held', actor: 'test', reason: reasonCode, values });
    };
    const decide = async (decision: 'allow' | 'drop', by: string) =>
      await decidePayout(deps, await payoutAt(ledger, place), { decision, paymentId: '', by, reason: 'a reason' });
    // Bob allows a likely duplicate, and so does Anna: the payout goes on. Later a limit holds it: two others have to lift that.
    await hold('E_DUP_LIKELY');
    await decide('allow', 'bob');
    const record = { redis: server.redis, prefix, ...place };
    const word = (await readValues(record))['pr'] ?? '';
    await decide('allow', 'anna');
    await hold('E_LIMIT');
    expect((await payoutAt(ledger, place)).proposal).toBeNull();
    await changeStored(record, { pr: word });
    const { result } = await decide('allow', 'mallory');
    expect([result, (await payoutAt(ledger, place)).state]).toEqual(['proposed', 'held']);
  });
});

const admin = (name: string) => ({
  [`user ${name}`]: JSON.stringify({
    name,
    role: 'admin',
    isDisabled: false,
    password: 'none',
    secretUntil: null,
    epoch: 0,
    addedBy: 'x',
    addedAt: 1,
  }),
});

describe('seals of another ledger', () => {
  const KEY = 'k'.repeat(32);

  test('users of another ledger under the same key are no users of this one', async () => {
    const open = async () => {
      const prefix = freshPrefix();
      const newInstance = randomBytes(8).toString('hex');
      const seals = openSeals({ ledgerKey: [KEY], service: undefined }, newInstance);
      const ledger = openLedger({ redis: server.redis, arming: server.redis }, { prefix, dataDirId: 'd1', seals });
      await ledger.state.open({ knownInstance: '', newInstance, service: 'test', safety: 's', requireMatch: true });
      return { ledger, prefix };
    };
    const [test1, prod] = [await open(), await open()];
    const act = { actor: 'x', action: 'user.added', target: 'user x', details: {} };
    await test1.ledger.people.change({ version: 0, act, fields: admin('mallory') });
    await prod.ledger.people.change({ version: 0, act, fields: admin('ada') });
    const list = await server.redis.hgetall(`${test1.prefix}:people`);
    await server.redis.del(`${prod.prefix}:people`);
    await server.redis.hset(`${prod.prefix}:people`, list);
    await expect(prod.ledger.people.read()).rejects.toThrow(/Nobody can be let in/);
  });
});

describe('what people look at before they agree', () => {
  test('rows of a run that is paused, and can be approved, are not shown changed', async () => {
    const { ledger, prefix } = await openFresh();
    const runId = await beginRun(ledger, { lines: [2] });
    await ledger.runs.move(runId, { from: 'recording', to: 'awaiting-approval', actor: 'test', reason: 'submitted' });
    await changeStored(
      { redis: server.redis, prefix, runId, line: 2 },
      { ben: '0f0c7a52-6b1d-4c8e-9a34-0123456789ab' },
    );
    const row = await payoutAt(ledger, { runId, line: 2 });
    await expect(requireTrueRows({ ledger }, await readRun({ ledger }, runId), [row])).rejects.toThrow(
      /changed in Redis/,
    );
    // States have no seal.
    await server.redis.hset(`${prefix}:run:${runId}`, { state: 'paused' });
    await expect(requireTrueRows({ ledger }, await readRun({ ledger }, runId), [row])).rejects.toThrow(
      /changed in Redis/,
    );
  });

  test('a payout whose row was changed is not decided', async () => {
    const { ledger, prefix } = await openFresh();
    const runId = await beginRun(ledger, { lines: [2] });
    await ledger.runs.move(runId, { to: 'paying', actor: 'test', reason: 'submitted' });
    const place = { runId, line: 2 };
    await movePayout(ledger, place, 'held');
    await changeStored({ redis: server.redis, prefix, ...place }, { amt: '1' });
    const deps = {
      ledger,
      wake: async () => {},
      ensureSeason: async () => [],
      openPay: async () => {
        throw new Error('nothing was sent');
      },
    };
    const payout = await payoutAt(ledger, place);
    await expect(
      decidePayout(deps, payout, { decision: 'allow', paymentId: '', by: 'anna', reason: 'a reason' }),
    ).rejects.toThrow(/changed/);
  });
});
