import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { fundsField, readFunds } from '../../src/ledger/runs/run-record.ts';
import type { FundsNeeded } from '../../src/money.ts';
import { balanceLines, neededDocument } from '../../src/report/document.ts';
import { submitRun } from '../../src/runs/hand-in/submit.ts';
import { withBalances } from '../../src/runs/preview/preview.ts';
import { askRunFunds } from '../../src/runs/preview/run-funds.ts';
import { readRun } from '../../src/runs/read-run.ts';
import type { Answer } from '../../src/service/answer.ts';
import { useTestRedis } from '../support/redis.ts';
import { openTestApp } from './opened-app.ts';

const NEED: FundsNeeded = { currency: 'EUR', amount: 119_000n, fees: 1000n, isEstimate: false };
const NOT_TOLD = 'needs EUR 1200.00; the service does not tell the balance';

const redis = await useTestRedis();

function answered(json: unknown, status = 200): Answer {
  return { kind: 'answered', status, json, date: null, retryAfter: null } as Answer;
}

function balancesOf(entries: unknown): Answer {
  return answered({ timestamp: '2026-01-31T00:00:00Z', balances: entries });
}

const eur = (availableBalance: unknown) => ({ fundingType: 'FUNDED', currency: 'EUR', availableBalance });

describe('the balance beside what is needed', () => {
  test.each<[string, Answer, string]>([
    ['is enough', balancesOf([eur('1200.0000')]), 'needs EUR 1200.00; balance EUR 1200.00'],
    ['is short', balancesOf([eur('900.00')]), 'needs EUR 1200.00; balance EUR 900.00: short by 300.00'],
    [
      'is that of the currency',
      balancesOf([{ ...eur('1'), currency: 'USD' }, eur(2000)]),
      'needs EUR 1200.00; balance EUR 2000.00',
    ],
    ['is not told for another one', balancesOf([{ ...eur('1'), currency: 'USD' }]), NOT_TOLD],
    ['is not told by what is no decimal', balancesOf([eur('a lot')]), NOT_TOLD],
    ['is not told in finer digits', balancesOf([eur('1.001')]), NOT_TOLD],
    ['is not told by what is no list', balancesOf('none'), NOT_TOLD],
    ['is not told where there is no such operation', answered({}, 404), NOT_TOLD],
    ['is not told without an answer', { kind: 'lost', reason: 'time-out', status: null }, NOT_TOLD],
  ])('%s', async (_what, answer, line) => {
    const needed = await withBalances({ readBalance: async () => answer }, [NEED]);
    expect(balanceLines(needed.map(neededDocument))).toEqual([line]);
  });

  test('is not spoken of where nobody asked for it, and is kept with the run as it was told', () => {
    expect(balanceLines([neededDocument(NEED)])).toEqual([]);
    const needed = [NEED, { ...NEED, balance: 90_000n }, { ...NEED, balance: null }];
    const funds = { at: 1, payouts: 2, unpriced: 0, needed };
    expect(readFunds(fundsField(funds)['funds'])).toEqual(funds);
  });
});

test.each([
  ['off', 0],
  ['on', 1],
])('with PAYRUN_BALANCES=%s a run that waits for approval has it from the service', async (setting, lines) => {
  const app = await openTestApp(redis.url, { PAYRUN_BALANCES: setting });
  onTestFinished(() => app.close());
  const path = join(app.dir, 'wages.csv');
  const header = 'reference,beneficiaryIdentityId,amount,sourceCurrency,destinationCurrency';
  writeFileSync(path, `${header}\nA,aaaaaaaa-5f0a-4c56-9f5e-2b1d3c4a5e6f,2000000.00,USD,MXN\n`);
  const submitted = await submitRun(app, { path, actor: 'mia', skipInvalid: false });
  if (submitted.kind === 'refused') throw new Error('it was refused');
  const found = await askRunFunds(app, submitted.run, { timeMsMax: 60_000 });
  const run = await readRun(app, submitted.run.id);
  expect(run.funds).toEqual(found);
  const told = balanceLines((run.funds?.needed ?? []).map(neededDocument));
  expect(told).toHaveLength(lines);
  for (const line of told)
    expect(line).toMatch(/^needs USD 20\d+\.\d\d; balance USD 1000000\.00: short by 10\d+\.\d\d$/);
});
