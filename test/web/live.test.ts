import { createHash } from 'node:crypto';
import { describe, expect, test, vi } from 'vitest';
import { silentLog } from '../../src/log.ts';
import { PAYOUT_STATES, type Run } from '../../src/payout.ts';
import { createKey } from '../../src/people/keys.ts';
import { startSession } from '../../src/people/sessions.ts';
import { writeReport } from '../../src/runs/after/report.ts';
import { pauseRun } from '../../src/runs/decide/control.ts';
import { perSecondOf, type Sample, withSample } from '../../src/runs/progress.ts';
import { openLive } from '../../src/web/run/live.ts';
import { type Look, liveEvents } from '../../src/web/run/live-events.ts';
import { progressHtml, progressOf } from '../../src/web/run/progress-part.tsx';
import { openRates } from '../../src/web/run/rates.ts';
import { SESSION_COOKIE } from '../../src/web/session.ts';
import { openZone } from '../../src/zone.ts';
import { movePayout, recordRun } from '../runs/recorded-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { openWebRig, type Visitor } from './rig.ts';

vi.setConfig({ testTimeout: 180_000 });
const PATIENCE = { timeout: 60_000 };

const server = await useTestRedis();

interface Event {
  readonly type: string;
  readonly id: string;
  readonly data: string;
}

interface Following {
  readonly response: Response;
  readonly events: Event[];
  hasEnded: boolean;
  readonly leave: () => void;
}

/** A browser that follows a run: what it was sent so far, and whether the stream has ended. */
async function follow(url: string, { cookies }: Visitor, lastEventId?: string): Promise<Following> {
  const leave = new AbortController();
  const headers = {
    cookie: `${SESSION_COOKIE}=${cookies.get(SESSION_COOKIE)}`,
    ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
  };
  const response = await fetch(url, { headers, signal: leave.signal, redirect: 'manual' });
  const following: Following = { response, events: [], hasEnded: false, leave: () => leave.abort() };
  void readAll(following);
  return following;
}

async function readAll(following: Following): Promise<void> {
  const { body } = following.response;
  let text = '';
  try {
    for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece;
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      following.events.push(...blocks.flatMap(eventOf));
    }
  } catch {
    // It was cut.
  }
  following.hasEnded = true;
}

function eventOf(block: string): Event[] {
  const lines = block.split('\n').map((line) => /^([a-z]*): ?(.*)$/.exec(line) ?? []);
  const valueOf = (name: string): string => lines.flatMap(([, key, value]) => (key === name ? [value] : [])).join('\n');
  return valueOf('data') === '' ? [] : [{ type: valueOf('event'), id: valueOf('id'), data: valueOf('data') }];
}

/** How often the run itself was read since. */
async function countReads(prefix: string, runId: string) {
  const monitor = await server.redis.monitor();
  const counted = { reads: 0, stop: () => monitor.disconnect() };
  monitor.on('monitor', (_time: string, [name = '', key = '']: string[]) => {
    if (name.toLowerCase() === 'hgetall' && key === `${prefix}:run:${runId}`) counted.reads++;
  });
  return counted;
}

describe('live progress', () => {
  test('shows what changes, as the server made it, each time under the number of the change', async () => {
    const { app, base, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2, 3, 4] });
    const anna = await follow(`${base}/runs/${run}/live`, await person('anna', 'viewer'));
    expect(anna.response.headers.get('content-type')).toContain('text/event-stream');
    expect(anna.response.headers.get('cache-control')).toBe('no-store');
    await expect.poll(() => anna.events.length, PATIENCE).toBeGreaterThan(0);
    expect(anna.events[0]?.data).toContain('0 of 3 rows done');
    await movePayout(app.ledger, { runId: run, line: 2 }, 'cancelled');
    await expect.poll(() => anna.events.at(-1)?.data, PATIENCE).toContain('1 of 3 rows done');
    expect(anna.events.at(-1)?.id).toBe(String((await app.ledger.runs.read(run))?.changes));
    anna.leave();
  });

  test('goes on after a cut with what was missed, and without it when nothing was', async () => {
    const { app, base, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2, 3, 4] });
    // Of a paused run no rate is shown, so nothing changes but what the test changes.
    await pauseRun(app, run, { actor: 'test', reason: 'test' });
    const visitor = await person('anna', 'viewer');
    const changes = async (): Promise<string> => String((await app.ledger.runs.read(run))?.changes);
    const first = await follow(`${base}/runs/${run}/live`, visitor);
    await expect.poll(() => first.events.length, PATIENCE).toBe(1);
    first.leave();
    const same = await follow(`${base}/runs/${run}/live`, visitor, await changes());
    const other = await follow(`${base}/runs/${run}/live`, visitor, '1');
    await expect.poll(() => other.events.length, PATIENCE).toBe(1);
    expect(same.events).toEqual([]);
    await movePayout(app.ledger, { runId: run, line: 2 }, 'cancelled');
    await expect.poll(() => same.events.length, PATIENCE).toBe(1);
    expect(same.events[0]).toMatchObject({ id: await changes(), data: expect.stringContaining('1 of 3 rows done') });
    same.leave();
    other.leave();
  });

  test('shows nobody what others saw before their page was made', async () => {
    const { app, base, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2] });
    const visitor = await person('anna', 'viewer');
    const early = await follow(`${base}/runs/${run}/live`, visitor);
    await expect.poll(() => early.events.length, PATIENCE).toBe(1);
    await pauseRun(app, run, { actor: 'test', reason: 'the bank called' });
    const late = await follow(`${base}/runs/${run}/live`, visitor);
    await expect.poll(() => late.events.length, PATIENCE).toBe(1);
    expect(late.events[0]?.data).toContain('the bank called');
    early.leave();
    late.leave();
  });

  test('ends once the run is over and reported', async () => {
    const { app, base, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2] });
    const anna = await follow(`${base}/runs/${run}/live`, await person('anna', 'viewer'));
    await movePayout(app.ledger, { runId: run, line: 2 }, 'cancelled');
    await app.ledger.runs.move(run, { to: 'finished', actor: 'test', reason: 'all done' });
    await expect.poll(() => anna.events.at(-1)?.data, PATIENCE).toContain('finished');
    await writeReport(app, run);
    await expect.poll(() => anna.hasEnded, PATIENCE).toBe(true);
    expect(anna.events.at(-1)).toMatchObject({ type: 'end', data: 'over' });
  });

  test('is read once a second for 200 people as for one, and shown to all of them', async () => {
    const { app, base, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2, 3, 4] });
    const streams: Following[] = [];
    for (let number = 0; number < 20; number++) {
      const visitor = await person(`person ${number}`, 'viewer');
      for (let tab = 0; tab < 10; tab++) streams.push(await follow(`${base}/runs/${run}/live`, visitor));
    }
    await expect.poll(() => streams.every(({ events }) => events.length > 0), PATIENCE).toBe(true);
    const counted = await countReads(app.config.prefix, run);
    const began = performance.now();
    for (const line of [2, 3, 4]) {
      await movePayout(app.ledger, { runId: run, line }, 'cancelled');
      const shown = `${line - 1} of 3 rows done`;
      const areAllTold = (): boolean => streams.every(({ events }) => events.at(-1)?.data.includes(shown) === true);
      await expect.poll(areAllTold, PATIENCE).toBe(true);
    }
    const looksMax = (performance.now() - began) / 1000 + 2;
    counted.stop();
    expect(counted.reads).toBeGreaterThanOrEqual(1);
    expect(counted.reads).toBeLessThanOrEqual(looksMax);
    for (const { leave } of streams) leave();
  });

  test('is for so many pages of one person at a time, and a closed one makes room', async () => {
    const { app, base, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2] });
    const anna = await person('anna', 'viewer');
    const streams = await Promise.all(Array.from({ length: 10 }, () => follow(`${base}/runs/${run}/live`, anna)));
    expect(streams.map(({ response }) => response.status)).toEqual(Array.from({ length: 10 }, () => 200));
    expect((await follow(`${base}/runs/${run}/live`, anna)).response.status).toBe(429);
    const bob = await follow(`${base}/runs/${run}/live`, await person('bob', 'viewer'));
    expect(bob.response.status).toBe(200);
    streams[0]?.leave();
    const again = async (): Promise<number> => {
      const one = await follow(`${base}/runs/${run}/live`, anna);
      one.leave();
      return one.response.status;
    };
    await expect.poll(again, PATIENCE).toBe(200);
    for (const { leave } of [...streams, bob]) leave();
  });

  test('ends when the server is closed, which waits for nobody', async () => {
    const { app, web, base, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2] });
    const anna = await follow(`${base}/runs/${run}/live`, await person('anna', 'viewer'));
    await expect.poll(() => anna.events.length, PATIENCE).toBeGreaterThan(0);
    await web.close();
    await expect.poll(() => anna.hasEnded, PATIENCE).toBe(true);
  });

  test('is not for somebody who has not signed in, nor for programs', async () => {
    const { app, base, visitor, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2] });
    expect((await visitor().get(`/runs/${run}/live`)).status).toBe(303);
    await person('anna', 'admin');
    const created = await createKey(app, { name: 'erp', role: 'viewer', actor: 'anna' });
    if (created.kind === 'proposed') await createKey(app, { name: 'erp', role: 'viewer', actor: 'root' });
    const { bearer } = created;
    const response = await fetch(`${base}/runs/${run}/live`, { headers: { authorization: `Bearer ${bearer}` } });
    expect(response.status).toBe(403);
    const head = await fetch(`${base}/runs/${run}/live`, { method: 'HEAD' });
    expect(head.status).toBe(405);
  });

  test('ends at once for whoever signs out, and for nobody else', async () => {
    const { app, base, visitor, person } = await openWebRig(server.url, {
      // No time passes, so nobody is asked by the way whether their session still holds.
      deps: (own) => ({ app: { ...own, clock: { ...own.clock, monotonic: () => 0 } } }),
    });
    const run = await recordRun(app.ledger, { lines: [2, 3] });
    const anna = await person('anna', 'viewer');
    const elsewhere = visitor();
    elsewhere.cookies.set(SESSION_COOKIE, await startSession(app, 'anna'));
    const [leaving, staying] = [
      await follow(`${base}/runs/${run}/live`, anna),
      await follow(`${base}/runs/${run}/live`, elsewhere),
    ];
    await expect.poll(() => Math.min(leaving.events.length, staying.events.length), PATIENCE).toBe(1);
    expect((await anna.post('/sign-out')).status).toBe(303);
    await expect.poll(() => leaving.hasEnded, PATIENCE).toBe(true);
    expect(leaving.events.at(-1)).toMatchObject({ type: 'end', data: 'signed-out' });
    await movePayout(app.ledger, { runId: run, line: 2 }, 'cancelled');
    await expect.poll(() => staying.events.at(-1)?.data, PATIENCE).toContain('1 of 2 rows done');
    staying.leave();
  });

  test('keeps nobody signed in who does nothing else', async () => {
    const { app, visitor, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2] });
    await person('anna', 'viewer');
    const clock = { ...app.clock, now: () => app.clock.now() - 60_000 };
    const id = await startSession({ ...app, clock }, 'anna');
    const anna = visitor();
    anna.cookies.set(SESSION_COOKIE, id);
    const seenAt = async (): Promise<number | undefined> =>
      (await app.ledger.people.sessions.read(createHash('sha256').update(id).digest('hex')))?.seenAt;
    const before = await seenAt();
    expect((await anna.get(`/runs/${run}/progress`)).text).toContain('0 of 1 row done');
    expect(await seenAt()).toBe(before);
    await anna.get(`/runs/${run}`);
    expect(await seenAt()).toBeGreaterThan(before ?? 0);
  });
});

/** A clock whose time and sleeps are in the hands of the test. */
function handClock() {
  let now = 0;
  const sleeping: (() => void)[] = [];
  return {
    monotonic: () => now,
    sleep: async (_ms: number, signal?: AbortSignal) =>
      await new Promise<void>((resolve) => {
        sleeping.push(resolve);
        signal?.addEventListener('abort', () => resolve());
      }),
    pass(ms: number) {
      now += ms;
      for (const wake of sleeping.splice(0)) wake();
    },
    sleepers: () => sleeping.length,
  };
}

const LOOK: Look = { id: '7', html: '<p>a\nb</p>', isLast: false };

async function nextOf(events: AsyncGenerator<string, void>): Promise<string | undefined> {
  const { value } = await events.next();
  return value ?? undefined;
}

function openStream(isSignedIn: () => Promise<boolean> = async () => true, lastEventId = '') {
  const clock = handClock();
  const looks = { look: LOOK, latest: () => looks.look, next: async () => clock.pass(1000), isClosed: () => false };
  return { clock, looks, events: liveEvents(clock, looks, { lastEventId, hasLeft: () => false, isSignedIn }) };
}

describe('a stream', () => {
  test('sends a comment when nothing has changed for 15 s, and each line of what changed as data', async () => {
    const { clock, events } = openStream();
    expect(await nextOf(events)).toBe('retry: 3000\n\n');
    expect(await nextOf(events)).toBe('id: 7\ndata: <p>a\ndata: b</p>\n\n');
    expect(await nextOf(events)).toMatch(/^: /);
    expect(clock.monotonic()).toBe(15_000);
  });

  test('ends within 5 s after the session has', async () => {
    let isSignedIn = true;
    const { clock, events } = openStream(async () => isSignedIn, '7');
    await nextOf(events);
    await nextOf(events);
    isSignedIn = false;
    const ended = clock.monotonic();
    expect(await nextOf(events)).toBe('event: end\ndata: signed-out\n\n');
    expect(clock.monotonic() - ended).toBe(5000);
    expect((await events.next()).done).toBe(true);
  });

  test('that is read slowly misses what came in between, and gets the newest', async () => {
    const { looks, events } = openStream();
    await nextOf(events);
    await nextOf(events);
    for (const id of ['8', '9']) looks.look = { ...LOOK, id, html: id };
    expect(await nextOf(events)).toBe('id: 9\ndata: 9\n\n');
  });
});

describe('the run that nobody looks at any more', () => {
  test('is not read any more, and is read again for the next one', async () => {
    const { app } = await openWebRig(server.url);
    const id = await recordRun(app.ledger, { lines: [2] });
    const run = (await app.ledger.runs.read(id)) as Run;
    const clock = handClock();
    let reads = 0;
    const live = openLive({
      sumsOf: () => Promise.resolve(null),
      isHalted: () => Promise.resolve(false),
      endingOf: () => Promise.resolve(null),
      zone: openZone('UTC'),
      clock,
      log: silentLog,
      rates: openRates(clock),
      read: async () => {
        reads++;
        return run;
      },
    });
    const watcher = { person: 'anna', sessionId: 'a', lastEventId: '', isSignedIn: async () => true };
    const streams = Array.from({ length: 5 }, () => live.follow(id, watcher));
    await expect.poll(() => clock.sleepers(), PATIENCE).toBe(1);
    clock.pass(1000);
    await expect.poll(() => clock.sleepers(), PATIENCE).toBe(1);
    expect(reads).toBe(2);
    for (const { release } of streams) release();
    clock.pass(1000);
    const later = live.follow(id, watcher);
    await expect.poll(() => reads, PATIENCE).toBe(3);
    later.release();
    live.close();
  });
});

describe('the rate of a run', () => {
  test('is that of about the last ten seconds, and nothing while too little is known', () => {
    let samples: readonly Sample[] = [];
    expect(perSecondOf(samples)).toBeNull();
    const note = (atMs: number, done: number): number | null => {
      samples = withSample(samples, { atMs, done });
      return perSecondOf(samples);
    };
    expect(note(0, 0)).toBeNull();
    expect(note(100, 50)).toBeNull();
    expect(note(1000, 500)).toBe(500);
    for (let second = 2; second <= 20; second++) note(second * 1000, 500 + (second - 1) * 10);
    expect(perSecondOf(samples)).toBe(10);
    expect(samples.length).toBeLessThanOrEqual(12);
    expect(note(200_000, 690)).toBeNull();
  });

  test('counts from when it is paid: the time that it waited or was paused makes it no slower', async () => {
    let nowMs = 0;
    const rates = openRates({ monotonic: () => nowMs });
    const counts = Object.fromEntries(PAYOUT_STATES.map((state) => [state, 0])) as Run['counts'];
    const note = (state: Run['state'], atMs: number, accepted: number): number | null => {
      nowMs = atMs;
      return rates.note({ id: 'r', state, counts: { ...counts, accepted, ready: 100 - accepted } });
    };
    expect(note('awaiting-approval', 0, 0)).toBeNull();
    expect(note('paying', 50_000, 0)).toBeNull();
    expect(note('paying', 51_000, 15)).toBe(15);
    expect(note('paused', 52_000, 30)).toBeNull();
    expect(note('paying', 90_000, 30)).toBeNull();
    expect(note('paying', 91_000, 45)).toBe(15);
  });

  test('that nobody pays is told after half a minute, until something of it moves or nothing is due', async () => {
    let nowMs = 0;
    const rates = openRates({ monotonic: () => nowMs });
    const { app } = await openWebRig(server.url);
    const id = await recordRun(app.ledger, { lines: [2, 3] });
    const run = (await app.ledger.runs.read(id)) as Run;
    expect(run).toMatchObject({ state: 'paying', counts: { ready: 2 } });
    const shown = (changed: Partial<Run> = {}): boolean =>
      progressHtml(progressOf(rates, { ...run, ...changed }), null).includes('perhaps no worker is running');
    expect(shown()).toBe(false);
    nowMs = 29_000;
    expect(shown()).toBe(false);
    nowMs = 30_000;
    expect(shown()).toBe(true);
    expect(shown({ changes: run.changes + 1 })).toBe(false);
    nowMs = 60_000;
    expect(shown({ changes: run.changes + 1 })).toBe(true);
    expect(shown({ state: 'paused' })).toBe(false);
    nowMs = 90_000;
    expect(shown({ counts: { ...run.counts, ready: 0, held: 2 } })).toBe(false);
  });

  test('is not shown while everything is halted, and nor is how much time is left', async () => {
    let nowMs = 0;
    const rates = openRates({ monotonic: () => nowMs });
    const { app } = await openWebRig(server.url);
    const id = await recordRun(app.ledger, { lines: [2, 3, 4, 5] });
    const run = (await app.ledger.runs.read(id)) as Run;
    const shown = (atMs: number, completed: number, isHalted: boolean): string => {
      nowMs = atMs;
      const counts = { ...run.counts, completed, ready: 4 - completed };
      return progressHtml(progressOf(rates, { ...run, counts }, { sums: null, isHalted, ending: null }), null);
    };
    shown(0, 0, false);
    expect(shown(1000, 2, false)).toMatch(/payouts\/s · about .* left/);
    const halted = shown(60_000, 2, true);
    expect(halted).toContain('2 of 4 rows done · everything is halted');
    expect(halted).not.toMatch(/payouts\/s|left|perhaps no worker/);
    expect(shown(61_000, 2, false)).not.toContain('payouts/s');
  });

  test('is not below nothing when rows are opened again', () => {
    expect(perSecondOf([0, 1].map((index) => ({ atMs: index * 1000, done: 5 - index })))).toBe(0);
  });
});
