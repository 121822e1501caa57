import { expect, test } from 'vitest';
import { readEntry } from '../../src/audit/entry.ts';
import { verifyAudit } from '../../src/audit/verify.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { openLedgerKeys } from '../../src/ledger-key.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';
import { actOf, all } from './audit-rig.ts';

const server = await useTestRedis();

test('nobody gets an entry signed by writing an act to Redis that waited there before', async () => {
  const prefix = freshPrefix();
  const { redis } = server;
  const auditKeys = openLedgerKeys({ ledgerKey: ['k'.repeat(32)], service: undefined }, 'audit entry');
  const ledger = openLedger({ redis, arming: redis }, { prefix, dataDirId: 'dir-a', auditKeys });
  const claim = { knownInstance: '', newInstance: prefix, service: 'sandbox', safety: 'test', requireMatch: true };
  await ledger.state.open(claim);
  const key = `${prefix}:audit-waiting`;
  await redis.rpush(key, await ledger.audit.waiting(actOf('fred')));
  // Whoever reads Redis, its append-only file or a replica sees it.
  const [seen = ''] = await redis.lrange(key, 0, -1);
  await ledger.audit.appendWaiting();
  await redis.rpush(key, seen);
  await ledger.audit.appendWaiting();
  const entries = (await all(ledger.audit.lines())).map((line) => readEntry(line));
  const { findings } = await verifyAudit(ledger.audit, { known: null });
  const signed = entries.filter((entry) => entry?.actor === 'fred' && entry.code !== undefined);
  expect({ signed: signed.length, findings: findings.length }).toEqual({ signed: 1, findings: 0 });
});
