import { beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { SCHEDULES_MAX, type Schedules, type StoredSchedule } from '../../src/ledger/schedules.ts';
import { silentLog } from '../../src/log.ts';
import { Refusal } from '../../src/refusal.ts';
import { nextTimes } from '../../src/schedules/cron.ts';
import { type Act, actText, readSchedule, type Schedule, windowText } from '../../src/schedules/schedule.ts';
import { removeSchedule, setSchedule } from '../../src/schedules/set.ts';
import { type DoAct, doTick, recordDue } from '../../src/schedules/tick.ts';
import { openZone } from '../../src/zone.ts';
import { freshRows, newLedger, payingRun, sendTo, type TestLedger, useArming } from '../ledger/test-ledger.ts';
import { dueOf, setDue } from '../support/records.ts';
import { useTestRedis } from '../support/redis.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const MINUTELY: Schedule = { cron: '* * * * *', zone: 'UTC', act: { kind: 'start' }, windowMs: HOUR_MS };
const YEARLY: Schedule = { ...MINUTELY, cron: '0 6 1 1 *' };

const server = await useTestRedis();
const arming = await useArming(server);
let desk: TestLedger;
let deps: { schedules: TestLedger['ledger']['schedules']; clock: typeof systemClock; log: typeof silentLog };

beforeEach(async () => {
  const made = await newLedger({ redis: server.redis, arming });
  const schedules = await holdTime(made.ledger.schedules);
  desk = { ...made, ledger: { ...made.ledger, schedules } };
  deps = { schedules, clock: systemClock, log: silentLog };
});

/** The schedules as of one moment of Redis, so that no minute begins while a test counts them. */
async function holdTime(schedules: Schedules): Promise<Schedules> {
  const { now } = await schedules.read();
  return { ...schedules, read: async () => ({ ...(await schedules.read()), now }) };
}

const set = (name: string, schedule = MINUTELY) => setSchedule(desk, schedule, { name, actor: 'anna' });

async function read(name: string): Promise<StoredSchedule> {
  const { schedules } = await deps.schedules.read();
  const stored = schedules.find((one) => one.name === name);
  if (stored === undefined) throw new Error(`there is no schedule ${name}`);
  return stored;
}

async function redisNow(): Promise<number> {
  return (await deps.schedules.read()).now;
}

/** Lets a schedule stand as if nobody had looked at it for so long; gives the planned times since. */
async function stopFor(name: string, ms: number): Promise<number[]> {
  const now = await redisNow();
  const { cron, zone } = readSchedule(await read(name));
  const times = nextTimes(cron, openZone(zone), { afterMs: now - ms, count: 2000 });
  await desk.redis.hset(`${desk.prefix}:schedule:${name}`, 'next', String(times[0]));
  return times.filter((timeMs) => timeMs <= now);
}

async function openTimes(): Promise<number[]> {
  return (await deps.schedules.open()).map(({ planned }) => planned).toSorted((one, other) => one - other);
}

/** Makes the ticks that were given out want to be done again, as time would. */
async function makeOverdue(): Promise<void> {
  for (const tick of await desk.redis.zrange(desk.keys.ticks, 0, -1)) await desk.redis.zadd(desk.keys.ticks, 1, tick);
}

async function recordOne(schedule = MINUTELY): Promise<{ name: string; planned: number }> {
  await set('morning', schedule);
  const times = await stopFor('morning', MINUTE_MS);
  await recordDue(deps);
  return { name: 'morning', planned: times[0] ?? 0 };
}

const due = (runId: string, line: number): Promise<number | null> =>
  dueOf({ redis: desk.redis, prefix: desk.prefix, runId, line });

async function auditLines(): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of desk.ledger.audit.lines()) lines.push(line);
  return lines;
}

describe('setting a schedule', () => {
  test('plans its first time after now, and stands on the audit log with who did it', async () => {
    const before = await redisNow();
    expect(await set('morning')).toBe('set');
    const stored = await read('morning');
    expect(stored.next).toBeGreaterThan(before);
    expect(stored.next % MINUTE_MS).toBe(0);
    expect(stored.next - before).toBeLessThanOrEqual(MINUTE_MS);
    expect(stored).toMatchObject({ setBy: 'anna', ticks: 0, lastPlanned: null, missedPlanned: null, fault: null });
    expect(readSchedule(stored)).toEqual(MINUTELY);
    expect((await auditLines()).at(-1)).toMatch(/"actor":"anna","action":"schedule\.set","target":"schedule morning"/);
  });

  test('the very same again keeps what it planned meanwhile', async () => {
    await set('morning');
    const times = await stopFor('morning', 5 * MINUTE_MS);
    expect(await set('morning')).toBe('there');
    await recordDue(deps);
    expect(await openTimes()).toEqual(times);
  });

  test('does nothing at a time that has come by the clock of Redis alone, which may have jumped ahead', async () => {
    await set('morning');
    const [planned = 0] = await stopFor('morning', MINUTE_MS);
    const behind = { ...deps, clock: { ...systemClock, now: () => planned - 1 } };
    await recordDue(behind);
    expect(await openTimes()).toEqual([]);
    await recordDue(deps);
    expect(await openTimes()).toEqual([planned]);
  });

  test('another one under its name begins anew, without what the former one had planned', async () => {
    await set('morning');
    await set('morning-2');
    await stopFor('morning', 5 * MINUTE_MS);
    const [planned] = await stopFor('morning-2', MINUTE_MS);
    await recordDue(deps);
    expect(await set('morning', { ...MINUTELY, act: { kind: 'look-up' } })).toBe('set');
    expect(await openTimes()).toEqual([planned]);
    expect((await read('morning')).next).toBeGreaterThan(await redisNow());
  });

  test('is refused when there are too many, and is not when its name is there', async () => {
    for (let count = 0; count < SCHEDULES_MAX; count++) await set(`s${count}`, YEARLY);
    await expect(set('one-more')).rejects.toThrow(/100 schedules already/);
    expect(await set('s7')).toBe('set');
  });

  test('what another payrun wrote is not guessed at, and keeps no other schedule from its time', async () => {
    await set('a-new-kind');
    await set('morning');
    const times = await stopFor('morning', 2 * MINUTE_MS);
    await stopFor('a-new-kind', 2 * MINUTE_MS);
    const definition = '{"cron":"* * * * *","zone":"UTC","do":"dance"}';
    const seal = desk.ledger.seals.schedule({ name: 'a-new-kind', definition, setBy: 'anna' });
    await desk.redis.hset(`${desk.prefix}:schedules`, 'a-new-kind', definition);
    await desk.redis.hset(`${desk.prefix}:schedule:a-new-kind`, 'seal', seal);
    await recordDue(deps);
    expect(await openTimes()).toEqual(times);
    const stored = await read('a-new-kind');
    expect(() => readSchedule(stored)).toThrow(/not one that this payrun knows/);
  });
});

describe('a schedule that something else than payrun changed', () => {
  test.each([
    { of: 'who set it', key: 'schedule:morning', field: 'setBy', text: 'eve' },
    { of: 'what it does', key: 'schedules', field: 'morning', text: '{"cron":"* * * * *"}' },
  ])('in $of is not followed, and halts everything; people set it anew', async ({ key, field, text }) => {
    await set('morning');
    await stopFor('morning', 2 * MINUTE_MS);
    await desk.redis.hset(`${desk.prefix}:${key}`, field, text);
    await recordDue(deps);
    expect(await openTimes()).toEqual([]);
    expect((await desk.ledger.state.read()).halt).toMatch(/the schedule morning was changed in Redis/);
    expect(await set('morning')).toBe('set');
    expect(await read('morning')).toMatchObject({ setBy: 'anna' });
  });
});

describe('removing a schedule', () => {
  test('forgets its ticks, and stands on the audit log', async () => {
    await set('morning');
    await stopFor('morning', 5 * MINUTE_MS);
    await recordDue(deps);
    await removeSchedule(desk, { name: 'morning', actor: 'bob' });
    expect((await deps.schedules.read()).schedules).toEqual([]);
    expect(await openTimes()).toEqual([]);
    expect(await desk.redis.keys(`${desk.prefix}:schedule*`)).toEqual([]);
    expect((await auditLines()).at(-1)).toMatch(
      /"actor":"bob","action":"schedule\.removed","target":"schedule morning"/,
    );
  });

  test('is refused when there is none', async () => {
    await expect(removeSchedule(desk, { name: 'morning', actor: 'bob' })).rejects.toThrow(
      /There is no schedule morning/,
    );
  });
});

describe('a planned time', () => {
  test('is not recorded before it has come', async () => {
    await set('morning', YEARLY);
    await recordDue(deps);
    expect(await openTimes()).toEqual([]);
  });

  test('is recorded once, however many record it at the same time', async () => {
    await set('morning');
    const times = await stopFor('morning', 10 * MINUTE_MS);
    await Promise.all(Array.from({ length: 20 }, () => recordDue(deps)));
    expect(await openTimes()).toEqual(times);
    expect((await read('morning')).ticks).toBe(times.length);
  });

  test('that was done is not recorded again by who comes late', async () => {
    await set('morning');
    await stopFor('morning', 3 * MINUTE_MS);
    const { now, schedules } = await deps.schedules.read();
    const [stored] = schedules;
    if (stored === undefined) throw new Error('no schedule');
    await recordDue(deps);
    for (const tick of await deps.schedules.open()) await deps.schedules.end(tick, { as: 'done' });
    const { definition, next: seen } = stored;
    const late = { name: 'morning', definition, seen, next: now + 1, due: [seen], missed: null };
    expect(await deps.schedules.record(late)).toBe(false);
    expect(await openTimes()).toEqual([]);
  });

  test('of a schedule that was changed meanwhile is not recorded', async () => {
    await set('morning');
    await stopFor('morning', MINUTE_MS);
    const { definition, next: seen } = await read('morning');
    await desk.redis.hset(`${desk.prefix}:schedules`, 'morning', `${definition} `);
    const ticks = { name: 'morning', definition, seen, next: seen + MINUTE_MS, due: [seen], missed: null };
    expect(await deps.schedules.record(ticks)).toBe(false);
  });

  test('in a stop is made up for while its window is open; of the others the last one is remembered as missed', async () => {
    await set('morning', { ...MINUTELY, windowMs: 10 * MINUTE_MS });
    const times = await stopFor('morning', 30 * MINUTE_MS);
    await recordDue(deps);
    const open = await openTimes();
    expect(open).toEqual(times.slice(-open.length));
    expect(open.length).toBeGreaterThanOrEqual(10);
    expect(open.length).toBeLessThanOrEqual(11);
    expect((await read('morning')).missedPlanned).toBe(times.at(-open.length - 1));
  });

  test('long ago is found without counting every one since', async () => {
    await set('morning', { ...MINUTELY, windowMs: MINUTE_MS });
    const before = await redisNow();
    await desk.redis.hset(
      `${desk.prefix}:schedule:morning`,
      'next',
      String(Math.floor((before - 400 * 24 * HOUR_MS) / MINUTE_MS) * MINUTE_MS),
    );
    await recordDue(deps);
    const { missedPlanned, next } = await read('morning');
    expect(before - (missedPlanned ?? 0)).toBeLessThan(3 * MINUTE_MS);
    expect(next).toBeGreaterThan(before);
  });

  test('of a long stop comes in pieces, and none is lost between them', async () => {
    await set('morning', { ...MINUTELY, windowMs: 24 * HOUR_MS });
    const times = await stopFor('morning', 20 * HOUR_MS);
    expect(times.length).toBeGreaterThan(1000);
    await recordDue(deps);
    expect(await openTimes()).toEqual(times.slice(0, 500));
    await recordDue(deps);
    await recordDue(deps);
    expect((await openTimes()).slice(0, times.length)).toEqual(times);
  });
});

describe('what was recorded as due', () => {
  interface Done {
    readonly act: Act;
    readonly actor: string;
  }
  let done: Done[];
  const doAct: DoAct = async (act, { actor }) => {
    done.push({ act, actor });
  };

  beforeEach(() => {
    done = [];
  });

  test('is given out once, and again when whoever took it does not come back', async () => {
    const tick = await recordOne();
    expect(await deps.schedules.take()).toEqual([tick]);
    expect(await deps.schedules.take()).toEqual([]);
    await makeOverdue();
    expect(await deps.schedules.take()).toEqual([tick]);
  });

  test('is done once, by the schedule', async () => {
    const tick = await recordOne({ ...MINUTELY, act: { kind: 'inbox', dir: '/srv/in' } });
    await doTick(deps, tick, doAct);
    await doTick(deps, tick, doAct);
    expect(done).toEqual([{ act: { kind: 'inbox', dir: '/srv/in' }, actor: 'schedule morning of anna' }]);
    expect(await read('morning')).toMatchObject({ lastPlanned: tick.planned, missedPlanned: null, fault: null });
    await makeOverdue();
    expect(await deps.schedules.take()).toEqual([]);
  });

  test('stays due when it fails, tells why to people only what is meant for them, and is done in the end', async () => {
    const tick = await recordOne();
    await doTick(deps, tick, async () => {
      throw new Error('password=hunter2');
    });
    expect((await read('morning')).fault).toBe('a fault; the log of the worker names it');
    await doTick(deps, tick, async () => {
      throw new Refusal('There is no folder /srv/in.', 'Make it.');
    });
    expect((await read('morning')).fault).toBe('There is no folder /srv/in. Make it.');
    expect(await openTimes()).toEqual([tick.planned]);
    await doTick(deps, tick, doAct);
    expect(done).toHaveLength(1);
    expect(await read('morning')).toMatchObject({ fault: null, lastPlanned: tick.planned });
    expect(await openTimes()).toEqual([]);
  });

  test('is missed when its window has passed before it could be done', async () => {
    const { planned } = await recordOne();
    const old = planned - 2 * HOUR_MS;
    await desk.redis.zadd(desk.keys.ticks, old, `morning ${old}`);
    await doTick(deps, { name: 'morning', planned: old }, doAct);
    expect(done).toEqual([]);
    expect(await read('morning')).toMatchObject({ missedPlanned: old, lastPlanned: null });
    expect(await openTimes()).toEqual([planned]);
  });

  test('is not done when its schedule was removed meanwhile', async () => {
    const tick = await recordOne();
    await removeSchedule(desk, { name: 'morning', actor: 'bob' });
    await doTick(deps, tick, doAct);
    expect(done).toEqual([]);
  });

  test('an older one that is done later does not hide the last one', async () => {
    await set('morning');
    const times = (await stopFor('morning', 3 * MINUTE_MS)).toReversed();
    await recordDue(deps);
    for (const planned of times) await doTick(deps, { name: 'morning', planned }, doAct);
    expect((await read('morning')).lastPlanned).toBe(times[0]);
  });
});

describe('looking payouts up at once', () => {
  test('makes those due now that are unknown, or held after they were sent, and leaves the others alone', async () => {
    const runId = await payingRun(desk.ledger, freshRows(4));
    const later = (await redisNow()) + HOUR_MS;
    for (const [index, state] of (['unknown', 'quoted', 'held', 'rejected'] as const).entries()) {
      await sendTo(desk.ledger, { runId, line: index + 2 }, state);
      await setDue({ redis: desk.redis, prefix: desk.prefix, runId, line: index + 2 }, later);
    }
    expect(await deps.schedules.lookNow()).toBe(2);
    for (const line of [2, 4]) expect(await due(runId, line)).toBeLessThan(later);
    for (const line of [3, 5]) expect(await due(runId, line)).toBe(later);
    const taken = await desk.ledger.slices.takeDue({ look: 10, track: 10 });
    expect(taken.map(({ line, state }) => [line, state])).toEqual(
      expect.arrayContaining([
        [2, 'unknown'],
        [4, 'held'],
      ]),
    );
  });

  test('leaves what is overdue in its place', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    await sendTo(desk.ledger, { runId, line: 2 }, 'unknown');
    await setDue({ redis: desk.redis, prefix: desk.prefix, runId, line: 2 }, 7);
    expect(await deps.schedules.lookNow()).toBe(0);
    expect(await due(runId, 2)).toBe(7);
  });

  test('makes nothing due that waits for nothing', async () => {
    await payingRun(desk.ledger, freshRows(3));
    expect(await deps.schedules.lookNow()).toBe(0);
    expect(await desk.redis.zcard(desk.keys.due)).toBe(0);
  });
});

describe('what a schedule does is', () => {
  test.each<[string, Act]>([
    ['start', { kind: 'start' }],
    ['look-up', { kind: 'look-up' }],
    ['purge', { kind: 'purge' }],
    ['inbox:/srv/in', { kind: 'inbox', dir: '/srv/in' }],
    ['inbox:C:in', { kind: 'inbox', dir: 'C:in' }],
    ['inbox:sftp://anna@host:22/in', { kind: 'inbox', dir: 'sftp://anna@host:22/in' }],
  ])('%s', (text, act) => {
    expect(actText.parse(text)).toEqual(act);
  });

  test.each(['', 'inbox', 'inbox:', 'pay', 'START', 'inbox:a\nb', `inbox:${'a'.repeat(1001)}`])(
    'and not %j',
    (text) => {
      expect(actText.safeParse(text).success).toBe(false);
    },
  );

  test('and it names no inbox whose password everybody could read', () => {
    const { error } = actText.safeParse('inbox:sftp://anna:hunter2@host/in');
    expect(error?.message).toMatch(/without a password/);
    expect(error?.message).not.toContain('hunter2');
  });

  test.each(['59s', '8d', '1', ''])('and its window is not %j', (text) => {
    expect(windowText.safeParse(text).success).toBe(false);
  });
});
