import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import { silentLog } from '../../src/log.ts';
import type { PayoutRow } from '../../src/payout.ts';
import { cancelPayout } from '../../src/runs/decide/control.ts';
import { redoMissedDecisions } from '../../src/runs/safety/missed-decisions.ts';
import { hostOf, joinSeason } from '../ledger/recovery-desk.ts';
import {
  allRows,
  DATA_DIR,
  freshRows,
  newLedger,
  readPayout,
  recordRows,
  SAFETY,
  SERVICE,
} from '../ledger/test-ledger.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';

const ANNA = { actor: 'anna', reason: 'wrong month' };
const FILE = { fileName: 'payouts.csv', fileSha256: 'f1', contentHash: 'c1', fileTotals: [], createdBy: 'anna' };

const server = await useTestRedis();
let dataDir: string;
let rows: readonly PayoutRow[];

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'payrun-adopted-'));
  rows = freshRows(2);
});
afterEach(() => rmSync(dataDir, { recursive: true }));

function openAt(prefix: string): Ledger {
  const { redis } = server;
  return openLedger({ redis, arming: redis }, { prefix, dataDirId: DATA_DIR, dataDir });
}

/** Hands the file in, as a submit does: it is on the audit log. Gives its run. */
async function handIn(ledger: Ledger): Promise<string> {
  const own = `20260131-${systemRandom.bytes(3).toString('hex')}`;
  const { id, result } = await ledger.runs.claim({ ...FILE, id: own, rows: rows.length });
  const action = result === 'new' ? 'run.submitted' : 'run.attached';
  const details = { fileSha256: FILE.fileSha256, contentHash: FILE.contentHash };
  await ledger.audit.append({ actor: 'anna', action, target: id, details });
  expect(await recordRows(ledger, id, rows)).toBe('recorded');
  return id;
}

/** Redis is lost for good, without a copy: two people adopt the ledger on an empty one, and the directory compares. */
async function adopted(formerInstance: string, dataDirIds: readonly string[] = [DATA_DIR]) {
  const ledger = openAt(freshPrefix());
  const newInstance = systemRandom.uuid();
  const of = { formerInstance, newInstance, service: SERVICE, safety: SAFETY, dataDirIds };
  for (const actor of ['anna', 'bob']) await ledger.recovery.adopt({ ...of, actor });
  await ledger.audit.append({ actor: 'bob', action: 'ledger.adopted', target: 'ledger', details: {} });
  await redoMissedDecisions({ ledger, clock: systemClock, log: silentLog }, (await ledger.state.season()).server);
  const missing = await joinSeason({ ...hostOf(dataDir, ledger, DATA_DIR), path: dataDir });
  return { ledger, missing, newInstance };
}

test('what people gave up before a Redis was lost for good is not paid after a second one was lost so', async () => {
  const { prefix, instance } = await newLedger({ redis: server.redis, arming: server.redis });
  const lost = openAt(prefix);
  const runId = await handIn(lost);
  await lost.runs.note(runId, { lastLine: '3' });
  await lost.runs.move(runId, { to: 'paying', actor: 'anna', reason: 'submitted' });
  await cancelPayout(
    { ledger: lost, wake: async () => {}, ensureSeason: async () => [] },
    await readPayout(lost, { runId, line: 2 }),
    ANNA,
  );

  const first = await adopted(instance);
  expect(first.missing).toEqual([]);
  const again = await handIn(first.ledger);
  expect(await readPayout(first.ledger, { runId: again, line: 2 })).toMatchObject({
    state: 'held',
    reasonCode: 'E_GIVEN_UP',
  });
  await first.ledger.audit.copyOthers();

  const second = await adopted(first.newInstance);
  expect(second.missing).toEqual([]);
  const once = await handIn(second.ledger);
  const states = (await allRows(second.ledger, once)).map((row) => ('row' in row ? row.state : 'refused'));
  expect(states).toEqual(['held', 'ready']);
});
