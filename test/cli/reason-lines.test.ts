import { expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { reasonLines } from '../../src/cli/run/reason-lines.ts';
import { payment, payout, runOf } from '../report/rows.ts';

const held = (line: number, reasonCode: string, reason: string | null = null) =>
  payout(line, { state: 'held', reasonCode, reason });
const like = (twin: string) => `payout ${twin} has the same beneficiary, amount and currency`;

function ledgerOf(rows: Parameters<typeof runOf>[0]): Pick<App, 'ledger'> {
  const runs = {
    async *rows() {
      yield rows;
    },
  };
  return { ledger: { runs } as unknown as App['ledger'] };
}

test.each([
  [[held(2, 'E_DUP_LIKELY'), held(3, 'E_DUP_LIKELY')], '2 held: E_DUP_LIKELY'],
  [
    [held(2, 'E_LIMIT'), held(3, 'E_DUP_LIKELY'), held(4, 'E_DUP_LIKELY'), payment(5, 'completed')],
    '3 held: E_DUP_LIKELY 2, E_LIMIT 1',
  ],
  [
    [held(2, 'E_DUP_LIKELY', like('20260131-k3f9xq-2'))],
    '1 held: E_DUP_LIKELY (handed in already in run 20260131-k3f9xq)',
  ],
  [
    [held(2, 'E_DUP_LIKELY', like('r1-2')), held(3, 'E_DUP_LIKELY'), held(4, 'E_LIMIT')],
    '3 held: E_DUP_LIKELY 2 (handed in already in run r1), E_LIMIT 1',
  ],
  [
    [held(2, 'E_DUP_LIKELY', like('r1-2')), held(3, 'E_DUP_LIKELY', like('r2-9'))],
    '2 held: E_DUP_LIKELY (handed in already in 2 runs, such as run r1)',
  ],
])('held rows are told with their reasons and the command that lists them', async (rows, words) => {
  const run = runOf(rows);
  expect(await reasonLines(ledgerOf(rows), run)).toMatchObject({
    held: [`${words} -> payrun list ${run.id} --outcome held`],
  });
});

test('a run of which nothing is held has no such line', async () => {
  const rows = [payment(2, 'completed')];
  expect(await reasonLines(ledgerOf(rows), runOf(rows))).toEqual({ held: [], unpaid: [] });
});

test('rows that were not paid are told with what the service said', async () => {
  const why = { state: 'rejected', reasonCode: 'USR_001', reason: 'an amount is too large' } as const;
  const run = runOf([payout(2, why), payout(3, why)]);
  const { unpaid } = await reasonLines(ledgerOf([payout(2, why), payout(3, why)]), run);
  expect(unpaid).toEqual([`2 rejected: USR_001 (an amount is too large) -> payrun list ${run.id} --outcome rejected`]);
});
