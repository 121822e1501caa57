import { expect, test } from 'vitest';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import { resumeRun } from '../../src/runs/decide/control.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { FILE, fileOf, useHandIns } from './hand-in-desk.ts';
import { armPayout, movePayout, payoutAt } from './recorded-run.ts';

const desk = useHandIns();

test('a payout that gave its reference free, and that a late host had armed too, takes it back from one that waits', async () => {
  const { app } = desk;
  const { ledger } = app;
  const { id: first } = await desk.submit(FILE);
  const place = { runId: first, line: 2 };
  await armPayout(ledger, place, 'quote-first');
  await movePayout(ledger, place, 'rejected');
  await ledger.payouts.move({ ...place, actor: 'test', reason: '', values: { rejectionConfirmed: true } });
  const { id: retry } = await desk.submit(fileOf(1), { name: 'retry.csv' });
  const second = { runId: retry, line: 2 };

  // A host of which this Redis knows nothing comes with its log.
  await ledger.state.enterDir('dir-late', true);
  const { server, dataDirIds } = await ledger.state.season();
  const h = hashReference((await payoutAt(ledger, place)).row.reference);
  const armed = { r: first, l: 2, s: 'f1', n: '', h, q: 'quote-late', x: '1', k: 1, c: 1 };
  const json = JSON.stringify([{ ...armed, d: '20260101', o: 'test', t: String(Date.now() - 60_000), f: 'c1' }]);
  await ledger.state.compare({ dataDirId: 'dir-late', server, last: true, json, peers: dataDirIds });
  expect(await payoutAt(ledger, place)).toMatchObject({ state: 'held', reasonCode: 'E_BREACH' });
  for (const person of ['anna', 'bob']) await releaseHalt({ ledger }, person);
  await resumeRun(app, retry, { actor: 'anna', reason: '' });
  await expect(armPayout(ledger, second, 'quote-second')).rejects.toThrow('was not armed: reference');
});
