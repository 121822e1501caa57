import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { systemRandom } from '../../src/clock.ts';
import type { Payout } from '../../src/payout.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { type WrittenOff, writeOffDataDir } from '../../src/runs/safety/write-off.ts';
import { type Host, hostOf, joinSeason, joinTogether } from '../ledger/recovery-desk.ts';
import { allRows, connectArming, newLedger, PATIENCE, type TestLedger } from '../ledger/test-ledger.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';

/** A ledger that the data directories dir-a, dir-b and dir-c arm on, and whose Redis can go back to a copy. */
export interface Hosts {
  readonly server: TestRedis;
  readonly desk: TestLedger;
  readonly folder: string;
  host(dataDirId: string): Host;
  /** The directory of a host that comes back with its disk, under an id of its own. */
  returned(dataDirId?: string): Host;
  writeOff(actor: string, dataDirId?: string): Promise<WrittenOff>;
  /** Two people write dir-b off. */
  loseHost(): Promise<void>;
  awaitRedis(): Promise<void>;
  restart(left?: readonly string[]): Promise<void>;
  /** Does something of which Redis knows nothing afterwards; then the directories that are left compare, in this order. */
  forgotten<Result>(act: () => Promise<Result>, left?: readonly string[]): Promise<Result>;
  /** Two people release the halt. */
  release(): Promise<void>;
  releaseAndResume(runId: string): Promise<void>;
  statesOf(runId: string): Promise<string[]>;
  /** A run whose hand-in came after the copy: a directory's copy of the audit log makes it known again. */
  knownByAuditLog(runId: string): Promise<string>;
}

/** Begins each test of a file with such a ledger. */
export function useHosts(): Hosts {
  let server: TestRedis;
  let arming: Redis;
  let desk: TestLedger;
  let folder: string;
  const host = (dataDirId: string): Host => hostOf(folder, desk.in(dataDirId), dataDirId);
  const writeOff = (actor: string, dataDirId = 'dir-b'): Promise<WrittenOff> =>
    writeOffDataDir({ ledger: desk.ledger }, dataDirId, { actor, reason: 'it burnt down' });

  beforeAll(async () => {
    server = await startTestRedis();
    arming = await connectArming(server);
  });
  afterAll(async () => {
    arming.disconnect();
    await server.stop();
  });
  beforeEach(async () => {
    desk = await newLedger({ redis: server.redis, arming });
    folder = mkdtempSync(join(tmpdir(), 'payrun-test-'));
    await joinTogether(['dir-a', 'dir-b', 'dir-c'].map(host));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const hosts: Hosts = {
    get server() {
      return server;
    },
    get desk() {
      return desk;
    },
    get folder() {
      return folder;
    },
    host,
    returned: (dataDirId = 'dir-b') => ({ ...host('dir-d'), path: host(dataDirId).path }),
    writeOff,
    async loseHost() {
      await writeOff('anna');
      expect(await writeOff('bob')).toMatchObject({ result: 'done', missing: [] });
    },
    async awaitRedis() {
      await expect.poll(() => arming.ping().catch(() => 'lost'), PATIENCE).toBe('PONG');
    },
    async restart(left = ['dir-a', 'dir-c']) {
      await server.restart();
      await hosts.awaitRedis();
      for (const dataDirId of left) await joinSeason(host(dataDirId));
    },
    async forgotten(act, left) {
      const files = join(dirname(server.socket), 'appendonlydir');
      const copy = join(folder, 'copy');
      cpSync(files, copy, { recursive: true });
      const result = await act();
      const { pid } = server;
      process.kill(pid, 'SIGKILL');
      await expect.poll(() => isRunning(pid), PATIENCE).toBe(false);
      rmSync(files, { recursive: true });
      cpSync(copy, files, { recursive: true });
      await hosts.restart(left);
      return result;
    },
    async release() {
      expect(await releaseHalt({ ledger: desk.ledger }, 'anna')).toBe('proposed');
      expect(await releaseHalt({ ledger: desk.ledger }, 'bob')).toBe('released');
    },
    async releaseAndResume(runId) {
      await hosts.release();
      expect((await desk.ledger.runs.move(runId, { to: 'paying', actor: 'anna', reason: '' })).result).toBe('moved');
    },
    async statesOf(runId) {
      return (await allRows(desk.ledger, runId)).map((row) => ('row' in row ? row.state : 'refused'));
    },
    async knownByAuditLog(runId) {
      await desk.ledger.recovery.restoreRun({ id: runId, fileSha256: runId.repeat(8), contentHash: `c-${runId}` });
      return runId;
    },
  };
  return hosts;
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** The one payout that was armed. */
export async function only(armed: Promise<readonly Payout[]>): Promise<Payout> {
  const [payout] = await armed;
  if (payout === undefined) throw new Error('not armed');
  return payout;
}

/** The id of a run that was handed in long ago. */
export function newId(): string {
  return `20260131-${systemRandom.bytes(3).toString('hex')}`;
}
