import { readFile, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { Redis } from 'ioredis';
import type { Clock, Random } from '../../clock.ts';
import { ifThere } from '../../files.ts';
import type { LedgerKeys } from '../keys.ts';
import { runScript, script, textOf, wordOf } from '../script.ts';
import { TAKE_LEASE } from '../scripts/season.ts';
import { bindDataDir, type DataDir, renewDataDir } from './data-dir.ts';

/** A host that is gone, or was started anew, holds a directory's id no longer than this. */
const LEASE_MS = 30_000;
const AGAIN_MS = 500;

const ANSWERS = ['taken', 'elsewhere', 'written-off'] as const;
type LeaseAnswer = (typeof ANSWERS)[number];

/** Says that a data directory's id is used on this host: of two copies on two hosts, one takes an id of its own. */
export interface DirLease {
  /** What tells this host and this folder from every copy of it. */
  readonly token: string;
  /** Takes the id, or goes on holding it. `elsewhere`: another host holds it. An id that was written off is never used again. */
  take(dataDirId: string): Promise<LeaseAnswer>;
}

export async function openDirLease(redis: Redis, keys: LedgerKeys, path: string): Promise<DirLease> {
  const token = await tokenOf(path);
  const taking = script(TAKE_LEASE);
  let named = '';
  return {
    token,
    async take(dataDirId) {
      const args = [dataDirId, token, LEASE_MS];
      const answer = wordOf(ANSWERS, textOf(await runScript(redis, taking, { prefix: keys.prefix, args })));
      if (answer === 'taken' && named !== dataDirId) {
        await redis.hset(keys.dirPlaces, dataDirId, `${path} on ${hostname()}`);
        named = dataDirId;
      }
      return answer;
    },
  };
}

/**
 * Binds the directory to its ledger under an id that no other living host uses, and that was not written off: else it gets a new
 * one, for which all others wait (architecture.md, rule 4).
 */
export async function claimDataDir(
  folder: DataDir,
  { lease, instance, clock, random }: { lease: DirLease; instance: string; clock: Clock; random: Random },
): Promise<DataDir> {
  const bound = await bindDataDir(folder, instance);
  if (await takeLease(lease, bound.id, clock)) return bound;
  const renewed = await bindDataDir(renewDataDir(bound, random), instance);
  await lease.take(renewed.id);
  return renewed;
}

/** Takes the id as soon as it is free. False when another host still holds it after a lease's time: that one is alive. */
async function takeLease(lease: DirLease, dataDirId: string, clock: Clock): Promise<boolean> {
  const until = clock.monotonic() + LEASE_MS + AGAIN_MS;
  for (;;) {
    const answer = await lease.take(dataDirId);
    if (answer === 'taken') return true;
    if (answer === 'written-off' || clock.monotonic() > until) return false;
    await clock.sleep(AGAIN_MS);
  }
}

/** The host since it was started, and the folder on it: none of these goes along with a copy. */
async function tokenOf(path: string): Promise<string> {
  const { dev, ino } = await stat(path);
  return `${await bootId()} ${dev} ${ino}`;
}

async function bootId(): Promise<string> {
  const id = await ifThere(readFile('/proc/sys/kernel/random/boot_id', 'utf8'));
  return id?.trim() ?? hostname();
}
