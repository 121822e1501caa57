import { once } from 'node:events';
import { beforeEach, describe, expect, test } from 'vitest';
import { DEAD_LETTERS_MAX, type Outbox, WAITING_MAX } from '../../src/ledger/outbox.ts';
import type { Notification } from '../../src/notify/notification.ts';
import { verifySignature } from '../../src/notify/signature.ts';
import { finishRun } from '../../src/runs/after/finish.ts';
import { freshRows, payingRun, sendTo, useArming } from '../ledger/test-ledger.ts';
import { REFUSING_URL } from '../pay/unreachable.ts';
import type { AnsweringServer } from '../support/answering-server.ts';
import { useTestRedis } from '../support/redis.ts';
import {
  deliver,
  eventsOf,
  type NotifyDesk,
  notifyDesk,
  SECRET,
  startReceiver,
  toldTo,
  webhook,
} from './notify-desk.ts';

const SECOND_MS = 1000;
const HOUR_MS = 3600 * SECOND_MS;
const DAY_MS = 24 * HOUR_MS;

const server = await useTestRedis();
const arming = await useArming(server);
let desk: NotifyDesk;

beforeEach(async () => {
  desk = await notifyDesk({ redis: server.redis, arming });
});

type Notifier = ReturnType<NotifyDesk['notifier']>;

async function begin(receiver: Pick<AnsweringServer, 'url'>): Promise<Notifier> {
  const notifier = desk.notifier([webhook(receiver.url)]);
  await desk.look(notifier);
  return notifier;
}

/** A run of which `accepted` and then so many pauses are to be told. */
async function runWith(pauses: number): Promise<string> {
  const runId = await payingRun(desk.ledger, freshRows(1));
  for (let times = 0; times < pauses; times++) {
    await desk.ledger.runs.move(runId, { to: 'paused', actor: 'anna', reason: `pause ${times}` });
    await desk.ledger.runs.move(runId, { to: 'paying', actor: 'anna', reason: '' });
  }
  return runId;
}

/** Notifications by the first time that they came, without repeats. */
function firstTimes(notifications: readonly Notification[]): Notification[] {
  return notifications.filter(({ id }, index) => notifications.findIndex((one) => one.id === id) === index);
}

function reasonsOf(notifications: readonly Notification[], runId: string): (string | null)[] {
  return notifications.filter((one) => one.runId === runId).map(({ reason }) => reason);
}

/** What stands in the dead letters. */
async function deadOf(name = 'hook') {
  const endpoints = await desk.ledger.outbox.endpoints();
  return endpoints.find((one) => one.name === name)?.deadLetters ?? [];
}

describe('a notification', () => {
  test('comes as signed JSON, the same id in it and in its header', async () => {
    const receiver = await startReceiver();
    const notifier = await begin(receiver);
    const runId = await runWith(0);
    await desk.work(notifier);
    const [request] = receiver.requests;
    expect(receiver.requests).toHaveLength(1);
    expect(request?.method).toBe('POST');
    expect(request?.headers['content-type']).toBe('application/json');
    const [told] = toldTo(receiver);
    expect(told).toMatchObject({ event: 'accepted', runId });
    expect(request?.headers['payrun-event-id']).toBe(told?.id);
    const signed = { header: request?.headers['payrun-signature'] ?? '', body: request?.body ?? '' };
    expect(verifySignature(signed, { secrets: [SECRET], nowMs: Date.now() })).toBe('valid');
    expect(verifySignature({ ...signed, body: `${signed.body} ` }, { secrets: [SECRET], nowMs: Date.now() })).toBe(
      'other-secret',
    );
  });

  test('is signed with both secrets while they are changed, so that a receiver with either of them takes it', async () => {
    const receiver = await startReceiver();
    const notifier = desk.notifier([webhook(receiver.url, { secrets: ['the-old-secret-16', SECRET] })]);
    await desk.look(notifier);
    await runWith(0);
    await desk.work(notifier);
    const [request] = receiver.requests;
    const { header, body } = { header: request?.headers['payrun-signature'] ?? '', body: request?.body ?? '' };
    for (const secret of ['the-old-secret-16', SECRET]) {
      expect(verifySignature({ header, body }, { secrets: [secret], nowMs: Date.now() })).toBe('valid');
    }
  });

  test('goes to each endpoint, whatever becomes of the others', async () => {
    const [good, bad] = [
      await startReceiver(),
      await startReceiver((_, answering) => answering.reply({ status: 500 })),
    ];
    const notifier = desk.notifier([webhook(good.url), webhook(bad.url, { name: 'bad' })]);
    await desk.look(notifier);
    await runWith(2);
    await desk.work(notifier);
    expect(eventsOf(toldTo(good))).toEqual(['accepted', 'paused', 'paused']);
    expect(eventsOf(toldTo(bad))).toEqual(['accepted']);
  });

  test('comes in order within its run, and no run waits for another one', async () => {
    let blocked = '';
    const receiver = await startReceiver(({ body }, answering) =>
      answering.reply({ status: body.includes(blocked) ? 503 : 200 }),
    );
    const notifier = await begin(receiver);
    blocked = await runWith(2);
    const free = await runWith(2);
    await desk.work(notifier);
    expect(reasonsOf(toldTo(receiver), free)).toEqual([null, 'pause 0', 'pause 1']);
    expect(reasonsOf(toldTo(receiver), blocked)).toEqual([null]);
  });
});

describe('a receiver that', () => {
  test('answers 500 and comes back after an hour gets everything, in order, at least once, under the same ids', async () => {
    let isBack = false;
    const receiver = await startReceiver((_, answering) => answering.reply({ status: isBack ? 204 : 500 }));
    const notifier = await begin(receiver);
    const runId = await runWith(3);
    const startedAt = desk.clock.now();
    while (desk.clock.now() - startedAt < HOUR_MS) {
      await desk.work(notifier);
      desk.clock.pass(10 * SECOND_MS);
    }
    const before = toldTo(receiver);
    expect(new Set(before.map(({ id }) => id)).size).toBe(1);
    // 1 s, doubled each time, with half of it by chance.
    expect(before.length).toBeGreaterThanOrEqual(9);
    expect(before.length).toBeLessThanOrEqual(14);
    isBack = true;
    for (let times = 0; times < 720; times++) {
      await desk.work(notifier);
      desk.clock.pass(10 * SECOND_MS);
    }
    const told = firstTimes(toldTo(receiver));
    expect(reasonsOf(told, runId)).toEqual([null, 'pause 0', 'pause 1', 'pause 2']);
    expect(await desk.waiting(runId)).toEqual([]);
    expect(await deadOf()).toEqual([]);
  });

  test.each<
    [what: string, answer: (answering: { reset(): void; write(text: string): void; reply(o: object): void }) => void]
  >([
    ['resets the connection', (answering) => answering.reset()],
    ['says what is no HTTP', (answering) => answering.write('nonsense\r\n\r\n')],
    ['redirects', (answering) => answering.reply({ status: 302, headers: { location: 'http://127.0.0.1:1/' } })],
    ['does not know it', (answering) => answering.reply({ status: 404 })],
    ['is asked too often', (answering) => answering.reply({ status: 429 })],
  ])('%s gets it again later', async (_what, answer) => {
    let count = 0;
    const receiver = await startReceiver((_, answering) => (count++ === 0 ? answer(answering) : answering.reply({})));
    const notifier = await begin(receiver);
    await runWith(0);
    await desk.work(notifier);
    expect(receiver.requests).toHaveLength(1);
    await desk.work(notifier);
    expect(receiver.requests).toHaveLength(1);
    desk.clock.pass(2 * SECOND_MS);
    await desk.work(notifier);
    const told = toldTo(receiver);
    expect(eventsOf(told)).toEqual(['accepted', 'accepted']);
    expect(told[0]?.id).toBe(told[1]?.id);
  });

  test('answers later than it may, or never, gets it again', async () => {
    let count = 0;
    const late: (() => void)[] = [];
    const receiver = await startReceiver((_, answering) => {
      count += 1;
      if (count > 1) answering.reply({});
      else late.push(() => answering.reply({}));
    });
    const notifier = await begin(receiver);
    const runId = await runWith(0);
    await desk.work(notifier);
    expect((await desk.ledger.outbox.endpoints())[0]?.reason).toBe('timeout');
    for (const answer of late) answer();
    desk.clock.pass(2 * SECOND_MS);
    await desk.work(notifier);
    expect(reasonsOf(toldTo(receiver), runId)).toEqual([null, null]);
    expect(await desk.waiting(runId)).toEqual([]);
  });

  test('cannot be reached is tried again', async () => {
    const notifier = await begin({ url: REFUSING_URL });
    const runId = await runWith(0);
    await desk.work(notifier);
    const [state] = await desk.ledger.outbox.endpoints();
    expect(state).toMatchObject({ waiting: 1, reason: 'ECONNREFUSED', lost: 0 });
    expect(await desk.waiting(runId)).toHaveLength(1);
  });

  test('answers yes with more than anybody reads, or never ends its answer, has been told', async () => {
    const receiver = await startReceiver((_, answering) => {
      answering.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      for (let times = 0; times < 50; times++) answering.write(`1000\r\n${'x'.repeat(4096)}\r\n`);
    });
    const notifier = await begin(receiver);
    const runId = await runWith(1);
    await desk.work(notifier);
    expect(await desk.waiting(runId)).toEqual([]);
    expect(receiver.requests).toHaveLength(2);
  });
});

describe('a run never waits for it', () => {
  test('while a receiver hangs, looks go on, other receivers hear everything, and the hanging one takes few deliveries', async () => {
    const [hanging, good] = [await startReceiver(() => {}), await startReceiver()];
    const notifier = desk.notifier([webhook(hanging.url, { name: 'hanging' }), webhook(good.url)]);
    await desk.look(notifier);
    const under: Promise<void>[] = [];
    const seen: string[] = [];
    for (let runs = 0; runs < 12; runs++) {
      const runId = await runWith(1);
      await sendTo(desk.ledger, { runId, line: 2 }, 'completed');
      expect(await finishRun(desk.ledger, runId)).toBe(true);
      seen.push(runId);
      const due = await desk.look(notifier);
      under.push(...due.map((one) => notifier.deliver(one, new AbortController().signal)));
    }
    await expect.poll(() => toldTo(good).length).toBe(48);
    for (const runId of seen) expect(reasonsOf(toldTo(good), runId)).toEqual([null, 'pause 0', null, null]);
    expect(hanging.requests.length).toBeLessThanOrEqual(4);
    await hanging.close();
    await Promise.all(under);
  });
});

describe('a process that is about to end', () => {
  test('tells what there is to tell before it does', async () => {
    const receiver = await startReceiver();
    const notifier = await begin(receiver);
    const runId = await runWith(2);
    await notifier.flush(new AbortController().signal);
    expect(reasonsOf(toldTo(receiver), runId)).toEqual([null, 'pause 0', 'pause 1']);
  });

  test('waits for no receiver that fails, and for one that hangs no longer than it has time', async () => {
    const [failing, hanging] = [
      await startReceiver((_, answering) => answering.reset()),
      await startReceiver(() => {}),
    ];
    const notifier = desk.notifier([webhook(failing.url), webhook(hanging.url, { name: 'hanging' })]);
    await runWith(0);
    const stop = new AbortController();
    const flushed = notifier.flush(stop.signal);
    await expect.poll(() => [failing.requests.length, hanging.requests.length]).toEqual([1, 1]);
    stop.abort();
    await flushed;
    expect((await desk.ledger.outbox.endpoints()).map(({ waiting }) => waiting)).toEqual([1, 1]);
    await hanging.close();
  });
});

describe('after three days', () => {
  test('it is given up, kept with why, and what came later still has its time', async () => {
    const receiver = await startReceiver((_, answering) => answering.reply({ status: 500 }));
    const notifier = await begin(receiver);
    const runId = await runWith(0);
    await desk.work(notifier);
    desk.clock.pass(2 * DAY_MS);
    await desk.ledger.runs.move(runId, { to: 'paused', actor: 'anna', reason: 'later' });
    await desk.work(notifier);
    expect(await deadOf()).toEqual([]);
    desk.clock.pass(DAY_MS + HOUR_MS);
    await desk.work(notifier);
    const [letter, ...others] = await deadOf();
    expect(others).toEqual([]);
    expect(letter).toMatchObject({ queue: runId, reason: 'status 500' });
    expect(JSON.parse(letter?.waiting.body ?? '{}')).toMatchObject({ event: 'accepted', runId });
    expect(eventsOf(await desk.waiting(runId))).toEqual(['paused']);
    receiver.handle((_, answering) => answering.reply({}));
    desk.clock.pass(7 * HOUR_MS);
    await desk.work(notifier);
    expect(await desk.waiting(runId)).toEqual([]);
  });

  test('a whole queue that is too old is tried once more, each, and given up', async () => {
    const receiver = await startReceiver((_, answering) => answering.reply({ status: 500 }));
    const notifier = await begin(receiver);
    const runId = await runWith(4);
    await desk.look(notifier);
    desk.clock.pass(3 * DAY_MS);
    await desk.work(notifier);
    expect(reasonsOf(toldTo(receiver), runId)).toEqual([null, 'pause 0', 'pause 1', 'pause 2', 'pause 3']);
    expect(await deadOf()).toHaveLength(5);
    const [state] = await desk.ledger.outbox.endpoints();
    expect(state).toMatchObject({ waiting: 0, nextAt: null, reason: null });
  });

  test('what was given up is delivered when people put it back, under its id, with three days more', async () => {
    let status = 500;
    const receiver = await startReceiver((_, answering) => answering.reply({ status }));
    const notifier = await begin(receiver);
    await runWith(0);
    await desk.look(notifier);
    desk.clock.pass(3 * DAY_MS);
    await desk.work(notifier);
    const [letter] = await deadOf();
    if (letter === undefined) throw new Error('nothing was given up');
    expect(await desk.ledger.outbox.requeue('hook', letter, desk.clock.now())).toBe(true);
    expect(await desk.ledger.outbox.requeue('hook', letter, desk.clock.now())).toBe(false);
    await desk.work(notifier);
    expect(await deadOf()).toEqual([]);
    status = 200;
    desk.clock.pass(DAY_MS);
    await desk.work(notifier);
    expect(new Set(toldTo(receiver).map(({ id }) => id)).size).toBe(1);
    expect((await desk.ledger.outbox.endpoints())[0]).toMatchObject({ waiting: 0, deadLetters: [] });
  });
});

describe('two workers', () => {
  test('never deliver one queue at the same time: each notification comes once and in order', async () => {
    let atOnce = 0;
    let most = 0;
    const receiver = await startReceiver(async (_, answering) => {
      most = Math.max(most, ++atOnce);
      await new Promise((resolve) => setTimeout(resolve, 2));
      atOnce -= 1;
      answering.reply({});
    });
    const notifier = await begin(receiver);
    const runId = await runWith(15);
    await desk.look(notifier);
    const workers = Array.from({ length: 6 }, () => desk.notifier([webhook(receiver.url)]));
    const isDone = async () => (await desk.waiting(runId)).length === 0;
    while (!(await isDone())) await Promise.all(workers.map((worker) => deliver(worker, runId)));
    expect(reasonsOf(toldTo(receiver), runId)).toEqual([null, ...Array.from({ length: 15 }, (_, n) => `pause ${n}`)]);
    expect(most).toBe(1);
  });

  const MOMENTS = ['before take', 'after take', 'before settle', 'after settle'];
  test.each(MOMENTS)('when one ends %s, the other one delivers what is left, in order', async (moment) => {
    const receiver = await startReceiver();
    const notifier = await begin(receiver);
    const runId = await runWith(3);
    await desk.look(notifier);
    const outbox = endingAt(desk.ledger.outbox, moment);
    const ended = desk.notifier([webhook(receiver.url)], { ledger: { ...desk.ledger, outbox } });
    await expect(deliver(ended, runId)).rejects.toThrow('the process has ended');
    desk.clock.pass(61 * SECOND_MS);
    await desk.work(notifier);
    const told = toldTo(receiver);
    expect(reasonsOf(firstTimes(told), runId)).toEqual([null, 'pause 0', 'pause 1', 'pause 2']);
    // Only what was delivered and not noted comes twice.
    expect(told.length).toBe(moment === 'before settle' ? 5 : 4);
  });

  test('one that comes back too late takes nothing away from the other', async () => {
    const release = new AbortController();
    const held = once(release.signal, 'abort');
    let count = 0;
    const receiver = await startReceiver(async (_, answering) => {
      if (count++ === 0) await held;
      answering.reply({ status: count === 1 ? 500 : 200 });
    });
    const notifier = await begin(receiver);
    const runId = await runWith(1);
    await desk.look(notifier);
    const late = deliver(notifier, runId);
    await expect.poll(() => receiver.requests.length).toBe(1);
    desk.clock.pass(61 * SECOND_MS);
    await deliver(desk.notifier([webhook(receiver.url)]), runId);
    release.abort();
    await late;
    expect(reasonsOf(firstTimes(toldTo(receiver)), runId)).toEqual([null, 'pause 0']);
    expect(await desk.waiting(runId)).toEqual([]);
    expect((await desk.ledger.outbox.endpoints())[0]).toMatchObject({ waiting: 0, nextAt: null });
  });
});

const place = (by: string) => ({ endpoint: 'hook', queue: 'r1', by });

test('whoever lost a delivery to another one decides nothing about it any more, but that it was delivered', async () => {
  const { outbox } = desk.ledger;
  await push('r1', 0, 2);
  const { item = '' } = (await outbox.take(place('one'), 1)) ?? {};
  expect(await outbox.take(place('two'), 59_000)).toBeUndefined();
  expect((await outbox.take(place('two'), 61_000))?.item).toBe(item);
  const end = { item, nowMs: 62_000, againMs: 62_000, reason: 'timeout' };
  for (const what of ['failed', 'dead'] as const) {
    expect(await outbox.settle({ ...place('one'), ...end, what })).toBe(false);
  }
  expect(await outbox.take(place('three'), 63_000)).toBeUndefined();
  expect(await outbox.settle({ ...place('one'), ...end, what: 'delivered' })).toBe(true);
  expect(await outbox.settle({ ...place('two'), ...end, what: 'delivered' })).toBe(false);
  expect((await outbox.take(place('three'), 63_000))?.waiting.body).toBe('{"n":1}');
});

/** The outbox of a process that ends before or after its second step of a kind. */
function endingAt(outbox: Outbox, moment: string): Outbox {
  const [side, step] = moment.split(' ');
  let count = 0;
  const act = async <T>(name: string, does: () => Promise<T>): Promise<T> => {
    if (name === step) count += 1;
    if (name === step && count === 2 && side === 'before') throw new Error('the process has ended');
    const answer = await does();
    if (name === step && count === 2) throw new Error('the process has ended');
    return answer;
  };
  return {
    ...outbox,
    take: (...args) => act('take', () => outbox.take(...args)),
    settle: (...args) => act('settle', () => outbox.settle(...args)),
  };
}

const item = (n: number) => ({ endpoint: 'hook', waiting: { queuedAt: n, body: `{"n":${n}}` } });

const push = async (queue: string, from: number, count: number) =>
  await desk.ledger.outbox.announce({
    queue,
    version: null,
    note: {},
    push: Array.from({ length: count }, (_, n) => item(from + n)),
    nowMs: 1,
  });

describe('the outbox is limited', () => {
  test('what has no room goes to the dead letters, the oldest of which are dropped and counted', async () => {
    expect(await push('r1', 0, WAITING_MAX - 1)).toEqual({ announced: true, full: 0 });
    expect(await push('r2', WAITING_MAX, 2)).toEqual({ announced: true, full: 1 });
    expect(await push('r3', WAITING_MAX + 2, DEAD_LETTERS_MAX)).toEqual({ announced: true, full: DEAD_LETTERS_MAX });
    const [state] = await desk.ledger.outbox.endpoints();
    expect(state?.waiting).toBe(WAITING_MAX);
    expect(state?.deadLetters).toHaveLength(DEAD_LETTERS_MAX);
    expect(state?.deadLetters[0]).toMatchObject({ queue: 'r3', reason: 'the outbox is full' });
    expect(state?.lost).toBe(1);
    const [letter] = state?.deadLetters ?? [];
    if (letter === undefined) throw new Error('there is none');
    expect(await desk.ledger.outbox.requeue('hook', letter, 5)).toBe(false);
    expect(await deadOf()).toHaveLength(DEAD_LETTERS_MAX);
  });

  test('an endpoint that is dropped leaves nothing behind, and others stay', async () => {
    await push('r1', 0, 3);
    await desk.ledger.outbox.announce({
      queue: 'r1',
      version: null,
      note: {},
      push: [{ ...item(9), endpoint: 'other' }],
      nowMs: 1,
    });
    const taken = await desk.ledger.outbox.take(place('one'), 1);
    if (taken === undefined) throw new Error('nothing was taken');
    const end = {
      ...place('one'),
      item: taken.item,
      what: 'dead',
      reason: 'status 500',
      nowMs: 2,
      againMs: 3,
    } as const;
    expect(await desk.ledger.outbox.settle(end)).toBe(true);
    expect(await desk.ledger.outbox.drop('hook')).toEqual({ waiting: 2, dead: 1 });
    expect(await desk.ledger.outbox.drop('hook')).toBeUndefined();
    expect(await desk.redis.keys(`${desk.prefix}:outbox:hook:*`)).toEqual([]);
    expect((await desk.ledger.outbox.endpoints()).map(({ name, waiting }) => ({ name, waiting }))).toEqual([
      { name: 'other', waiting: 1 },
    ]);
  });

  test('what waits for an endpoint that is not configured stays until it is', async () => {
    const receiver = await startReceiver();
    const runId = await runWith(0);
    await push(runId, 0, 0);
    const notifier = await begin(receiver);
    const later = await runWith(1);
    await desk.look(notifier);
    const without = desk.notifier([webhook(receiver.url, { name: 'other' })]);
    desk.clock.pass(HOUR_MS);
    await desk.work(without);
    await deliver(without, later);
    expect(receiver.requests).toEqual([]);
    await desk.work(notifier);
    expect(reasonsOf(toldTo(receiver), later)).toEqual([null, 'pause 0']);
  });

  test('people who do not want to wait for the next try have it at once', async () => {
    const receiver = await startReceiver((_, answering) => answering.reply({ status: 500 }));
    const notifier = await begin(receiver);
    const runId = await runWith(0);
    for (let times = 0; times < 20; times++) {
      await desk.work(notifier);
      desk.clock.pass(HOUR_MS);
    }
    receiver.handle((_, answering) => answering.reply({}));
    await desk.ledger.outbox.retryNow('hook', desk.clock.now());
    await desk.work(notifier);
    expect(await desk.waiting(runId)).toEqual([]);
  });
});
