import { expect, test } from 'vitest';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import { intentFiles, readIntentFile } from '../../src/ledger/intents/intent-log.ts';
import { lookUpDeadQuotes } from '../../src/runs/after/finish.ts';
import { findRetryRows } from '../../src/runs/after/retry-file.ts';
import { readBack } from '../../src/runs/read-back.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { copyLedger } from '../ledger/test-ledger.ts';
import { BESIDE, HIDES_REFERENCE, OWN, payment, useBesideDesk } from './beside-desk.ts';

const desk = await useBesideDesk();

test('another host that compares a settlement by another payment takes it for no proof against the service', async () => {
  await desk.heldBeside();
  desk.answer({ [OWN]: payment(OWN, 'FAILED'), [BESIDE]: payment(BESIDE, 'COMPLETED') });
  await desk.settle('paid', BESIDE);
  const lines: unknown[] = [];
  for (const file of await intentFiles(desk.app.config.dataDir)) {
    for await (const line of readIntentFile(file)) lines.push(line);
  }
  expect(lines).toContainEqual(expect.objectContaining({ quoteId: OWN, paymentId: BESIDE, isNamed: true }));
});

test('a settlement by another payment that Redis forgot leaves the own quote beside it when logs tell of it', async () => {
  const putBack = await copyLedger(desk.server.redis, desk.app.config.prefix);
  desk.answer({ [BESIDE]: payment(BESIDE, 'PROCESSING') });
  await desk.settle('paid', BESIDE);
  await putBack();
  await desk.logSays(BESIDE);
  await desk.lookUp();
  expect(await desk.payout()).toMatchObject({ state: 'accepted', paymentId: BESIDE });
  desk.answer({ [OWN]: payment(OWN, 'COMPLETED'), [BESIDE]: payment(BESIDE, 'FAILED') });
  await desk.track();
  expect(await desk.payout()).toMatchObject({ state: 'held', reasonCode: 'E_NOT_PROVABLE' });
});

test('it leaves the named payment beside the own one where the copy has the payout as accepted', async () => {
  desk.answer({ [OWN]: payment(OWN, 'PROCESSING') });
  await desk.lookUp();
  const putBack = await copyLedger(desk.server.redis, desk.app.config.prefix);
  desk.answer({});
  for (const days of [1, 2, 3]) await desk.track(await desk.onDay(days));
  expect(await desk.payout()).toMatchObject({ state: 'held', reasonCode: 'E_PAYMENT_GONE' });
  desk.answer({ [BESIDE]: payment(BESIDE, 'COMPLETED', HIDES_REFERENCE) });
  expect((await desk.settle('paid', BESIDE, await desk.onDay(4)))[1]).toMatch(/^done/);
  await putBack();
  await desk.logSays(BESIDE);
  desk.answer({ [OWN]: payment(OWN, 'FAILED'), [BESIDE]: payment(BESIDE, 'COMPLETED', HIDES_REFERENCE) });
  await desk.track(await desk.onDay(5));
  expect(await desk.payout()).toMatchObject({ state: 'held', reasonCode: 'E_NOT_PROVABLE' });
});

test('a payout that a failed payment had settled is settled by its own quote, once and for all', async () => {
  desk.answer({ [BESIDE]: payment(BESIDE, 'PROCESSING') });
  await desk.settle('paid', BESIDE);
  desk.answer({ [OWN]: payment(OWN, 'COMPLETED'), [BESIDE]: payment(BESIDE, 'FAILED') });
  await desk.track();
  expect((await desk.payout()).state).toBe('held');
  expect((await desk.settle('paid', OWN))[1]).toMatch(/^done/);
  expect(await desk.payout()).toMatchObject({ state: 'accepted', paymentId: OWN });
  await desk.track();
  expect(await desk.payout()).toMatchObject({ state: 'completed', paymentId: OWN });
  await lookUpDeadQuotes({ ...desk.deps, ledger: desk.app.ledger }, await readRun(desk.app, desk.runId));
  expect((await desk.payout()).state).toBe('completed');
});

test('a payout that its own quote settles has no amount of the payment that had settled it', async () => {
  await desk.heldBeside();
  const source = { internalId: 'INV-2', sourceCurrency: 'USD', sourceAmount: '99.00' };
  desk.answer({ [BESIDE]: payment(BESIDE, 'PROCESSING', { originator: source }) });
  await desk.settle('paid', BESIDE);
  expect((await desk.payout()).sourceAmount).toEqual({ minor: 9900n, currency: 'USD' });
  desk.answer({ [BESIDE]: payment(BESIDE, 'FAILED', { originator: source }), [OWN]: payment(OWN, 'COMPLETED') });
  await desk.track();
  await desk.settle('paid', OWN);
  expect(await desk.payout()).toMatchObject({ paymentId: OWN, sourceAmount: null });
});

test.each([
  ['shows our reference', {}],
  ['shows no reference', HIDES_REFERENCE],
])(
  'a payment by which people settled a payout before, and that %s, still counts when that of its own quote comes back',
  async (_how, more) => {
    desk.answer({ [BESIDE]: payment(BESIDE, 'COMPLETED', more) });
    expect((await desk.settle('paid', BESIDE))[1]).toMatch(/^done/);
    await desk.track();
    // Its first request comes through late, and is found at the end of the run.
    desk.answer({ [BESIDE]: payment(BESIDE, 'COMPLETED', more), [OWN]: payment(OWN, 'COMPLETED', more) });
    await lookUpDeadQuotes({ ...desk.deps, ledger: desk.app.ledger }, await readRun(desk.app, desk.runId));
    expect(await desk.payout()).toMatchObject({ state: 'held', reasonCode: 'E_BREACH' });
    expect((await desk.settle('paid', OWN))[1]).toMatch(/^done.*may have been paid twice/);
    await desk.track();
    // They ask the service to return one of them.
    desk.answer({ [BESIDE]: payment(BESIDE, 'COMPLETED', more), [OWN]: payment(OWN, 'RETURNED', more) });
    await desk.track();
    expect((await desk.payout()).state).toBe('held');
    expect((await findRetryRows(desk.app, desk.runId)).rows).toBe(0);
    expect((await desk.settle('not-paid', '', await desk.onDay(2)))[0]).toContain('cannot be settled like this');
  },
);

test('a payout that people settled by another quote is not free while its own may be paid, at a service of which nothing is verified', async () => {
  const nothing = { rules: { ...desk.deps.rules, capabilities: new Set<string>() } };
  await desk.heldBeside();
  desk.answer({ [BESIDE]: payment(BESIDE, 'PROCESSING') });
  expect((await desk.settle('paid', BESIDE, { ...desk.deps, ...nothing }))[1]).toMatch(/^done/);
  desk.answer({ [BESIDE]: payment(BESIDE, 'FAILED'), [OWN]: payment(OWN, 'COMPLETED') });
  await desk.track(await desk.onDay(1, nothing));
  expect((await desk.payout()).state).toBe('held');
});

test('a payout that another payment had settled is not settled as not paid while its own quote is paid', async () => {
  desk.answer({ [BESIDE]: payment(BESIDE, 'PROCESSING') });
  await desk.settle('paid', BESIDE);
  desk.answer({ [OWN]: payment(OWN, 'COMPLETED'), [BESIDE]: payment(BESIDE, 'FAILED') });
  await desk.track();
  expect((await desk.settle('not-paid', ''))[0]).toContain('the service has its payment');
  expect(await desk.payout()).toMatchObject({ state: 'accepted', paymentId: OWN });
});

test('nor while that payment, which was gone for a while, is there again', async () => {
  desk.answer({ [BESIDE]: payment(BESIDE, 'PROCESSING', HIDES_REFERENCE) });
  expect((await desk.settle('paid', BESIDE))[1]).toMatch(/^done/);
  desk.answer({});
  for (const days of [1, 2, 3]) await desk.track(await desk.onDay(days));
  expect(await desk.payout()).toMatchObject({ state: 'held', reasonCode: 'E_PAYMENT_GONE', paymentId: BESIDE });
  desk.answer({ [BESIDE]: payment(BESIDE, 'COMPLETED', HIDES_REFERENCE) });
  expect((await desk.settle('not-paid', '', await desk.onDay(4)))[0]).toContain('cannot be settled like this');
  expect((await desk.payout()).state).not.toBe('rejected');
});

test('a payment that people name while a look-up finds its own one counts beside it', async () => {
  desk.answer({ [BESIDE]: payment(BESIDE, 'COMPLETED') });
  const { service } = desk.deps;
  const slow = {
    ...desk.deps,
    service: {
      ...service,
      async readPayment(id: string) {
        const said = await service.readPayment(id);
        if (id !== OWN || (await desk.payout()).proposal === null) return said;
        // A worker's look-up comes in between.
        desk.answer({ [OWN]: payment(OWN, 'PROCESSING'), [BESIDE]: payment(BESIDE, 'COMPLETED') });
        await desk.lookUp();
        return said;
      },
    },
  };
  await desk.settle('paid', BESIDE, slow);
  expect(await desk.payout()).toMatchObject({ state: 'accepted', paymentId: OWN });
  desk.answer({ [OWN]: payment(OWN, 'FAILED'), [BESIDE]: payment(BESIDE, 'COMPLETED') });
  await desk.track(await desk.onDay(1));
  expect((await desk.payout()).state).toBe('held');
});

test('the own quote of a payout that another payment settled is asked for at the end of the run and whenever payments are read back', async () => {
  desk.answer({ [BESIDE]: payment(BESIDE, 'COMPLETED') });
  const said = await desk.settle('paid', BESIDE);
  expect(said[1]).toContain(`the service knows no payment for the quote ${OWN}`);
  await desk.track();
  // Its first request comes through late.
  desk.answer({ [OWN]: payment(OWN, 'COMPLETED'), [BESIDE]: payment(BESIDE, 'COMPLETED') });
  const pay = { ...desk.deps, ledger: desk.app.ledger };
  const differences: unknown[] = [];
  for await (const part of readBack(pay, desk.runId)) differences.push(...part.differences);
  expect(differences).toContainEqual(
    expect.objectContaining({ paymentId: OWN, what: 'payment of a quote that was left behind', service: 'COMPLETED' }),
  );
  await lookUpDeadQuotes(pay, await readRun(desk.app, desk.runId));
  expect(await desk.payout()).toMatchObject({ state: 'held', reasonCode: 'E_BREACH' });
});

test('after a restore, each payment by which people settled a payout counts, in whatever order logs tell of them', async () => {
  const { redis } = desk.server;
  const { ledger, config } = desk.app;
  const { armingCounter, credentials } = await desk.payout();
  const quotes = `${config.prefix}:quotes:${OWN.slice(0, 4)}`;
  // The answers come first, from another directory than the arming that Redis forgot.
  await redis.hdel(quotes, OWN);
  const h = hashReference((await desk.payout()).row.reference);
  await desk.logs([
    { y: OWN, p: BESIDE, n: true, h },
    { y: OWN, p: OWN, n: true, h },
  ]);
  const file = { r: desk.runId, l: '2', s: 's', n: 'c', h };
  const sent = { q: OWN, x: '1', k: '1', c: armingCounter + 1, o: 'late', t: String(Date.now() - 1000), d: '20261128' };
  await desk.logs([{ ...file, ...sent, f: credentials }], 'd-late');
  expect(await ledger.runs.quotesBeside(desk.runId, 2)).toContain(BESIDE);
});
