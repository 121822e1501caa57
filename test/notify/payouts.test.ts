import { beforeEach, describe, expect, test } from 'vitest';
import { PAYOUT_EVENTS, USUAL_EVENTS } from '../../src/config/notify.ts';
import { WAITING_MAX } from '../../src/ledger/outbox.ts';
import type { Notification } from '../../src/notify/notification.ts';
import { PAYOUTS_PER_LOOK, PAYOUTS_WAIT_MAX } from '../../src/notify/payout-news.ts';
import { finishRun } from '../../src/runs/after/finish.ts';
import { claimRun, freshRows, movePayout, payingRun, recordRows, sendTo, useArming } from '../ledger/test-ledger.ts';
import { useTestRedis } from '../support/redis.ts';
import { eventsOf, type NotifyDesk, notifyDesk, startReceiver, toldTo, webhook } from './notify-desk.ts';

const URL = 'http://127.0.0.1:9';
const CHOSEN = webhook(URL, { events: new Set([...USUAL_EVENTS, ...PAYOUT_EVENTS]) });
const EACH = webhook(URL, { events: new Set(PAYOUT_EVENTS) });

const server = await useTestRedis();
const arming = await useArming(server);
let desk: NotifyDesk;

beforeEach(async () => {
  desk = await notifyDesk({ redis: server.redis, arming });
});

const linesOf = (told: readonly Notification[]) => told.map(({ event, payout }) => [event, payout?.line]);
const toldOf = async (runId: string, endpoint?: string) => linesOf(await desk.waiting(runId, endpoint));

/** A run in which some payouts are held. */
async function heldRun(rows: number, held = rows): Promise<string> {
  const runId = await payingRun(desk.ledger, freshRows(rows));
  for (let line = 2; line < held + 2; line++) await movePayout(desk.ledger, { runId, line }, { to: 'held' });
  return runId;
}

describe('an endpoint that chooses events of payouts is told', () => {
  test('what became of each of them, and when, after the acceptance and before the end of their run', async () => {
    const notifier = desk.notifier([CHOSEN]);
    await desk.look(notifier);
    const runId = await payingRun(desk.ledger, freshRows(5));
    for (const [index, state] of (['completed', 'failed', 'returned', 'rejected'] as const).entries()) {
      await sendTo(desk.ledger, { runId, line: index + 2 }, state);
    }
    await movePayout(desk.ledger, { runId, line: 6 }, { to: 'held' });
    await movePayout(desk.ledger, { runId, line: 6 }, { to: 'cancelled' });
    await finishRun(desk.ledger, runId);
    for (let times = 0; times < 3; times++) await desk.look(notifier);
    const told = await desk.waiting(runId);
    expect(eventsOf(told)).toEqual([
      'accepted',
      'payout.paid',
      'payout.failed',
      'payout.returned',
      'finished',
      'returned',
      'failed',
      'settled',
    ]);
    const at = (await desk.ledger.runs.row(runId, 2)) as { history: readonly { at: number }[] };
    expect(told[1]).toMatchObject({
      runId,
      run: null,
      payouts: null,
      payout: { id: `${runId}-2`, line: 2 },
      at: new Date(at.history.at(-1)?.at ?? 0).toISOString(),
    });
    expect(told[0]).toMatchObject({ payout: null });
    expect(new Set(told.map(({ id }) => id)).size).toBe(told.length);
  });

  test('only those that it chose, and one that chose none is told of none', async () => {
    const failed = webhook(URL, { name: 'failures', events: new Set(['payout.failed', 'halted']) });
    const notifier = desk.notifier([failed, webhook(URL)]);
    await desk.look(notifier);
    const runId = await payingRun(desk.ledger, freshRows(2));
    await sendTo(desk.ledger, { runId, line: 2 }, 'completed');
    await sendTo(desk.ledger, { runId, line: 3 }, 'failed');
    await desk.look(notifier);
    expect(await toldOf(runId, 'failures')).toEqual([['payout.failed', 3]]);
    expect(eventsOf(await desk.waiting(runId))).toEqual(['accepted', 'failed']);
  });

  test('that a payment came back after it was paid, also when nobody looked between, and each step once', async () => {
    const notifier = desk.notifier([EACH]);
    await desk.look(notifier);
    const runId = await payingRun(desk.ledger, freshRows(2));
    await sendTo(desk.ledger, { runId, line: 2 }, 'completed');
    await sendTo(desk.ledger, { runId, line: 3 }, 'completed');
    await movePayout(desk.ledger, { runId, line: 3 }, { to: 'returned' });
    await desk.look(notifier);
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'returned' });
    for (let times = 0; times < 3; times++) await desk.look(notifier);
    expect(await toldOf(runId)).toEqual([
      ['payout.paid', 2],
      ['payout.paid', 3],
      ['payout.returned', 3],
      ['payout.returned', 2],
    ]);
  });

  test('that a payout is held again after people let it go', async () => {
    const notifier = desk.notifier([EACH]);
    await desk.look(notifier);
    const runId = await heldRun(1);
    await desk.look(notifier);
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'ready' });
    await desk.look(notifier);
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'held' });
    for (let times = 0; times < 3; times++) await desk.look(notifier);
    const told = await desk.waiting(runId);
    expect(eventsOf(told)).toEqual(['payout.held', 'payout.held']);
    expect(new Set(told.map(({ id }) => id)).size).toBe(2);
  });

  test('by post, signed and in order as everything else', async () => {
    const receiver = await startReceiver();
    const notifier = desk.notifier([{ ...CHOSEN, url: receiver.url } as typeof CHOSEN]);
    await desk.look(notifier);
    const runId = await heldRun(3);
    await desk.work(notifier);
    expect(linesOf(toldTo(receiver)).slice(-3)).toEqual([2, 3, 4].map((line) => ['payout.held', line]));
    expect(receiver.requests.at(-1)?.headers['payrun-signature']).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/);
    expect(await desk.waiting(runId)).toEqual([]);
  });
});

describe('a run of which nothing was told before', () => {
  test('counts as told where it was there before the endpoint chose events of payouts', async () => {
    await desk.look(desk.notifier([webhook(URL)]));
    const runId = await heldRun(3, 2);
    await desk.look(desk.notifier([webhook(URL)]));
    desk.clock.pass(60_000);
    const notifier = desk.notifier([CHOSEN]);
    await desk.look(notifier);
    expect((await toldOf(runId)).filter(([event]) => event === 'payout.held')).toEqual([]);
    await movePayout(desk.ledger, { runId, line: 4 }, { to: 'held' });
    await desk.look(notifier);
    expect((await toldOf(runId)).filter(([event]) => event === 'payout.held')).toEqual([['payout.held', 4]]);
  });

  test('is told from its beginning where the first worker of the ledger comes after it', async () => {
    const runId = await heldRun(2);
    await desk.look(desk.notifier([EACH]));
    expect(await toldOf(runId)).toEqual([
      ['payout.held', 2],
      ['payout.held', 3],
    ]);
  });

  test('is told anew from now on, when the events are chosen again after a time without them', async () => {
    await desk.look(desk.notifier([EACH]));
    const runId = await heldRun(3, 1);
    await desk.look(desk.notifier([EACH]));
    await movePayout(desk.ledger, { runId, line: 3 }, { to: 'held' });
    await desk.look(desk.notifier([webhook(URL)]));
    desk.clock.pass(60_000);
    await desk.look(desk.notifier([EACH]));
    await movePayout(desk.ledger, { runId, line: 4 }, { to: 'held' });
    await desk.look(desk.notifier([EACH]));
    const told = (await toldOf(runId)).filter(([event]) => event === 'payout.held');
    expect(told).toEqual([
      ['payout.held', 2],
      ['payout.held', 4],
    ]);
  });

  test('waits until it is recorded', async () => {
    const notifier = desk.notifier([CHOSEN]);
    await desk.look(notifier);
    const rows = freshRows(1);
    const runId = await claimRun(desk.ledger, rows);
    await recordRows(desk.ledger, runId, rows);
    await desk.look(notifier);
    expect(await desk.redis.exists(desk.keys.toldStates(runId, 'hook'))).toBe(0);
  });
});

describe('a large run', () => {
  const ROWS = 2 * PAYOUTS_PER_LOOK + 20;

  test('is told a part at each look, and every payout once', async () => {
    const notifier = desk.notifier([CHOSEN]);
    await desk.look(notifier);
    const runId = await heldRun(ROWS);
    for (const count of [PAYOUTS_PER_LOOK, 2 * PAYOUTS_PER_LOOK, ROWS, ROWS]) {
      await desk.look(notifier);
      const payouts = (await toldOf(runId)).filter(([event]) => event === 'payout.held');
      expect(payouts).toEqual(Array.from({ length: count }, (_, index) => ['payout.held', index + 2]));
    }
  }, 60_000);

  test('has its settlement told after its last payout', async () => {
    const notifier = desk.notifier([CHOSEN]);
    await desk.look(notifier);
    const rows = PAYOUTS_PER_LOOK + 5;
    const runId = await payingRun(desk.ledger, freshRows(rows));
    for (let line = 2; line < rows + 2; line++) await sendTo(desk.ledger, { runId, line }, 'completed');
    await finishRun(desk.ledger, runId);
    for (let times = 0; times < 4; times++) await desk.look(notifier);
    const events = eventsOf(await desk.waiting(runId));
    expect(events.filter((event) => event === 'payout.paid')).toHaveLength(rows);
    expect(events.slice(-2)).toEqual(['payout.paid', 'settled']);
  }, 60_000);

  test('leaves room for everything else at an endpoint that takes nothing, and is told on when it does', async () => {
    const notifier = desk.notifier([CHOSEN]);
    await desk.look(notifier);
    const runId = await heldRun(5, 2);
    await desk.look(notifier);
    await desk.redis.hincrby(desk.keys.outboxWaiting, 'hook', PAYOUTS_WAIT_MAX);
    for (let line = 4; line < 7; line++) await movePayout(desk.ledger, { runId, line }, { to: 'held' });
    await desk.ledger.runs.move(runId, { to: 'paused', actor: 'anna', reason: 'a look' });
    for (let times = 0; times < 3; times++) await desk.look(notifier);
    const before = await toldOf(runId);
    expect(before.filter(([event]) => event === 'payout.held')).toHaveLength(2);
    expect(before).toContainEqual(['paused', undefined]);
    await desk.redis.hincrby(desk.keys.outboxWaiting, 'hook', -PAYOUTS_WAIT_MAX);
    await desk.look(notifier);
    const after = (await toldOf(runId)).filter(([event]) => event === 'payout.held');
    expect(after.map(([, line]) => line)).toEqual([2, 3, 4, 5, 6]);
    expect(WAITING_MAX).toBeGreaterThan(2 * PAYOUTS_WAIT_MAX);
  });
});

test('a payout that is told again after Redis went back has the same id', async () => {
  const notifier = desk.notifier([EACH]);
  await desk.look(notifier);
  const runId = await heldRun(2);
  await desk.look(notifier);
  const before = await desk.waiting(runId);
  const told = `${desk.keys.run(runId)}:told`;
  await desk.redis.del(`${desk.prefix}:outbox:hook:in:${runId}`, told, desk.keys.toldStates(runId, 'hook'));
  await desk.look(notifier);
  const again = await desk.waiting(runId);
  expect(linesOf(again)).toEqual(linesOf(before));
  expect(again.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
});

test('what was told of a run that is gone is dropped with it', async () => {
  const notifier = desk.notifier([EACH]);
  await desk.look(notifier);
  const runId = await heldRun(1);
  await desk.look(notifier);
  expect(await desk.redis.exists(desk.keys.toldStates(runId, 'hook'))).toBe(1);
  await desk.redis.del(desk.keys.run(runId));
  await desk.look(notifier);
  expect(await desk.redis.exists(desk.keys.toldStates(runId, 'hook'))).toBe(0);
});
