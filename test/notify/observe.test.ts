import { beforeEach, describe, expect, test } from 'vitest';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { Outbox } from '../../src/ledger/outbox.ts';
import { finishRun } from '../../src/runs/after/finish.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import {
  claimRun,
  dumpOf,
  freshRows,
  movePayout,
  payingRun,
  recordRows,
  sendTo,
  useArming,
} from '../ledger/test-ledger.ts';
import { useTestRedis } from '../support/redis.ts';
import { eventsOf, type NotifyDesk, notifyDesk, webhook } from './notify-desk.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Nobody listens there: these tests look at what waits. */
const NOWHERE = webhook('http://127.0.0.1:9');

const server = await useTestRedis();
const arming = await useArming(server);
let desk: NotifyDesk;

beforeEach(async () => {
  desk = await notifyDesk({ redis: server.redis, arming });
});

/** A desk at which things are told from now on. */
async function begin(): Promise<ReturnType<NotifyDesk['notifier']>> {
  const notifier = desk.notifier([NOWHERE]);
  await desk.look(notifier);
  return notifier;
}

/** Makes all that happened to a run older by two hours. */
async function age(runId: string): Promise<void> {
  const [events, agedMs] = [desk.keys.events(runId), 2 * 60 * MINUTE_MS];
  const entries = await desk.redis.xrange(events, '-', '+');
  await desk.redis.del(events);
  for (const [id, fields] of entries) {
    const [ms = '', place = ''] = id.split('-');
    await desk.redis.xadd(events, `${Number(ms) - agedMs}-${place}`, ...fields);
  }
  await desk.ledger.runs.note(runId, { createdAt: String(Date.now() - agedMs) });
}

const pause = (runId: string, reason = 'a look', actor = 'anna') =>
  desk.ledger.runs.move(runId, { to: 'paused', actor, reason });
const goOn = (runId: string) => desk.ledger.runs.move(runId, { to: 'paying', actor: 'anna', reason: 'seen' });
const eventsIn = async (queue: string) => eventsOf(await desk.waiting(queue));

test('each notification names the head of the audit log, so that a log that is cut off or written anew later is found', async () => {
  const notifier = await begin();
  const runId = await payingRun(desk.ledger, freshRows(1));
  await desk.look(notifier);
  const { number, hash } = await desk.ledger.audit.append({
    actor: 'anna',
    action: 'run.paused',
    target: runId,
    details: {},
  });
  await pause(runId);
  await desk.look(notifier);
  expect((await desk.waiting(runId)).map(({ auditHead }) => auditHead)).toEqual([null, `${number}:${hash}`]);
});

describe('of a run is told', () => {
  test('that it was accepted, is paused and why, and is finished, in this order, each once', async () => {
    const notifier = await begin();
    const runId = await payingRun(desk.ledger, freshRows(2));
    await desk.look(notifier);
    await pause(runId, 'the account is empty');
    await goOn(runId);
    await sendTo(desk.ledger, { runId, line: 2 }, 'completed');
    await sendTo(desk.ledger, { runId, line: 3 }, 'rejected');
    await finishRun(desk.ledger, runId);
    for (let times = 0; times < 3; times++) await desk.look(notifier);
    const told = await desk.waiting(runId);
    expect(eventsOf(told)).toEqual(['accepted', 'paused', 'finished', 'settled']);
    expect(told[0]).toMatchObject({ runId, environment: 'test', sandbox: true, reason: null, payouts: null });
    expect(told[1]?.reason).toBe('the account is empty');
    expect(told[2]?.run).toMatchObject({ state: 'finished', outcomes: { paid: 1, rejected: 1, waiting: 0 } });
    expect(told[2]?.run?.totals[0]).toMatchObject({ currency: 'USD', paid: '2.01', rejected: '3.01' });
    expect(new Set(told.map(({ id }) => id)).size).toBe(4);
  });

  test('also when it was over, reported and left before anybody looked', async () => {
    const notifier = await begin();
    const runId = await payingRun(desk.ledger, freshRows(1));
    await sendTo(desk.ledger, { runId, line: 2 }, 'completed');
    await finishRun(desk.ledger, runId);
    await desk.ledger.runs.leave(runId);
    await desk.look(notifier);
    expect(await eventsIn(runId)).toEqual(['accepted', 'finished', 'settled']);
  });

  test('that all its payments are final, once the last of them is and nothing is held any more', async () => {
    const notifier = await begin();
    const runId = await payingRun(desk.ledger, freshRows(2));
    await sendTo(desk.ledger, { runId, line: 2 }, 'accepted');
    await sendTo(desk.ledger, { runId, line: 3 }, 'held');
    await finishRun(desk.ledger, runId);
    await desk.look(notifier);
    expect(await eventsIn(runId)).toEqual(['accepted', 'finished', 'held']);
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'completed' });
    await desk.look(notifier);
    expect(await eventsIn(runId)).toEqual(['accepted', 'finished', 'held']);
    await movePayout(desk.ledger, { runId, line: 3 }, { to: 'rejected' });
    for (let times = 0; times < 3; times++) await desk.look(notifier);
    expect(await eventsIn(runId)).toEqual(['accepted', 'finished', 'held', 'settled']);
  });

  test('that it was cancelled, and nothing of an acceptance when it was never recorded', async () => {
    const notifier = await begin();
    const [recorded, recording] = [
      await payingRun(desk.ledger, freshRows(1)),
      await claimRun(desk.ledger, freshRows(1)),
    ];
    for (const runId of [recorded, recording]) {
      await desk.ledger.runs.move(runId, { to: 'cancelled', actor: 'anna', reason: 'wrong file' });
    }
    await desk.look(notifier);
    expect(await eventsIn(recorded)).toEqual(['accepted', 'cancelled']);
    expect(await eventsIn(recording)).toEqual(['cancelled']);
  });

  test('that it waits for approval, again each day, and no more once it goes on', async () => {
    const notifier = await begin();
    const rows = freshRows(1);
    const runId = await claimRun(desk.ledger, rows);
    await recordRows(desk.ledger, runId, rows);
    await desk.ledger.runs.note(runId, { lastLine: '2' });
    await desk.ledger.runs.move(runId, { to: 'awaiting-approval', actor: 'anna', reason: 'submitted' });
    await desk.look(notifier);
    desk.clock.pass(DAY_MS - MINUTE_MS);
    await desk.look(notifier);
    expect(await eventsIn(runId)).toEqual(['accepted', 'awaiting-approval']);
    desk.clock.pass(2 * MINUTE_MS);
    for (let times = 0; times < 3; times++) await desk.look(notifier);
    const told = await desk.waiting(runId);
    expect(eventsOf(told)).toEqual(['accepted', 'awaiting-approval', 'awaiting-approval']);
    expect(told[2]?.waitingSince).toBe(told[1]?.at);
    const approval = { by: 'bob', digest: 'd1', seen: [], void: [], needed: 1, holdsMs: DAY_MS };
    await desk.ledger.approvals.approve(runId, approval);
    await goOn(runId);
    desk.clock.pass(2 * DAY_MS);
    await desk.look(notifier);
    expect(await eventsIn(runId)).toHaveLength(3);
  });

  test.each([
    [
      'payrun',
      'E_BREAKER: 100 of its last 200 payments are unknown',
      'E_BREAKER: 100 of its last 200 payments are unknown',
    ],
    ['payrun', 'LIMIT_EXCEEDED: Jane Roe has no limit left', 'the service refused: LIMIT_EXCEEDED'],
    ['anna', 'NOTE: wait for the bank', 'NOTE: wait for the bank'],
  ])('what %s said of a pause (%s), without the words of the service', async (actor, reason, said) => {
    const notifier = await begin();
    const runId = await payingRun(desk.ledger, freshRows(1));
    await pause(runId, reason, actor);
    await desk.look(notifier);
    expect((await desk.waiting(runId)).at(-1)?.reason).toBe(said);
  });
});

describe('of payouts is told', () => {
  test.each(['unknown', 'held', 'returned', 'failed'] as const)(
    'how many are %s, and how many are new',
    async (state) => {
      const notifier = await begin();
      const runId = await payingRun(desk.ledger, freshRows(5));
      const send = (line: number) => sendTo(desk.ledger, { runId, line }, state);
      await send(2);
      await send(3);
      await desk.look(notifier);
      await send(4);
      await desk.look(notifier);
      expect(await eventsIn(runId)).toEqual(['accepted', state]);
      desk.clock.pass(6 * MINUTE_MS);
      for (let times = 0; times < 3; times++) await desk.look(notifier);
      const told = await desk.waiting(runId);
      expect(eventsOf(told)).toEqual(['accepted', state, state]);
      expect(told.slice(1).map(({ payouts }) => payouts)).toEqual([
        { count: 2, new: 2, olderThanDays: null },
        { count: 3, new: 1, olderThanDays: null },
      ]);
    },
  );

  test('nothing while they are only on their way', async () => {
    const notifier = await begin();
    const runId = await payingRun(desk.ledger, freshRows(2));
    await sendTo(desk.ledger, { runId, line: 2 }, 'quoted');
    await sendTo(desk.ledger, { runId, line: 3 }, 'accepted');
    await desk.look(notifier);
    expect(await eventsIn(runId)).toEqual(['accepted']);
  });

  test('what comes after a count went down is new', async () => {
    const notifier = await begin();
    const runId = await payingRun(desk.ledger, freshRows(3));
    await sendTo(desk.ledger, { runId, line: 2 }, 'unknown');
    await desk.look(notifier);
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'accepted' });
    await desk.look(notifier);
    desk.clock.pass(6 * MINUTE_MS);
    await sendTo(desk.ledger, { runId, line: 3 }, 'unknown');
    await desk.look(notifier);
    expect(await eventsIn(runId)).toEqual(['accepted', 'unknown', 'unknown']);
    expect((await desk.waiting(runId)).at(-1)?.payouts).toEqual({ count: 1, new: 1, olderThanDays: null });
  });

  test('that payments are pending for long, of those that are, once', async () => {
    const notifier = await begin();
    const runId = await payingRun(desk.ledger, freshRows(3));
    await sendTo(desk.ledger, { runId, line: 2 }, 'accepted');
    await sendTo(desk.ledger, { runId, line: 3 }, 'accepted');
    await sendTo(desk.ledger, { runId, line: 4 }, 'completed');
    await finishRun(desk.ledger, runId);
    await desk.ledger.runs.leave(runId);
    desk.clock.pass(5 * DAY_MS - MINUTE_MS);
    await desk.look(notifier);
    expect(await eventsIn(runId)).toEqual(['accepted', 'finished']);
    desk.clock.pass(2 * MINUTE_MS);
    await desk.look(notifier);
    desk.clock.pass(2 * DAY_MS);
    await desk.look(notifier);
    const told = await desk.waiting(runId);
    expect(eventsOf(told)).toEqual(['accepted', 'finished', 'pending-long']);
    expect(told.at(-1)?.payouts).toEqual({ count: 2, new: 2, olderThanDays: 5 });
  });

  test('that one came back, long after its run was over', async () => {
    const notifier = await begin();
    const runId = await payingRun(desk.ledger, freshRows(1));
    await sendTo(desk.ledger, { runId, line: 2 }, 'completed');
    await finishRun(desk.ledger, runId);
    await desk.look(notifier);
    await desk.ledger.runs.leave(runId);
    desk.clock.pass(8 * DAY_MS);
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'returned' });
    await desk.look(notifier);
    expect(await eventsIn(runId)).toEqual(['accepted', 'finished', 'settled', 'returned']);
  });
});

describe('of the ledger is told', () => {
  test('that everything is halted and why, and that it is released, each once', async () => {
    const notifier = await begin();
    await desk.ledger.state.halt('anna', 'payments to the wrong account');
    for (let times = 0; times < 3; times++) await desk.look(notifier);
    await releaseHalt({ ledger: desk.ledger }, 'anna');
    await desk.look(notifier);
    await releaseHalt({ ledger: desk.ledger }, 'bob');
    for (let times = 0; times < 3; times++) await desk.look(notifier);
    const told = await desk.waiting('ledger');
    expect(told.map(({ event, reason, runId }) => ({ event, reason, runId }))).toEqual([
      { event: 'halted', reason: 'payments to the wrong account', runId: null },
      { event: 'released', reason: null, runId: null },
    ]);
  });

  test('that a file was refused: which, and for what, but not the values', async () => {
    const notifier = await begin();
    const problem = { line: 2, column: 'amount', value: '12,5', message: 'm', remedy: 'r' };
    const problems = [
      { ...problem, code: 'E_AMOUNT_SYNTAX' },
      { ...problem, code: 'E_AMOUNT_SYNTAX', line: 3 },
    ] as unknown as Parameters<typeof notifier.announceRefused>[0]['problems'];
    const file = { name: 'bad.csv', sha256: 'ab', rows: 3, problems };
    await notifier.announceRefused(file, 1_769_900_000_000);
    await notifier.announceRefused(file, 1_769_900_000_000);
    const told = await desk.waiting('ledger');
    expect(told).toHaveLength(2);
    expect(told[0]).toEqual(told[1]);
    expect(told[0]?.refused).toEqual({
      file: { name: 'bad.csv', sha256: 'ab', rows: 3 },
      problems: [{ code: 'E_AMOUNT_SYNTAX', count: 2 }],
    });
    expect(JSON.stringify(told)).not.toContain('12,5');
  });

  test('that a disk is nearly full, once a day while it is, by any number of processes of the host', async () => {
    const settings = { diskFreeBytesMin: Number.MAX_SAFE_INTEGER };
    const [one, other] = [desk.notifier([NOWHERE], { settings }), desk.notifier([NOWHERE], { settings })];
    for (const notifier of [one, other, one]) await desk.look(notifier);
    expect(await eventsIn('ledger')).toEqual(['disk-low']);
    const [told] = await desk.waiting('ledger');
    expect(told?.disks?.map(({ folder }) => folder)).toEqual(['data', 'reports']);
    expect(told?.disks?.[0]?.freeBytes).toBeGreaterThan(0);
    desk.clock.pass(DAY_MS + MINUTE_MS);
    for (const notifier of [one, other, one]) await desk.look(notifier);
    expect(await eventsIn('ledger')).toEqual(['disk-low', 'disk-low']);
  });

  test('nothing of a disk that has room, or of a folder that is not there', async () => {
    await desk.look(desk.notifier([NOWHERE], { settings: { diskFreeBytesMin: 1 } }));
    await desk.look(desk.notifier([NOWHERE], { settings: { diskFreeBytesMin: 1e15 }, folder: '/nowhere' }));
    expect(await eventsIn('ledger')).toEqual([]);
  });
});

describe('whoever begins to listen', () => {
  test('hears nothing of what was an hour before, and everything from then on', async () => {
    const runs = await Promise.all([1, 2, 3].map(() => payingRun(desk.ledger, freshRows(3))));
    const [running = '', over = '', paused = ''] = runs;
    for (const line of [2, 3, 4]) await sendTo(desk.ledger, { runId: over, line }, 'failed');
    await sendTo(desk.ledger, { runId: running, line: 2 }, 'held');
    await finishRun(desk.ledger, over);
    await pause(paused);
    for (const runId of runs) await age(runId);
    const notifier = await begin();
    for (let times = 0; times < 3; times++) await desk.look(notifier);
    for (const runId of runs) expect(await eventsIn(runId)).toEqual([]);
    await goOn(paused);
    await pause(paused);
    await sendTo(desk.ledger, { runId: running, line: 3 }, 'held');
    await desk.look(notifier);
    expect(await eventsIn(paused)).toEqual(['paused']);
    expect((await desk.waiting(running)).map(({ payouts }) => payouts)).toEqual([
      { count: 2, new: 1, olderThanDays: null },
    ]);
  });

  test('hears of a file that was handed in shortly before', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    await begin();
    expect(await eventsIn(runId)).toEqual(['accepted']);
  });

  test('hears only of what it wants to hear', async () => {
    const some = webhook('http://127.0.0.1:9', { name: 'some', events: new Set(['paused'] as const) });
    const notifier = desk.notifier([NOWHERE, some]);
    await desk.look(notifier);
    const runId = await payingRun(desk.ledger, freshRows(1));
    await pause(runId);
    await desk.look(notifier);
    expect(await eventsIn(runId)).toEqual(['accepted', 'paused']);
    expect(eventsOf(await desk.waiting(runId, 'some'))).toEqual(['paused']);
  });
});

test('a process without endpoints notes nothing, so that one with endpoints tells all of it', async () => {
  const notifier = await begin();
  const without = desk.notifier([]);
  const runId = await payingRun(desk.ledger, freshRows(1));
  await desk.ledger.state.halt('anna', 'stop');
  expect(await desk.look(without)).toEqual([]);
  await desk.look(notifier);
  expect(await eventsIn(runId)).toEqual(['accepted']);
  expect(await eventsIn('ledger')).toEqual(['halted']);
});

describe('nothing is told twice or lost', () => {
  test('when twenty look at once while things happen', async () => {
    await begin();
    const runs = await Promise.all(Array.from({ length: 8 }, () => payingRun(desk.ledger, freshRows(4))));
    const notifiers = Array.from({ length: 20 }, () => desk.notifier([NOWHERE]));
    const acts = runs.map(async (runId) => {
      for (let times = 0; times < 5; times++) {
        await pause(runId, `pause ${times}`);
        await goOn(runId);
      }
      await sendTo(desk.ledger, { runId, line: 2 }, 'failed');
      await pause(runId, 'pause 5');
    });
    const stop = new AbortController();
    const over = stop.signal;
    const looks = notifiers.map(async (notifier) => {
      while (!over.aborted) await desk.look(notifier);
      await desk.look(notifier);
    });
    await Promise.all(acts);
    stop.abort();
    await Promise.all(looks);
    await Promise.all(notifiers.map((notifier) => desk.look(notifier)));
    for (const runId of runs) {
      const told = await desk.waiting(runId);
      const pauses = told.filter(({ event }) => event === 'paused').map(({ reason }) => reason);
      expect(pauses).toEqual(Array.from({ length: 6 }, (_, times) => `pause ${times}`));
      expect(
        eventsOf(told)
          .filter((event) => event !== 'paused')
          .toSorted(),
      ).toEqual(['accepted', 'failed']);
    }
  });

  const STEPS = ['readLedgerAnnounced', 'findNews', 'readNews', 'announce'] as const;
  test.each(STEPS.flatMap((step) => [`before ${step}`, `after ${step}`]))(
    'when whoever looks ends %s',
    async (moment) => {
      const notifier = await begin();
      const runId = await payingRun(desk.ledger, freshRows(2));
      await sendTo(desk.ledger, { runId, line: 2 }, 'failed');
      await pause(runId);
      await desk.ledger.state.halt('anna', 'stop');
      for (let skip = 0; skip < 3; skip++) {
        const outbox = endingAt(desk.ledger.outbox, moment, skip);
        const ended = desk.notifier([NOWHERE], { ledger: { ...desk.ledger, outbox } });
        await desk.look(ended).catch(() => undefined);
      }
      await desk.look(notifier);
      expect(await eventsIn(runId)).toEqual(['accepted', 'paused', 'failed']);
      expect(await eventsIn('ledger')).toEqual(['halted']);
    },
  );
});

/** The outbox of a process that ends before or after one of its steps: nothing of it works from then on. */
function endingAt(outbox: Outbox, moment: string, skip: number): Outbox {
  const [side, step] = moment.split(' ');
  let left = skip;
  let isOver = false;
  const wrapped = Object.entries(outbox).map(([name, act]) => [
    name,
    async (...args: unknown[]) => {
      if (name === step && left-- === 0 && side === 'before') isOver = true;
      if (isOver) throw new Error('the process has ended');
      const answer = await (act as (...all: unknown[]) => Promise<unknown>)(...args);
      if (name === step && left < 0 && side === 'after') isOver = true;
      if (isOver) throw new Error('the process has ended');
      return answer;
    },
  ]);
  return Object.fromEntries(wrapped) as Outbox;
}

describe('looking costs little', () => {
  test('a run of which nothing can come any more is looked at no longer, and one that moves after all is told of', async () => {
    const notifier = await begin();
    const runId = await payingRun(desk.ledger, freshRows(1));
    await sendTo(desk.ledger, { runId, line: 2 }, 'rejected');
    await finishRun(desk.ledger, runId);
    await desk.look(notifier);
    expect(await desk.redis.zscore(`${desk.prefix}:news`, runId)).not.toBeNull();
    await desk.ledger.runs.leave(runId);
    await desk.redis.zrem(desk.keys.watch, runId);
    desk.clock.pass(DAY_MS + MINUTE_MS);
    await desk.look(notifier);
    expect(await desk.redis.zscore(`${desk.prefix}:news`, runId)).toBeNull();
    await desk.redis.sadd(desk.keys.live, runId);
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'accepted' });
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'failed' });
    await desk.look(notifier);
    expect(await eventsIn(runId)).toEqual(['accepted', 'finished', 'settled', 'failed']);
  });

  test('a look at which nothing moved writes nothing, and reads no run', async () => {
    const notifier = await begin();
    const runs = await Promise.all(Array.from({ length: 5 }, () => payingRun(desk.ledger, freshRows(1))));
    await desk.look(notifier);
    const read: string[] = [];
    const ledger: Ledger = {
      ...desk.ledger,
      runs: { ...desk.ledger.runs, read: async (runId) => (read.push(runId), await desk.ledger.runs.read(runId)) },
    };
    const other = desk.notifier([NOWHERE], { ledger });
    const before = await dumpOf(desk);
    await desk.look(other);
    const turn = desk.keys.turn('notify');
    expect([...(await dumpOf(desk))].filter(([key]) => key !== turn)).toEqual(
      [...before].filter(([key]) => key !== turn),
    );
    expect(read).toEqual([]);
    await pause(runs[3] ?? '');
    await desk.look(other);
    expect(read).toEqual([runs[3]]);
  });

  test('of a thousand runs that are over, each is seen within a few looks', async () => {
    const notifier = await begin();
    const many = Array.from({ length: 1200 }, (_, index) => `20260131-old${index}`);
    const pipeline = desk.redis.pipeline();
    for (const [index, id] of many.entries()) {
      pipeline.hset(desk.keys.run(id), {
        state: 'finished',
        changes: '5',
        createdAt: Date.now(),
        finishedAt: '1',
        rows: '1',
      });
      pipeline.zadd(desk.keys.runs, Date.now() + index, id);
      pipeline.zadd(desk.keys.watch, Date.now(), id);
    }
    await pipeline.exec();
    for (let times = 0; times < 6; times++) await desk.look(notifier);
    const late = desk.redis.pipeline();
    for (const id of many) late.hset(desk.keys.run(id), { 'n:returned': '1', changes: '6' });
    await late.exec();
    for (let times = 0; times < 4; times++) await desk.look(notifier);
    for (const id of many) expect(await eventsIn(id)).toEqual(['returned']);
  });

  test('payments that are pending for long are counted once an hour, not at each look', async () => {
    await begin();
    const runId = await payingRun(desk.ledger, freshRows(1));
    await sendTo(desk.ledger, { runId, line: 2 }, 'accepted');
    let counts = 0;
    const outbox: Outbox = {
      ...desk.ledger.outbox,
      countPending: async (...args) => {
        counts += 1;
        return await desk.ledger.outbox.countPending(...args);
      },
    };
    const notifier = desk.notifier([NOWHERE], { ledger: { ...desk.ledger, outbox } });
    desk.clock.pass(5 * DAY_MS + MINUTE_MS);
    for (let minutes = 0; minutes < 150; minutes += 10) {
      await desk.look(notifier);
      desk.clock.pass(10 * MINUTE_MS);
    }
    expect(counts).toBe(3);
  });

  test('a run that was removed is forgotten', async () => {
    const notifier = await begin();
    const runId = await payingRun(desk.ledger, freshRows(1));
    await desk.look(notifier);
    await desk.redis.del(desk.keys.run(runId));
    await desk.look(notifier);
    expect(await desk.redis.exists(`${desk.keys.run(runId)}:told`)).toBe(0);
    expect(await desk.redis.zscore(`${desk.prefix}:news`, runId)).toBeNull();
  });
});
