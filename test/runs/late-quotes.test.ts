import { expect, test } from 'vitest';
import { CAPABILITIES } from '../../src/config/config.ts';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import { finishRun, lookUpDeadQuotes } from '../../src/runs/after/finish.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { BESIDE, OWN, payment, useBesideDesk } from './beside-desk.ts';
import { rowAt } from './recorded-run.ts';

const desk = await useBesideDesk();

/** Asks for the quotes that payouts of the run left behind. Gives how many proven dead are paid; null: not all could be asked for. */
async function ask(days: number): Promise<number | null> {
  const { ledger } = desk.app;
  await lookUpDeadQuotes({ ...(await desk.onDay(days)), ledger }, await readRun(desk.app, desk.runId));
  return (await readRun(desk.app, desk.runId)).deadQuotesFound;
}

test('a quote that a late host brings to a run which had ended is asked for until it can be paid no more', async () => {
  const { ledger } = desk.app;
  desk.answer({ [OWN]: payment(OWN, 'COMPLETED') });
  await desk.lookUp();
  await desk.track();
  expect(await finishRun(ledger, desk.runId)).toBe(true);
  expect(await ask(0)).toBe(0);
  await ledger.runs.leave(desk.runId);
  await desk.hostComesBack({ credentials: 'c1', yes: false });
  expect((await desk.settle('paid', OWN, await desk.onDay(0.1)))[1]).toMatch(/^done/);
  await desk.track();
  expect((await desk.payout()).state).toBe('completed');
  expect(await ledger.runs.live()).toContain(desk.runId);
  expect(await ask(0.2)).toBeNull();
  desk.answer({ [OWN]: payment(OWN, 'COMPLETED'), [BESIDE]: payment(BESIDE, 'COMPLETED') });
  await ask(0.5);
  expect(await desk.payout()).toMatchObject({
    state: 'held',
    reasonCode: 'E_BREACH',
    reason: `the quote ${BESIDE} was armed too and has a payment, which is COMPLETED`,
  });
});

const DAY_MS = 86_400_000;

test.each([
  ['one later line', [2]],
  ['two later lines', [2, 3]],
])(
  'the day that people wait for a quote of a late host without an end outlasts %s of its own quote',
  async (_how, later) => {
    const { armingCounter } = await desk.payout();
    const now = Date.now();
    const row = { r: desk.runId, l: '2', s: 's', n: 'c', h: hashReference(rowAt(2).reference) };
    const file = { ...row, d: '20261128', f: 'c1' };
    await desk.logs([{ ...file, q: BESIDE, x: '', k: '1', c: 1, o: 'late', t: String(now - 60_000) }]);
    const own = { q: OWN, x: String(now - 100_000), k: '2', o: 'own', t: String(now - 200_000) };
    const rules = { ...desk.deps.rules, capabilities: new Set(CAPABILITIES), notFoundGapMs: 0 };
    for (const more of later) {
      await desk.logs([{ ...file, ...own, c: armingCounter + more }], desk.app.dataDirId);
      expect((await desk.payout()).state).toBe('unknown');
      for (const days of [0.01, 0.02]) await desk.lookUp(await desk.onDay(days, { rules }));
      expect((await desk.payout()).state).toBe('held');
    }
    expect((await desk.settle('not-paid', '', await desk.onDay(0.9)))[0]).toContain('it could still be paid');
    const headers = { date: new Date(now + 1.1 * DAY_MS).toUTCString() };
    const none = { status: 404, json: { errors: [{ code: 'USR_002', title: 'no such payment' }] }, headers };
    desk.answer({ [OWN]: none, [BESIDE]: none });
    expect((await desk.settle('not-paid', '', await desk.onDay(1.1)))[1]).toMatch(/^done/);
  },
);

const DEAD = '0b9a4c1e-77d2-4f35-8e60-000000000005';
const NAMED = '0b9a4c1e-77d2-4f35-8e60-000000000007';

test('a quote that people leave beside while the quotes of its run are being asked for is asked for too', async () => {
  const { ledger, config } = desk.app;
  const tried = { reasonCode: 'E_TRIED', reason: 'it was tried for 24 hours' };
  await ledger.payouts.move({ ...desk.place, to: 'held', actor: 'w', reason: 'E_TRIED', values: tried });
  await desk.server.redis.rpush(`${config.prefix}:run:${desk.runId}:dead`, `2 ${DEAD}`);
  expect(await finishRun(ledger, desk.runId)).toBe(true);
  desk.answer({ [NAMED]: payment(NAMED, 'COMPLETED') });
  const pay = await desk.onDay(2);
  const settled: string[] = [];
  const readPayment = async (id: string): ReturnType<typeof pay.service.readPayment> => {
    if (settled.length === 0) settled.push(...(await desk.settle('paid', NAMED, await desk.onDay(2))));
    return await pay.service.readPayment(id);
  };
  const askNow = async (more: object): Promise<void> => {
    await lookUpDeadQuotes({ ...(await desk.onDay(2)), ...more, ledger }, await readRun(desk.app, desk.runId));
  };
  await askNow({ service: { ...pay.service, readPayment } });
  expect(settled[1]).toMatch(/^done/);
  await desk.track(await desk.onDay(2));
  desk.answer({ [NAMED]: payment(NAMED, 'COMPLETED'), [OWN]: payment(OWN, 'COMPLETED') });
  await askNow({});
  expect(await desk.payout()).toMatchObject({ state: 'held', reasonCode: 'E_BREACH' });
});
