import { expect, test } from 'vitest';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import { FILE, fileOf, useHandIns } from './hand-in-desk.ts';
import { armPayout, movePayout, payoutAt } from './recorded-run.ts';

const desk = useHandIns();

test.each([
  ['whose rejection was confirmed', ['rejected'], { to: 'accepted' }],
  ['that was cancelled once its quote was proven dead', ['unknown'], { to: 'held', breach: true }],
] as const)(
  'a payout %s, and that was paid after all, takes its reference back from one that waits',
  async (_what, states, found) => {
    const { ledger } = desk.app;
    const { id: first } = await desk.submit(FILE);
    const place = { runId: first, line: 2 };
    await armPayout(ledger, place, 'quote-first');
    await movePayout(ledger, place, ...states);
    const note = { ...place, actor: 'test', reason: '' } as const;
    if (states[0] === 'rejected') await ledger.payouts.move({ ...note, values: { rejectionConfirmed: true } });
    else await ledger.payouts.move({ ...note, to: 'cancelled', dropQuote: 'proven-dead' });

    const { id: retry } = await desk.submit(fileOf(1), { name: 'retry.csv' });
    const second = { runId: retry, line: 2 };
    const { state, row } = await payoutAt(ledger, second);
    expect(state).toBe('ready');
    const fact = { ...note, ...found, referenceHash: hashReference(row.reference), spentQuoteId: 'quote-first' };
    expect(await ledger.payouts.move(fact)).toMatchObject({ result: 'moved' });
    await expect(armPayout(ledger, second, 'quote-second')).rejects.toThrow('was not armed: reference');
  },
);
