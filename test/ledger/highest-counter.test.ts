import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import { highestCounter, openIntentLog } from '../../src/ledger/intents/intent-log.ts';
import { useTestRedis } from '../support/redis.ts';
import { type Host, hostOf, joinSeason, joinTogether } from './recovery-desk.ts';
import { armPayout, copyLedger, freshRows, newLedger, payingRun, type TestLedger, useArming } from './test-ledger.ts';

const server = await useTestRedis();
const arming = await useArming(server);
let desk: TestLedger;
let folder: string;

beforeEach(async () => {
  desk = await newLedger({ redis: server.redis, arming });
  folder = mkdtempSync(join(tmpdir(), 'payrun-counter-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const host = (dataDirId: string): Host => hostOf(folder, desk.in(dataDirId), dataDirId);

test.each([[10], [600]])(
  'a fail-over back to a primary that slept is noticed by a worker that started again after it had found %i payments',
  async (found) => {
    await joinTogether([host('dir-a')]);
    const runId = await payingRun(desk.ledger, freshRows(1));
    // The primary falls asleep here; its `run_id` and its replication id stay the same.
    const wakeUp = await copyLedger(server.redis, desk.prefix);
    const { path } = host('dir-a');
    const payout = await armPayout(desk.in('dir-a'), { runId, line: 2 });
    const log = openIntentLog(path, { clock: systemClock, random: systemRandom });
    await log.append({
      runId,
      line: 2,
      fileSha256: runId,
      referenceHash: hashReference(payout.row.reference),
      attempt: 1,
      quoteId: payout.quoteId ?? '',
      quoteExpiresAt: payout.quoteExpiresAt,
      bodyHash: 'body',
      armingCounter: payout.armingCounter,
      owner: payout.armedBy ?? '',
      armedAt: payout.armedAt ?? 0,
      credentials: payout.credentials ?? '',
    });
    // An outage of the service is over: look-ups find the payments of many rows that were unknown. Nothing is armed meanwhile.
    for (let nth = 0; nth < found; nth++) {
      const quoteId = systemRandom.uuid();
      await log.noteAnswer({ quoteId, paymentId: quoteId });
    }
    await log.close();
    // The worker is stopped, and starts again when the name of the primary leads back to the one that slept (src/app.ts).
    await wakeUp();
    const again = desk.in('dir-a');
    again.payouts.sawCounter(await highestCounter(path));
    const own = { ...host('dir-a'), ledger: again };
    await joinSeason(own);
    await expect(armPayout(again, { runId, line: 2 })).rejects.toThrow(/not armed|changed|paused/);
  },
);
