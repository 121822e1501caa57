import { describe, expect, onTestFinished, test } from 'vitest';
import { openApp } from '../../src/app.ts';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { readConfig } from '../../src/config/config.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { silentLog } from '../../src/log.ts';
import { noCrash } from '../../src/pay/crash-point.ts';
import { disableUser } from '../../src/people/users.ts';
import { adoptSettings } from '../../src/runs/safety/adopt-settings.ts';
import { newLedger } from '../ledger/test-ledger.ts';
import { addWithPassword, peopleRig } from '../people/people-rig.ts';
import { openTestApp } from '../runs/opened-app.ts';
import { useTestRedis } from '../support/redis.ts';

/*
 * Words about the ledger as a whole, of which each takes two people: attacks of who can write to Redis and has no key of the ledger,
 * and of who was disabled.
 */

const server = await useTestRedis();

const NEW_SAFETY = 'grace 0, limits none, approval none';
const US = '\u001f';

async function settingsOf(ledger: Ledger, actor: string) {
  const deps = { ledger, safety: NEW_SAFETY, jobs: { workers: async () => [] } };
  const result = await adoptSettings(deps, actor);
  return { result, isNew: (await ledger.state.read()).safety === NEW_SAFETY };
}

/** A ledger with a second data directory, which does not come back. */
async function openFresh() {
  const desk = await newLedger({ redis: server.redis, arming: server.redis });
  const { ledger } = desk;
  await ledger.state.enterDir('dir-b', true);
  const { server: name } = await ledger.state.season();
  return { ...desk, name };
}

const adoption = (actor: string, formerInstance: string) => ({
  formerInstance,
  newInstance: systemRandom.uuid(),
  service: 'sandbox',
  safety: 'test',
  dataDirIds: ['dir-a'],
  actor,
});

const openPeople = async () => {
  const rig = await peopleRig(server.redis);
  for (const name of ['ada', 'mallory']) await addWithPassword(rig, name, 'admin');
  return rig;
};

describe('who can write to Redis, with one person', () => {
  test('does not make other settings those of the ledger', async () => {
    const { ledger, redis, keys } = await openFresh();
    await redis.hset(keys.head, { safetyNew: NEW_SAFETY, safetyBy: 'carl' });
    expect(await settingsOf(ledger, 'mallory')).toEqual({ result: 'proposed', isNew: false });
    // Nor by a proposal of other settings, under its true seal.
    const { proposedSafety } = await ledger.state.read();
    await redis.hset(keys.head, { safety: 'as it never was', safetySeal: proposedSafety?.seal ?? '' });
    expect(await settingsOf(ledger, 'anna')).toEqual({ result: 'proposed', isNew: false });
    expect(await settingsOf(ledger, 'ben')).toEqual({ result: 'adopted', isNew: true });
  });

  test.each([
    ['proposed it', ''],
    ['agreed on it', 'cora'],
  ])('does not write off a data directory of which Redis says that others %s', async (_what, agreed) => {
    const { ledger, redis, keys, name } = await openFresh();
    await redis.hset(keys.head, 'writeOff:dir-b', [name, 'carl', agreed, '', ''].join(US));
    expect(await ledger.recovery.writeOff('dir-b', 'mallory')).toMatchObject({ result: 'proposed' });
    expect((await ledger.state.read()).halt).toBeNull();
  });

  test('does not write off another data directory beside the one on which two people agreed', async () => {
    const { ledger, redis, keys } = await openFresh();
    await ledger.state.enterDir('dir-c', true);
    await redis.hset(keys.head, 'season', 'closed');
    for (const dir of ['dir-b', 'dir-c']) await ledger.recovery.writeOff(dir, 'anna');
    const [at, by, , seal] = ((await redis.hget(keys.head, 'writeOff:dir-c')) ?? '').split(US);
    await redis.hset(keys.head, 'writeOff:dir-c', [at, by, 'ben', seal, seal].join(US));
    const answer = await ledger.recovery.writeOff('dir-b', 'ben');
    expect(answer).toMatchObject({ result: 'agreed', missing: expect.arrayContaining(['dir-c']) });
    expect(await ledger.recovery.forgetDirs()).toContain('dir-c');
  });

  test('does not bring back a proposal for this directory that was made on another server', async () => {
    const { ledger, redis, keys } = await openFresh();
    await ledger.recovery.writeOff('dir-b', 'anna');
    const [, ...words] = ((await redis.hget(keys.head, 'writeOff:dir-b')) ?? '').split(US);
    const { server: name } = await ledger.state.season();
    await redis.hset(keys.head, 'writeOff:dir-b', [`${name} of before`, ...words].join(US));
    expect(await ledger.recovery.writeOff('dir-b', 'ben')).toMatchObject({ result: 'proposed' });
  });
});

describe('an adoption', () => {
  const SETTINGS = { PAYRUN_LEDGER_KEY: 'a key that is not in Redis, of the test' };
  test('that nobody proposed, or that was proposed for more data directories, is not confirmed by one person', async () => {
    const desk = await newLedger({ redis: server.redis, arming: server.redis });
    const empty = async () => {
      await server.redis.del(desk.keys.head, desk.keys.dirs);
      await server.redis.hset(desk.keys.adoption, {
        by: 'carl',
        former: 'lost',
        service: 'sandbox',
        safety: 'test',
        dirs: '[]',
      });
    };
    await empty();
    const { recovery } = desk.ledger;
    expect(await recovery.adopt({ ...adoption('mallory', 'lost'), dataDirIds: ['dir-a', 'dir-b'] })).toBe('proposed');
    await server.redis.hset(desk.keys.adoption, 'dirs', '["dir-a"]');
    expect(await recovery.adopt(adoption('anna', 'lost'))).toBe('proposed');
    expect(await recovery.adopt(adoption('ben', 'lost'))).toBe('adopted');
  });

  test('of which only Redis says that there was one does not lead a data directory to another ledger', async () => {
    const own = await openTestApp(server.url, SETTINGS);
    const other = await openTestApp(server.url, SETTINGS);
    const { instance } = await own.ledger.state.read();
    const open = async () => {
      const app = await openApp({
        config: readConfig({
          ...SETTINGS,
          REDIS_URL: server.url,
          PAYRUN_DATA_DIR: own.dir,
          PAYRUN_PREFIX: other.config.prefix,
        }),
        clock: systemClock,
        random: systemRandom,
        log: silentLog,
        at: noCrash,
        report: () => {},
        openJobs: () => ({ async wake() {}, workers: async () => [], async close() {} }),
      });
      await app.close();
    };
    onTestFinished(async () => {
      await own.close();
      await other.close();
    });
    await expect(open()).rejects.toThrow(/belongs to another ledger/);
    await server.redis.hset(`${other.config.prefix}:head`, { adopted: instance, adoptedBy: 'carl' });
    await expect(open()).rejects.toThrow(/nobody who has the key of the ledger said so/);
  });
});

describe('the word of somebody who was disabled since', () => {
  test('adopts no settings', async () => {
    const rig = await openPeople();
    expect((await settingsOf(rig.ledger, 'mallory')).result).toBe('proposed');
    await disableUser(rig, { name: 'mallory', actor: 'ada' });
    expect(await settingsOf(rig.ledger, 'ada')).toEqual({ result: 'proposed', isNew: false });
  });

  test('writes off no data directory', async () => {
    const rig = await openPeople();
    const { recovery, state } = rig.ledger;
    await state.enterDir('dir-b', true);
    expect((await recovery.writeOff('dir-b', 'mallory')).result).toBe('proposed');
    await disableUser(rig, { name: 'mallory', actor: 'ada' });
    expect(await recovery.writeOff('dir-b', 'ada')).toMatchObject({ result: 'proposed', proposedBy: 'ada' });
  });
});
