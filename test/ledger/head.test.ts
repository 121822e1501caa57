import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemRandom } from '../../src/clock.ts';
import { bindDataDir, openDataDir } from '../../src/ledger/intents/data-dir.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import type { HeadClaim } from '../../src/ledger/season/ledger-state.ts';
import { connectRedis } from '../../src/redis/connect.ts';
import { Refusal } from '../../src/refusal.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';
import {
  claimOf,
  DATA_DIR,
  dumpOf,
  newLedger,
  PATIENCE,
  SAFETY,
  SERVICE,
  type TestLedger,
  useArming,
} from './test-ledger.ts';

const server = await useTestRedis();
const arming = await useArming(server);
let desk: TestLedger;

beforeEach(async () => {
  desk = await newLedger({ redis: server.redis, arming });
});

const waitMs = async () => (await desk.ledger.payouts.read({ runId: 'none', line: 2 })).waitMs;

async function refusalOf(work: Promise<unknown>): Promise<Refusal> {
  const caught: unknown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(caught instanceof Refusal)) throw new Error('it was not refused', { cause: caught });
  return caught;
}

describe('opening a ledger', () => {
  test('makes it on an empty Redis, in its season', async () => {
    const prefix = freshPrefix();
    const { state: head } = openLedger({ redis: server.redis, arming }, { prefix, dataDirId: DATA_DIR });
    const claim = claimOf();
    expect(await head.open(claim)).toBe(claim.newInstance);
    expect((await head.season()).open).toBe(true);
    expect(await head.read()).toMatchObject({
      instance: claim.newInstance,
      service: SERVICE,
      halt: null,
      armings: 0,
      refusedMoves: 0,
      disproved: [],
      clockStep: null,
    });
  });

  test('again, with the instance that is known or as a newcomer, gives the same and writes nothing', async () => {
    const before = await dumpOf(desk);
    expect(await desk.ledger.state.open(claimOf())).toBe(desk.instance);
    expect(await desk.ledger.state.open(claimOf(desk.instance))).toBe(desk.instance);
    expect(await dumpOf(desk)).toEqual(before);
  });

  const refusals: readonly { readonly what: string; readonly claim: Partial<HeadClaim>; readonly says: RegExp }[] = [
    {
      what: 'another service',
      claim: { service: 'https://other.example' },
      says: /another service.*https:\/\/service/,
    },
    { what: 'another ledger than the data directory knows', claim: { knownInstance: 'x' }, says: /another ledger/ },
    { what: 'other safety settings', claim: { safety: 'grace 0' }, says: /other safety settings[^]*arm deadline/ },
  ];
  test.each(refusals)('is refused for $what, and nothing is written', async ({ claim, says }) => {
    const before = await dumpOf(desk);
    const refusal = await refusalOf(desk.ledger.state.open({ ...claimOf(), ...claim }));
    expect(refusal.message).toMatch(says);
    expect(refusal.kind).toBe('usage');
    expect(await dumpOf(desk)).toEqual(before);
  });

  test('is refused for a ledger of a newer payrun, and nothing is written', async () => {
    await desk.redis.hset(desk.keys.head, 'schema', 7);
    const before = await dumpOf(desk);
    expect((await refusalOf(desk.ledger.state.open(claimOf()))).message).toMatch(/newer payrun \(layout 7/);
    expect(await dumpOf(desk)).toEqual(before);
  });

  test('is refused for a ledger of an older payrun, and nothing is written', async () => {
    await desk.redis.hset(desk.keys.head, 'schema', 2);
    const before = await dumpOf(desk);
    expect((await refusalOf(desk.ledger.state.open(claimOf()))).message).toMatch(/older payrun \(layout 2/);
    expect(await dumpOf(desk)).toEqual(before);
  });

  test('is refused on a Redis that lost the ledger of the data directory, and nothing is written', async () => {
    const prefix = freshPrefix();
    const { state: head } = openLedger({ redis: server.redis, arming }, { prefix, dataDirId: DATA_DIR });
    const refusal = await refusalOf(head.open(claimOf('known')));
    expect(refusal.message).toMatch(/does not hold/);
    expect(refusal.kind).toBe('usage');
    expect(await server.redis.keys(`${prefix}*`)).toEqual([]);
  });

  test('does not ask for the same safety settings of who only looks', async () => {
    const looker = { ...claimOf(), safety: 'grace 0', requireMatch: false };
    expect(await desk.ledger.state.open(looker)).toBe(desk.instance);
    expect(await desk.ledger.state.swapSafety(SAFETY, 'grace 0')).toBe(true);
    expect(await desk.ledger.state.open({ ...looker, requireMatch: true })).toBe(desk.instance);
    expect((await refusalOf(desk.ledger.state.open(claimOf()))).message).toContain(SAFETY);
  });

  test('adopts no safety settings in place of others than those that were seen', async () => {
    await desk.ledger.state.swapSafety(SAFETY, 'grace 0');
    expect(await desk.ledger.state.swapSafety(SAFETY, 'grace 9')).toBe(false);
    expect((await desk.ledger.state.read()).safety).toBe('grace 0');
  });

  test('adopts no safety settings where there is no ledger', async () => {
    const prefix = freshPrefix();
    const { state } = openLedger({ redis: server.redis, arming }, { prefix, dataDirId: DATA_DIR });
    expect(await state.swapSafety('', 'grace 0')).toBe(false);
    expect(await server.redis.keys(`${prefix}*`)).toEqual([]);
  });

  test('by many at once makes one ledger, and all agree whose it is', async () => {
    const others = await Promise.all(
      [1, 2].map(() => connectRedis({ socket: server.socket }, { name: 'test', kind: 'commands' })),
    );
    for (let race = 0; race < 20; race++) {
      const prefix = freshPrefix();
      const heads = [...others, ...others].map(
        (redis) => openLedger({ redis, arming }, { prefix, dataDirId: DATA_DIR }).state,
      );
      const instances = await Promise.all(heads.map((head) => head.open(claimOf())));
      expect(new Set(instances).size).toBe(1);
      expect((await heads[0]?.read())?.instance).toBe(instances[0]);
    }
    for (const redis of others) redis.disconnect();
  });
});

describe('a halt', () => {
  test('is released by two people, never by one twice', async () => {
    const { state: head } = desk.ledger;
    expect(await releaseHalt(desk, 'anna')).toBe('not-halted');
    await head.halt('worker-1', 'evidence');
    expect((await head.read()).halt).toBe('evidence');
    expect(await releaseHalt(desk, 'anna')).toBe('proposed');
    expect(await releaseHalt(desk, 'anna')).toBe('same-person');
    expect((await head.read()).releaseBy).toBe('anna');
    expect(await releaseHalt(desk, 'ben')).toBe('released');
    expect(await head.read()).toMatchObject({ halt: null, releaseBy: null });
  });

  test('adds a further reason to its first, once, which voids a release that was proposed', async () => {
    const { state: head } = desk.ledger;
    await head.halt('worker-1', 'first');
    await releaseHalt(desk, 'anna');
    await head.halt('worker-2', 'second');
    expect(await head.read()).toMatchObject({ halt: 'first; second', releaseBy: null });
    expect(await releaseHalt(desk, 'ben')).toBe('proposed');
  });

  test('whose text is full says what came last, or ends the proposal to release it', async () => {
    const { state: head } = desk.ledger;
    for (let breach = 0; breach < 60; breach++) {
      const evidence = `payout 20260131-abcdef-${breach}: the payment shows another beneficiary, evidence ${breach}`;
      await head.halt('process p1', evidence);
    }
    expect((await head.read()).halt?.length).toBeGreaterThan(4000);
    // Anna has read all that, and proposes to release it.
    expect(await head.release('anna', { own: 'seal', seen: '-' })).toBe('proposed');
    const last = 'Redis went back in time; 3 decisions are missing in Redis: 7 run.cancelled 20260131-xyzabc';
    await head.halt('payrun', last);
    const { halt, releaseBy } = await head.read();
    expect([halt?.includes('Redis went back in time'), releaseBy]).not.toEqual([false, 'anna']);
  });

  test('is seen beside every payout that is read', async () => {
    await desk.ledger.state.halt('worker-1', 'evidence');
    expect(await desk.ledger.payouts.read({ runId: 'none', line: 2 })).toMatchObject({
      payout: undefined,
      halt: 'evidence',
    });
  });
});

describe('what all workers share', () => {
  test('a longer wait is never cut short by a shorter one', async () => {
    const { state: head } = desk.ledger;
    expect(await waitMs()).toBe(0);
    await head.hold(600_000);
    await head.hold(1);
    expect(await waitMs()).toBeGreaterThan(500_000);
    await head.hold(6_000_000);
    expect(await waitMs()).toBeGreaterThan(5_000_000);
  });

  test('a wait ends by itself', async () => {
    await desk.ledger.state.hold(0.5);
    await expect.poll(() => desk.redis.exists(`${desk.prefix}:wait`), PATIENCE).toBe(0);
  });

  test('a capability that was disproved stays so, once each, also when one name begins like another', async () => {
    const { state: head } = desk.ledger;
    for (const name of ['payment-id-is-quote-id', 'payment-id', 'payment-id', 'payment-id-is-quote-id']) {
      await head.disprove(name, `evidence of ${name}`);
    }
    expect((await head.read()).disproved).toEqual(['payment-id-is-quote-id', 'payment-id']);
    const { disproved } = await desk.ledger.payouts.read({ runId: 'none', line: 2 });
    expect(disproved).toEqual(['payment-id-is-quote-id', 'payment-id']);
  });

  test('a turn is taken by one of many in each period', async () => {
    const { state: head } = desk.ledger;
    const turns = await Promise.all(Array.from({ length: 20 }, () => head.takeTurn('sweep', 60_000)));
    expect(turns.filter(Boolean)).toHaveLength(1);
    expect(await head.takeTurn('other', 1)).toBe(true);
    await expect.poll(() => head.takeTurn('other', 60_000), PATIENCE).toBe(true);
    expect(await head.takeTurn('other', 60_000)).toBe(false);
  });
});

describe('a data directory', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'payrun-test-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const open = () => openDataDir(join(folder, 'data'), { random: systemRandom, requirePersistentDisk: true });

  test('is made for this user alone, and belongs to no ledger until it is bound', async () => {
    const made = await open();
    expect(made.instance).toBe('');
    expect(statSync(made.path).mode & 0o777).toBe(0o700);
    expect((await open()).id).not.toBe(made.id);
  });

  test('keeps its id and its ledger once it is bound', async () => {
    const bound = await bindDataDir(await open(), 'ledger-1');
    expect(await open()).toEqual(bound);
    expect(await bindDataDir(bound, 'ledger-1')).toEqual(bound);
    expect(statSync(join(bound.path, 'ledger.json')).mode & 0o777).toBe(0o600);
  });

  test.each(['', '{"id":"', '{}'])('whose identity is %j is refused, and nothing is made anew', async (text) => {
    const bound = await bindDataDir(await open(), 'ledger-1');
    const file = join(bound.path, 'ledger.json');
    writeFileSync(file, text);
    expect((await refusalOf(open())).message).toBe(`${file} is damaged: it is not as payrun wrote it.`);
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  test('that is there already is closed to others where that is asked for, and else stays as it is', async () => {
    const { path } = await open();
    const modeOf = () => statSync(path).mode & 0o777;
    chmodSync(path, 0o755);
    await open();
    expect(modeOf()).toBe(0o755);
    await openDataDir(path, { random: systemRandom, requirePersistentDisk: true, closesToOthers: true });
    expect(modeOf()).toBe(0o700);
  });

  test.skipIf(process.getuid?.() !== 0)(
    'of another user is refused where all others look into it, and not where a group was given it',
    async () => {
      const { path } = await open();
      const close = () =>
        openDataDir(path, { random: systemRandom, requirePersistentDisk: true, closesToOthers: true });
      chownSync(path, 12_345, 12_345);
      chmodSync(path, 0o755);
      expect((await refusalOf(close())).message).toContain(path);
      chmodSync(path, 0o770);
      expect((await close()).path).toBe(path);
    },
  );

  test('that two bind at once gets one id, and both know it', async () => {
    const opened = await Promise.all(Array.from({ length: 10 }, () => open()));
    const bound = await Promise.all(opened.map((dataDir) => bindDataDir(dataDir, 'ledger-1')));
    expect(new Set(bound.map(({ id }) => id)).size).toBe(1);
    expect(await open()).toEqual(bound[0]);
  });

  test('cannot be made below a file: a Refusal that names it', async () => {
    const bound = await bindDataDir(await open(), 'ledger-1');
    const path = join(bound.path, 'ledger.json', 'data');
    const refusal = await refusalOf(openDataDir(path, { random: systemRandom, requirePersistentDisk: false }));
    expect(refusal.message).toContain(path);
    expect(readFileSync(join(bound.path, 'ledger.json'), 'utf8')).toContain('ledger-1');
  });

  test.skipIf(process.platform !== 'linux')(
    'in memory is refused with a real service, and fine for the sandbox',
    async () => {
      const path = join('/dev/shm', `payrun-test-${systemRandom.uuid()}`);
      expect(
        (await refusalOf(openDataDir(path, { random: systemRandom, requirePersistentDisk: true }))).message,
      ).toMatch(/tmpfs/);
      expect((await openDataDir(path, { random: systemRandom, requirePersistentDisk: false })).path).toBe(path);
      rmSync(path, { recursive: true });
    },
  );
});

test('two findings that processes repeat do not void a release of a full halt for ever', async () => {
  const { ledger } = desk;
  for (let n = 0; n < 60; n++) await ledger.state.halt('process w', `reason ${n} ${'x'.repeat(90)}`);
  const again = async () => {
    await ledger.state.halt('process w', 'finding A of the row 1');
    await ledger.state.halt('process v', 'finding B of the row 2');
  };
  await again();
  expect(await releaseHalt({ ledger }, 'anna')).toBe('proposed');
  await again();
  expect(await releaseHalt({ ledger }, 'bob')).toBe('released');
});
