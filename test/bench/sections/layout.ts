import type { Redis } from 'ioredis';
import { figure } from '../figures.ts';
import { settled } from '../purge.ts';
import { openRig, PREFIX } from '../rig.ts';
import type { Section } from '../section.ts';

const KEYS_PER_CALL = 500;

/** What the ledger takes of Redis for a payout, part by part, and of its append-only file. */
export const layout: Section = {
  name: 'layout',
  title: 'Bytes of a payout',
  async measure({ pick, say }) {
    const rows = pick(2000, 100_000);
    const rig = await openRig();
    try {
      const { redis } = rig.redis;
      const appendedBefore = await appendedBytes(redis);
      await rig.worker({ PAYRUN_TRACK_RATE: '20000', PAYRUN_WATCH_RETURNS: '0ms' });
      const runId = await rig.submit(await rig.file('layout', rows));
      await rig.service.paid(rows);
      await settled(rig, runId);
      const appended = (await appendedBytes(redis)) - appendedBefore;
      const parts = await bytesByPart(redis);
      const all = [...parts.values()].reduce((sum, bytes) => sum + bytes, 0);
      say(
        `${Math.round(all / rows)} bytes per payout in memory, ${Math.round(appended / rows)} in the append-only file`,
      );
      const unit = 'bytes per payout';
      return {
        figures: [
          figure({ name: 'all keys', unit, target: { by: 'value', atMost: 450 } }, [all / rows]),
          ...[...parts]
            .filter(([, bytes]) => bytes >= rows)
            .toSorted(([, one], [, other]) => other - one)
            .map(([part, bytes]) => figure({ name: `keys ${part}`, unit }, [bytes / rows])),
          figure({ name: 'append-only file, written', unit, target: { by: 'value', atMost: 1100 } }, [appended / rows]),
        ],
        notes: [
          `A run of ${rows.toLocaleString('en')} rows, recorded, paid and followed until every payment is COMPLETED. Memory is MEMORY USAGE of all keys; parts under a byte are left out, and what stands in buckets gets less with more payouts. The append-only file is never rewritten meanwhile.`,
        ],
      };
    } finally {
      await rig.close();
    }
  },
};

async function appendedBytes(redis: Redis): Promise<number> {
  const found = /^aof_current_size:(\d+)/m.exec(await redis.info('persistence'))?.[1];
  if (found === undefined) throw new Error('this Redis keeps no append-only file');
  return Number(found);
}

async function bytesByPart(redis: Redis): Promise<ReadonlyMap<string, number>> {
  const parts = new Map<string, number>();
  const found: AsyncIterable<string[]> = redis.scanStream({ match: `${PREFIX}:*`, count: KEYS_PER_CALL });
  for await (const keys of found) {
    const pipeline = redis.pipeline();
    for (const key of keys) pipeline.memory('USAGE', key);
    const replies = (await pipeline.exec()) ?? [];
    for (const [at, key] of keys.entries()) {
      const part = key.slice(PREFIX.length + 1).split(':')[0] ?? '';
      parts.set(part, (parts.get(part) ?? 0) + Number(replies[at]?.[1] ?? 0));
    }
  }
  return parts;
}
