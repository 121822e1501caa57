import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openCanary } from '../../src/pay/look-up/canary.ts';
import { purgeRun } from '../../src/runs/after/purge.ts';
import type { Answer } from '../../src/service/answer.ts';
import { answered, errors } from '../pay/examples.ts';
import { useTestRedis } from '../support/redis.ts';
import { freshRows, newLedger, payingRun, reportDeps, sendTo, useArming } from './test-ledger.ts';

const server = await useTestRedis();
const arming = await useArming(server);

test('a gateway that shows no payment, and answers all else, is not believed either once all that was paid is purged', async () => {
  const { ledger } = await newLedger({ redis: server.redis, arming });
  const folder = mkdtempSync(join(tmpdir(), 'payrun-purge-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const runId = await payingRun(ledger, freshRows(1));
  const { credentials } = await sendTo(ledger, { runId, line: 2 }, 'completed');
  const gateway = {
    readPayment: async (): Promise<Answer> => answered(404, errors('USR_002')),
    testToken: async (): Promise<Answer> => answered(200, {}),
    listIdentities: async (): Promise<Answer> => answered(200, { data: [] }),
  };
  const known = (): Promise<readonly string[]> => ledger.payouts.knownPayments(credentials ?? '');
  expect(await openCanary({ service: gateway, known }).sings()).toBe(false);

  await ledger.runs.move(runId, { to: 'finished', actor: 'payrun', reason: '' });
  await ledger.runs.leave(runId);
  await ledger.runs.takeWatch(-1, Date.now());
  const { changes } = (await ledger.runs.read(runId)) ?? { changes: 0 };
  await ledger.runs.note(runId, { reportedChanges: String(changes) });
  const purging = purgeRun(reportDeps(ledger, folder), runId, { actor: 'anna', olderThanMs: 0 });
  expect(await purging).toBe('purged');
  expect(await openCanary({ service: gateway, known }).sings()).toBe(false);
});
