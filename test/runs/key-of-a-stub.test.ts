import { expect, test } from 'vitest';
import { cancelRun } from '../../src/runs/decide/control.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { FILE, useHandIns } from './hand-in-desk.ts';
import { armPayout, payoutAt } from './recorded-run.ts';

const desk = useHandIns();

test('a hand-in under a key is carried on in its run, also where the intent log of another host had that before the audit log', async () => {
  const { app } = desk;
  const { ledger } = app;
  const putBack = await desk.copy();
  const asked = { key: 'of-an-upload', again: true };
  const { id, fileSha256 } = await desk.submit(FILE, asked);
  const place = { runId: id, line: 2 };
  await armPayout(ledger, place, 'quote-first');
  const { armedAt, armingCounter } = await payoutAt(ledger, place);
  const contentHash = (await ledger.runs.read(id))?.contentHash;
  await putBack();

  const { server, dataDirIds } = await ledger.state.season();
  const armed = { r: id, l: 2, s: fileSha256, n: contentHash, h: 'a'.repeat(16), q: 'quote-first', x: '1', k: 1 };
  const json = JSON.stringify([
    { ...armed, c: armingCounter, d: id.slice(0, 8), o: 'test', t: String(armedAt), f: 'c1' },
  ]);
  await ledger.state.compare({ dataDirId: dataDirIds[0] ?? '', server, last: true, json, peers: dataDirIds });
  await desk.compares();
  for (const person of ['anna', 'bob']) await releaseHalt({ ledger }, person);
  // The runbook: each file that came after the copy is handed in again. Then people see that it is wrong.
  expect((await desk.submit(FILE)).id).toBe(id);
  await cancelRun(app, id, { actor: 'anna', reason: 'wrong month' });
  const dead = { to: 'ready', cancelledIfRunIs: true, dropQuote: 'proven-dead' } as const;
  expect(await ledger.payouts.move({ ...place, ...dead, actor: 'test', reason: '' })).toMatchObject({
    state: 'cancelled',
  });
  // The upload had been cut short, or the client of the API repeats its request.
  expect(await desk.submit(FILE, asked)).toMatchObject({ id, state: 'cancelled' });
});
