import type { Redis } from 'ioredis';
import type { AuditStore } from '../audit/audit-log.ts';
import { BEFORE_FIRST } from '../audit/entry.ts';
import type { LedgerKeys } from './keys.ts';
import { integerOf, LedgerFault, listOf, runScript, script, textOf } from './script.ts';
import { APPEND_AUDIT, LOOK_AUDIT, NOTE_LOST } from './scripts/audit.ts';

const LINES_PER_PAGE = 1000;

export function openAuditStore(redis: Redis, keys: LedgerKeys): AuditStore {
  const { prefix } = keys;
  const look = script(LOOK_AUDIT);
  const append = script(APPEND_AUDIT);
  const lost = script(NOTE_LOST);
  return {
    async look() {
      const [count, last, at, instance, service, former, waiting] = listOf(
        await runScript(redis, look, { prefix, args: [] }),
      );
      if (instance === '') throw new LedgerFault('there is no ledger in Redis');
      const number = integerOf(count);
      const hash = number === 0 ? BEFORE_FIRST.hash : textOf(last).slice(0, BEFORE_FIRST.hash.length);
      return {
        head: { number, hash },
        at: integerOf(at),
        instance: textOf(instance),
        service: textOf(service),
        formerInstance: textOf(former),
        waiting: textOf(waiting),
      };
    },
    async push(line, { number, hash }, waiting = '') {
      return integerOf(await runScript(redis, append, { prefix, args: [number, hash, line, waiting] })) === 1;
    },
    async dropWaiting(waiting) {
      await redis.lrem(keys.auditWaiting, 1, waiting);
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
