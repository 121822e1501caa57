import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { openAuditLog } from '../../src/audit/audit-log.ts';
import { systemClock } from '../../src/clock.ts';
import { openAuditStore } from '../../src/ledger/audit.ts';
import { ledgerKeys } from '../../src/ledger/keys.ts';
import { ensureSeason } from '../../src/ledger/season/season.ts';
import { silentLog } from '../../src/log.ts';
import type { PayDeps } from '../../src/pay/deps.ts';
import type { DecideDeps } from '../../src/runs/decide/decide.ts';
import type { PayRig } from '../support/pay-rig.ts';

/** What people decide with in a rig: an audit log of its own, and look-ups through one of its processes. */
export function decideDeps(rig: PayRig, pay: PayDeps): DecideDeps {
  const folder = mkdtempSync(join(tmpdir(), 'payrun-decide-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const store = openAuditStore(rig.redis, ledgerKeys(rig.prefix));
  return {
    ledger: { ...rig.ledger, audit: openAuditLog(store, { dataDirId: 'dir-1', dataDir: folder }) },
    wake: async () => {},
    openPay: async () => pay,
    ensureSeason: async () => [],
  };
}

/** As after a restart of Redis: the season is closed, and the directory compares its logs. */
export async function compareAfterRestart(rig: PayRig): Promise<void> {
  await rig.redis.hset(`${rig.prefix}:head`, 'season', 'closed 1 2');
  await rig.redis.hset(`${rig.prefix}:dirs`, 'dir-1', '-');
  const dir = {
    dataDir: rig.dataDir,
    dataDirId: 'dir-1',
    armDeadlineMs: 0,
    compareDecisions: async () => {},
    arms: true,
  };
  expect(await ensureSeason({ state: rig.ledger.state, ...dir, clock: systemClock, log: silentLog })).toEqual([]);
}
