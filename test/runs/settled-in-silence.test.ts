import { expect, test } from 'vitest';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import { referencesKey } from '../../src/ledger/keys.ts';
import type { ReplyOptions } from '../support/answering-server.ts';
import { BESIDE, OWN, payment, useBesideDesk } from './beside-desk.ts';
import { armPayout, movePayout, recordRun, rowAt } from './recorded-run.ts';

const desk = await useBesideDesk();

const TRIED = { reasonCode: 'E_TRIED', reason: 'it was tried for 24 hours' };
const FORBIDDEN = answerWith(403);

function answerWith(status: number, code = 'AUTH_051'): ReplyOptions {
  return { status, json: { errors: [{ code, title: 'of another client' }] } };
}

interface Silence {
  readonly answer: (paymentId: string) => ReplyOptions;
  /** What people read of it. */
  readonly words: string;
}

const NO_STATE = 'the answer shows no state of a payment';
const OTHER = '0b9a4c1e-77d2-4f35-8e60-000000000007';

/** Answers that another question does not change. */
const LASTING: Readonly<Record<string, Silence>> = {
  ...Object.fromEntries(
    [302, 400, 402, 403, 405, 409, 410, 422, 451].map((status) => [
      `status ${status}`,
      { answer: () => answerWith(status), words: `it answers with status ${status}` },
    ]),
  ),
  'no content': { answer: () => ({ status: 204 }), words: 'it answers with status 204' },
  'a 404 in other words': { answer: () => answerWith(404, 'USR_011'), words: 'it answers with status 404 USR_011' },
  'something else': { answer: () => ({ json: { ok: true } }), words: 'it answers with status 200' },
  'a quote that nobody paid': { answer: (paymentId) => payment(paymentId, 'QUOTED'), words: NO_STATE },
  'a payment without a state': { answer: (paymentId) => ({ json: { paymentId } }), words: NO_STATE },
  'another payment': { answer: () => payment(OTHER, 'COMPLETED'), words: 'another payment was answered' },
};

const PASSING = [401, 429, 503];

function caveatOf(paymentId: string, words: string): string {
  return `the service shows no payment ${paymentId}, for ${words}: it may have been paid, although payrun cannot see it`;
}

async function tried(): Promise<void> {
  await desk.app.ledger.payouts.move({ ...desk.place, to: 'held', actor: 'w', reason: 'E_TRIED', values: TRIED });
}

test.each(Object.entries(LASTING))(
  'two people can settle a payout whose payment the service answers with %s, once they read that it may have been paid',
  async (_how, { answer, words }) => {
    await tried();
    desk.answer({ [OWN]: answer(OWN) });
    const said = await desk.settle('not-paid', '', await desk.onDay(2));
    expect(said[0]).toContain(caveatOf(OWN, words));
    expect(said[1]).toMatch(/^done/);
    expect(await desk.payout()).toMatchObject({ state: 'rejected', rejectionConfirmed: true });
  },
);

test.each(Object.entries(LASTING))(
  'nor does a quote beside that is answered with %s keep people from settling the payout by the payment that is shown',
  async (_how, { answer, words }) => {
    await desk.heldBeside();
    desk.answer({ [OWN]: payment(OWN, 'COMPLETED'), [BESIDE]: answer(BESIDE) });
    const said = await desk.settle('paid', OWN, await desk.onDay(2));
    expect(said[0]).toContain(caveatOf(BESIDE, words));
    expect((await desk.payout()).state).toBe('accepted');
  },
);

test.each(PASSING)('a service that answers with status %i is asked again: nothing is decided', async (status) => {
  await tried();
  desk.answer({ [OWN]: answerWith(status) });
  const said = await desk.settle('not-paid', '', await desk.onDay(2));
  expect(said[0]).toContain('The service could not be asked about the payout');
  expect(said[1]).toBe(said[0]);
  expect(await desk.payout()).toMatchObject({ state: 'held', proposal: null });
});

test.each(PASSING)('and so it is where it answers with status %i for a quote beside', async (status) => {
  await desk.heldBeside();
  desk.answer({ [OWN]: payment(OWN, 'COMPLETED'), [BESIDE]: answerWith(status) });
  const said = await desk.settle('paid', OWN, await desk.onDay(2));
  expect(said[0]).toContain('The service could not be asked about the payout');
  expect(await desk.payout()).toMatchObject({ state: 'held', proposal: null });
});

test('a service that answers so to everything is asked again: nothing is decided', async () => {
  await tried();
  desk.answer({ [OWN]: FORBIDDEN });
  const said = await desk.settle('not-paid', '', await desk.onDay(2, { canary: { sings: async () => false } }));
  expect(said[0]).toContain('The service could not be asked about the payout');
  expect((await desk.payout()).state).toBe('held');
});

test.each([
  ['says that it knows none', {}],
  ['refuses to show it', { [OWN]: FORBIDDEN }],
])(
  'a quote that lives by the clock of the service is not settled as not paid, however far that of Redis is ahead, where it %s',
  async (_how, replies) => {
    const file = { r: desk.runId, l: '2', s: 's', n: 'c', h: hashReference(rowAt(2).reference), d: '20261128' };
    const arming = {
      q: OWN,
      x: String(Date.now() + 3_600_000),
      k: '2',
      c: 9,
      o: 'own',
      t: String(Date.now()),
      f: 'c1',
    };
    await desk.logs([{ ...file, ...arming }], desk.app.dataDirId);
    await tried();
    desk.answer(replies);
    const said = await desk.settle('not-paid', '', await desk.onDay(2));
    expect(said[0]).toContain('it could still be paid');
    expect(await desk.payout()).toMatchObject({ state: 'held', proposal: null });
  },
);

test.each(['status 400', 'status 403', 'status 410', 'a 404 in other words', 'a quote that nobody paid'])(
  'an accepted payment that the service answers with %s for ever comes before people, who can settle it as paid',
  async (how) => {
    await movePayout(desk.app.ledger, desk.place, 'accepted');
    desk.answer({ [OWN]: LASTING[how]?.answer(OWN) ?? {} });
    for (const days of [1, 2]) await desk.track(await desk.onDay(days));
    expect(await desk.payout()).toMatchObject({ state: 'held', reasonCode: 'E_PAYMENT_GONE' });
    expect((await desk.settle('paid', OWN, await desk.onDay(3)))[1]).toMatch(/^done/);
    expect((await desk.payout()).state).toBe('completed');
  },
);

test.each([401, 503])('one that it answers with status %i is waited for', async (status) => {
  await movePayout(desk.app.ledger, desk.place, 'accepted');
  desk.answer({ [OWN]: answerWith(status) });
  for (const days of [1, 90]) await desk.track(await desk.onDay(days));
  expect((await desk.payout()).state).toBe('accepted');
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

test.each([
  ['held', 'unknown', 'held'],
  ['rejected', 'rejected'],
] as const)('and that its retry, which is %s, may have been paid', async (_state, ...states) => {
  await tried();
  expect((await desk.settle('not-paid', '', await desk.onDay(2)))[1]).toMatch(/^done/);
  const place = { runId: await recordRun(desk.app.ledger, { id: 'r2', lines: [2] }), line: 2 };
  await armPayout(desk.app.ledger, place, BESIDE);
  await movePayout(desk.app.ledger, place, ...states);
  desk.answer({ [OWN]: payment(OWN, 'COMPLETED') });
  const said = await desk.settle('paid', OWN, await desk.onDay(3));
  expect(said[0]).toMatch(/payout r2-2 has the same reference and .*may have been paid: both are paid then/);
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
