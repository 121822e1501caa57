import type { Redis } from 'ioredis';
import { z } from 'zod';
import { Refusal } from '../refusal.ts';

/** What a server must be set to, or a write that it acknowledged may be lost. */
export const DURABLE_SETTINGS = [
  ['appendonly', 'yes'],
  ['appendfsync', 'always'],
  ['no-appendfsync-on-rewrite', 'no'],
  ['aof-load-truncated', 'no'],
  ['maxmemory-policy', 'noeviction'],
] as const;

/** The same as arguments of a server's command line. */
export const DURABLE_ARGUMENTS: readonly string[] = DURABLE_SETTINGS.flatMap(([name, value]) => [`--${name}`, value]);

/** Something by which this server may lose a write that it acknowledged. */
export interface DurabilityFinding {
  readonly setting: string;
  readonly found: string;
  readonly wanted: string;
  readonly remedy: string;
}

const configReply = z.array(z.string());

/**
 * What about this server is less than durable: its settings, its role, and replicas that need not confirm. Empty when all
 * is well. A setting that we may not read is a finding too. Writes nothing. Rejects only if the connection fails.
 */
export async function readDurability(redis: Redis): Promise<DurabilityFinding[]> {
  const [replication, ...settings] = await Promise.all([
    readReplication(redis),
    ...DURABLE_SETTINGS.map(async ([setting, wanted]) => {
      const found = await readSetting(redis, setting);
      return found === wanted ? [] : [settingFinding(setting, found, wanted)];
    }),
  ]);
  return [...settings.flat(), ...replication];
}

/**
 * The findings, none of which may be left unless the operator overrode them (`PAYRUN_REDIS_DURABILITY`). Throws a Refusal
 * that names each setting.
 */
export async function requireDurability(redis: Redis, mode: 'required' | 'overridden'): Promise<DurabilityFinding[]> {
  const findings = await readDurability(redis);
  if (findings.length === 0 || mode === 'overridden') return findings;
  const lines = findings.map(({ setting, found, wanted }) => `${setting} is ${found}, must be ${wanted}`);
  const remedies = new Set(findings.map(({ remedy }) => remedy));
  throw new Refusal(
    `Redis may lose what it acknowledged:\n  ${lines.join('\n  ')}`,
    `${[...remedies].join('\n')}\nPAYRUN_REDIS_DURABILITY=overridden accepts the risk, and every report will say so.`,
  );
}

async function readReplication(redis: Redis): Promise<DurabilityFinding[]> {
  const replication = infoFields(await redis.info('replication'));
  const role = replication.get('role') ?? 'unknown';
  if (role !== 'master') {
    return [{ setting: 'role', found: role, wanted: 'master', remedy: 'Point REDIS_URL at the master.' }];
  }
  // Behind sentinels there are replicas, even where none is connected now.
  const isWatched = (redis.options.sentinels ?? []).length > 0;
  if (!isWatched && (replication.get('connected_slaves') ?? '0') === '0') return [];
  const confirming = await readSetting(redis, 'min-replicas-to-write');
  return /^[1-9]/.test(confirming) ? [] : [settingFinding('min-replicas-to-write', confirming, '1')];
}

const UNREADABLE = 'unreadable';
const UNSUPPORTED = 'unsupported';

async function readSetting(redis: Redis, setting: string): Promise<string> {
  try {
    const reply = configReply.parse(await redis.config('GET', setting));
    return reply[1] ?? UNSUPPORTED;
  } catch (error) {
    // Forbidden by an ACL, or CONFIG does not exist under that name, as with hosted servers.
    if (error instanceof Error && /^(NOPERM|ERR unknown command)/.test(error.message)) return UNREADABLE;
    throw error;
  }
}

function settingFinding(setting: string, found: string, wanted: string): DurabilityFinding {
  return { setting, found, wanted, remedy: settingRemedy(setting, found, wanted) };
}

function settingRemedy(setting: string, found: string, wanted: string): string {
  if (found === UNREADABLE) return 'Allow the user of REDIS_URL the command CONFIG GET (ACL: +config|get).';
  if (found === UNSUPPORTED) return 'Use a server of Redis or Valkey that knows these settings.';
  return `Set it with: redis-cli -u "$REDIS_URL" CONFIG SET ${setting} ${wanted}, and in the server's configuration file.`;
}

/** The fields of a reply of `INFO`. */
export function infoFields(reply: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const line of reply.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1));
  }
  return fields;
}
