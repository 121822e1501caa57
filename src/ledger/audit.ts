import type { Redis } from 'ioredis';
import { type AuditHead, BEFORE_FIRST } from '../audit/entry.ts';
import type { LedgerKeys } from './keys.ts';
import { integerOf, LedgerFault, listOf, runScript, script, textOf } from './script.ts';
import { APPEND_AUDIT, LOOK_AUDIT, NOTE_LOST } from './scripts/audit.ts';

const LINES_PER_PAGE = 1000;

export interface AuditLook {
  readonly head: AuditHead;
  /** Redis's time, in milliseconds since 1970. */
  readonly at: number;
  readonly instance: string;
  readonly service: string;
  /** The lost ledger in whose place this one was made; '' for none. */
  readonly formerInstance: string;
}

/** The audit log's lines in Redis: it stores them, and what they hold is its writer's (src/audit/). */
export interface AuditStore {
  /** Throws a LedgerFault when Redis holds no ledger. */
  look(): Promise<AuditLook>;
  /** True when the line stands right after `head`, where the log ended for its writer. */
  push(line: string, head: AuditHead): Promise<boolean>;
  /** The line of this number of entry. */
  lineAt(number: number): Promise<string | undefined>;
  /** Of these hashes of lost entries, those whose loss was not noted in this Redis. */
  notNoted(hashes: readonly string[]): Promise<readonly string[]>;
  /** Does nothing on another server than this one (its `run_id` and `master_replid`). */
  noteLost(hashes: readonly string[], server: string): Promise<void>;
  /** Notes that an entry that Redis had lost is put back, before it is: what it decided has still to be done again. */
  notePutBack(record: AuditHead): Promise<void>;
  putBack(): Promise<readonly AuditHead[]>;
  /** The lines from this number of entry on, the oldest first. */
  lines(from: number): AsyncGenerator<string, void>;
}

export function openAuditStore(redis: Redis, keys: LedgerKeys): AuditStore {
  const { prefix } = keys;
  const look = script(LOOK_AUDIT);
  const append = script(APPEND_AUDIT);
  const lost = script(NOTE_LOST);
  return {
    async look() {
      const [count, last, at, instance, service, former] = listOf(await runScript(redis, look, { prefix, args: [] }));
      if (instance === '') throw new LedgerFault('there is no ledger in Redis');
      const number = integerOf(count);
      const hash = number === 0 ? BEFORE_FIRST.hash : textOf(last).slice(0, BEFORE_FIRST.hash.length);
      return {
        head: { number, hash },
        at: integerOf(at),
        instance: textOf(instance),
        service: textOf(service),
        formerInstance: textOf(former),
      };
    },
    async push(line, { number, hash }) {
      return integerOf(await runScript(redis, append, { prefix, args: [number, hash, line] })) === 1;
    },
    lineAt: async (number) => (await redis.lindex(keys.audit, number - 1)) ?? undefined,
    async notNoted(hashes) {
      const fresh: string[] = [];
      for (let from = 0; from < hashes.length; from += LINES_PER_PAGE) {
        const page = hashes.slice(from, from + LINES_PER_PAGE);
        const isNoted = await redis.smismember(keys.missed, ...page);
        fresh.push(...page.filter((_hash, index) => isNoted[index] === 0));
      }
      return fresh;
    },
    async notePutBack({ number, hash }) {
      await redis.sadd(keys.putBack, `${number} ${hash}`);
    },
    async putBack() {
      return (await redis.smembers(keys.putBack)).map((text) => {
        const [number = '', hash = ''] = text.split(' ');
        return { number: integerOf(number), hash };
      });
    },
    async noteLost(hashes, server) {
      for (let from = 0; from < hashes.length; from += LINES_PER_PAGE) {
        await runScript(redis, lost, { prefix, args: [server, ...hashes.slice(from, from + LINES_PER_PAGE)] });
      }
    },
    async *lines(from) {
      for (let index = from - 1; ; index += LINES_PER_PAGE) {
        const page = await redis.lrange(keys.audit, index, index + LINES_PER_PAGE - 1);
        yield* page;
        if (page.length < LINES_PER_PAGE) return;
      }
    },
  };
}
