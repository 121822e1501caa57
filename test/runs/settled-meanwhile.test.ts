import { expect, test } from 'vitest';
import type { AnswerLine } from '../../src/ledger/intents/intent-line.ts';
import { lookUpPayout } from '../../src/pay/look-up/look-up.ts';
import { decidePayout } from '../../src/runs/decide/decide.ts';
import { copyLedger } from '../ledger/test-ledger.ts';
import { BESIDE, OWN, payment, useBesideDesk } from './beside-desk.ts';
import { payoutAt, recordRun } from './recorded-run.ts';

const desk = await useBesideDesk();

const NAMED = '0b9a4c1e-77d2-4f35-8e60-000000000007';
const TRIED = { reasonCode: 'E_TRIED', reason: 'it was tried for 24 hours' };

/** Two people settle the payout as paid; `meanwhile` happens while the service is asked about `asked` for the second of them. */
async function settle(
  paymentId: string,
  { asked, meanwhile, noted = [] }: { asked: string; meanwhile: () => Promise<void>; noted?: AnswerLine[] },
): Promise<string[]> {
  const pay = await desk.onDay(2);
  let times = 0;
  const readPayment: typeof pay.service.readPayment = async (id) => {
    const answer = await pay.service.readPayment(id);
    if (id === asked && ++times === 2) await meanwhile();
    return answer;
  };
  const noteAnswer: typeof pay.intents.noteAnswer = async (line) => void noted.push(line);
  const intents = { ...pay.intents, noteAnswer };
  return await desk.settle('paid', paymentId, { ...pay, intents, service: { ...pay.service, readPayment } });
}

test.each([
  ['another payment with its reference', NAMED],
  ['its own payment', OWN],
])('a breach that comes while the second person settles a payout by %s keeps it held', async (_which, id) => {
  const { redis } = desk.server;
  const { prefix } = desk.app.config;
  await redis.rpush(`${prefix}:run:${desk.runId}:beside`, `2 ${BESIDE}`);
  await redis.hset(`${prefix}:quotes:${BESIDE.slice(0, 4)}`, BESIDE, `${desk.runId}-2`);
  await desk.app.ledger.payouts.move({ ...desk.place, to: 'held', actor: 'w', reason: 'E_TRIED', values: TRIED });
  desk.answer({ [id]: payment(id, 'COMPLETED') });
  const meanwhile = async (): Promise<void> => {
    desk.answer({ [id]: payment(id, 'COMPLETED'), [BESIDE]: payment(BESIDE, 'COMPLETED') });
    await lookUpPayout(await desk.onDay(2), desk.place);
  };
  const said = await settle(id, { asked: BESIDE, meanwhile });
  expect(said[1]).toContain('it has just changed');
  expect(await desk.payout()).toMatchObject({ state: 'held', reasonCode: 'E_BREACH' });
});

test('a settlement by a payment that shows no reference, refused because the payout had changed, is in no log', async () => {
  await desk.app.ledger.payouts.move({ ...desk.place, to: 'held', actor: 'w', reason: 'E_TRIED', values: TRIED });
  desk.answer({ [NAMED]: payment(NAMED, 'COMPLETED', { originator: {} }) });
  const noted: AnswerLine[] = [];
  const meanwhile = async (): Promise<void> => {
    await desk.app.ledger.payouts.move({ ...desk.place, actor: 'w', reason: '', dueMs: 86_400_000 });
  };
  const said = await settle(NAMED, { asked: NAMED, meanwhile, noted });
  expect(said[1]).toContain('it has just changed');
  expect(noted).toEqual([]);
  expect((await desk.payout()).state).toBe('held');
});

test('people who drop a row drop no other state of it that has the same version, where Redis went back meanwhile', async () => {
  const { ledger, config } = desk.app;
  const { redis } = desk.server;
  const place = { runId: await recordRun(ledger, { id: 'r9', lines: [3] }), line: 3 };
  const limit = { reasonCode: 'E_LIMIT', reason: 'it would pass a limit' };
  await ledger.payouts.move({ ...place, to: 'held', actor: 'w', reason: 'E_LIMIT', values: limit });
  const backToHeld = await copyLedger(redis, config.prefix);
  await ledger.payouts.move({ ...place, to: 'ready', actor: 'anna and bob', reason: 'allowed' });
  const backToReady = await copyLedger(redis, config.prefix);
  await backToHeld();
  const drop = async (by: string, waiting: typeof ledger.audit.waiting): Promise<unknown> => {
    const people = { ...ledger, audit: { ...ledger.audit, waiting } };
    const deps = {
      ...desk.app,
      ledger: people,
      openPay: async () => desk.deps,
      wake: async () => {},
      ensureSeason: async () => [],
    };
    const asked = { decision: 'drop', paymentId: '', by, reason: 'wrong file', caveats: 'read' } as const;
    return await decidePayout(deps, await payoutAt(ledger, place), asked);
  };
  expect(await drop('anna', (act) => ledger.audit.waiting(act))).toMatchObject({ result: 'proposed' });
  const goesBack: typeof ledger.audit.waiting = async (act) => {
    await backToReady();
    return await ledger.audit.waiting(act);
  };
  await expect(drop('bob', goesBack)).rejects.toThrow('it has just changed');
  expect((await payoutAt(ledger, place)).state).toBe('ready');
});
