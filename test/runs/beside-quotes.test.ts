import { expect, test } from 'vitest';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import { acceptPayment } from '../../src/pay/facts.ts';
import { lookUpDeadQuotes } from '../../src/runs/after/finish.ts';
import { findRetryRows } from '../../src/runs/after/retry-file.ts';
import { indicationsOf } from '../../src/runs/decide/choices.ts';
import { decideInBulk } from '../../src/runs/decide/in-bulk.ts';
import { readBack } from '../../src/runs/read-back.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { parsePayment } from '../../src/service/replies.ts';
import { BESIDE, DOWN, OWN, payment, useBesideDesk } from './beside-desk.ts';
import { armPayout, loseQuote, movePayout, payoutAt, recordRun, rowAt } from './recorded-run.ts';

const desk = await useBesideDesk();

const HELD_FOR_PEOPLE = {
  state: 'held',
  reasonCode: 'E_NOT_PROVABLE',
  reason: `the payment ${OWN} is FAILED, and nothing can prove that no other quote of it was paid`,
};

/** Settled by its own quote, whose payment then fails. */
async function failBeside(more: object = {}): Promise<void> {
  await desk.heldBeside();
  desk.answer({ [OWN]: payment(OWN, 'FAILED', more) });
  await desk.settle('paid', OWN);
  await desk.server.redis.hdel(`${desk.app.config.prefix}:head`, 'halt');
  await desk.track();
}

test.each([
  ['as we asked for it', {}],
  ['with a reference in a form of the service', { originator: { internalId: 'INV2' } }],
  ['with another amount', { originator: { internalId: 'INV-2', sourceCurrency: 'EUR', sourceAmount: '99.00' } }],
])('a failed payment %s does not settle a payout that was paid by another quote', async (_how, more) => {
  await desk.heldBeside();
  desk.answer({ [OWN]: payment(OWN, 'FAILED', more), [BESIDE]: payment(BESIDE, 'COMPLETED') });
  const said = await desk.settle('paid', OWN);
  expect(said[0]).toContain('the service also has a payment for its quote');
  expect((await desk.payout()).state).toBe('held');
});

test.each([
  ['is not found', {}],
  ['is paid', { [BESIDE]: payment(BESIDE, 'COMPLETED') }],
  ['failed as well', { [BESIDE]: payment(BESIDE, 'RETURNED') }],
  ['cannot be asked for', { [BESIDE]: DOWN }],
])('a payment that fails beside another quote that %s frees no reference: people decide', async (_how, replies) => {
  await desk.heldBeside();
  desk.answer({ [OWN]: payment(OWN, 'PROCESSING') });
  expect((await desk.settle('paid', OWN))[1]).toMatch(/^done/);
  desk.answer({ [OWN]: payment(OWN, 'FAILED'), ...replies });
  await desk.track(await desk.onDay(1));
  expect(await desk.payout()).toMatchObject(HELD_FOR_PEOPLE);
  // Nor is it followed again because its payment is still there.
  for (const days of [2, 3]) await desk.lookUp(await desk.onDay(days));
  const isPaid = BESIDE in replies && (await desk.payout()).reasonCode === 'E_BREACH';
  expect(await desk.payout()).toMatchObject(isPaid ? { state: 'held' } : HELD_FOR_PEOPLE);
  expect((await findRetryRows(desk.app, desk.runId)).rows).toBe(0);
});

test.each([
  ['under another client id', async () => ({ credentials: 'another client', yes: false })],
  ['with a yes of the service', async () => ({ credentials: (await desk.payout()).credentials ?? '', yes: true })],
])(
  'a quote that a late host sent %s may be paid when the payment of the other one fails, and people read that',
  async (_how, said) => {
    await desk.hostComesBack(await said());
    expect(await desk.payout()).toMatchObject({ state: 'held', reasonCode: 'E_BREACH' });
    desk.answer({ [OWN]: payment(OWN, 'FAILED') });
    expect((await desk.settle('paid', OWN))[1]).toMatch(/^done/);
    for (const days of [1, 2, 3]) await desk.track(await desk.onDay(days));
    expect(await desk.payout()).toMatchObject(HELD_FOR_PEOPLE);
    const told = await desk.settle('not-paid', '', await desk.onDay(4));
    expect(told[0]).toContain(
      `of ${BESIDE} payrun knows neither the client id under which it was sent nor whether the service said yes`,
    );
  },
);

test('two people can settle such a payout as not paid, once they read what speaks against it, and that stands', async () => {
  await failBeside();
  const settled = await desk.settle('not-paid', '', await desk.onDay(2));
  expect(settled[1]).toMatch(/^done.*knows no payment for the quote \S+03 .*the payment \S+01 is FAILED/);
  expect(await desk.payout()).toMatchObject({ state: 'rejected', rejectionConfirmed: true });
  const again = await recordRun(desk.app.ledger, { id: 'r2', lines: [2] });
  await desk.lookUp(await desk.onDay(3));
  expect((await desk.payout()).state).toBe('rejected');
  // The row of its retry file, which waits, keeps the reference.
  await movePayout(desk.app.ledger, { runId: again, line: 2 }, 'armed');
  expect((await payoutAt(desk.app.ledger, { runId: again, line: 2 })).state).toBe('armed');
});

test('nor is it settled together with others, where nobody reads that another quote may have been paid', async () => {
  await failBeside();
  const pay = await desk.onDay(2);
  const all = { ...desk.app, openPay: async () => pay, wake: async () => {}, ensureSeason: async () => [] };
  for (const by of ['anna', 'bob']) {
    const asked = { decision: 'not-paid', by, reason: 'old' } as const;
    await decideInBulk(all, { runId: desk.runId, reason: 'E_NOT_PROVABLE' }, asked);
  }
  expect((await desk.payout()).state).toBe('held');
});

test('a failed payment with another amount, beside another quote, halts nothing again, and people can settle it', async () => {
  await failBeside({ originator: { internalId: 'INV-2', sourceCurrency: 'USD', sourceAmount: '99.00' } });
  expect(await desk.payout()).toMatchObject(HELD_FOR_PEOPLE);
  await desk.lookUp(await desk.onDay(2));
  expect((await desk.app.ledger.state.read()).halt).toBeNull();
  expect((await desk.settle('not-paid', '', await desk.onDay(3)))[1]).toMatch(/^done/);
});

test('a payment that comes back beside another quote comes before people', async () => {
  await desk.heldBeside();
  desk.answer({ [OWN]: payment(OWN, 'COMPLETED') });
  await desk.settle('paid', OWN);
  await desk.track();
  expect((await desk.payout()).state).toBe('completed');
  desk.answer({ [OWN]: payment(OWN, 'RETURNED') });
  await desk.track();
  expect(await desk.payout()).toMatchObject({ state: 'held', reasonCode: 'E_NOT_PROVABLE', paymentState: 'RETURNED' });
  expect((await desk.settle('not-paid', '', await desk.onDay(2)))[1]).toMatch(/^done/);
  expect((await findRetryRows(desk.app, desk.runId)).rows).toBe(1);
});

test('the right settlement by a payment beside stands at the end of the run, also made twice, and says nothing of the service', async () => {
  await desk.heldBeside();
  desk.answer({ [OWN]: payment(OWN, 'FAILED'), [BESIDE]: payment(BESIDE, 'COMPLETED') });
  await desk.settle('paid', BESIDE);
  await desk.track();
  const pay = { ...desk.deps, ledger: desk.app.ledger };
  await lookUpDeadQuotes(pay, await readRun(desk.app, desk.runId));
  expect((await desk.payout()).state).toBe('completed');
  expect(await readRun(desk.app, desk.runId)).toMatchObject({ deadQuotes: 0, deadQuotesFound: 0 });
  // Its own quote failed, as it should have.
  for await (const { differences } of readBack(pay, desk.runId)) expect(differences).toEqual([]);
  await desk.app.ledger.payouts.move({ ...desk.place, to: 'held', breach: true, actor: 'season', reason: 'breach' });
  await desk.settle('paid', BESIDE);
  expect(await desk.payout()).toMatchObject({ state: 'accepted', paymentId: BESIDE });
  expect((await desk.app.ledger.state.read()).disproved).toEqual([]);
});

test('a payment of the other quote that appears after two people settled the payout as not paid stops the row of its retry file', async () => {
  await failBeside();
  expect((await desk.settle('not-paid', '', await desk.onDay(2)))[1]).toMatch(/^done/);
  const again = await recordRun(desk.app.ledger, { id: 'r2', lines: [2] });
  desk.answer({ [BESIDE]: payment(BESIDE, 'COMPLETED') });
  await desk.lookUp(await desk.onDay(3));
  expect(await desk.payout()).toMatchObject({ state: 'held', reasonCode: 'E_BREACH' });
  await desk.server.redis.hdel(`${desk.app.config.prefix}:head`, 'halt');
  await expect(armPayout(desk.app.ledger, { runId: again, line: 2 }, 'q-9')).rejects.toThrow('reference');
});

test('a payout that a late host holds as a breach stays held when a later line of another host is compared after it', async () => {
  const sent = await desk.payout();
  await desk.hostComesBack({ credentials: sent.credentials ?? '', yes: true });
  const later = '0b9a4c1e-77d2-4f35-8e60-000000000007';
  const file = { r: desk.runId, l: '2', s: 's', n: 'c', h: hashReference(rowAt(2).reference), d: '20261128' };
  const arming = { q: later, x: '1', k: '2', c: sent.armingCounter + 2, o: 'own', t: String(Date.now() - 1000) };
  await desk.logs([{ ...file, ...arming, f: sent.credentials }], desk.app.dataDirId);
  expect(await desk.payout()).toMatchObject({ state: 'held', reasonCode: 'E_BREACH', quoteId: OWN });
  expect(await desk.app.ledger.runs.quotesBeside(desk.runId, 2)).toEqual([BESIDE, later]);
});

test('nor does the answer to its own payment request, which was under way, end that', async () => {
  const sent = await desk.payout();
  await desk.hostComesBack({ credentials: sent.credentials ?? '', yes: true });
  const made = parsePayment({ paymentId: OWN, paymentState: 'INITIATED', originator: { internalId: 'INV-2' } });
  if (made === undefined) throw new Error('no payment');
  await acceptPayment(desk.deps, sent, { quoteId: OWN, payment: made, exchange: '' });
  expect(await desk.payout()).toMatchObject({ state: 'held', reasonCode: 'E_BREACH' });
});

test.each([
  ['is paid', { [BESIDE]: payment(BESIDE, 'COMPLETED') }, 'E_BREACH'],
  ['is not found', {}, 'E_NOT_PROVABLE'],
  ['cannot be asked for', { [BESIDE]: DOWN }, 'E_NOT_PROVABLE'],
])('a payout gets no new quote while another quote of it %s: people decide', async (_how, replies, code) => {
  await desk.server.redis.rpush(`${desk.app.config.prefix}:run:${desk.runId}:beside`, `2 ${BESIDE}`);
  desk.answer(replies);
  const rules = { ...desk.deps.rules, notFoundGapMs: 0 };
  for (const days of [0.3, 0.4]) await desk.lookUp(await desk.onDay(days, { rules }));
  expect(await desk.payout()).toMatchObject({
    state: 'held',
    reasonCode: 'E_NOT_PROVABLE',
    reason: `the quote ${OWN} is proven dead, and nothing can prove that no other quote of it was paid`,
  });
  await desk.lookUp(await desk.onDay(0.5, { rules }));
  expect(await desk.payout()).toMatchObject({ state: 'held', quoteId: OWN, reasonCode: code });
});

test('nor does one that a later line of its own quote made unknown again, after a breach', async () => {
  const sent = await desk.payout();
  await desk.hostComesBack({ credentials: sent.credentials ?? '', yes: true });
  const file = { r: desk.runId, l: '2', s: 's', n: 'c', h: hashReference(rowAt(2).reference), d: '20261128' };
  const counted = { k: '2', c: sent.armingCounter + 2, o: 'own', t: String(Date.now() - 1000) };
  const arming = { q: OWN, x: String(sent.quoteExpiresAt), ...counted, f: sent.credentials };
  await desk.logs([{ ...file, ...arming }], desk.app.dataDirId);
  expect((await desk.payout()).state).toBe('unknown');
  desk.answer({ [BESIDE]: payment(BESIDE, 'COMPLETED') });
  const rules = { ...desk.deps.rules, notFoundGapMs: 0 };
  for (const days of [0.3, 0.4]) await desk.lookUp(await desk.onDay(days, { rules }));
  expect(await desk.payout()).toMatchObject({ state: 'held', quoteId: OWN, reasonCode: 'E_BREACH' });
});

test('a yes to a quote that logs of another host left beside an unknown one is a breach, whichever host compares first', async () => {
  const [present, earlier] = ['0b9a4c1e-77d2-4f35-8e60-000000000006', OWN];
  const sent = await desk.payout();
  const file = { r: desk.runId, l: '2', s: 's', n: 'c', h: hashReference(rowAt(2).reference), d: '20261128' };
  const counted = { k: '1', c: sent.armingCounter + 1, o: 'own', t: String(Date.now() - 1000) };
  const arming = { q: present, x: String(Date.now()), ...counted, f: sent.credentials };
  await desk.logs([{ ...file, ...arming }], desk.app.dataDirId);
  expect(await desk.payout()).toMatchObject({ state: 'unknown', quoteId: present });
  await desk.logs([{ y: earlier, p: earlier, h: file.h }]);
  expect(await desk.payout()).toMatchObject({
    state: 'held',
    reasonCode: 'E_BREACH',
    reason: `the service said yes to the quote ${earlier}, which the payout left behind`,
  });
  expect(await desk.app.ledger.runs.quotesBeside(desk.runId, 2)).toEqual([earlier]);
});

function idOf(end: number): string {
  return `0b9a4c1e-77d2-4f35-8e60-0000000000${end}`;
}

function completed(line: number, quote: string): ReturnType<typeof payment> {
  return payment(quote, 'COMPLETED', { originator: { internalId: rowAt(line).reference } });
}

test('a quote that may be paid is asked for until it cannot be, also once another row of its run was a breach', async () => {
  const { ledger } = desk.app;
  const runId = await recordRun(ledger, { id: 'r7', lines: [5, 6] });
  const [dead, present, own, beside] = [idOf(50), idOf(51), idOf(61), idOf(62)] as const;
  await loseQuote(ledger, { runId, line: 5 }, dead);
  await armPayout(ledger, { runId, line: 5 }, present);
  await armPayout(ledger, { runId, line: 6 }, own);
  for (const line of [5, 6]) await movePayout(ledger, { runId, line }, 'accepted', 'completed');
  await desk.server.redis.rpush(`${desk.app.config.prefix}:run:${runId}:beside`, `6 ${beside}`);
  const stateAfter = async (days: number, line: number): Promise<string> => {
    await lookUpDeadQuotes({ ...(await desk.onDay(days)), ledger }, await readRun(desk.app, runId));
    return (await payoutAt(ledger, { runId, line })).state;
  };
  desk.answer({ [dead]: completed(5, dead) });
  expect(await stateAfter(0, 5)).toBe('held');
  // Two people settle it: it is told once.
  await ledger.payouts.move({
    runId,
    line: 5,
    to: 'accepted',
    quoteId: present,
    actor: 'anna and bob',
    reason: '',
  });
  expect(await stateAfter(0, 5)).toBe('accepted');
  desk.answer({ [dead]: completed(5, dead), [beside]: completed(6, beside) });
  expect(await stateAfter(0.5, 6)).toBe('held');
  expect(await readRun(desk.app, runId)).toMatchObject({ deadQuotes: 1, deadQuotesFound: 1 });
});

test('a payment that is found after its retry was paid is a breach', async () => {
  await desk.app.ledger.payouts.move({
    ...desk.place,
    to: 'held',
    actor: 'w',
    reason: 'E_TRIED',
    values: { reasonCode: 'E_TRIED' },
  });
  expect((await desk.settle('not-paid', '', await desk.onDay(2)))[1]).toMatch(/^done/);
  const place = { runId: await recordRun(desk.app.ledger, { id: 'r2', lines: [2] }), line: 2 };
  await armPayout(desk.app.ledger, place, BESIDE);
  await movePayout(desk.app.ledger, place, 'accepted');
  desk.answer({ [OWN]: payment(OWN, 'COMPLETED') });
  await desk.lookUp(await desk.onDay(3));
  expect(await desk.payout()).toMatchObject({
    state: 'held',
    reasonCode: 'E_BREACH',
    reason: 'it has a payment, and so has payout r2-2 with the same reference',
  });
  expect((await desk.app.ledger.state.read()).halt).toContain('r2-2');
});

test('a yes of the service to a quote that was proven dead holds its payout, whatever it was held for before', async () => {
  const [dead, present] = ['0b9a4c1e-77d2-4f35-8e60-000000000005', '0b9a4c1e-77d2-4f35-8e60-000000000006'];
  const { ledger } = desk.app;
  const place = { runId: await recordRun(ledger, { id: 'r9', lines: [3] }), line: 3 };
  await loseQuote(ledger, place, dead);
  await armPayout(ledger, place, present);
  await movePayout(ledger, place, 'unknown');
  const breach = { reasonCode: 'E_BREACH', reason: 'the payment shows another amount' };
  await ledger.payouts.move({ ...place, to: 'held', breach: true, actor: 'w', reason: 'breach', values: breach });
  const notPaid = { reasonCode: 'E_NOT_PAID', rejectionConfirmed: true } as const;
  await ledger.payouts.move({ ...place, to: 'rejected', actor: 'anna and bob', reason: 'not paid', values: notPaid });
  await desk.logs([{ y: dead, p: dead, h: hashReference(rowAt(3).reference) }]);
  expect(await payoutAt(ledger, place)).toMatchObject({ state: 'held', reasonCode: 'E_BREACH' });
  // Once: people who settle it again are not told anew at each restart.
  await ledger.payouts.move({ ...place, to: 'rejected', actor: 'anna and bob', reason: 'not paid', values: notPaid });
  await desk.logs([{ y: dead, p: dead, h: hashReference(rowAt(3).reference) }]);
  expect((await payoutAt(ledger, place)).state).toBe('rejected');
});

test('another quote of a payout that is paid is asked for until that can be paid no more', async () => {
  await desk.heldBeside();
  desk.answer({ [OWN]: payment(OWN, 'COMPLETED') });
  await desk.settle('paid', OWN);
  await desk.track();
  const lookUp = async (days: number): Promise<number | null> => {
    await lookUpDeadQuotes(
      { ...(await desk.onDay(days)), ledger: desk.app.ledger },
      await readRun(desk.app, desk.runId),
    );
    return (await readRun(desk.app, desk.runId)).deadQuotesFound;
  };
  expect(await lookUp(0)).toBeNull();
  // Those that were proven dead are not asked for again and again meanwhile.
  const dead = '0b9a4c1e-77d2-4f35-8e60-000000000005';
  await desk.app.ledger.runs.note(desk.runId, { reportVersion: '1' });
  await desk.server.redis.rpush(`${desk.app.config.prefix}:run:${desk.runId}:dead`, `2 ${dead}`);
  const asked = async (days: number): Promise<string[]> => {
    const ids: string[] = [];
    const pay = await desk.onDay(days);
    const service = {
      ...pay.service,
      async readPayment(id: string) {
        ids.push(id);
        return await desk.deps.service.readPayment(id);
      },
    };
    await lookUpDeadQuotes({ ...pay, service, ledger: desk.app.ledger }, await readRun(desk.app, desk.runId));
    return ids;
  };
  expect(await asked(0)).toEqual([BESIDE]);
  expect(await asked(2)).toEqual([dead, BESIDE]);
  expect((await readRun(desk.app, desk.runId)).deadQuotesFound).toBe(0);
});

test('what a lost host may have sent is never called proven dead', async () => {
  const sent = await desk.payout();
  const lost = { ...sent, state: 'held', quoteId: null, attempts: 1, reasonCode: 'E_DIR_LOST' } as const;
  expect(indicationsOf(lost, { hasAllCompared: true }).notPaid).toEqual([]);
});
