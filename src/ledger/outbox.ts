import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { LedgerKeys } from './keys.ts';
import { openPayoutNews, type PayoutReading } from './payout-news.ts';
import { openReading } from './payouts/reading.ts';
import { type RowState, STATE_LETTERS, type StoredPayout } from './payouts/stored.ts';
import { integerOf, LedgerFault, listOf, runScript, script, textOf, textsOf } from './script.ts';
import {
  DROP_ENDPOINT,
  FIND_NEWS,
  READ_NEWS,
  REQUEUE,
  RETRY_NOW,
  SETTLE_NEXT,
  TAKE_NEXT,
  TELL,
} from './scripts/outbox.ts';

/** Notifications that wait for one endpoint; what comes beyond them goes to the dead letters at once. */
export const WAITING_MAX = 10_000;
/** Dead letters that are kept for one endpoint; of more, the oldest are dropped and counted. */
export const DEAD_LETTERS_MAX = 1000;

/** How long a delivery may take before the next one begins: more than any of them has. */
const DELIVERY_MS = 60_000;
const EVENTS_PER_LOOK = 200;
/** What happened so long before anybody looked is announced too: a file may be handed in before the first worker starts. */
const TOLD_BEFORE_MS = 60 * 60 * 1000;
/** Runs that are compared at each look, beside those that the sweeper walks. */
const RUNS_PER_LOOK = 500;
/** Lines whose payments are looked at in one call, and in all. */
const LINES_PER_CALL = 500;
const LINES_MAX = 20_000;
const QUEUES_SHOWN_MAX = 50;

/** A notification as it waits: its text is what is signed and sent. */
export interface Waiting {
  /** When it was put there. */
  readonly queuedAt: number;
  readonly body: string;
}

export interface RunEvent {
  /** Its place in the run's events. */
  readonly id: string;
  readonly at: number;
  readonly event: string;
  readonly actor: string;
  readonly reason: string;
}

/** What is new of a run. */
export interface RunNews {
  /** Of what was announced; whoever announces names it. */
  readonly version: string;
  /** What was announced, as it was noted; empty for a run of which nothing was. */
  readonly what: string;
  /** The run's `changes` when this was read; null when there are more events than were read. */
  readonly changes: number | null;
  /** Whether the sweeper walks the run or its payments are watched for returns. */
  readonly isFollowed: boolean;
  readonly events: readonly RunEvent[];
}

/** What is announced, and noted as such, in one step. */
export interface Announcement {
  /** A run id, or `LEDGER_QUEUE`. */
  readonly queue: string;
  /** What was announced, as it was read; null announces without noting anything. */
  readonly version: string | null;
  readonly note: Readonly<Record<string, string>>;
  /** Nothing can come of the run any more. */
  readonly forget?: boolean;
  readonly push: readonly { readonly endpoint: string; readonly waiting: Waiting }[];
  /** The states of payouts that an endpoint is told of, or need not be told of any more. */
  readonly told?: readonly ToldPayouts[];
  readonly nowMs: number;
}

export interface ToldPayouts {
  readonly endpoint: string;
  readonly payouts: readonly { readonly line: number; readonly state: RowState }[];
}

/** One end of a delivery. */
export interface Delivered {
  readonly endpoint: string;
  readonly queue: string;
  readonly by: string;
  /** As it was taken. */
  readonly item: string;
  readonly what: 'delivered' | 'failed' | 'dead';
  /** Why it failed, without personal data. */
  readonly reason: string;
  readonly nowMs: number;
  readonly againMs: number;
}

export interface DeadLetter {
  readonly queue: string;
  readonly waiting: Waiting;
  readonly reason: string;
  readonly at: number;
  /** As it stands in Redis. */
  readonly text: string;
}

export interface EndpointState {
  readonly name: string;
  readonly waiting: number;
  /** When the next of them is tried; null when none waits. */
  readonly nextAt: number | null;
  /** Why the last try of one of them failed; null when none did. */
  readonly reason: string | null;
  readonly deadLetters: readonly DeadLetter[];
  readonly lost: number;
}

/** What was announced of the ledger: the version, and what was noted. */
export interface LedgerAnnounced {
  readonly version: string;
  readonly note: Readonly<Record<string, string>>;
}

/** Since when endpoints are told of payouts, by their names. */
export type PayoutChoices = ReadonlyMap<string, string>;

interface FoundNews {
  readonly next: number;
  readonly since: number;
  readonly runIds: readonly string[];
}

export interface Outbox extends PayoutReading {
  /** Runs of which something may have to be announced, to endpoints that are told of payouts too; `from` is where the part of the old ones begins. */
  findNews(from: number, nowMs: number, told?: PayoutChoices): Promise<FoundNews>;
  readNews(runId: string): Promise<RunNews>;
  readLedgerAnnounced(): Promise<LedgerAnnounced>;
  /** How many of these payouts have had a payment under way since before a time; of the first 20,000 lines. */
  countPending(runId: string, sentBefore: number, lines: AsyncIterable<readonly number[]>): Promise<number>;
  /** `announced` is false when another process did so meanwhile, and nothing was done; `full`: how many had no room. */
  announce(announcement: Announcement): Promise<{ announced: boolean; full: number }>;
  /** Queues of an endpoint whose time has come. */
  due(endpoint: string, nowMs: number, most: number): Promise<string[]>;
  /** The first notification of a queue, for whoever delivers it; undefined when there is none to be had now. */
  take(
    place: { endpoint: string; queue: string; by: string },
    nowMs: number,
  ): Promise<{ item: string; waiting: Waiting; failures: number } | undefined>;
  /** False when it was settled before, or belongs to somebody else by now. */
  settle(delivered: Delivered): Promise<boolean>;
  endpoints(): Promise<EndpointState[]>;
  /** Puts a dead letter back; false when it is gone or there is no room. */
  requeue(endpoint: string, letter: DeadLetter, nowMs: number): Promise<boolean>;
  /** Lets everything that waits for an endpoint be tried now. */
  retryNow(endpoint: string, nowMs: number): Promise<void>;
  /** Undefined when there is no such endpoint. */
  drop(endpoint: string): Promise<{ waiting: number; dead: number } | undefined>;
}

const waitingSchema = z.strictObject({ queuedAt: z.int(), body: z.string() });
const deadSchema = z.strictObject({ queue: z.string(), item: z.string(), reason: z.string(), at: z.coerce.number() });

/** What is to be announced and what was, in Redis. Endpoints are known to it by their names only. */
export function openOutbox(redis: Redis, keys: LedgerKeys): Outbox {
  const scripts = outboxScripts();
  const run = (name: keyof typeof scripts, ...args: (string | number)[]): Promise<unknown> =>
    runScript(redis, scripts[name], { prefix: keys.prefix, args });
  return {
    ...openPayoutNews(redis, keys),
    ...newsActs(redis, keys, run),
    ...queueActs(redis, keys, run),
    ...endpointActs(redis, keys, run),
  };
}

type RunScript = (name: keyof ReturnType<typeof outboxScripts>, ...args: (string | number)[]) => Promise<unknown>;

function outboxScripts() {
  return {
    find: script(FIND_NEWS),
    news: script(READ_NEWS),
    announce: script(TELL),
    take: script(TAKE_NEXT),
    settle: script(SETTLE_NEXT),
    requeue: script(REQUEUE),
    retryNow: script(RETRY_NOW),
    drop: script(DROP_ENDPOINT),
  };
}

function newsActs(
  redis: Redis,
  keys: LedgerKeys,
  run: RunScript,
): Pick<Outbox, 'findNews' | 'readNews' | 'readLedgerAnnounced' | 'countPending' | 'announce'> {
  const readRecords = openReading(redis, keys.prefix);
  return {
    async findNews(from, nowMs, told = new Map()) {
      const choices = [...told].flat();
      const [next, since, runIds] = listOf(await run('find', from, RUNS_PER_LOOK, nowMs, TOLD_BEFORE_MS, ...choices));
      return { next: integerOf(next), since: integerOf(since), runIds: textsOf(runIds) };
    },
    async readNews(runId) {
      const [version, what, changes, isFollowed, events] = listOf(await run('news', runId, EVENTS_PER_LOOK));
      const read = listOf(events).map(readEvent);
      return {
        version: textOf(version),
        what: textOf(what),
        changes: read.length < EVENTS_PER_LOOK && changes !== '' ? integerOf(changes) : null,
        isFollowed: isFollowed === '1',
        events: read,
      };
    },
    async readLedgerAnnounced() {
      const { version = '0', ...note } = await redis.hgetall(keys.told);
      return { version, note };
    },
    async countPending(runId, sentBefore, lines) {
      let count = 0;
      let seen = 0;
      for await (const some of lines) {
        for (let from = 0; from < some.length && seen < LINES_MAX; from += LINES_PER_CALL) {
          const part = some.slice(from, from + LINES_PER_CALL);
          const { records } = await readRecords(part.map((line) => ({ runId, line })));
          count += records.filter((record) => isPending(record, sentBefore)).length;
          seen += part.length;
        }
        if (seen >= LINES_MAX) break;
      }
      return count;
    },
    async announce({ queue, version, note, forget = false, push, told = [], nowMs }) {
      const letters = push.map(({ endpoint, waiting }) => ({ endpoint, item: JSON.stringify(waiting) }));
      const states = told.map(({ endpoint, payouts }) => {
        return { endpoint, letters: payouts.map(({ line, state }) => [line, STATE_LETTERS[state]]) };
      });
      const json = JSON.stringify({ note, forget, push: letters, states });
      const full = integerOf(await run('announce', queue, version ?? '', json, nowMs, WAITING_MAX, DEAD_LETTERS_MAX));
      return { announced: full >= 0, full: Math.max(0, full) };
    },
  };
}

function isPending(record: StoredPayout | Error | undefined, sentBefore: number): boolean {
  if (record === undefined || record instanceof Error || record.state !== 'accepted') return false;
  const armedAt = record.values.get('aa');
  return armedAt !== undefined && Number.parseInt(armedAt, 10) < sentBefore;
}

function queueActs(redis: Redis, keys: LedgerKeys, run: RunScript): Pick<Outbox, 'due' | 'take' | 'settle'> {
  return {
    due: (endpoint, nowMs, most) => redis.zrangebyscore(keys.outboxDue(endpoint), '-inf', nowMs, 'LIMIT', 0, most),
    async take({ endpoint, queue, by }, nowMs) {
      const [item, failures] = textsOf(await run('take', endpoint, queue, by, nowMs, DELIVERY_MS));
      if (item === undefined) return undefined;
      return { item, waiting: readWaiting(item), failures: integerOf(failures) };
    },
    async settle({ endpoint, queue, by, item, what, reason, nowMs, againMs }) {
      const end = [endpoint, queue, by, item, what, reason, nowMs, againMs, DEAD_LETTERS_MAX];
      return integerOf(await run('settle', ...end)) === 1;
    },
  };
}

function endpointActs(
  redis: Redis,
  keys: LedgerKeys,
  run: RunScript,
): Pick<Outbox, 'endpoints' | 'requeue' | 'retryNow' | 'drop'> {
  async function lastReason(endpoint: string): Promise<string | null> {
    const queues = await redis.zrange(keys.outboxDue(endpoint), 0, QUEUES_SHOWN_MAX - 1);
    const reasons = await Promise.all(queues.map((queue) => redis.hget(keys.outboxTry(endpoint, queue), 'reason')));
    return reasons.find((reason) => reason !== null) ?? null;
  }

  return {
    async endpoints() {
      const waiting = await redis.hgetall(keys.outboxWaiting);
      const names = Object.keys(waiting).toSorted();
      return await Promise.all(
        names.map(async (name) => {
          const [, nextAt] = await redis.zrange(keys.outboxDue(name), 0, 0, 'WITHSCORES');
          const letters = await redis.lrange(keys.outboxDead(name), 0, -1);
          return {
            name,
            waiting: integerOf(waiting[name]),
            nextAt: nextAt === undefined ? null : integerOf(nextAt),
            reason: await lastReason(name),
            deadLetters: letters.map(readDead),
            lost: integerOf((await redis.hget(keys.outboxLost, name)) ?? '0'),
          };
        }),
      );
    },
    async requeue(endpoint, { text, queue, waiting }, nowMs) {
      const item = JSON.stringify({ ...waiting, queuedAt: nowMs });
      const revived = await run('requeue', endpoint, text, queue, item, nowMs, WAITING_MAX, DEAD_LETTERS_MAX);
      return integerOf(revived) === 1;
    },
    async retryNow(endpoint, nowMs) {
      await run('retryNow', endpoint, nowMs);
    },
    async drop(endpoint) {
      const [waiting, dead] = listOf(await run('drop', endpoint));
      return waiting === undefined ? undefined : { waiting: integerOf(waiting), dead: integerOf(dead) };
    },
  };
}

function readEvent(entry: unknown): RunEvent {
  const [id, flat] = listOf(entry);
  const words = textsOf(flat);
  const fields = new Map<string, string>();
  for (let index = 0; index < words.length; index += 2) fields.set(words[index] ?? '', words[index + 1] ?? '');
  const field = (name: string): string => fields.get(name) ?? '';
  return {
    id: textOf(id),
    at: integerOf(textOf(id).split('-')[0]),
    event: field('event'),
    actor: field('actor'),
    reason: field('reason'),
  };
}

function readWaiting(item: string): Waiting {
  return parsed(waitingSchema, item);
}

function readDead(text: string): DeadLetter {
  const { queue, item, reason, at } = parsed(deadSchema, text);
  return { queue, waiting: readWaiting(item), reason, at, text };
}

function parsed<Schema extends z.ZodType>(schema: Schema, text: string): z.infer<Schema> {
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new LedgerFault('a notification in the outbox is damaged', { cause });
  }
}
