import { randomBytes } from 'node:crypto';
import { open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { systemRandom } from '../../../clock.ts';
import { type Config, nameOf, readConfig } from '../../../config/config.ts';
import { type DataDir, openDataDir } from '../../../ledger/intents/data-dir.ts';
import { type Disk, readDisk } from '../../../ledger/intents/disk.ts';
import { isIntent } from '../../../ledger/intents/intent-line.ts';
import { intentFiles, readIntentFile } from '../../../ledger/intents/intent-log.ts';
import { codeOf, Refusal } from '../../../refusal.ts';
import { describeCapabilities, readCapabilities } from './capability-check.ts';
import { type Check, type Finding, type Found, isAtLeast, openChecks } from './check.ts';
import { examineRedis } from './redis-check.ts';
import { examineService } from './service-check.ts';

/** Types of `statfs(2)` that are met most, by their names. */
const FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0xef53, 'ext4'],
  [0x58465342, 'xfs'],
  [0x9123683e, 'btrfs'],
  [0x2fc12fc1, 'zfs'],
  [0x01021994, 'tmpfs (a power cut empties it)'],
  [0x858458f6, 'ramfs (a power cut empties it)'],
  [0x794c7630, 'overlay (gone with its container)'],
  [0x6969, 'nfs'],
  [0xfe534d42, 'smb'],
  [0x65735546, 'fuse'],
]);

/** The file system's name, or its type in hexadecimal. */
function describeDisk({ type }: Pick<Disk, 'type'>): string {
  return FILE_SYSTEMS.get(type) ?? `a file system of type 0x${type.toString(16)}`;
}

/** Writes a file of a few bytes, syncs it and removes it. Throws what the file system says. */
async function proveWritable(folder: string): Promise<void> {
  const path = join(folder, `.doctor-${randomBytes(4).toString('hex')}`);
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile('payrun doctor\n');
    await file.sync();
  } finally {
    await file.close();
    await rm(path, { force: true });
  }
}

const FULL_CODES: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);
const NODE_MIN = [20, 19] as const;
const OTHERS_MODE = 0o077;
const MEBIBYTE = 1024 ** 2;
const GIBIBYTE = 1024 ** 3;
const DISK_BYTES_MIN = GIBIBYTE;

/** Checks everything that paying needs. Never throws for what it finds. */
export async function examine(): Promise<Finding[]> {
  const { check, findings } = openChecks();
  await check('Node', checkNode);
  const config = await check('settings', checkSettings);
  if (config !== undefined) await examineConfig(config, check);
  return findings();
}

async function examineConfig(config: Config, check: Check): Promise<void> {
  const capabilities = await check('capabilities', async () => {
    const value = await readCapabilities(config);
    return { ...describeCapabilities(value, { disproved: [], environment: config.service?.environment }), value };
  });
  const folder = await check('data directory', () => checkDataDir(config));
  if (folder !== undefined) {
    await check('disk space', () => checkSpace(config));
    await check('intent logs', () => checkIntentLogs(config));
    await examineRedis({ check, config, folder, capabilities });
  }
  await examineService(config, check);
}

async function checkNode(): Promise<Found> {
  const { node } = process.versions;
  const found = `version ${node}`;
  return isAtLeast(node, NODE_MIN) ? { found } : { found, remedy: `Use Node ${NODE_MIN.join('.')} or later.` };
}

async function checkSettings(): Promise<Found & { value: Config }> {
  const value = readConfig();
  const found = value.service === undefined ? 'no service is set' : `for the service ${nameOf(value.service)}`;
  return { found: `in order, ${found}`, value };
}

async function checkDataDir({ dataDir, service }: Config): Promise<Found & { value: DataDir }> {
  const prove = async (): Promise<DataDir> => {
    const opened = await openDataDir(dataDir, { random: systemRandom, requirePersistentDisk: service !== undefined });
    await proveWritable(dataDir);
    return opened;
  };
  const value = await prove().catch((error: unknown) => {
    throw FULL_CODES.has(codeOf(error) ?? '') ? refuseFull(dataDir) : error;
  });
  const found = `${dataDir}, writable, on ${describeDisk(await readDisk(dataDir))}`;
  const { mode } = await stat(dataDir);
  if ((mode & OTHERS_MODE) === 0) return { found, value };
  return { found: `${found}; others may look into it`, advice: `chmod -R go= ${dataDir}`, value };
}

function refuseFull(dataDir: string): Refusal {
  return new Refusal(
    `The disk of ${dataDir} is full.`,
    'Make room on it: nothing is sent before. What runs goes on by itself within seconds.',
  );
}

async function checkSpace({ dataDir }: Config): Promise<Found> {
  const { freeBytes } = await readDisk(dataDir);
  const isLittle = freeBytes < GIBIBYTE;
  const found = isLittle
    ? `${Math.floor(freeBytes / MEBIBYTE)} MiB free`
    : `${(freeBytes / GIBIBYTE).toFixed(1)} GiB free`;
  return freeBytes >= DISK_BYTES_MIN
    ? { found }
    : { found, remedy: 'Make room: nothing is sent once the disk is full.' };
}

async function checkIntentLogs({ dataDir }: Config): Promise<Found> {
  const damaged: string[] = [];
  let armings = 0;
  for (const file of await intentFiles(dataDir)) {
    for await (const line of readIntentFile(file)) {
      if (line !== 'damaged') armings += isIntent(line) ? 1 : 0;
      else if (damaged.at(-1) !== file) damaged.push(file);
    }
  }
  if (damaged.length === 0) return { found: `readable, ${armings} armings` };
  return {
    found: `damaged: ${damaged.join(', ')}`,
    remedy: 'Restore the files from a copy. Nothing is sent after the next restart of Redis while they are damaged.',
  };
}
