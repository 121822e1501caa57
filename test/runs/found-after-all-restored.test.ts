import { expect, test } from 'vitest';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import { resumeRun } from '../../src/runs/decide/control.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { FILE, fileOf, useHandIns } from './hand-in-desk.ts';
import { armPayout, movePayout, payoutAt } from './recorded-run.ts';

const desk = useHandIns();

test.each([
  ['whose rejection was confirmed', 'rejected'],
  ['that was cancelled once its quote was proven dead', 'unknown'],
] as const)(
  'a payout %s, and of whose payment the intent log alone still knows, takes its reference back from one that waits',
  async (_what, state) => {
    const { app } = desk;
    const { ledger } = app;
    const { id: first } = await desk.submit(FILE);
    const place = { runId: first, line: 2 };
    await armPayout(ledger, place, 'quote-first');
    await movePayout(ledger, place, state);
    const note = { ...place, actor: 'test', reason: '' } as const;
    if (state === 'rejected') await ledger.payouts.move({ ...note, values: { rejectionConfirmed: true } });
    else await ledger.payouts.move({ ...note, to: 'cancelled', dropQuote: 'proven-dead' });
    const { id: retry } = await desk.submit(fileOf(1), { name: 'retry.csv' });
    const second = { runId: retry, line: 2 };
    expect(await payoutAt(ledger, second)).toMatchObject({ state: 'ready' });

    const putBack = await desk.copy();
    const { row, armedAt, armingCounter } = await payoutAt(ledger, place);
    const found = state === 'rejected' ? ({ to: 'accepted' } as const) : ({ to: 'held', breach: true } as const);
    const fact = { ...note, ...found, referenceHash: hashReference(row.reference), spentQuoteId: 'quote-first' };
    expect(await ledger.payouts.move(fact)).toMatchObject({ result: 'moved' });
    await putBack();
    const { server, dataDirIds } = await ledger.state.season();
    // The process that found it had written that to its intent log before, with what ties it to the row.
    const h = hashReference(row.reference);
    const armed = { r: first, l: 2, s: 'f1', n: '', h, q: 'quote-first', x: '1', k: 1, c: armingCounter };
    const byTest = { d: '20260101', o: 'test', t: String(armedAt), f: 'c1' };
    const json = JSON.stringify([
      { ...armed, ...byTest },
      { y: 'quote-first', p: 'quote-first', h },
    ]);
    await ledger.state.compare({ dataDirId: dataDirIds[0] ?? '', server, last: true, json, peers: dataDirIds });
    expect(await payoutAt(ledger, place)).toMatchObject({ state: 'held', reasonCode: 'E_BREACH' });
    for (const person of ['anna', 'bob']) await releaseHalt({ ledger }, person);
    await resumeRun(app, retry, { actor: 'anna', reason: '' });
    await expect(armPayout(ledger, second, 'quote-second')).rejects.toThrow('was not armed: reference');
  },
);

test('so does one that people settled as paid, where Redis forgot that', async () => {
  const { app } = desk;
  const { ledger } = app;
  const { id: first } = await desk.submit(FILE);
  const place = { runId: first, line: 2 };
  await armPayout(ledger, place, 'quote-first');
  await movePayout(ledger, place, 'rejected');
  const note = { ...place, actor: 'test', reason: '' } as const;
  await ledger.payouts.move({ ...note, values: { rejectionConfirmed: true } });
  const { id: retry } = await desk.submit(fileOf(1), { name: 'retry.csv' });
  const second = { runId: retry, line: 2 };
  const putBack = await desk.copy();
  const details = { quote: 'quote-first', payment: 'quote-first', reason: 'it is on the statement' };
  await ledger.audit.append({ actor: 'bob', action: 'payout.paid-confirmed', target: `${first}-2`, details });
  await putBack();
  await desk.compares();
  expect(await payoutAt(ledger, place)).toMatchObject({ state: 'held', reasonCode: 'E_BREACH' });
  for (const person of ['anna', 'bob']) await releaseHalt({ ledger }, person);
  await resumeRun(app, retry, { actor: 'anna', reason: '' });
  await expect(armPayout(ledger, second, 'quote-second')).rejects.toThrow('was not armed: reference');
});
