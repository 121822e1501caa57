import { expect } from 'vitest';
import { rowsOf } from '../support/paid-once.ts';
import { halfForwarded, onceForwarded, onReplyTo, type When } from '../support/proxy-moment.ts';
import { diesAt } from './before-main.ts';
import { intentLines } from './disk-steps.ts';
import { ARMING } from './redis-steps.ts';
import type { Rig, RigProcess } from './rig.ts';
import { faultRow } from './row.ts';

/*
 * F1: kill -9 at each crash point of faults.md, with what its table says is on disk then, and what comes of it. The
 * worker that dies has one payout at a time, so that everything can be counted; the one after it has as many as it likes.
 */

const ROWS = 12;
/** Long enough that no quote ends under way on a busy machine: each that is armed is counted. */
const LONG_QUOTES = { quoteLifeMs: 5000 };
/** One payout at a time: while one is recorded, the next one would be armed. The first quotes are struck where none is under way yet. */
const ALONE = { PAYRUN_CONCURRENCY: '1', PAYRUN_RATE: '1' };

interface Point {
  readonly id: string;
  readonly words: string;
  /** Lets a worker die there. */
  readonly strike: (rig: Rig) => Promise<void>;
  /** On disk then: payouts that are armed, and whole lines of the intent log beyond one for each payment. */
  readonly armed: 0 | 1;
  readonly openLines: 0 | 1;
  /** At the end, beyond one for each row: armings, and payment requests that reached the service whole. */
  readonly armedAgain: 0 | 1;
  readonly sentAgain: 0 | 1;
  /** Quotes that were asked for and never armed, at least. */
  readonly orphans: 0 | 1;
}

const NOTHING_LEFT = { armed: 0, openLines: 0, armedAgain: 0, sentAgain: 0, orphans: 0 } as const;
const LEFT_ARMED = { ...NOTHING_LEFT, armed: 1, armedAgain: 1 } as const;
const MAYBE_SENT = { ...LEFT_ARMED, openLines: 1 } as const;

const POINTS: readonly Point[] = [
  { id: 'C1', words: 'before it asks for a quote', strike: at('C1', 1), ...NOTHING_LEFT },
  { id: 'C2', words: 'with a quote that is not saved', strike: at('C2', 1), ...NOTHING_LEFT, orphans: 1 },
  { id: 'C3', words: 'with a quote, before it arms', strike: at('C3'), ...NOTHING_LEFT, orphans: 1 },
  { id: 'C4', words: 'when it has armed, before the intent line', strike: at('C4'), ...LEFT_ARMED },
  { id: 'C5', words: 'with half of the intent line written', strike: inTheLog('write'), ...LEFT_ARMED },
  {
    id: 'C5',
    words: 'with the intent line written and not synced',
    strike: inTheLog('sync'),
    ...LEFT_ARMED,
    openLines: 1,
  },
  { id: 'C6', words: 'after the intent line, before the first byte', strike: at('C6'), ...MAYBE_SENT },
  { id: 'C7', words: 'when half of the payment request has left', strike: halfSent, ...MAYBE_SENT },
  {
    id: 'C8',
    words: 'when the service has the payment request, and never commits it',
    strike: whileSilent({ timeoutBeforeCommit: 1 }),
    ...MAYBE_SENT,
    sentAgain: 1,
  },
  {
    id: 'C8',
    words: 'when the service has the payment request, and commits it after look-ups found nothing',
    strike: whileSilent({ lateCommit: 1, lateCommitMs: 1500 }),
    ...MAYBE_SENT,
    armedAgain: 0,
  },
  {
    id: 'C9',
    words: 'when the payment is made, before the reply',
    strike: whileSilent({ timeoutAfterCommit: 1 }),
    ...NOTHING_LEFT,
    armed: 1,
  },
  { id: 'C10', words: 'with the reply read, and nothing saved', strike: at('C10'), ...NOTHING_LEFT, armed: 1 },
  { id: 'C11', words: 'when the payment is saved', strike: at('C11'), ...NOTHING_LEFT },
  { id: 'C12', words: 'when the payment is saved, before the job has ended', strike: at('C12'), ...NOTHING_LEFT },
];

const PACES = [
  { words: 'the service is quick', switches: {} },
  { words: 'the service is slow', switches: { answerDelayMs: { quotes: 100, payments: 300, payment: 200 } } },
] as const;

for (const [index, point] of POINTS.entries()) {
  for (const pace of PACES) {
    const isShort = index % 2 === PACES.indexOf(pace);
    faultRow({
      ids: ['F1'],
      fault: `${point.id}: kill -9 ${point.words}; ${pace.words}`,
      // Each point in CI at one pace, by turns.
      tries: isShort ? { short: 1, long: 2 } : { long: 3 },
      rows: ROWS,
      times: LONG_QUOTES,
      switches: pace.switches,
      async body(rig) {
        await rig.submit();
        await point.strike(rig);
        expect(await leftBy(rig)).toEqual({ armed: point.armed, openLines: point.openLines });
        rig.serviceLink.set({ do: 'pass' });
        rig.service.switches.set({ timeoutBeforeCommit: 0, timeoutAfterCommit: 0, lateCommit: 0 });
        await rig.startWorker('one');
      },
      async after(rig) {
        expect(await spentOn(rig)).toEqual({ armings: ROWS + point.armedAgain, payments: ROWS + point.sentAgain });
        expect(rig.service.counters().quotes).toBeGreaterThanOrEqual(ROWS + point.armedAgain + point.orphans);
      },
    });
  }
}

async function leftBy(rig: Rig): Promise<{ armed: number; openLines: number }> {
  const { armed = 0 } = await rig.states();
  return { armed, openLines: intentLines(rig, 'one') - rig.book().length };
}

async function spentOn(rig: Rig): Promise<{ armings: number; payments: number }> {
  return { armings: await attemptsOf(rig), payments: rig.service.counters().payments };
}

/** As the report tells them. */
async function attemptsOf(rig: Rig): Promise<number> {
  const { stdout } = await rig.payrun(['report', rig.runs[0]?.runId ?? '', '--format', 'csv']);
  return rowsOf(stdout).reduce((sum, { attempts = '0' }) => sum + Number.parseInt(attempts, 10), 0);
}

function at(point: string, count = 3): Point['strike'] {
  return async (rig) => {
    const worker = await rig.startWorker('one', { settings: ALONE, crashAt: `${point} SIGKILL ${count}` });
    await worker.said('at the crash point');
    expect(await worker.ended).toMatchObject({ code: 'SIGKILL' });
  };
}

/** The worker dies by itself at a call of the file system: node runs this before its main. */
function inTheLog(moment: 'write' | 'sync'): Point['strike'] {
  return async (rig) => {
    const { ended } = await rig.startWorker('one', {
      settings: { ...ALONE, ...diesAt(rig, INTENT_LOG_DEATHS[moment]) },
    });
    expect(await ended).toMatchObject({ code: 'SIGKILL' });
  };
}

const INTENT_LOG_DEATHS = {
  write: `before('write', /intents/, 3, (file, bytes) => writeSync(file.fd, bytes.subarray(0, bytes.length / 2)));`,
  sync: `before('datasync', /intents/, 3);`,
} as const;

async function halfSent(rig: Rig): Promise<void> {
  const when = halfForwarded('POST /v2/payments');
  const half = rig.serviceLink.set({ do: 'swallow', ways: ['request', 'reply'], when, connectionsMax: 1 });
  const worker = await rig.startWorker('one', { settings: ALONE });
  await rig.until('half of a payment request', () => half.hits === 1);
  await killed(worker);
}

/** The first payment request is met with silence, and in it the worker is killed. */
function whileSilent(switches: Parameters<Rig['service']['switches']['set']>[0]): Point['strike'] {
  return async (rig) => {
    rig.service.switches.set(switches);
    const worker = await rig.startWorker('one', { settings: ALONE });
    const isPaid = 'timeoutAfterCommit' in switches;
    await rig.until('a payment request', () =>
      isPaid ? rig.book().length === 1 : rig.service.counters().payments === 1,
    );
    await killed(worker);
  };
}

async function killed(worker: RigProcess): Promise<void> {
  worker.kill('SIGKILL');
  await worker.ended;
}

faultRow({
  ids: ['F1'],
  fault: 'C13: kill -9 when a payout is ready again after its quote was proven dead',
  tries: { short: 1, long: 2 },
  rows: ROWS,
  times: LONG_QUOTES,
  switches: { timeoutBeforeCommit: 1 },
  async body(rig) {
    await rig.submit();
    await at('C13', 1)(rig);
    expect(rig.book()).toEqual([]);
    expect((await rig.states())['ready']).toBeGreaterThanOrEqual(1);
    rig.service.switches.set({ timeoutBeforeCommit: 0 });
    await rig.startWorker('one');
  },
  async after(rig) {
    expect(await attemptsOf(rig)).toBeGreaterThan(ROWS);
  },
});

/** A worker that pays one payout after the other, and Redis knows its scripts. */
async function busy(rig: Rig): Promise<void> {
  await rig.submit();
  await rig.startWorker('one', { settings: ALONE });
  await rig.booked(2);
}

faultRow({
  ids: ['F1'],
  fault: 'C14: Redis dies when it has carried out an arming, before its reply',
  tries: { short: 1, long: 2 },
  rows: ROWS,
  times: LONG_QUOTES,
  switches: { answerDelayMs: { payments: 300 } },
  async body(rig) {
    await busy(rig);
    const cut = rig.redisLink.set({ do: 'cut', when: onReplyTo(ARMING), connectionsMax: 1 });
    await rig.until('a lost reply', () => cut.hits === 1);
    await rig.redis.kill();
    await rig.redis.start();
  },
  async after(rig) {
    expect(await spentOn(rig)).toEqual({ armings: ROWS + 1, payments: ROWS });
  },
});

/** Notes what comes by, and leaves the moment to another. */
function noting(seen: string[], pattern: RegExp, when: When): When {
  return (moment) => {
    if (moment.way === 'request') seen.push(...(moment.chunk.toString('latin1').match(pattern) ?? []));
    return when(moment);
  };
}

const ARMED_QUOTE = /(?<=\r\nquote\r\n\$\d+\r\n)[^\r]+/g;
const QUOTES = new Map<Rig, string[]>();

faultRow({
  ids: ['F1'],
  fault: 'C15: the connection to Redis is cut after each of five armings: the client sends none of them again',
  tries: { short: 1, long: 2 },
  rows: ROWS,
  times: LONG_QUOTES,
  switches: { answerDelayMs: { payments: 300 } },
  async body(rig) {
    const seen: string[] = [];
    QUOTES.set(rig, seen);
    await busy(rig);
    const when = noting(seen, ARMED_QUOTE, onceForwarded(ARMING));
    const cut = rig.redisLink.set({ do: 'cut', when, connectionsMax: 5 });
    await rig.until('five lost armings', () => cut.hits === 5);
  },
  async after(rig) {
    // Each that came by was carried out, and none came by twice.
    const seen = QUOTES.get(rig) ?? [];
    expect(new Set(seen).size).toBe(seen.length);
    expect(await spentOn(rig)).toEqual({ armings: ROWS + 5, payments: ROWS });
  },
});
