import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { copiesFile } from '../../src/audit/copies.ts';
import type { AuditAct } from '../../src/audit/entry.ts';
import { ledgerKeys } from '../../src/ledger/keys.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import { freshPrefix } from '../support/redis.ts';

export interface AuditRig {
  readonly ledger: Ledger;
  readonly redis: Redis;
  /** The list in Redis. */
  readonly key: string;
  /** The data directory, which the caller removes. */
  readonly dataDir: string;
  /** The copies of the ledger's audit log. */
  readonly file: string;
  /** The same ledger as a process with another data directory opens it. */
  elsewhere(dataDirId: string): Ledger;
}

/** A ledger of its own with a data directory. */
export async function auditRig(redis: Redis): Promise<AuditRig> {
  const prefix = freshPrefix();
  const dataDir = mkdtempSync(join(tmpdir(), 'payrun-audit-'));
  const ledger = openLedger({ redis, arming: redis }, { prefix, dataDirId: 'dir-a', dataDir });
  const claim = { knownInstance: '', newInstance: prefix, service: 'sandbox', safety: 'test', requireMatch: true };
  const instance = await ledger.state.open(claim);
  return {
    ledger,
    redis,
    key: ledgerKeys(prefix).audit,
    dataDir,
    file: copiesFile(dataDir, instance),
    elsewhere: (dataDirId) =>
      openLedger({ redis, arming: redis }, { prefix, dataDirId, dataDir: join(dataDir, dataDirId) }),
  };
}

export async function all<One>(many: AsyncIterable<One>): Promise<One[]> {
  const found: One[] = [];
  for await (const one of many) found.push(one);
  return found;
}

export function actOf(actor: string): AuditAct {
  return { actor, action: 'run.paused', target: '20260131-k3f9xq', details: { reason: 'look' } };
}

/** Appends an act of each of these people. */
export async function appendAll({ audit }: Ledger, actors: readonly string[]): Promise<void> {
  for (const actor of actors) await audit.append(actOf(actor));
}
