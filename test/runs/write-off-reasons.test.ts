import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { silentLog } from '../../src/log.ts';
import { cancelPayout } from '../../src/runs/decide/control.ts';
import { lookUpForPeople } from '../../src/runs/decide/evidence.ts';
import { redoMissedDecisions } from '../../src/runs/safety/missed-decisions.ts';
import { writeOffDataDir } from '../../src/runs/safety/write-off.ts';
import { hostOf, joinSeason, joinTogether } from '../ledger/recovery-desk.ts';
import {
  copyLedger,
  freshRows,
  movePayout,
  newLedger,
  PATIENCE,
  payingRun,
  readPayout,
  type TestLedger,
  useArming,
} from '../ledger/test-ledger.ts';
import { useTestRedis } from '../support/redis.ts';

const server = await useTestRedis();
const arming = await useArming(server);
let desk: TestLedger;
let folder: string;

beforeEach(async () => {
  desk = await newLedger({ redis: server.redis, arming });
  folder = mkdtempSync(join(tmpdir(), 'payrun-test-'));
  await joinTogether(['dir-a', 'dir-b'].map((id) => hostOf(folder, desk.in(id), id)));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Redis is back; dir-a compares, dir-b is written off. */
async function writtenOff(before: () => Promise<void>): Promise<void> {
  await server.restart();
  await expect.poll(() => arming.ping().catch(() => 'lost'), PATIENCE).toBe('PONG');
  await before();
  await joinSeason(hostOf(folder, desk.in('dir-a'), 'dir-a'));
  for (const actor of ['anna', 'bob']) {
    await writeOffDataDir({ ledger: desk.ledger }, 'dir-b', { actor, reason: 'it burnt down' });
  }
}

const openPay = () => Promise.reject(new Error('nothing is looked up'));

/** All that two people are told before they allow a payout. */
async function toldBeforeAllow(runId: string): Promise<string> {
  const payout = await readPayout(desk.ledger, { runId, line: 2 });
  const { words, caveats } = await lookUpForPeople({ ledger: desk.ledger, openPay }, payout, {
    decision: 'allow',
    paymentId: '',
  });
  return [payout.reasonCode, payout.reason, ...payout.history.map(({ reason }) => reason), ...words, ...caveats].join(
    '; ',
  );
}

test('who allows a payout after a restore and a write-off is told that somebody had cancelled it after the copy', async () => {
  const runId = await payingRun(desk.ledger, freshRows(1));
  const place = { runId, line: 2 };
  // In the copy it is held for a limit; afterwards two people allowed it, and somebody cancelled it.
  await movePayout(desk.ledger, place, { to: 'held', values: { reasonCode: 'E_LIMIT', reason: 'beyond the limit' } });
  const dataDir = join(folder, 'dir-a');
  const ledger = openLedger({ redis: server.redis, arming }, { prefix: desk.prefix, dataDirId: 'dir-a', dataDir });
  const putBack = await copyLedger(server.redis, desk.prefix);
  await movePayout(ledger, place, { to: 'ready' });
  await cancelPayout({ ledger, wake: async () => {}, ensureSeason: async () => [] }, await readPayout(ledger, place), {
    actor: 'anna',
    reason: 'fraud',
  });
  await putBack();

  await writtenOff(async () => {
    const { server: now } = await ledger.state.season();
    await redoMissedDecisions({ ledger, clock: systemClock, log: silentLog }, now);
  });
  expect(await toldBeforeAllow(runId)).toMatch(/given up|cancel/i);
});

test('who allows a payout after a write-off is told that it was held as a likely duplicate', async () => {
  const runId = await payingRun(desk.ledger, freshRows(1));
  const values = { reasonCode: 'E_DUP_LIKELY', reason: 'payout R9-2 has the same beneficiary, amount and currency' };
  await movePayout(desk.ledger, { runId, line: 2 }, { to: 'held', values });
  await writtenOff(async () => {});
  expect(await toldBeforeAllow(runId)).toContain('R9-2');
});
