import { expect, test } from 'vitest';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import { referencesKey } from '../../src/ledger/keys.ts';
import { BESIDE, DOWN, OWN, payment, useBesideDesk } from './beside-desk.ts';
import { armPayout, movePayout, recordRun, rowAt } from './recorded-run.ts';

const desk = await useBesideDesk();

const FORBIDDEN = { status: 403, json: { errors: [{ code: 'AUTH_051', title: 'of another client' }] } };
const TRIED = { reasonCode: 'E_TRIED', reason: 'it was tried for 24 hours' };
const CAVEAT = `the service answers with status 403 for ${OWN}: it may have been paid, although payrun cannot see it`;

async function tried(): Promise<void> {
  await desk.app.ledger.payouts.move({ ...desk.place, to: 'held', actor: 'w', reason: 'E_TRIED', values: TRIED });
}

test('two people can settle a payout whose payment the service refuses to show, once they read that it may have been paid', async () => {
  await tried();
  desk.answer({ [OWN]: FORBIDDEN });
  const said = await desk.settle('not-paid', '', await desk.onDay(2));
  expect(said[0]).toContain(CAVEAT);
  expect(said[1]).toMatch(/^done/);
  expect(await desk.payout()).toMatchObject({ state: 'rejected', rejectionConfirmed: true });
});

test('nor does such a quote beside keep people from settling the payout by the payment that is shown', async () => {
  await desk.heldBeside();
  desk.answer({ [OWN]: payment(OWN, 'COMPLETED'), [BESIDE]: FORBIDDEN });
  const said = await desk.settle('paid', OWN, await desk.onDay(2));
  expect(said[0]).toContain(CAVEAT.replace(OWN, BESIDE));
  expect((await desk.payout()).state).toBe('accepted');
});

test.each([
  ['that answers so to everything', FORBIDDEN, { canary: { sings: async () => false as const } }],
  ['that is down', DOWN, {}],
])('a service %s is asked again: nothing is decided', async (_how, reply, more) => {
  await tried();
  desk.answer({ [OWN]: reply });
  const said = await desk.settle('not-paid', '', await desk.onDay(2, more));
  expect(said[0]).toContain('The service could not be asked about the payout');
  expect((await desk.payout()).state).toBe('held');
});

test('people who name a payment that the service refuses to show are told so', async () => {
  await tried();
  desk.answer({ [OWN]: FORBIDDEN });
  const said = await desk.settle('paid', OWN, await desk.onDay(2));
  expect(said[0]).toContain(`the service shows no payment ${OWN}: it answers with status 403`);
});

test('people who settle a payout as paid read that its retry was paid too', async () => {
  await tried();
  expect((await desk.settle('not-paid', '', await desk.onDay(2)))[1]).toMatch(/^done/);
  const place = { runId: await recordRun(desk.app.ledger, { id: 'r2', lines: [2] }), line: 2 };
  await armPayout(desk.app.ledger, place, BESIDE);
  await movePayout(desk.app.ledger, place, 'accepted', 'completed');
  desk.answer({ [OWN]: payment(OWN, 'COMPLETED') });
  const said = await desk.settle('paid', OWN, await desk.onDay(3));
  expect(said[0]).toContain('payout r2-2 has the same reference and was paid: both are paid then');
});

test('people who settle a breach as not paid are told the way where its payment failed', async () => {
  await desk.heldBeside();
  desk.answer({ [OWN]: payment(OWN, 'FAILED') });
  const said = await desk.settle('not-paid', '', await desk.onDay(2));
  expect(said[0]).toContain(
    `the service has the payment ${OWN} for it, which is FAILED: settle it as paid by that payment, and it fails`,
  );
});

test('a row that people allowed beside the paid one of its reference is no breach when a look-up finds its payment', async () => {
  const { ledger, config } = desk.app;
  const paid = { runId: await recordRun(ledger, { id: 'r2', lines: [3] }), line: 3 };
  await armPayout(ledger, paid, BESIDE);
  await movePayout(ledger, paid, 'accepted', 'completed');
  // As two people leave it who allow a row: the reference is its own, and the one that had it before is kept.
  const hash = hashReference(rowAt(2).reference);
  await desk.server.redis.hset(referencesKey(config.prefix, hash), hash, 'r1-2', `${hash}+`, 'r2-3');
  desk.answer({ [OWN]: payment(OWN, 'COMPLETED') });
  await desk.lookUp(await desk.onDay(0.5));
  expect((await desk.payout()).state).toBe('accepted');
  expect((await ledger.state.read()).halt).toBeNull();
});
