import { stat } from 'node:fs/promises';
import { systemRandom } from '../../../clock.ts';
import { type Config, nameOf, readConfig } from '../../../config/config.ts';
import { type DataDir, openDataDir } from '../../../ledger/intents/data-dir.ts';
import { readDisk } from '../../../ledger/intents/disk.ts';
import { isIntent } from '../../../ledger/intents/intent-line.ts';
import { intentFiles, readIntentFile } from '../../../ledger/intents/intent-log.ts';
import { describeCapabilities, readCapabilities } from './capability-check.ts';
import { type Check, type Finding, type Found, isAtLeast, openChecks } from './check.ts';
import { describeDisk, proveWritable } from './disk.ts';
import { examineRedis } from './redis-check.ts';
import { examineService } from './service-check.ts';

const NODE_MIN = [20, 19] as const;
const OTHERS_MODE = 0o077;
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
  const value = await openDataDir(dataDir, { random: systemRandom, requirePersistentDisk: service !== undefined });
  await proveWritable(dataDir);
  const found = `${dataDir}, writable, on ${describeDisk(await readDisk(dataDir))}`;
  const { mode } = await stat(dataDir);
  if ((mode & OTHERS_MODE) === 0) return { found, value };
  return { found: `${found}; others may look into it`, advice: `chmod -R go= ${dataDir}`, value };
}

async function checkSpace({ dataDir }: Config): Promise<Found> {
  const { freeBytes } = await readDisk(dataDir);
  const found = `${(freeBytes / GIBIBYTE).toFixed(1)} GiB free`;
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
