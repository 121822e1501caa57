import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { openIntentLog } from '../../src/ledger/intents/intent-log.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { type WrittenOff, writeOffDataDir } from '../../src/runs/safety/write-off.ts';
import { armOn, type Host, hostOf, joinSeason, joinTogether } from '../ledger/recovery-desk.ts';
import {
  connectArming,
  freshRows,
  newLedger,
  PATIENCE,
  payingRun,
  readPayout,
  recordRows,
  type TestLedger,
} from '../ledger/test-ledger.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';

/* The eighth attack: a yes of the service, and a host that comes back after the season that it was written off in. */

let server: TestRedis;
let arming: Redis;
let desk: TestLedger;
let folder: string;

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

function host(dataDirId: string): Host {
  return hostOf(folder, desk.in(dataDirId), dataDirId);
}

function writeOff(actor: string): Promise<WrittenOff> {
  return writeOffDataDir({ ledger: desk.ledger }, 'dir-b', { actor, reason: 'it burnt down' });
}

async function awaitRedis(): Promise<void> {
  await expect.poll(() => arming.ping().catch(() => 'lost'), PATIENCE).toBe('PONG');
}

async function forgotten<Result>(act: () => Promise<Result>): Promise<Result> {
  const files = join(dirname(server.socket), 'appendonlydir');
  const copy = join(folder, 'copy');
  cpSync(files, copy, { recursive: true });
  const result = await act();
  const { pid } = server;
  process.kill(pid, 'SIGKILL');
  await expect.poll(() => isRunning(pid), PATIENCE).toBe(false);
  rmSync(files, { recursive: true });
  cpSync(copy, files, { recursive: true });
  await server.restart();
  await awaitRedis();
  return result;
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('a quote to which the service said yes', () => {
  test.each([
    ['another worker that looked it up', 'at once'],
    ['another worker that looked it up', 'after a restart of Redis'],
    ['people who settled it as paid', 'at once'],
    ['people who settled it as paid', 'after a restart of Redis'],
  ])(
    'is never proven dead, as %s learned, where the host that sent it was written off and comes back %s',
    async (who, when) => {
      const rows = freshRows(1);
      // After the copy: a file is handed in, dir-b sends its row, and the answer is lost. The payment is found.
      const { runId, quote, run } = await forgotten(async () => {
        const inB = desk.in('dir-b');
        const id = await payingRun(inB, rows);
        const [armed] = await armOn(host('dir-b'), id, [2]);
        const quoteId = armed?.quoteId ?? '';
        if (who.startsWith('another')) {
          const log = openIntentLog(host('dir-c').path, { clock: systemClock, random: systemRandom });
          await log.noteAnswer({ quoteId, paymentId: quoteId });
          await log.close();
        }
        return { runId: id, quote: quoteId, run: await inB.runs.read(id) };
      });
      // What src/runs/safety/missed-decisions.ts does first, by the copies of the audit log.
      const redo = async () => {
        const { fileSha256 = '', contentHash = '' } = run ?? {};
        await desk.ledger.recovery.restoreRun({ id: runId, fileSha256, contentHash, handedInAt: Date.now() });
        if (who.startsWith('another')) return;
        const { server: now } = await desk.ledger.state.season();
        const json = JSON.stringify([{ y: quote, p: quote, n: true }]);
        await desk.ledger.state.compare({ dataDirId: '', server: now, last: false, json, peers: [] });
      };
      await redo();
      for (const id of ['dir-a', 'dir-c']) await joinSeason(host(id));
      await writeOff('anna');
      expect(await writeOff('bob')).toMatchObject({ result: 'done', missing: [] });
      if (when !== 'at once') {
        // Maintenance, a week later: nothing is missing any more, so nothing is done again.
        await server.restart();
        await awaitRedis();
        for (const id of ['dir-a', 'dir-c']) await joinSeason(host(id));
      }
      expect((await desk.ledger.state.season()).open).toBe(true);
      // The host is repaired: its directory has a new id.
      const old = { ...hostOf(folder, desk.in('dir-d'), 'dir-d'), path: host('dir-b').path };
      await joinTogether([host('dir-a'), host('dir-c'), old]);
      expect((await desk.ledger.state.season()).open).toBe(true);
      // Its file comes again.
      expect(await recordRows(desk.ledger, runId, rows)).toBe('recorded');
      expect(await releaseHalt({ ledger: desk.ledger }, 'anna')).toBe('proposed');
      // While the service does not show it (it hides its newest payments, or keeps old ones in an archive), it would be sent again.
      expect(await readPayout(desk.ledger, { runId, line: 2 })).toMatchObject({
        state: 'unknown',
        quoteId: quote,
        seen2xx: true,
      });
    },
  );
});
