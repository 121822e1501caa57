import { describe, expect, test } from 'vitest';
import { openSeals } from '../../src/ledger/seals.ts';
import type { PayoutRow } from '../../src/payout.ts';
import { payoutOf } from '../pay/examples.ts';
import { runOf } from '../report/rows.ts';

const NEW_KEY = 'n'.repeat(32);
const FORMER_KEY = 'f'.repeat(32);
const source = (...ledgerKey: string[]) => ({ ledgerKey, service: undefined });
const seals = openSeals(source(NEW_KEY, FORMER_KEY));
const former = openSeals(source(FORMER_KEY));

const place = { runId: 'r1', line: 2 };
const { row } = payoutOf();
const sealed = payoutOf({
  ...place,
  seals: { row: seals.row(place, row, false), costLimit: null, beyondLimits: null, quote: null, proposal: null },
});

describe('a payout', () => {
  test('is as payrun wrote it under the present and the former key, and nobody knows it under another one', () => {
    expect(seals.judgePayout(sealed)).toBe('true');
    const earlier = { ...sealed, seals: { ...sealed.seals, row: former.row(place, row, false) } };
    expect(seals.judgePayout(earlier)).toBe('true');
    expect(former.judgePayout(sealed)).toBe('unknown-key');
    expect(openSeals(source()).judgePayout(sealed)).toBe('unknown-key');
  });

  const changes: Partial<PayoutRow>[] = [
    { reference: 'INV-2' },
    { beneficiaryIdentityId: '0f0c7a52-6b1d-4c8e-9a34-000000000000' },
    { originatorIdentityId: '0f0c7a52-6b1d-4c8e-9a34-000000000000' },
    { amount: { minor: row.amount.minor + 1n, currency: row.amount.currency } },
    { amountType: row.amountType === 'SOURCE_AMOUNT' ? 'DESTINATION_AMOUNT' : 'SOURCE_AMOUNT' },
    { sourceCurrency: 'CHF' },
    { destinationCurrency: 'CHF' },
    { sourceCountry: 'CH' },
    { destinationCountry: 'CH' },
    { payoutCategory: 'OTHER' },
    { payinCategory: 'OTHER' },
    { purposeCode: 'OTHER' },
    { sourceOfCash: 'COMP' },
  ];
  test.each(changes)('is not, with %o', (change) => {
    expect(seals.judgePayout({ ...sealed, row: { ...row, ...change } })).toBe('false');
  });

  test('is not on another line, in another run, or without a seal', () => {
    expect(seals.judgePayout({ ...sealed, line: 3 })).toBe('false');
    expect(seals.judgePayout({ ...sealed, runId: 'r2' })).toBe('false');
    expect(seals.judgePayout({ ...sealed, seals: { ...sealed.seals, row: '' } })).toBe('false');
  });

  test('is not when its cost limit was raised, lifted or taken away by something else', () => {
    const costLimit = { debited: 100n, arrives: 90n, driftBp: 25n };
    const ofBoth = {
      row: seals.row(place, row, true),
      costLimit: seals.costLimit(place, costLimit),
      beyondLimits: null,
      quote: null,
      proposal: null,
    };
    const limited = payoutOf({ ...place, costLimit, seals: ofBoth });
    expect(seals.judgePayout(limited)).toBe('true');
    expect(seals.judgePayout({ ...limited, costLimit: { ...costLimit, driftBp: 99n } })).toBe('false');
    expect(seals.judgePayout({ ...limited, costLimit: null })).toBe('false');
    expect(seals.judgePayout({ ...limited, costLimit: null, seals: { ...ofBoth, costLimit: null } })).toBe('false');
    const lifted = { ...ofBoth, costLimit: seals.costLimit(place, null) };
    expect(seals.judgePayout({ ...limited, costLimit: null, seals: lifted })).toBe('true');
  });

  test('is not when something else than people let it go beyond its limits', () => {
    const allowed = { ...sealed, seals: { ...sealed.seals, beyondLimits: seals.beyondLimits(place) } };
    expect(seals.judgePayout(allowed)).toBe('true');
    for (const beyondLimits of ['1', '', seals.beyondLimits({ ...place, line: 3 })]) {
      expect(seals.judgePayout({ ...sealed, seals: { ...sealed.seals, beyondLimits } })).not.toBe('true');
    }
  });
});

test('a run is not as payrun wrote it when its file, rows, totals or people were changed', () => {
  const facts = { ...runOf([]), rowsDigest: 'digest' };
  const run = { ...facts, seal: seals.run(facts) };
  expect(seals.judgeRun(run)).toBe('true');
  expect(seals.judgeRun({ ...run, seal: null })).toBe('false');
  const changes = [
    { id: 'r2' },
    { fileSha256: 'f'.repeat(64) },
    { contentHash: 'f'.repeat(64) },
    { rows: run.rows + 1 },
    { fileTotals: [{ minor: 1n, currency: 'USD' }] },
    { createdBy: 'somebody else' },
    { dropper: 'somebody else' },
    { rowsDigest: null },
  ];
  for (const change of changes) expect([change, seals.judgeRun({ ...run, ...change })]).toEqual([change, 'false']);
});

test('an approval is of one person, run, content and time', () => {
  const approval = { by: 'bob', at: 1000, digest: 'd' };
  const given = { ...approval, seal: seals.approval('r1', approval) };
  expect(seals.judgeApproval('r1', given)).toBe('true');
  expect(seals.judgeApproval('r2', given)).toBe('false');
  for (const change of [{ by: 'eve' }, { at: 2000 }, { digest: 'e' }, { seal: '' }]) {
    expect(seals.judgeApproval('r1', { ...given, ...change })).toBe('false');
  }
});

test('a block list misses an entry that was taken out, added or changed', () => {
  const entries = new Map([
    ['one', '{"by":"anna"}'],
    ['two', '{"by":"bob"}'],
  ]);
  const seal = seals.blockList(2, entries);
  expect(seals.judgeBlockList(seal, 2, new Map([...entries].toReversed()))).toBe('true');
  expect(seals.judgeBlockList(seal, 1, entries)).toBe('false');
  expect(seals.judgeBlockList(seal, 2, new Map([...entries].slice(1)))).toBe('false');
  expect(seals.judgeBlockList(seal, 2, new Map([...entries, ['three', '{}']]))).toBe('false');
  expect(seals.judgeBlockList(seal, 2, new Map([...entries, ['two', '{}']]))).toBe('false');
  expect(seals.judgeBlockList('', 0, new Map())).toBe('false');
});

test('who has no key seals nothing, and says which settings are missing', () => {
  expect(() => openSeals(source()).row(place, row, false)).toThrow(/no key of the ledger/);
});
