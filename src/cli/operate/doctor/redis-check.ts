import { openLiving } from '../../../../jobs/living.ts';
import type { Config } from '../../../config/config.ts';
import { safetyOf } from '../../../ledger/intents/safety.ts';
import { openLedger } from '../../../ledger/ledger.ts';
import { isOverNetwork } from '../../../redis/address.ts';
import { connectRedis, letsAnybodyIn, type RedisAddress } from '../../../redis/connect.ts';
import { type DurabilityFinding, infoFields, readDurability } from '../../../redis/durability.ts';
import { knownFaultsOf } from '../../../redis/known-faults.ts';
import { OPEN_REDIS, OPEN_REDIS_REMEDY } from '../../../redis/open-redis.ts';
import { openAddress } from '../redis-address.ts';
import { type Found, isAtLeast, type Place } from './check.ts';
import { examineLedger } from './ledger-check.ts';
import { checkWorkers } from './workers-check.ts';

const REDIS_MIN = [6, 2] as const;
const COMMAND_MS_MAX = 5000;

/** Never more than advice: the number of a version does not tell what a distribution or a host has fixed by itself. */
const FAULTS_ADVICE =
  'Update it to the last version of its branch or of a later one; some systems fix faults and keep the version number: see their notes.';

type RedisClient = Awaited<ReturnType<typeof connectRedis>>;

/** Whether Redis can be reached and lasts, and what its ledger says. Makes no ledger where there is none. */
export async function examineRedis(place: Place): Promise<void> {
  const { check, config, capabilities } = place;
  const closing: (() => Promise<void>)[] = [];
  try {
    const opened = await check('Redis', async () => {
      const address = await openAddress(config, closing);
      const redis = await openRedis(address, closing);
      return { ...(await checkVersion(redis, address)), value: { redis, address } };
    });
    if (opened === undefined) return;
    const { redis, address } = opened;
    await check('Redis access', () => checkAccess(address, config));
    const findings = await check('Redis durability', () => checkDurability(redis, config));
    const overrides = findings?.map(({ setting }) => `redis ${setting}`);
    const isKnown = overrides !== undefined && capabilities !== undefined;
    const safety = isKnown ? safetyOf(config, capabilities, overrides) : undefined;
    const own = { prefix: config.prefix, dataDirId: place.folder.id };
    await examineLedger(openLedger({ redis, arming: redis }, own), { ...place, safety });
    await check('workers', () => checkWorkers(openLiving(redis, `${config.prefix}:bull`)));
  } finally {
    for (const close of closing.toReversed()) await close();
  }
}

async function openRedis(address: RedisAddress, closing: (() => Promise<void>)[]): Promise<RedisClient> {
  const redis = await connectRedis(address, {
    name: 'payrun-doctor',
    kind: 'commands',
    commandTimeoutMs: COMMAND_MS_MAX,
  });
  closing.push(async () => redis.disconnect());
  return redis;
}

async function checkVersion(redis: RedisClient, address: RedisAddress): Promise<Found> {
  const info = infoFields(await redis.info());
  const version = info.get('redis_version') ?? 'unknown';
  const valkey = info.get('valkey_version');
  const found = `reachable, version ${version}${valkey === undefined ? '' : ` (Valkey ${valkey})`}`;
  if (!isAtLeast(version, REDIS_MIN)) return { found, remedy: `Use Redis ${REDIS_MIN.join('.')} or later.` };
  if (info.get('aof_enabled') === '1' && info.get('aof_last_write_status') !== 'ok') {
    return { found: `${found}; its last write to disk failed`, remedy: "Check the server's log and its disk." };
  }
  const faults = isOverNetwork(address) ? knownFaultsOf(info) : [];
  return faults.length === 0 ? { found } : { found: [found, ...faults].join('\n'), advice: FAULTS_ADVICE };
}

async function checkAccess(address: RedisAddress, { service }: Config): Promise<Found> {
  if (!isOverNetwork(address)) return { found: 'by a socket, not over the network' };
  if (!(await letsAnybodyIn(address))) return { found: 'over the network, only with a password' };
  const isProd = service?.environment === 'prod';
  return { found: OPEN_REDIS, ...(isProd ? { remedy: OPEN_REDIS_REMEDY } : { advice: OPEN_REDIS_REMEDY }) };
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
