import { afterEach, beforeEach, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import { intentFiles, readIntentFile } from '../../src/ledger/intents/intent-log.ts';
import type { PayDeps } from '../../src/pay/deps.ts';
import { lookUpPayout } from '../../src/pay/look-up/look-up.ts';
import { trackPayout } from '../../src/pay/track/track.ts';
import { lookUpDeadQuotes } from '../../src/runs/after/finish.ts';
import { indicationsOf } from '../../src/runs/decide/choices.ts';
import { decidePayout } from '../../src/runs/decide/decide.ts';
import { readBack } from '../../src/runs/read-back.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { copyLedger } from '../ledger/test-ledger.ts';
import { givingTokens, testSettings } from '../service/test-service.ts';
import { type AnsweringServer, type ReplyOptions, startAnsweringServer } from '../support/answering-server.ts';
import { useTestRedis } from '../support/redis.ts';
import { openTestApp } from './opened-app.ts';
import { armPayout, movePayout, payoutAt, recordRun, rowAt } from './recorded-run.ts';

const OWN = '0b9a4c1e-77d2-4f35-8e60-000000000001';
const BESIDE = '0b9a4c1e-77d2-4f35-8e60-000000000003';
const NOT_FOUND = { status: 404, json: { errors: [{ code: 'USR_002', title: 'no such payment' }] } };
const NOW = AbortSignal.timeout(2 ** 31 - 1);

const server = await useTestRedis();
let app: App;
let service: AnsweringServer;
let deps: PayDeps;
let runId: string;

beforeEach(async () => {
  app = await openTestApp(server.url);
  service = await startAnsweringServer(givingTokens((_request, answering) => answering.reply(NOT_FOUND)));
  deps = await app.openPay({ settings: testSettings(service.url), isSandbox: true });
  runId = await recordRun(app.ledger, { lines: [2] });
  await armPayout(app.ledger, { runId, line: 2 }, OWN);
  await movePayout(app.ledger, { runId, line: 2 }, 'unknown');
});
afterEach(async () => {
  await app.close();
  await service.close();
});

const payout = () => payoutAt(app.ledger, { runId, line: 2 });
const disproved = async () => (await app.ledger.state.read()).disproved;

function answer(replies: Readonly<Record<string, ReplyOptions>>): void {
  service.handle(
    givingTokens((request, answering) => {
      answering.reply(replies[request.path.replace('/v2/payments/', '')] ?? NOT_FOUND);
    }),
  );
}

function payment(paymentId: string, paymentState: string, more: object = {}): ReplyOptions {
  const { reference, beneficiaryIdentityId } = rowAt(2);
  const own = { originator: { internalId: reference }, destination: { beneficiaryIdentityId } };
  return { json: { paymentId, paymentState, ...own, ...more } };
}

/** As a comparison of logs leaves it: held for a breach, with another quote armed beside its own. */
async function heldBeside(): Promise<void> {
  const breach = { reasonCode: 'E_BREACH', reason: `the quote ${BESIDE} was armed too` };
  await app.ledger.payouts.move({
    runId,
    line: 2,
    to: 'held',
    breach: true,
    actor: 'season',
    reason: 'breach',
    values: breach,
  });
  await server.redis.rpush(`${app.config.prefix}:run:${runId}:beside`, `2 ${BESIDE}`);
  await server.redis.hset(`${app.config.prefix}:quotes:${BESIDE.slice(0, 4)}`, BESIDE, `${runId}-2`);
}

/** What two people are shown who settle it, each of whom read what speaks against it. */
async function settle(decision: 'paid' | 'not-paid', paymentId: string, pay = deps): Promise<string[]> {
  const said: string[] = [];
  for (const by of ['anna', 'bob']) {
    const asked = { decision, paymentId, by, reason: 'the console', caveats: 'read' } as const;
    const all = { ...app, openPay: async () => pay, wake: async () => {}, ensureSeason: async () => [] };
    const told = await decidePayout(all, await payout(), asked).catch((error: unknown) => ({
      result: String(error),
      evidence: [],
    }));
    said.push([told.result, ...told.evidence].join('; '));
  }
  return said;
}

const settleAsPaid = (paymentId: string): Promise<string[]> => settle('paid', paymentId);

/** So many days later, under the same credentials, while the service shows what it must know. */
async function onDay(days: number, more: Partial<PayDeps> = {}): Promise<PayDeps> {
  const read: PayDeps['payouts']['read'] = async (place) => {
    const reading = await deps.payouts.read(place);
    return { ...reading, now: reading.now + days * 86_400_000 };
  };
  return {
    ...deps,
    payouts: { ...deps.payouts, read },
    canary: { sings: async () => 'payment' },
    service: { ...deps.service, fingerprint: (await payout()).credentials ?? '' },
    ...more,
  };
}

test.each([
  ['as we asked for it', {}],
  ['with a reference in a form of the service', { originator: { internalId: 'INV2' } }],
  ['with another amount', { source: { amount: '99.00', currency: 'EUR' } }],
])('a failed payment %s does not settle a payout that was paid by another quote', async (_how, more) => {
  await heldBeside();
  answer({ [OWN]: payment(OWN, 'FAILED', more), [BESIDE]: payment(BESIDE, 'COMPLETED') });
  const said = await settleAsPaid(OWN);
  expect(said[0]).toContain('the service also has a payment for its quote');
  expect((await payout()).state).toBe('held');
});

test('a payment that fails ends its payout only when no other quote of it can be paid any more', async () => {
  await heldBeside();
  answer({ [OWN]: payment(OWN, 'FAILED') });
  expect((await settleAsPaid(OWN))[1]).toMatch(/^done/);
  await trackPayout(deps, { runId, line: 2 }, NOW);
  expect((await payout()).state).toBe('accepted');
  answer({ [OWN]: payment(OWN, 'FAILED'), [BESIDE]: payment(BESIDE, 'COMPLETED') });
  await trackPayout(deps, { runId, line: 2 }, NOW);
  expect(await payout()).toMatchObject({
    state: 'held',
    reasonCode: 'E_BREACH',
    reason: `the quote ${BESIDE} was armed too and has a payment, which is COMPLETED`,
  });
});

test('a "not found" under another client id does not end a payout whose other quote may be paid', async () => {
  await heldBeside();
  answer({ [OWN]: payment(OWN, 'FAILED') });
  await settleAsPaid(OWN);
  await trackPayout(await onDay(1, { service: deps.service }), { runId, line: 2 }, NOW);
  expect((await payout()).state).toBe('accepted');
  await trackPayout(await onDay(1), { runId, line: 2 }, NOW);
  await trackPayout(await onDay(2), { runId, line: 2 }, NOW);
  expect((await payout()).state).toBe('failed');
});

test('one "not found" of another quote does not end a payout, nor do two without the gap between them', async () => {
  await heldBeside();
  answer({ [OWN]: payment(OWN, 'FAILED') });
  await settleAsPaid(OWN);
  const later = await onDay(1);
  for (let times = 0; times < 3; times++) await trackPayout(later, { runId, line: 2 }, NOW);
  expect((await payout()).state).toBe('accepted');
});

test.each([
  ['a capability is not verified', async () => await onDay(1, { rules: { ...deps.rules, capabilities: new Set() } })],
  [
    'the service said yes to the first one',
    async () => {
      const { payouts } = app.ledger;
      await payouts.move({ runId, line: 2, actor: 'w', reason: '', values: { seen2xx: true } });
      return await onDay(1);
    },
  ],
])('where %s, a payment that fails beside another quote is held for people', async (_why, givenThat) => {
  await heldBeside();
  answer({ [OWN]: payment(OWN, 'FAILED') });
  await settleAsPaid(OWN);
  const later = await givenThat();
  await trackPayout(later, { runId, line: 2 }, NOW);
  const held = {
    state: 'held',
    reasonCode: 'E_NOT_PROVABLE',
    reason: `the payment ${OWN} is FAILED, and nothing can prove that no other quote of it was paid`,
  };
  expect(await payout()).toMatchObject(held);
  // Nor is it followed again because its payment is still there.
  await lookUpPayout(later, { runId, line: 2 });
  expect(await payout()).toMatchObject(held);
});

test('two people can settle such a payout as not paid, once they read what speaks against it', async () => {
  await heldBeside();
  answer({ [OWN]: payment(OWN, 'FAILED') });
  await settleAsPaid(OWN);
  await trackPayout(await onDay(1, { rules: { ...deps.rules, capabilities: new Set() } }), { runId, line: 2 }, NOW);
  await server.redis.hdel(`${app.config.prefix}:head`, 'halt');
  const settled = await settle('not-paid', '', await onDay(2));
  expect(settled[1]).toMatch(/^done.*knows no payment for the quote \S+03 .*the payment \S+01 is FAILED/);
  expect((await payout()).state).toBe('rejected');
});

test('the absence of the payment itself does not count as that of the quotes beside it', async () => {
  await heldBeside();
  answer({ [OWN]: payment(OWN, 'PROCESSING') });
  await settleAsPaid(OWN);
  answer({});
  await trackPayout(await onDay(1), { runId, line: 2 }, NOW);
  answer({ [OWN]: payment(OWN, 'FAILED') });
  await trackPayout(await onDay(2), { runId, line: 2 }, NOW);
  expect((await payout()).state).toBe('accepted');
  await trackPayout(await onDay(3), { runId, line: 2 }, NOW);
  expect((await payout()).state).toBe('failed');
});

test('a payment that comes back while another quote may be paid is shown as returned', async () => {
  await heldBeside();
  answer({ [OWN]: payment(OWN, 'COMPLETED') });
  await settleAsPaid(OWN);
  await movePayout(app.ledger, { runId, line: 2 }, 'completed');
  answer({ [OWN]: payment(OWN, 'RETURNED') });
  await trackPayout(deps, { runId, line: 2 }, NOW);
  expect(await payout()).toMatchObject({ state: 'completed', paymentState: 'RETURNED' });
});

test('a payment that fails beside another one that failed ends its payout', async () => {
  await heldBeside();
  answer({ [OWN]: payment(OWN, 'FAILED'), [BESIDE]: payment(BESIDE, 'RETURNED') });
  await settleAsPaid(OWN);
  await trackPayout(deps, { runId, line: 2 }, NOW);
  expect((await payout()).state).toBe('failed');
});

test('the right settlement by a payment beside stands at the end of the run, also made twice, and says nothing of the service', async () => {
  await heldBeside();
  answer({ [OWN]: payment(OWN, 'FAILED'), [BESIDE]: payment(BESIDE, 'COMPLETED') });
  await settleAsPaid(BESIDE);
  await movePayout(app.ledger, { runId, line: 2 }, 'completed');
  await lookUpDeadQuotes({ ...deps, ledger: app.ledger }, await readRun(app, runId));
  expect((await payout()).state).toBe('completed');
  expect(await readRun(app, runId)).toMatchObject({ deadQuotes: 0, deadQuotesFound: 0 });
  await app.ledger.payouts.move({ runId, line: 2, to: 'held', breach: true, actor: 'season', reason: 'breach' });
  await settleAsPaid(BESIDE);
  expect(await payout()).toMatchObject({ state: 'accepted', paymentId: BESIDE });
  expect(await disproved()).toEqual([]);
  const lines: unknown[] = [];
  for (const file of await intentFiles(app.config.dataDir)) {
    for await (const line of readIntentFile(file)) lines.push(line);
  }
  // Another host that compares this line first takes it for no proof either.
  expect(lines).toContainEqual(expect.objectContaining({ quoteId: OWN, paymentId: BESIDE, isNamed: true }));
});

test('a settlement by another payment that Redis forgot leaves the own quote beside it when logs tell of it', async () => {
  const putBack = await copyLedger(server.redis, app.config.prefix);
  answer({ [BESIDE]: payment(BESIDE, 'PROCESSING') });
  await settleAsPaid(BESIDE);
  await putBack();
  const { server: now } = await app.ledger.state.season();
  const said = { y: OWN, p: BESIDE, n: true, h: hashReference(rowAt(2).reference) };
  await app.ledger.state.compare({ dataDirId: '', server: now, last: false, json: JSON.stringify([said]), peers: [] });
  await lookUpPayout(deps, { runId, line: 2 });
  expect(await payout()).toMatchObject({ state: 'accepted', paymentId: BESIDE });
  answer({ [OWN]: payment(OWN, 'COMPLETED'), [BESIDE]: payment(BESIDE, 'FAILED') });
  await trackPayout(deps, { runId, line: 2 }, NOW);
  expect(await payout()).toMatchObject({ state: 'held', reasonCode: 'E_BREACH' });
});

test('a payout that a failed payment had settled is settled by its own quote, once and for all', async () => {
  answer({ [BESIDE]: payment(BESIDE, 'PROCESSING') });
  await settleAsPaid(BESIDE);
  answer({ [OWN]: payment(OWN, 'COMPLETED'), [BESIDE]: payment(BESIDE, 'FAILED') });
  await trackPayout(deps, { runId, line: 2 }, NOW);
  expect(await payout()).toMatchObject({ state: 'held', reasonCode: 'E_BREACH' });
  expect((await settleAsPaid(OWN))[1]).toMatch(/^done/);
  expect(await payout()).toMatchObject({ state: 'accepted', paymentId: OWN });
  await trackPayout(deps, { runId, line: 2 }, NOW);
  expect(await payout()).toMatchObject({ state: 'completed', paymentId: OWN });
});

test('a payout that another payment had settled is not settled as not paid while its own quote is paid', async () => {
  answer({ [BESIDE]: payment(BESIDE, 'PROCESSING') });
  await settleAsPaid(BESIDE);
  answer({ [OWN]: payment(OWN, 'COMPLETED'), [BESIDE]: payment(BESIDE, 'FAILED') });
  await trackPayout(deps, { runId, line: 2 }, NOW);
  expect((await settle('not-paid', ''))[0]).toContain('it was paid');
  expect((await payout()).state).toBe('held');
});

test('the own quote of a payout that another payment settled is asked for at the end of the run and whenever payments are read back', async () => {
  answer({ [BESIDE]: payment(BESIDE, 'COMPLETED') });
  const said = await settleAsPaid(BESIDE);
  expect(said[1]).toContain(`the service knows no payment for the quote ${OWN}`);
  await movePayout(app.ledger, { runId, line: 2 }, 'completed');
  // Its first request comes through late.
  answer({ [OWN]: payment(OWN, 'COMPLETED'), [BESIDE]: payment(BESIDE, 'COMPLETED') });
  const differences: unknown[] = [];
  for await (const part of readBack({ ...deps, ledger: app.ledger }, runId)) differences.push(...part.differences);
  expect(differences).toContainEqual(
    expect.objectContaining({ paymentId: OWN, what: 'payment of a quote that was left behind', service: 'COMPLETED' }),
  );
  await lookUpDeadQuotes({ ...deps, ledger: app.ledger }, await readRun(app, runId));
  expect(await payout()).toMatchObject({ state: 'held', reasonCode: 'E_BREACH' });
});

test('what a lost host may have sent is never called proven dead', async () => {
  const sent = await payout();
  const lost = { ...sent, state: 'held', quoteId: null, attempts: 1, reasonCode: 'E_DIR_LOST' } as const;
  expect(indicationsOf(lost, { hasAllCompared: true }).notPaid).toEqual([]);
});
