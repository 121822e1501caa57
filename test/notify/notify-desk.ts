import type { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { type Clock, systemClock, systemRandom } from '../../src/clock.ts';
import { type Endpoint, type NotifySettings, noNotifications, USUAL_EVENTS } from '../../src/config/notify.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { type Log, silentLog } from '../../src/log.ts';
import { type Notification, readNotification } from '../../src/notify/notification.ts';
import { type Notifier, openNotifier } from '../../src/notify/notifier.ts';
import { newLedger, type TestLedger } from '../ledger/test-ledger.ts';
import { type AnswerHandler, type AnsweringServer, startAnsweringServer } from '../support/answering-server.ts';

export const SECRET = 'whsec-canary-7c1f0e4b9d';
const NOBODY = new AbortController().signal;

/** Time that passes as the test says, beside the time that really passes. */
export interface TestClock extends Clock {
  pass(ms: number): void;
}

function testClock(): TestClock {
  let passed = 0;
  return {
    ...systemClock,
    now: () => systemClock.now() + passed,
    monotonic: () => systemClock.monotonic() + passed,
    pass(ms) {
      passed += ms;
    },
  };
}

export function webhook(url: string, other: Partial<Endpoint> = {}): Endpoint {
  const whole = { kind: 'webhook', name: 'hook', url, secrets: [SECRET], events: new Set(USUAL_EVENTS) } as const;
  return { ...whole, ...other } as Endpoint;
}

/** The body of the notification in each request, in the order of their coming. */
export function toldTo(server: AnsweringServer): Notification[] {
  return server.requests.map(({ body }) => readNotification(body));
}

export function eventsOf(notifications: readonly Notification[]): Notification['event'][] {
  return notifications.map(({ event }) => event);
}

/** A receiver that says yes unless told otherwise; closed with the test. */
export async function startReceiver(
  handler: AnswerHandler = (_, answering) => answering.reply({}),
): Promise<AnsweringServer> {
  const server = await startAnsweringServer(handler);
  onTestFinished(() => server.close());
  return server;
}

export interface NotifyDesk extends TestLedger {
  readonly clock: TestClock;
  /** A process that tells. */
  notifier(endpoints: readonly Endpoint[], other?: Other): Notifier;
  /** Looks once, whoever had the turn. */
  look(notifier: Notifier): ReturnType<Notifier['look']>;
  /** Looks and delivers until nothing is due. */
  work(notifier: Notifier): Promise<void>;
  /** What waits for an endpoint about a run or the ledger, the next first. */
  waiting(queue: string, endpoint?: string): Promise<Notification[]>;
}

interface Other {
  readonly settings?: Partial<NotifySettings>;
  readonly ledger?: Ledger;
  readonly log?: Log;
  readonly folder?: string;
  readonly certificates?: readonly string[];
}

/** A new ledger with nobody on it, and time of its own. */
export async function notifyDesk(connections: { redis: Redis; arming: Redis }): Promise<NotifyDesk> {
  const desk = await newLedger(connections);
  const clock = testClock();

  async function look(notifier: Notifier): ReturnType<Notifier['look']> {
    await desk.ledger.state.endTurn('notify');
    return await notifier.look();
  }

  return {
    ...desk,
    clock,
    look,
    notifier: (endpoints, { settings, ledger = desk.ledger, log = silentLog, folder = '/', certificates } = {}) =>
      openNotifier({
        ledger,
        settings: { ...noNotifications, diskFreeBytesMin: 0, endpoints, ...settings },
        origin: { environment: 'test', sandbox: true },
        clock,
        random: systemRandom,
        log,
        certificates,
        disks: { dataDirId: 'dir-a', folders: { data: folder, reports: folder } },
      }),
    async work(notifier) {
      for (let due = await look(notifier); due.length > 0; due = await look(notifier)) {
        await Promise.all(due.map((one) => notifier.deliver(one, NOBODY)));
      }
    },
    async waiting(queue, endpoint = 'hook') {
      const items = await desk.redis.lrange(`${desk.prefix}:outbox:${endpoint}:in:${queue}`, 0, -1);
      return items.map((item) => readNotification(JSON.parse(item).body));
    },
  };
}

/** Delivers one queue as a job does. */
export async function deliver(notifier: Notifier, queue: string, endpoint = 'hook'): Promise<void> {
  await notifier.deliver({ endpoint, queue }, NOBODY);
}
