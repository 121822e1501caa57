import { expect, test } from 'vitest';
import type { Payout } from '../../src/payout.ts';
import { openPeriod, type PeriodReport, periodFaults } from '../../src/report/period/period.ts';
import { periodContent } from '../../src/report/period/period-tables.ts';
import { payout } from '../report/rows.ts';
import { longestTurnMs } from './turns.ts';

/** The helpers that collect garbage count, too. */
const TURN_MS_MAX = 250;
const BENEFICIARIES = 50_000;

function paymentTo(line: number): Payout {
  const row = payout(line);
  const shuffled = String((line * 7919) % BENEFICIARIES).padStart(12, '0');
  return { ...row, row: { ...row.row, beneficiaryIdentityId: `3f0c7a52-6b1d-4c8e-9a34-${shuffled}` } };
}

test('a period with 50,000 beneficiaries keeps nobody waiting, in whatever format it is taken', async () => {
  const period = openPeriod();
  for (let line = 2; line < BENEFICIARIES + 2; line++) period.add('r1', [paymentTo(line)]);
  const added = await longestTurnMs(period.lines());
  expect(added.longestMs).toBeLessThan(TURN_MS_MAX);
  const compared = await longestTurnMs(periodFaults(added.value, []));
  expect(compared.longestMs).toBeLessThan(TURN_MS_MAX);
  const lines = added.value;
  const report: PeriodReport = {
    from: 0,
    end: 1,
    createdAt: 0,
    runs: ['r1'],
    lines,
    leftOut: [],
    earlier: [],
    faults: [],
  };
  for (const format of ['csv', 'json', 'xlsx'] as const) {
    const read = async (): Promise<number> => {
      let bytes = 0;
      for await (const piece of periodContent(report, { format, bom: false })) bytes += piece.length;
      return bytes;
    };
    const { value, longestMs } = await longestTurnMs(read());
    expect({ format, isWhole: value > 20 * BENEFICIARIES }).toEqual({ format, isWhole: true });
    expect({ format, isQuick: longestMs < TURN_MS_MAX, longestMs }).toMatchObject({ format, isQuick: true });
  }
});
