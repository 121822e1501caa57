import { existsSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { z } from 'zod';
import { rfc3339, systemClock, systemRandom } from '../../clock.ts';
import { type Config, readConfig } from '../../config/config.ts';
import { type DataDir, openDataDir } from '../../ledger/intents/data-dir.ts';
import { openLedger } from '../../ledger/ledger.ts';
import { type BackupSource, writeBackup } from '../../ledger/season/backup.ts';
import type { HeadFacts } from '../../ledger/season/head-facts.ts';
import type { Season } from '../../ledger/season/ledger-state.ts';
import { type RedisFiles, readRedisFiles, saveSnapshot } from '../../ledger/season/snapshot.ts';
import { connectRedis, type RedisAddress } from '../../redis/connect.ts';
import { Refusal } from '../../refusal.ts';
import { refuseNoLedger } from '../../runs/safety/no-ledger.ts';
import { VERSION } from '../../version.ts';
import { command } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { print, printJson, say } from '../print.ts';
import { openAddress } from './redis-address.ts';

type RedisClient = Awaited<ReturnType<typeof connectRedis>>;

interface Desk {
  readonly config: Config;
  readonly address: RedisAddress;
  readonly redis: RedisClient;
  readonly folder: DataDir;
  readonly facts: HeadFacts;
  readonly season: Season;
}

/** `payrun backup`: copies Redis and the data directory while payrun runs. */
export const backupCommand = command(
  'backup',
  {
    options: {
      to: [
        '<folder>',
        'a folder that does not exist yet, on another disk',
        z.string().min(1, 'must not be empty').optional(),
      ],
      json: 'print what was copied as JSON',
    },
    help:
      'It holds names and amounts: keep it as safe as the data directory. With several hosts, run it on each of them.' +
      '\nHow to restore one: docs/operation.md.',
    examples: ['payrun backup', 'payrun backup --to /mnt/backup/payrun-2026-01-31'],
  },
  async ({ to, json }) => {
    const config = readConfig();
    if (!existsSync(config.dataDir)) throw refuseNoLedger({ config, purpose: 'back up' });
    const folder = await openDataDir(config.dataDir, { random: systemRandom, requirePersistentDisk: false });
    const closing: (() => Promise<void>)[] = [];
    try {
      const address = await openAddress(config, closing);
      const redis = await connectRedis(address, { name: 'payrun-backup', kind: 'commands' });
      closing.push(async () => redis.disconnect());
      const { state: head } = openLedger({ redis, arming: redis }, { prefix: config.prefix, dataDirId: folder.id });
      const desk = { config, address, redis, folder, facts: await head.read(), season: await head.season() };
      requireLedger(desk);
      return to === undefined ? await tellSteps(desk) : await make(desk, to, json);
    } finally {
      for (const close of closing.toReversed()) await close();
    }
  },
);

/** A backup of a Redis and a data directory that do not belong together would be taken for one of something. */
function requireLedger({ facts, folder, config }: Desk): void {
  if (facts.instance !== '' && (folder.instance === '' || folder.instance === facts.instance)) return;
  const why =
    facts.instance === ''
      ? 'this Redis holds no ledger'
      : `the data directory ${config.dataDir} belongs to another ledger than this Redis holds`;
  throw new Refusal(
    `There is nothing to back up: ${why}.`,
    'Set REDIS_URL and PAYRUN_DATA_DIR as payrun is run with; start payrun once if they have just been set up.',
  );
}

async function make(desk: Desk, target: string, json: boolean): Promise<ExitCode> {
  const { config, facts, season, folder } = desk;
  const files = await readRedisFiles(desk.redis);
  const about = {
    payrun: VERSION,
    madeAt: rfc3339(systemClock.now()),
    instance: facts.instance,
    service: facts.service,
    dataDir: folder.id,
    dataDirs: season.dataDirIds,
  };
  const source: BackupSource = {
    dataDir: config.dataDir,
    reportDir: config.reportDir,
    saveRedis: async () => ((await saveSnapshot(desk.redis, files, systemClock)) ? files : undefined),
    about,
  };
  const wasThere = await isThere(files.snapshot);
  const { files: count, bytes, hasRedis } = await writeBackup(source, target);
  // What the server wrote for this backup alone does not stay on its disk.
  if (hasRedis && !wasThere) await rm(files.snapshot, { force: true });
  if (json) printJson({ ...about, target, files: count, bytes, hasRedis });
  else print(`${target}: ${count} files, ${bytes} bytes; check it with: (cd ${target} && sha256sum -c SHA256SUMS)`);
  if (!hasRedis) say(`Redis is not in it, for its files are on another host: ${redisSteps(desk, files).join('\n')}`);
  const others = season.dataDirIds.filter((id) => id !== folder.id);
  if (others.length > 0) say(`Still to be backed up, each on its host: the data directories ${others.join(', ')}`);
  return hasRedis ? EXIT.ok : EXIT.unavailable;
}

async function isThere(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}

async function tellSteps(desk: Desk): Promise<undefined> {
  const { dataDir, reportDir } = desk.config;
  const steps = redisSteps(desk, await readRedisFiles(desk.redis));
  print(
    [
      'payrun backup --to FOLDER does all of this where the files of Redis can be read. By hand, while payrun runs, in this order:',
      ...steps,
      '3. only then copy, on each host, with its own paths:',
      ...['intents', 'audit', 'ledger.json', 'peers.json'].map((name) => `   ${dataDir}/${name}`),
      `   ${reportDir}`,
      'Redis first: an arming that was made between the two copies is then in the intent logs, and unknown after a restore;',
      'the other way round it would be in neither, and could be paid again.',
    ].join('\n'),
  );
}

function redisSteps({ address }: Desk, { snapshot, base }: RedisFiles): string[] {
  // The address may hold a password.
  const client = 'socket' in address ? `redis-cli -s ${address.socket}` : 'redis-cli -u "$REDIS_URL"';
  return [
    `1. ${client} BGSAVE; wait until "${client} INFO persistence" shows rdb_bgsave_in_progress:0 and rdb_last_bgsave_status:ok`,
    `2. copy ${snapshot} (on the host of Redis); a server is started from it as ${base}`,
  ];
}
