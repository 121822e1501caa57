import { beforeEach, describe, expect, test } from 'vitest';
import { endingOf, endingWords, foresee, warnOfCutOffs } from '../../jobs/cut-offs.ts';
import { openLateTelling } from '../../src/cli/look/late.ts';
import type { Calendars } from '../../src/config/calendars.ts';
import { silentLog } from '../../src/log.ts';
import { freshRows, payingRun } from '../ledger/test-ledger.ts';
import { type NotifyDesk, notifyDesk, webhook } from '../notify/notify-desk.ts';
import { useTestRedis } from '../support/redis.ts';

/** Three minutes before the cut-off. */
const NOW = Date.parse('2026-03-27T15:57:00Z');
const CALENDARS: Calendars = {
  USD: { zone: 'Etc/UTC', opens: '08:00', cutOff: '16:00', weekend: ['sat', 'sun'], holidays: new Set() },
};
const FIXED = { ratePerSecond: 1, ratePerSecondMin: undefined };

const server = await useTestRedis();
let desk: NotifyDesk;
let runId: string;
beforeEach(async () => {
  desk = await notifyDesk({ redis: server.redis, arming: server.redis });
  runId = await payingRun(desk.ledger, freshRows(240));
  await desk.ledger.runs.note(runId, { currencies: 'USD' });
});

/** Looks as the sweeper of a process does; gives what its log says. */
async function warn(pace: { ratePerSecond: number | undefined; ratePerSecondMin: number | undefined }, now = NOW) {
  const said: string[] = [];
  await warnOfCutOffs({
    app: {
      config: { ...pace, calendars: CALENDARS },
      ledger: desk.ledger,
      notifier: desk.notifier([webhook('http://127.0.0.1:1/')]),
      clock: { ...desk.clock, now: () => now },
      log: { ...silentLog, warn: (message) => said.push(message) },
    },
  });
  return said;
}

describe('of a run that will miss its cut-off at the rate of now', () => {
  test('the log warns and endpoints are told, once for each cut-off, whichever process looks', async () => {
    const words = 'will miss the 16:00 cut-off of USD by 1 min: 60 rows';
    expect(await warn(FIXED)).toEqual([`a run ${words}`]);
    expect(await warn(FIXED)).toEqual([]);
    expect(await desk.waiting(runId)).toMatchObject([{ event: 'cut-off', runId, reason: words }]);
    expect(await warn(FIXED, NOW + 3 * 24 * 60 * 60_000)).toHaveLength(1);
  });

  test('the rate is the one to which it moved, between its bounds', async () => {
    const moving = { ratePerSecond: 10, ratePerSecondMin: 1 };
    await server.redis.set(`${desk.prefix}:rate`, '{"perSecond":2,"limit":null,"isEstimate":false,"cutAt":0}');
    expect(await warn(moving)).toEqual([]);
    await server.redis.del(`${desk.prefix}:rate`);
    expect(await warn(moving)).toHaveLength(1);
  });

  test('figures show the rate and the late rows at each look', async () => {
    const app = {
      config: { ...FIXED, calendars: CALENDARS },
      ledger: desk.ledger,
      clock: { ...desk.clock, now: () => NOW },
    };
    for (let times = 0; times < 2; times++) {
      expect(await foresee(app)).toMatchObject({ perSecond: 1, late: [{ rows: 60 }] });
    }
  });

  test('nothing is foreseen where there is no rate', async () => {
    expect(await warn({ ratePerSecond: undefined, ratePerSecondMin: undefined })).toEqual([]);
  });
});

describe('the end of a run that is being paid', () => {
  const end = async (ratePerSecond: number | undefined, pace: string, workers = [{ host: 'a', pid: 7 }]) => {
    await desk.ledger.runs.note(runId, { pace });
    const run = await desk.ledger.runs.read(runId);
    if (run === undefined) throw new Error('there is no run');
    const config = { ratePerSecond, ratePerSecondMin: undefined, calendars: CALENDARS };
    const jobs = { workers: async () => workers };
    return await endingOf({ config, ledger: desk.ledger, jobs, clock: { ...desk.clock, now: () => NOW } }, run);
  };
  const measured = `${NOW - 10_000}:0 ${NOW - 5000}:5 ${NOW}:10`;

  test('is not foreseen while no worker lives', async () => {
    expect(await end(50, measured, [])).toBeNull();
  });

  test.each([
    { words: 'is foreseen from the measured rate where no other is known', pace: measured, perSecond: 1 },
    { words: 'is foreseen from the measured rate where that is slower', shared: 50, pace: measured, perSecond: 1 },
    { words: 'is foreseen from the shared rate where that is slower', shared: 0.5, pace: measured, perSecond: 0.5 },
    { words: 'goes by no measure that is too short', shared: 2, pace: `${NOW - 2000}:0 ${NOW}:9`, perSecond: 2 },
    { words: 'goes by no old measure', shared: 2, pace: `${NOW - 60_000}:0 ${NOW - 40_000}:1`, perSecond: 2 },
  ])('$words', async ({ shared, pace, perSecond }) => {
    const ending = await end(shared, pace);
    expect(ending).toMatchObject({
      at: NOW + (240 * 1000) / perSecond,
      perSecond,
      isMeasured: perSecond !== shared,
    });
    expect(ending?.missed === null).toBe(perSecond === 2);
  });

  test('is told with the rate and the cut-off that it misses', async () => {
    const ending = await end(undefined, measured);
    expect(ending === null ? '' : endingWords(ending)).toBe(
      'Ends about 2026-03-27T16:01Z at 1 payment a second, as measured; it will miss the 16:00 cut-off of USD by 1 min: 60 rows.',
    );
  });

  test('is not told where neither rate is known, while nothing moves, nor while something is away', async () => {
    expect(await end(undefined, '')).toBeNull();
    expect(await end(2, `${NOW - 8000}:7 ${NOW}:7`)).toBeNull();
    expect(await end(2, measured)).not.toBeNull();
    await desk.ledger.outages.note([{ what: 'service', name: 'The service', since: NOW }]);
    expect(await end(2, measured)).toBeNull();
  });

  test('is measured by what the sweeper notes, which forgets what is old', async () => {
    for (let times = 0; times < 40; times++) await desk.ledger.runs.notePace(runId, times);
    const samples = (await desk.ledger.runs.read(runId))?.samples ?? [];
    expect(samples.length).toBeLessThanOrEqual(8);
    expect(samples.at(-1)?.done).toBe(39);
  });

  test('is told by run and watch within a second of its first forecast: at the start no worker is known yet', async () => {
    const said: string[] = [];
    const living: { host: string; pid: number }[] = [];
    let monotonic = 0;
    const clock = { ...desk.clock, now: () => NOW, monotonic: () => monotonic };
    const config = { ratePerSecond: 1, ratePerSecondMin: undefined, calendars: CALENDARS };
    const jobs = { workers: async () => living };
    const tell = openLateTelling({ config, ledger: desk.ledger, jobs, clock }, (line) => said.push(line));
    const run = await desk.ledger.runs.read(runId);
    if (run === undefined) throw new Error('it is gone');
    await tell(run);
    living.push({ host: 'a', pid: 7 });
    monotonic += 1000;
    await tell(run);
    expect(said).toEqual([`Run ${runId} will miss the 16:00 cut-off of USD by 1 min: 60 rows.`]);
  });

  test('is told once by run and watch where it misses the cut-off, and again where it does so anew', async () => {
    const said: string[] = [];
    let now = NOW;
    let monotonic = 0;
    const clock = { ...desk.clock, now: () => now, monotonic: () => monotonic };
    const config = { ratePerSecond: 1, ratePerSecondMin: undefined, calendars: CALENDARS };
    const jobs = { workers: async () => [{ host: 'a', pid: 7 }] };
    const tell = openLateTelling({ config, ledger: desk.ledger, jobs, clock }, (line) => said.push(line));
    const lookAt = async (at: number): Promise<void> => {
      now = at;
      monotonic += 10_000;
      const run = await desk.ledger.runs.read(runId);
      if (run !== undefined) await tell(run);
    };
    const line = `Run ${runId} will miss the 16:00 cut-off of USD by 1 min: 60 rows.`;
    for (let times = 0; times < 3; times++) await lookAt(NOW);
    expect(said).toEqual([line]);
    await lookAt(NOW - 3_600_000);
    await lookAt(NOW);
    expect(said).toEqual([line, line]);
  });
});
