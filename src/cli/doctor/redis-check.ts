import { systemClock } from '../../clock.ts';
import type { Config } from '../../config.ts';
import { openLedger } from '../../ledger/ledger.ts';
import { safetyOf } from '../../ledger/safety.ts';
import { connectRedis } from '../../redis/connect.ts';
import { type DurabilityFinding, infoFields, readDurability } from '../../redis/durability.ts';
import { openPrivateRedis } from '../../redis/private-redis.ts';
import { say } from '../print.ts';
import { type Found, isAtLeast, type Place } from './check.ts';
import { examineLedger } from './ledger-check.ts';

const REDIS_MIN = [6, 2] as const;
const COMMAND_MS_MAX = 5000;

type RedisClient = Awaited<ReturnType<typeof connectRedis>>;

/** Whether Redis can be reached and lasts, and what its ledger says. Makes no ledger where there is none. */
export async function examineRedis(place: Place): Promise<void> {
  const { check, config, capabilities } = place;
  const closing: (() => Promise<void>)[] = [];
  try {
    const redis = await check('Redis', async () => {
      const value = await openRedis(config, closing);
      return { ...(await checkVersion(value)), value };
    });
    if (redis === undefined) return;
    const findings = await check('Redis durability', () => checkDurability(redis, config));
    const overrides = findings?.map(({ setting }) => `redis ${setting}`);
    const isKnown = overrides !== undefined && capabilities !== undefined;
    const safety = isKnown ? safetyOf(config, capabilities, overrides) : undefined;
    const own = { prefix: config.prefix, dataDirId: place.folder.id };
    await examineLedger(openLedger({ redis, arming: redis }, own), { ...place, safety });
  } finally {
    for (const close of closing.toReversed()) await close();
  }
}

async function openRedis(config: Config, closing: (() => Promise<void>)[]): Promise<RedisClient> {
  const redis = await connectRedis(await addressOf(config, closing), {
    name: 'payrun-doctor',
    kind: 'commands',
    commandTimeoutMs: COMMAND_MS_MAX,
  });
  closing.push(async () => redis.disconnect());
  return redis;
}

async function addressOf({ redisUrl, prefix, dataDir }: Config, closing: (() => Promise<void>)[]) {
  if (redisUrl !== undefined) return { url: redisUrl, prefix };
  const server = await openPrivateRedis(dataDir, { clock: systemClock, report: say });
  closing.push(() => server.close());
  return { socket: server.socket };
}

async function checkVersion(redis: RedisClient): Promise<Found> {
  const info = infoFields(await redis.info());
  const version = info.get('redis_version') ?? 'unknown';
  const found = `reachable, version ${version}`;
  if (!isAtLeast(version, REDIS_MIN)) return { found, remedy: `Use Redis ${REDIS_MIN.join('.')} or later.` };
  if (info.get('aof_enabled') === '1' && info.get('aof_last_write_status') !== 'ok') {
    return { found: `${found}; its last write to disk failed`, remedy: "Look into the server's log, and at its disk." };
  }
  return { found };
}

async function checkDurability(
  redis: RedisClient,
  config: Config,
): Promise<Found & { value: readonly DurabilityFinding[] }> {
  const value = await readDurability(redis);
  if (value.length === 0) return { found: 'what it acknowledges lasts', value };
  const found = value.map(({ setting, found: is, wanted }) => `${setting} is ${is}, must be ${wanted}`).join('\n');
  if (config.redisDurability === 'overridden') return { found: `${found}\nthe risk is accepted`, value };
  return { found, remedy: [...new Set(value.map(({ remedy }) => remedy))].join('\n'), value };
}
