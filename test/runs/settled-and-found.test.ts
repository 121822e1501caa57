import { expect, test } from 'vitest';
import { CAPABILITIES } from '../../src/config/config.ts';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import { isIntent } from '../../src/ledger/intents/intent-line.ts';
import { intentFiles, readIntentFile } from '../../src/ledger/intents/intent-log.ts';
import type { PayDeps } from '../../src/pay/deps.ts';
import { acceptPayment } from '../../src/pay/facts.ts';
import type { PayoutPlace } from '../../src/payout.ts';
import { findRetryRows } from '../../src/runs/after/retry-file.ts';
import { readBack } from '../../src/runs/read-back.ts';
import { parsePayment } from '../../src/service/replies.ts';
import { copyLedger } from '../ledger/test-ledger.ts';
import { BESIDE, OWN, payment, useBesideDesk } from './beside-desk.ts';
import { armPayout, loseQuote, movePayout, payoutAt, recordRun, rowAt } from './recorded-run.ts';

const desk = await useBesideDesk();

const NEXT = '0b9a4c1e-77d2-4f35-8e60-000000000009';
const NAMED = '0b9a4c1e-77d2-4f35-8e60-000000000007';
const DEAD = '0b9a4c1e-77d2-4f35-8e60-000000000005';
const REFERENCE_HASH = hashReference(rowAt(2).reference);
const YES_BESIDE = { y: BESIDE, p: BESIDE, h: REFERENCE_HASH };
const TRIED = { reasonCode: 'E_TRIED', reason: 'it was tried for 24 hours' };

async function hold(values: { readonly reasonCode: string; readonly seen2xx?: true } = TRIED): Promise<void> {
  await desk.app.ledger.payouts.move({ ...desk.place, to: 'held', actor: 'w', reason: values.reasonCode, values });
}

/** Held with another quote beside, and no breach. */
async function holdBeside(reasonCode = 'E_TRIED'): Promise<void> {
  const { prefix } = desk.app.config;
  await desk.server.redis.rpush(`${prefix}:run:${desk.runId}:beside`, `2 ${BESIDE}`);
  await desk.server.redis.hset(`${prefix}:quotes:${BESIDE.slice(0, 4)}`, BESIDE, `${desk.runId}-2`);
  await hold({ reasonCode });
}

async function accept(): Promise<void> {
  const made = parsePayment((payment(OWN, 'INITIATED') as { json: unknown }).json);
  if (made === undefined) throw new Error('the answer has no payment');
  await acceptPayment(desk.deps, await desk.payout(), { quoteId: OWN, payment: made, exchange: '' });
}

/** The service made the payment, and does not know it any more. */
async function loseSight(): Promise<void> {
  await accept();
  for (const days of [0.1, 0.2]) await desk.track(await desk.onDay(days));
  expect((await desk.payout()).reasonCode).toBe('E_PAYMENT_GONE');
}

async function settleNotPaid(days = 2): Promise<void> {
  expect((await desk.settle('not-paid', '', await desk.onDay(days)))[1]).toMatch(/^done/);
  expect((await desk.payout()).state).toBe('rejected');
}

/** The row of its retry file, in a run of its own. */
async function handInRetry(line = 2): Promise<PayoutPlace> {
  return { runId: await recordRun(desk.app.ledger, { id: 'r2', lines: [line] }), line };
}

async function expectStopped(retry: PayoutPlace): Promise<void> {
  await expect(armPayout(desk.app.ledger, retry, NEXT)).rejects.toThrow('not armed: reference');
}

async function verified(days: number): Promise<PayDeps> {
  return await desk.onDay(days, { rules: { ...desk.deps.rules, capabilities: new Set(CAPABILITIES) } });
}

/** The answers of which the intent log tells, as a comparison is given them. */
async function logged(): Promise<object[]> {
  const answers: object[] = [];
  for (const file of await intentFiles(desk.app.config.dataDir)) {
    for await (const line of readIntentFile(file)) {
      if (line === 'damaged' || isIntent(line)) throw new Error('the line is no answer');
      const { quoteId, paymentId, isNamed, referenceHash, overturns } = line;
      answers.push({ y: quoteId, p: paymentId ?? '', n: isNamed, h: referenceHash, o: overturns });
    }
  }
  return answers;
}

function breachOf(reason: string): object {
  return { state: 'held', reasonCode: 'E_BREACH', reason: `the service said yes to the quote ${reason}` };
}

const LEFT_BEHIND = breachOf(`${BESIDE}, which the payout left behind`);

test('what two people settled as not paid stays so, and in the retry file, where all is verified and another quote stands beside', async () => {
  await desk.heldBeside();
  await settleNotPaid();
  await desk.lookUp(await verified(3));
  expect(await desk.payout()).toMatchObject({ state: 'rejected', reasonCode: 'E_NOT_PAID', rejectionConfirmed: true });
  expect((await findRetryRows(desk.app, desk.runId)).rows).toBe(1);
});

test.each([
  ['its own quote', OWN, 'accepted'],
  ['the quote beside', BESIDE, 'held'],
])('a payment of %s that appears after a look-up found none stops the retry that waits', async (_which, id, state) => {
  await desk.heldBeside();
  await settleNotPaid();
  const retry = await handInRetry();
  await desk.lookUp(await verified(3));
  desk.answer({ [id]: payment(id, 'COMPLETED') });
  await desk.lookUp(await verified(4));
  expect((await desk.payout()).state).toBe(state);
  // Two people release.
  await desk.server.redis.hdel(`${desk.app.config.prefix}:head`, 'halt');
  await expectStopped(retry);
});

test('a yes to the quote of a late host that logs bring after two people settled the payout as not paid stops the retry', async () => {
  await desk.hostComesBack({ credentials: 'c1', yes: false });
  await settleNotPaid();
  const retry = await handInRetry();
  await desk.logs([YES_BESIDE]);
  expect(await desk.payout()).toMatchObject(LEFT_BEHIND);
  await expectStopped(retry);
});

const BESIDE_WHOM: Readonly<Record<string, () => Promise<void>>> = {
  async 'that was paid'() {
    await desk.heldBeside();
    desk.answer({ [OWN]: payment(OWN, 'COMPLETED') });
    await desk.settle('paid', OWN);
    await desk.track();
    expect((await desk.payout()).state).toBe('completed');
  },
  async 'that is held because nothing proves it'() {
    await holdBeside('E_NOT_PROVABLE');
  },
};

test.each(Object.keys(BESIDE_WHOM))('a late yes to a quote beside a payout %s is a breach', async (whom) => {
  await BESIDE_WHOM[whom]?.();
  await desk.logs([YES_BESIDE]);
  expect(await desk.payout()).toMatchObject(LEFT_BEHIND);
});

test('a payment beside that was found is known again after a restore to a time when its payout was held already', async () => {
  await holdBeside();
  const putBack = await copyLedger(desk.server.redis, desk.app.config.prefix);
  desk.answer({ [BESIDE]: payment(BESIDE, 'COMPLETED') });
  await desk.lookUp(await desk.onDay(0.5));
  expect((await desk.payout()).reasonCode).toBe('E_BREACH');
  await putBack();
  expect((await desk.payout()).reasonCode).toBe('E_TRIED');
  await desk.logs(await logged());
  expect(await desk.payout()).toMatchObject(LEFT_BEHIND);
});

interface Doubt {
  readonly id: string;
  readonly begin: () => Promise<void>;
  /** What the intent log has of it besides. */
  readonly heard?: readonly object[];
  readonly told: object;
}

const OWN_REJECTED = breachOf(`${OWN}, whose payment was rejected`);

const DOUBTS: Readonly<Record<string, Doubt>> = {
  'that of a quote beside': { id: BESIDE, begin: holdBeside, told: LEFT_BEHIND },
  'that of its own quote': { id: OWN, begin: hold, told: OWN_REJECTED },
  'that of its own quote, to which a yes without a payment was known': {
    id: OWN,
    begin: () => hold({ ...TRIED, seen2xx: true }),
    heard: [{ y: OWN, p: '', h: REFERENCE_HASH }],
    told: OWN_REJECTED,
  },
  'one that the service had made and forgotten': { id: OWN, begin: loseSight, told: OWN_REJECTED },
};

test.each(Object.entries(DOUBTS))(
  'a payment that is found after two people settled its payout as not paid stops the retry also where a restore forgot it: %s',
  async (_which, { id, begin, heard = [], told }) => {
    await begin();
    await settleNotPaid();
    const retry = await handInRetry();
    const putBack = await copyLedger(desk.server.redis, desk.app.config.prefix);
    desk.answer({ [id]: payment(id, 'COMPLETED') });
    await desk.lookUp(await desk.onDay(3));
    expect((await desk.payout()).state).not.toBe('rejected');
    await putBack();
    expect((await desk.payout()).state).toBe('rejected');
    await desk.logs([...heard, ...(await logged())]);
    expect(await desk.payout()).toMatchObject(told);
    await expectStopped(retry);
  },
);

/** Redis is started again and has forgotten nothing: the directory compares the answers that it has noted. */
async function restart(): Promise<void> {
  const { ledger, config, dataDirId } = desk.app;
  await desk.server.redis.hset(`${config.prefix}:head`, 'season', 'closed 1 1', 'closedFor', '0');
  await desk.server.redis.hset(`${config.prefix}:dirs`, dataDirId, '-');
  const { server, name } = await ledger.state.season();
  const json = JSON.stringify(await logged());
  await ledger.state.compare({ dataDirId, server, season: name, last: true, json, peers: [dataDirId] });
  expect((await ledger.state.season()).open).toBe(true);
}

const SETTLED: Readonly<Record<string, () => Promise<void>>> = {
  'whose payment the service made and forgot': loseSight,
  async 'that was settled as paid before, by a payment that failed'() {
    await hold();
    desk.answer({ [NAMED]: payment(NAMED, 'PROCESSING') });
    expect((await desk.settle('paid', NAMED, await desk.onDay(2)))[1]).toMatch(/^done/);
    desk.answer({ [NAMED]: payment(NAMED, 'FAILED') });
    await desk.track(await desk.onDay(2));
  },
};

test.each(Object.keys(SETTLED))(
  'a restart of Redis that forgets nothing undoes nothing that two people settled as not paid: a payout %s',
  async (how) => {
    await SETTLED[how]?.();
    await settleNotPaid(3);
    const retry = await handInRetry();
    await armPayout(desk.app.ledger, retry, NEXT);
    await movePayout(desk.app.ledger, retry, 'accepted', 'completed');
    expect(await logged()).toHaveLength(1);
    await restart();
    expect((await desk.payout()).state).toBe('rejected');
    expect((await payoutAt(desk.app.ledger, retry)).state).toBe('completed');
    expect((await desk.app.ledger.state.read()).halt).toBeNull();
  },
);

test.each([
  ['as not paid, for a host that was lost', 'E_DIR_LOST', 'E_NOT_PAID'],
  ['for a limit', 'E_LIMIT', 'E_LIMIT'],
])('a yes to a dead quote of a row that two people gave up %s stops its retry', async (_why, held, settled) => {
  const { ledger } = desk.app;
  const place = { runId: await recordRun(ledger, { id: 'r9', lines: [3] }), line: 3 };
  await loseQuote(ledger, place, DEAD);
  await ledger.payouts.move({ ...place, to: 'held', actor: 'w', reason: held, values: { reasonCode: held } });
  const values = { reasonCode: settled, rejectionConfirmed: true } as const;
  await ledger.payouts.move({ ...place, to: 'cancelled', actor: 'anna and bob', reason: 'it is given up', values });
  const retry = await handInRetry(3);
  await desk.logs([{ y: DEAD, p: DEAD, h: hashReference(rowAt(3).reference) }]);
  expect(await payoutAt(ledger, place)).toMatchObject(breachOf(`${DEAD}, which the payout left behind`));
  await expectStopped(retry);
});

test('a row whose payment failed, and that two people then settled as not paid, agrees with the service', async () => {
  await desk.heldBeside();
  desk.answer({ [OWN]: payment(OWN, 'FAILED') });
  await desk.settle('paid', OWN);
  await desk.track();
  await settleNotPaid();
  const found: object[] = [];
  for await (const part of readBack({ ...desk.deps, ledger: desk.app.ledger }, desk.runId)) found.push(part);
  expect(found).toEqual([{ asked: 2, differences: [], unanswered: [] }]);
});
