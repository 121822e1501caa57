import { EventEmitter, once } from 'node:events';
import { expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { cancelRun } from '../../src/runs/decide/control.ts';
import { FILE, useHandIns } from './hand-in-desk.ts';

const desk = useHandIns();
const OTHER_BYTES = FILE.replaceAll('\n', '\r\n');

function dies(): never {
  throw new Error('killed');
}

test('a run that people cancel while other bytes of its rows are about to take it over is not taken over', async () => {
  const { app } = desk;
  await desk.submit(FILE, { actor: 'inbox', deps: { ...app, at: dies } }).catch(() => {});
  const [first = ''] = await app.ledger.runs.list();
  const p = new EventEmitter();
  const isFrozen = once(p, 'frozen');
  const isThawed = once(p, 'thawed');
  const runs = {
    ...app.ledger.runs,
    async move(...args: Parameters<typeof app.ledger.runs.move>) {
      if (args[1].to === 'cancelled') {
        p.emit('frozen');
        await isThawed;
      }
      return await app.ledger.runs.move(...args);
    },
  };
  const later: App = {
    ...app,
    clock: { ...app.clock, now: () => Date.now() + 3_600_000 },
    ledger: { ...app.ledger, runs },
  };
  const again = desk.submit(OTHER_BYTES, { name: 'again.csv', actor: 'inbox', deps: later }).catch(() => {});
  await isFrozen;
  await cancelRun(app, first, { actor: 'bob', reason: 'it is the wrong file' });
  p.emit('thawed');
  await again;
  expect((await desk.runs()).map((run) => run.state)).toEqual(['cancelled']);
});

test('a take-over that was killed before its cancel does not make what people cancel later free', async () => {
  const { app } = desk;
  await desk.submit(FILE, { actor: 'inbox', deps: { ...app, at: dies } }).catch(() => {});
  const [first = ''] = await app.ledger.runs.list();
  const killed = { ...app.ledger.runs, move: async () => dies() };
  const clock = { ...app.clock, now: () => Date.now() + 3_600_000 };
  await desk
    .submit(OTHER_BYTES, { name: 'again.csv', deps: { ...app, clock, ledger: { ...app.ledger, runs: killed } } })
    .catch(() => {});
  await cancelRun(app, first, { actor: 'bob', reason: 'it is the wrong file' });
  await desk.submit(OTHER_BYTES, { name: 'again.csv', deps: { ...app, clock } }).catch(() => {});
  expect((await desk.runs()).map((run) => run.state)).toEqual(['cancelled']);
});
