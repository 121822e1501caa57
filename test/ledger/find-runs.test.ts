import { beforeEach, describe, expect, test } from 'vitest';
import { RUN_STATES, type RunState } from '../../src/payout.ts';
import { useTestRedis } from '../support/redis.ts';
import { claimRun, newLedger, type TestLedger } from './test-ledger.ts';

/** More than one look at the ledger takes, and not a round number of them. */
const RUNS = 2345;

const server = await useTestRedis();
let desk: TestLedger;
/** The newest first. */
let all: string[];

beforeEach(async () => {
  desk = await newLedger({ redis: server.redis, arming: server.redis });
  all = await keepRuns(0, RUNS);
});

const stateAt = (place: number): RunState => RUN_STATES[place % RUN_STATES.length] ?? 'recording';
const isInState = (state: RunState) => (id: string) => stateAt(Number.parseInt(id.slice(2), 10)) === state;

/** Runs as they lie in Redis, the higher their number the newer; gives their ids, the newest first. */
async function keepRuns(first: number, count: number): Promise<string[]> {
  const pipeline = desk.redis.pipeline();
  const ids = Array.from({ length: count }, (_, at) => `r-${String(first + at).padStart(5, '0')}`);
  ids.forEach((id, at) => {
    const place = first + at;
    pipeline.zadd(desk.keys.runs, 1_700_000_000_000 + place, id);
    const facts = { fileName: `Löhne-${place}.CSV`, createdBy: `anna.${place % 7}`, fileSha256: `sha${place}` };
    pipeline.hset(desk.keys.run(id), { state: stateAt(place), ...facts });
  });
  await pipeline.exec();
  return ids.toReversed();
}

/** How many scripts Redis ran meanwhile. */
async function scriptsIn(act: () => Promise<unknown>): Promise<number> {
  await act();
  await desk.redis.config('RESETSTAT');
  await act();
  const stats = await desk.redis.info('commandstats');
  return [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0);
}

describe('a search for runs', () => {
  test('without anything gives the newest of all, from any place on, and how many there are', async () => {
    expect(await desk.ledger.runs.find({})).toEqual({ ids: all, total: RUNS });
    expect(await desk.ledger.runs.find({ most: 50 })).toEqual({ ids: all.slice(0, 50), total: RUNS });
    expect(await desk.ledger.runs.find({ skip: 2300, most: 50 })).toEqual({ ids: all.slice(2300), total: RUNS });
    expect(await desk.ledger.runs.find({ skip: RUNS, most: 50 })).toEqual({ ids: [], total: RUNS });
    expect(await scriptsIn(() => desk.ledger.runs.find({ most: 50 }))).toBe(0);
  });

  test.each(RUN_STATES)('finds all that are %s, the newest first, in any window of them', async (state) => {
    const wanted = all.filter(isInState(state));
    expect(await desk.ledger.runs.find({ state })).toEqual({ ids: wanted, total: wanted.length });
    for (const [skip, most] of [
      [0, 1],
      [0, 50],
      [130, 40],
      [wanted.length - 3, 50],
      [wanted.length, 50],
    ] as const) {
      expect(await desk.ledger.runs.find({ state, skip, most })).toEqual({
        ids: wanted.slice(skip, skip + most),
        total: wanted.length,
      });
    }
  });

  test('finds a text in id, file name, hash or submitter, in any case of its ASCII letters', async () => {
    for (const text of ['r-00077', 'löhne-77.csv', 'LöHNE-77.Csv', 'SHA77']) {
      expect((await desk.ledger.runs.find({ text })).ids).toContain('r-00077');
    }
    const ofAnna = all.filter((id) => Number.parseInt(id.slice(2), 10) % 7 === 3);
    expect(await desk.ledger.runs.find({ text: 'ANNA.3', most: 40, skip: 20 })).toEqual({
      ids: ofAnna.slice(20, 60),
      total: ofAnna.length,
    });
    expect(await desk.ledger.runs.find({ text: 'LÖHNE-77.csv' })).toEqual({ ids: [], total: 0 });
    expect(await desk.ledger.runs.find({ text: 'nothing of the kind' })).toEqual({ ids: [], total: 0 });
  });

  test('by state and text finds what is both', async () => {
    const wanted = all.filter(isInState('paused')).filter((id) => Number.parseInt(id.slice(2), 10) % 7 === 3);
    expect(await desk.ledger.runs.find({ state: 'paused', text: 'anna.3' })).toEqual({
      ids: wanted,
      total: wanted.length,
    });
  });

  test('by rows in states finds runs with a row in one of them, also beside a state and a text', async () => {
    const [newest = '', next = ''] = all.filter(isInState('paused'));
    await desk.redis.hset(desk.keys.run(newest), { 'n:failed': 0, 'n:refused': 2 });
    await desk.redis.hset(desk.keys.run(next), { 'n:failed': 3 });
    expect(await desk.ledger.runs.find({ having: ['failed', 'refused'] })).toEqual({ ids: [newest, next], total: 2 });
    expect((await desk.ledger.runs.find({ having: ['failed'] })).ids).toEqual([next]);
    expect((await desk.ledger.runs.find({ having: ['refused'], state: 'paused', text: newest })).ids).toEqual([newest]);
    expect((await desk.ledger.runs.find({ having: ['refused'], state: 'finished' })).ids).toEqual([]);
  });

  test('finds those paused runs alone that start by themselves', async () => {
    const [one = ''] = all.filter(isInState('paused'));
    const [over = ''] = all.filter(isInState('finished'));
    for (const id of [one, over]) await desk.redis.hset(desk.keys.run(id), 'startAt', '1');
    expect(await desk.ledger.runs.find({ state: 'starts-later' })).toEqual({ ids: [one], total: 1 });
  });

  test('sees at once what has another state, has come, or got its name later', async () => {
    const newest = all[0] ?? '';
    const { total } = await desk.ledger.runs.find({ state: 'paused', text: 'csv' });
    await desk.redis.hset(desk.keys.run(newest), 'state', 'paused');
    expect((await desk.ledger.runs.find({ state: 'paused', text: 'csv' })).total).toBe(
      total + (isInState('paused')(newest) ? 0 : 1),
    );

    const restored = await claimRun(desk.ledger, []);
    await desk.redis.hdel(desk.keys.run(restored), 'fileName');
    expect((await desk.ledger.runs.find({ text: restored })).ids).toEqual([restored]);
    await desk.redis.hset(desk.keys.run(restored), 'fileName', 'late.csv');
    expect((await desk.ledger.runs.find({ text: 'late.csv' })).ids).toEqual([restored]);
  });

  test('names none twice and misses none while others come', async () => {
    const searching = Promise.all(
      Array.from({ length: 10 }, () => desk.ledger.runs.find({ state: 'finished', most: 2000 })),
    );
    for (let more = 0; more < 10; more++) await keepRuns(RUNS + more * 6, 6);
    const before = all.filter(isInState('finished'));
    for (const { ids } of await searching) {
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.slice(-before.length)).toEqual(before);
    }
  });

  test('asks Redis once for each thousand runs, and for no text a second time', async () => {
    expect(await scriptsIn(() => desk.ledger.runs.find({ state: 'paused', most: 50 }))).toBe(3);
    expect(await scriptsIn(() => desk.ledger.runs.find({ text: 'anna', most: 50 }))).toBe(3);
  });
});
