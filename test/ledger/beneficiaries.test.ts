import { expect, test } from 'vitest';
import { useTestRedis } from '../support/redis.ts';
import { freshRows, newLedger, payingRun, sendTo, useArming } from './test-ledger.ts';

const server = await useTestRedis();
const arming = await useArming(server);

test('a beneficiary is new until a payment to them was accepted, and a run tells how many of its rows go to new ones', async () => {
  const { ledger } = await newLedger({ redis: server.redis, arming });
  const rows = freshRows(3).map((row, index) => ({
    ...row,
    beneficiaryIdentityId: `00000000-0000-4000-8000-00000000000${index}`,
  }));
  const ids = rows.map(({ beneficiaryIdentityId }) => beneficiaryIdentityId);
  const first = await payingRun(ledger, rows);
  expect(await ledger.runs.read(first)).toMatchObject({ newBeneficiaryRows: 3 });
  await sendTo(ledger, { runId: first, line: 2 }, 'accepted');
  await sendTo(ledger, { runId: first, line: 3 }, 'rejected');
  expect(await ledger.beneficiaries.neverPaid(ids)).toEqual(new Set(ids.slice(1)));

  const again = freshRows(3).map((row, index) => ({ ...row, beneficiaryIdentityId: ids[index] ?? '' }));
  const second = await payingRun(ledger, again);
  expect(await ledger.runs.read(second)).toMatchObject({ newBeneficiaryRows: 2 });
});
