import { describe, expect, test } from 'vitest';
import { readEntry } from '../../src/audit/entry.ts';
import { systemClock, systemRandom } from '../../src/clock.ts';
import type { PayDeps } from '../../src/pay/deps.ts';
import { DECISIONS, type Decision } from '../../src/payout.ts';
import { openPasswords } from '../../src/people/password.ts';
import { disableUser } from '../../src/people/users.ts';
import { Refusal } from '../../src/refusal.ts';
import { blockBeneficiary, readBlocked, unblockBeneficiary } from '../../src/runs/block.ts';
import { type Decided, decidePayout } from '../../src/runs/decide/decide.ts';
import { add, CHEAP } from '../people/people-rig.ts';
import { openRig, type PayRig } from '../support/pay-rig.ts';
import { ageStep, changeStored, readValues } from '../support/records.ts';
import { useTestRedis } from '../support/redis.ts';
import { decideDeps } from './decide-desk.ts';

const redis = await useTestRedis();

type Request = Parameters<PayRig['service']['onPay']>[0];

interface Desk {
  readonly rig: PayRig;
  readonly pay: PayDeps;
  readonly woken: string[];
  decide(decision: Decision, by: string, paymentId?: string): Promise<Decided>;
  /** Once the person has read what speaks against it. */
  confirm(decision: Decision, by: string): Promise<Decided>;
  actions(): Promise<string[]>;
}

async function openDesk(rules: Partial<PayDeps['rules']> = {}): Promise<Desk> {
  const rig = await openRig(redis, [{}, { reference: 'INV-2' }]);
  const pay = await rig.process({ rules });
  const woken: string[] = [];
  const deps = { ...decideDeps(rig, pay), wake: async (runId: string) => void woken.push(runId) };
  return {
    rig,
    pay,
    woken,
    decide: async (decision, by, paymentId = '') =>
      await decidePayout(deps, await rig.payout(), { decision, paymentId, by, reason: 'a good reason' }),
    confirm: async (decision, by) =>
      await decidePayout(deps, await rig.payout(), { decision, paymentId: '', by, reason: 'read', caveats: 'read' }),
    actions: async () => {
      const actions: string[] = [];
      for await (const line of deps.ledger.audit.lines()) actions.push(readEntry(line)?.action ?? line);
      return actions;
    },
  };
}

/** Held before anything was sent for it. */
async function holdUnsent({ rig }: Desk, code = 'E_DUP_HISTORY'): Promise<void> {
  const { runId } = rig;
  const values = { reasonCode: code, reason: 'a reason' };
  await rig.ledger.payouts.move({ runId, line: 2, to: 'held', actor: 'test', reason: code, values });
}

/** As if it had been held longer ago. */
async function holdLongAgo({ rig }: Desk, ms: number): Promise<void> {
  const { history } = await rig.payout();
  await ageStep({ ...rig, line: 2 }, { step: history.length - 1, ms });
}

/** As if it had been armed a day ago, with a quote that ended soon after. */
async function endQuote({ rig }: Desk): Promise<void> {
  const armedAt = Date.now() - 86_400_000;
  const times = { aa: String(armedAt), ql: '10000', x: String(armedAt + 10_000) };
  await changeStored({ ...rig, line: 2 }, times);
}

/** Held with a spent quote, of which nobody knows what came of it. */
async function holdSent(
  { rig, pay }: Desk,
  { commits = false, onSent = (_request: Request) => {} } = {},
): Promise<string> {
  const { onPay } = rig.service;
  rig.service.onPay = (request, answering) => {
    onSent(request);
    if (commits) rig.service.commit(request);
    answering.reset();
  };
  await rig.pay(pay);
  rig.service.onPay = onPay;
  const { runId } = rig;
  await rig.ledger.payouts.move({ runId, line: 2, to: 'held', actor: 'test', reason: 'E_NOT_PROVABLE' });
  return (await rig.payout()).quoteId ?? '';
}

async function refusalOf(deciding: Promise<unknown>): Promise<string> {
  const error = await deciding.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Refusal)) throw new Error(`no refusal but ${String(error)}`);
  return error.message;
}

describe('a held payout that was never sent', () => {
  test('is let go by two people, and is paid then', async () => {
    const desk = await openDesk();
    await holdUnsent(desk);
    expect((await desk.decide('allow', 'anna')).result).toBe('proposed');
    expect(await desk.rig.payout()).toMatchObject({ state: 'held', proposal: { decision: 'allow', by: 'anna' } });
    expect((await desk.decide('allow', 'bob')).result).toBe('done');
    expect(desk.woken).toEqual([desk.rig.runId]);
    const payout = await desk.rig.payout();
    expect(payout).toMatchObject({ state: 'ready', proposal: null, reasonCode: null });
    expect(payout.history.at(-1)).toMatchObject({ actor: 'anna and bob', reason: 'a good reason' });
    expect(await desk.rig.goOn(desk.pay)).toMatchObject({ state: 'accepted' });
    expect((await desk.actions()).slice(-2)).toEqual(['payout.allow-proposed', 'payout.allow-confirmed']);
  });

  test.each(['anna', 'ANNA', ' Anna '])('is not let go by anna and %j', async (name) => {
    const desk = await openDesk();
    await holdUnsent(desk);
    await desk.decide('allow', 'anna');
    expect(await refusalOf(desk.decide('allow', name))).toContain('anna has proposed this');
    expect((await desk.rig.payout()).state).toBe('held');
  });

  test('is given up by two people', async () => {
    const desk = await openDesk();
    await holdUnsent(desk);
    await desk.decide('drop', 'anna');
    await desk.decide('drop', 'bob');
    expect((await desk.rig.payout()).state).toBe('cancelled');
  });

  test('is not given up by one person and a proposal that something else wrote, or changed', async () => {
    const desk = await openDesk();
    await holdUnsent(desk);
    const { ledger } = desk.rig;
    const place = { ...desk.rig, line: 2 };
    const forged = ['drop', 'eve', '1', '', 'a reason', ''].join('\u001f');
    await changeStored(place, { pr: forged });
    expect((await desk.decide('drop', 'anna')).result).toBe('proposed');
    const mine = (await readValues(place))['pr'] ?? '';
    await changeStored(place, { pr: mine.replace('anna', 'eve') });
    const payout = await desk.rig.payout();
    expect([payout.proposal, ledger.seals.judgePayout(payout)]).toEqual([null, 'false']);
    expect((await desk.decide('drop', 'anna')).result).toBe('proposed');
    expect((await desk.rig.payout()).state).toBe('held');
  });

  test('is neither allowed nor dropped by two people who want different things: the later proposal stands', async () => {
    const desk = await openDesk();
    await holdUnsent(desk);
    await desk.decide('allow', 'anna');
    expect((await desk.decide('drop', 'bob')).result).toBe('proposed');
    expect(await desk.rig.payout()).toMatchObject({ state: 'held', proposal: { decision: 'drop', by: 'bob' } });
  });

  test('is asked about nothing: whether it was paid is no question', async () => {
    const desk = await openDesk();
    await holdUnsent(desk);
    expect(await refusalOf(desk.decide('not-paid', 'anna'))).toContain('never sent');
    expect(await refusalOf(desk.decide('paid', 'anna', 'p1'))).toContain('never sent');
  });

  test('of a finished run opens that run again, and is reported again', async () => {
    const desk = await openDesk();
    await holdUnsent(desk);
    await desk.rig.pay(desk.pay, 3);
    const { runs } = desk.rig.ledger;
    expect((await runs.move(desk.rig.runId, { to: 'finished', actor: 'test', reason: '' })).result).toBe('moved');
    await runs.note(desk.rig.runId, { reportVersion: '1', reportedChanges: String((await desk.rig.run()).changes) });
    await desk.decide('allow', 'anna');
    await desk.decide('allow', 'bob');
    expect(await desk.rig.run()).toMatchObject({ state: 'paying', finishedAt: null });
    expect(await runs.live()).toContain(desk.rig.runId);
    expect(await desk.rig.goOn(desk.pay)).toMatchObject({ state: 'accepted' });
    await runs.move(desk.rig.runId, { to: 'finished', actor: 'test', reason: '' });
    const run = await desk.rig.run();
    expect(run.finishedChanges).toBeGreaterThan(run.reportedChanges);
  });

  test('of a finished run opens it paused while everything is halted', async () => {
    const desk = await openDesk();
    await holdUnsent(desk);
    await desk.rig.pay(desk.pay, 3);
    await desk.rig.moveRun('finished');
    await desk.rig.ledger.state.halt('test', 'a test');
    await desk.decide('allow', 'anna');
    await desk.decide('allow', 'bob');
    expect((await desk.rig.run()).state).toBe('paused');
  });

  test('of a cancelled run is not let go', async () => {
    const desk = await openDesk();
    await holdUnsent(desk);
    await desk.rig.moveRun('cancelled');
    await desk.decide('allow', 'anna');
    expect(await refusalOf(desk.decide('allow', 'bob'))).toContain('its run was cancelled');
    expect((await desk.rig.payout()).state).toBe('held');
  });

  test('is not let go when a quote of it that was proven dead is paid after all: everything is halted', async () => {
    const desk = await openDesk();
    let late: Request | undefined;
    desk.rig.service.onPay = (request, answering) => {
      late = request;
      answering.reset();
    };
    await desk.rig.pay(desk.pay);
    await expect
      .poll(async () => {
        await desk.rig.passTime(5000);
        await desk.rig.lookUp(desk.pay);
        return (await desk.rig.payout()).state;
      })
      .toBe('ready');
    await holdUnsent(desk);
    if (late !== undefined) desk.rig.service.commit(late);
    expect(await refusalOf(desk.decide('allow', 'anna'))).toContain('the service has its payment');
    expect((await desk.rig.ledger.state.read()).halt).toContain('is paid');
    expect(await desk.rig.payout()).toMatchObject({ state: 'held', reasonCode: 'E_BREACH' });
  });
});

describe.each(['E_LIMIT', 'E_BLOCKED', 'E_COST_DRIFT'])('a payout that is held for %s', (code) => {
  async function openStaffed(): Promise<Desk> {
    const desk = await openDesk();
    const { ledger } = desk.rig;
    const people = { ledger, clock: systemClock, random: systemRandom, passwords: openPasswords(systemRandom, CHEAP) };
    await add(people, 'ada', 'admin');
    await add(people, 'mia', 'maker');
    await add(people, 'max', 'maker');
    await add(people, 'carl', 'checker');
    await holdUnsent(desk, code);
    return desk;
  }

  test('is not let go by whoever handed the file in, neither as the first nor as the second', async () => {
    const desk = await openStaffed();
    expect(await refusalOf(desk.decide('allow', 'TEST'))).toContain('TEST handed the file in');
    expect((await desk.rig.payout()).proposal).toBeNull();
    await desk.decide('allow', 'carl');
    expect(await refusalOf(desk.decide('allow', 'test'))).toContain('test handed the file in');
    expect((await desk.rig.payout()).state).toBe('held');
  });

  test('is not let go by two makers, and is by a maker and a checker', async () => {
    const desk = await openStaffed();
    await desk.decide('allow', 'mia');
    expect(await refusalOf(desk.decide('allow', 'max'))).toContain('has to be a checker');
    await disableUser({ ...desk.rig, clock: systemClock }, { name: 'carl', actor: 'ada' });
    expect(await refusalOf(desk.decide('allow', 'carl'))).toContain('has to be a checker');
    expect((await desk.rig.payout()).state).toBe('held');
    expect((await desk.decide('allow', 'ada')).result).toBe('done');
    expect((await desk.rig.payout()).state).toBe('ready');
  });

  test('is given up by two makers, one of whom handed it in', async () => {
    const desk = await openStaffed();
    await desk.decide('drop', 'test');
    await desk.decide('drop', 'mia');
    expect((await desk.rig.payout()).state).toBe('cancelled');
  });
});

test('a block does not end on the word of somebody who was disabled since', async () => {
  const { rig } = await openDesk();
  const people = { ...rig, clock: systemClock, random: systemRandom, passwords: openPasswords(systemRandom, CHEAP) };
  await add(people, 'ada', 'admin');
  await add(people, 'carl', 'checker');
  await blockBeneficiary(rig, 'b-1', { actor: 'ada', reason: 'fraud' });
  expect(await unblockBeneficiary(rig, 'b-1', 'carl')).toBe('proposed');
  await disableUser(people, { name: 'carl', actor: 'ada' });
  expect(await unblockBeneficiary(rig, 'b-1', 'ada')).toBe('proposed');
  expect(await readBlocked(rig)).toMatchObject([{ identityId: 'b-1', unblockBy: 'ada' }]);
  expect(await unblockBeneficiary(rig, 'b-1', 'mia')).toBe('unblocked');
});

describe('a held payout that a lost host may have sent', () => {
  const DAY_MS = 24 * 60 * 60_000;

  test('is let go a day later, not while a request of that host may be under way', async () => {
    const desk = await openDesk();
    await holdUnsent(desk, 'E_DIR_LOST');
    expect(await refusalOf(desk.decide('allow', 'anna'))).toContain('it could still be paid');
    await holdLongAgo(desk, DAY_MS + 1);
    expect((await desk.decide('allow', 'anna')).result).toBe('proposed');
    expect((await desk.decide('allow', 'bob')).result).toBe('to-read');
    expect((await desk.rig.payout()).state).toBe('held');
    expect((await desk.confirm('allow', 'bob')).result).toBe('done');
    expect((await desk.rig.payout()).state).toBe('ready');
  });

  test('is settled as not paid by two people a day later, not before, and is cancelled then', async () => {
    const desk = await openDesk();
    await holdUnsent(desk, 'E_DIR_LOST');
    expect(await refusalOf(desk.decide('not-paid', 'anna'))).toContain('it could still be paid');
    await holdLongAgo(desk, DAY_MS + 1);
    expect((await desk.decide('not-paid', 'anna')).result).toBe('proposed');
    expect((await desk.confirm('not-paid', 'bob')).result).toBe('done');
    expect(await desk.rig.payout()).toMatchObject({ state: 'cancelled', reasonCode: 'E_NOT_PAID' });
  });
});

describe('a payment that the service made and forgot', () => {
  test('is settled as paid by two people who name it, and by no other payment', async () => {
    const desk = await openDesk();
    const quote = await holdSent(desk);
    const { runId } = desk.rig;
    const gone = { reasonCode: 'E_PAYMENT_GONE', reason: 'the service made the payment and does not know it any more' };
    const { version } = await desk.rig.payout();
    await desk.rig.ledger.payouts.move({ runId, line: 2, actor: 'test', reason: '', version, dueMs: 0, values: gone });
    expect(await refusalOf(desk.decide('paid', 'anna', 'another'))).toContain('the service knows no payment another');
    await desk.decide('paid', 'anna', quote);
    await desk.decide('paid', 'bob', quote);
    expect(await desk.rig.payout()).toMatchObject({ state: 'completed', paymentId: quote });
  });
});

describe('a payment that shows another amount than ours', () => {
  test.each([
    ['COMPLETED', 'completed'],
    ['VALIDATING', 'accepted'],
    ['FAILED', 'accepted'],
  ])(
    'and is %s is settled as it is shown by two people who name it: it is %s, and nothing is halted again',
    async (paymentState, state) => {
      const desk = await openDesk();
      const quote = await holdSent(desk, { commits: true });
      const { runId } = desk.rig;
      const breach = { reasonCode: 'E_BREACH', reason: 'the payment shows another amount' };
      const { version } = await desk.rig.payout();
      await desk.rig.ledger.payouts.move({
        runId,
        line: 2,
        actor: 'test',
        reason: '',
        version,
        dueMs: 0,
        values: breach,
      });
      desk.rig.service.onLookUp = (_request, answering) =>
        desk.rig.service.reply(answering, {
          json: { ...desk.rig.service.book[0], paymentState, originator: { sourceAmount: 1 } },
        });
      expect((await desk.decide('paid', 'anna', quote)).evidence.join()).toContain('settled as it is shown');
      await desk.decide('paid', 'bob', quote);
      expect(await desk.rig.payout()).toMatchObject({ state, reasonCode: 'E_BREACH' });
      expect((await desk.rig.ledger.state.read()).halt).toBeNull();
    },
  );
});

describe('a rejection that nothing can confirm', () => {
  test('is confirmed by two people after the end of its quote, so that its reference is free', async () => {
    const desk = await openDesk();
    await holdSent(desk);
    const { runId } = desk.rig;
    await desk.rig.ledger.payouts.move({ runId, line: 2, to: 'rejected', actor: 'test', reason: 'USR_169' });
    expect(await refusalOf(desk.decide('not-paid', 'anna'))).toContain('it could still be paid');
    await desk.rig.passTime(120_000);
    await desk.decide('not-paid', 'anna');
    expect((await desk.decide('not-paid', 'bob')).result).toBe('done');
    expect(await desk.rig.payout()).toMatchObject({ state: 'rejected', rejectionConfirmed: true });
  });
});

describe('a held payout that was sent', () => {
  test('is settled as not paid only by people who read that its payment may have another id', async () => {
    const desk = await openDesk();
    await holdSent(desk);
    await endQuote(desk);
    await desk.rig.ledger.state.disprove('payment-id-is-quote-id', 'quote 1');
    expect((await desk.decide('not-paid', 'anna')).evidence.join()).toContain('may have an id of its own');
    expect((await desk.decide('not-paid', 'bob')).result).toBe('to-read');
    expect((await desk.rig.payout()).state).toBe('held');
    expect((await desk.confirm('not-paid', 'bob')).result).toBe('done');
  });

  test('is settled as not paid only by people who read that the service said yes to it', async () => {
    const desk = await openDesk();
    await holdSent(desk);
    await endQuote(desk);
    const { runId, line } = await desk.rig.payout();
    const note = { runId, line, actor: 'test', reason: '', values: { seen2xx: true }, dueMs: 'as-it-is' } as const;
    await desk.rig.ledger.payouts.move(note);
    expect((await desk.decide('not-paid', 'anna')).evidence.join()).toContain('said yes');
    expect((await desk.decide('not-paid', 'bob')).result).toBe('to-read');
    expect((await desk.rig.payout()).state).toBe('held');
  });

  test('is settled as not paid by two people after the end of its quote and grace, and confirmed', async () => {
    const desk = await openDesk();
    await holdSent(desk);
    expect(await refusalOf(desk.decide('not-paid', 'anna'))).toContain('it could still be paid');
    desk.rig.service.passTime(3_600_000);
    // The service's clock is ahead of Redis's here, and the one that is behind decides.
    expect(await refusalOf(desk.decide('not-paid', 'anna'))).toContain('it could still be paid');
    await endQuote(desk);
    expect((await desk.decide('not-paid', 'anna')).evidence.join()).toContain('knows no payment');
    await desk.decide('not-paid', 'bob');
    expect(await desk.rig.payout()).toMatchObject({
      state: 'rejected',
      reasonCode: 'E_NOT_PAID',
      rejectionConfirmed: true,
    });
  });

  test('is not settled as not paid when the service has its payment: that is written down instead', async () => {
    const desk = await openDesk();
    await holdSent(desk, { commits: true });
    expect(await refusalOf(desk.decide('not-paid', 'anna'))).toContain('the service has its payment');
    expect((await desk.rig.payout()).state).toBe('accepted');
  });

  test('is not settled between the proposal and the confirmation if the payment appears', async () => {
    const desk = await openDesk();
    let late: Request | undefined;
    const quoteId = await holdSent(desk, {
      onSent: (request) => {
        late = request;
      },
    });
    await endQuote(desk);
    await desk.decide('not-paid', 'anna');
    if (late !== undefined) desk.rig.service.commit(late);
    expect(await refusalOf(desk.decide('not-paid', 'bob'))).toContain('the service has its payment');
    expect(await desk.rig.payout()).toMatchObject({ state: 'accepted', paymentId: quoteId });
  });

  test('without an end of its quote is settled as not paid a day after it was armed, not before', async () => {
    const desk = await openDesk();
    await holdSent(desk);
    const place = { ...desk.rig, line: 2 };
    const day = 86_400_000;
    await changeStored(place, { x: '', aa: String(Date.now() - day + 60_000) });
    expect(await refusalOf(desk.decide('not-paid', 'anna'))).toContain('it could still be paid');
    await changeStored(place, { aa: String(Date.now() - day - 60_000) });
    expect((await desk.decide('not-paid', 'anna')).result).toBe('proposed');
  });

  test('is settled as paid by two people who name its payment', async () => {
    const desk = await openDesk();
    const quoteId = await holdSent(desk, { commits: true });
    expect((await desk.decide('paid', 'anna', quoteId)).result).toBe('proposed');
    await desk.decide('paid', 'bob', quoteId);
    expect(await desk.rig.payout()).toMatchObject({ state: 'accepted', paymentId: quoteId });
    expect((await desk.rig.ledger.state.read()).disproved).toEqual([]);
  });

  test('is not settled by a payment that the service does not know, or that belongs to another payout', async () => {
    const desk = await openDesk();
    await holdSent(desk);
    expect(await refusalOf(desk.decide('paid', 'anna', '11111111-1111-4111-8111-111111111111'))).toContain(
      'knows no payment',
    );
    await desk.rig.pay(desk.pay, 3);
    const other = (await desk.rig.payout(3)).paymentId ?? '';
    expect(await refusalOf(desk.decide('paid', 'anna', other))).toContain('belongs to payout');
    expect((await desk.rig.ledger.state.read()).halt).toBeNull();
    expect((await desk.rig.payout()).state).toBe('held');
  });

  test('is not settled by two people who name two payments', async () => {
    const desk = await openDesk();
    const quoteId = await holdSent(desk, { commits: true });
    await desk.decide('paid', 'anna', quoteId);
    expect(await refusalOf(desk.decide('paid', 'bob', 'another'))).toContain('knows no payment');
    expect((await desk.rig.payout()).state).toBe('held');
  });

  test('is neither allowed nor dropped', async () => {
    const desk = await openDesk();
    await holdSent(desk);
    for (const decision of ['allow', 'drop'] as const) {
      expect(await refusalOf(desk.decide(decision, 'anna'))).toContain('may have been sent');
    }
  });

  test('is not settled while the service says nothing, and the proposal stands', async () => {
    const desk = await openDesk();
    await holdSent(desk);
    await endQuote(desk);
    await desk.decide('not-paid', 'anna');
    desk.rig.service.onLookUp = (_request, answering) => desk.rig.service.reply(answering, { status: 503 });
    expect(await refusalOf(desk.decide('not-paid', 'bob'))).toContain('could not be asked');
    expect(await desk.rig.payout()).toMatchObject({ state: 'held', proposal: { by: 'anna' } });
  });
});

describe('a proposal', () => {
  test('is void after any move in between', async () => {
    const desk = await openDesk();
    await holdUnsent(desk);
    await desk.decide('allow', 'anna');
    await desk.decide('allow', 'bob');
    await holdUnsent(desk);
    expect((await desk.decide('allow', 'bob')).result).toBe('proposed');
    expect((await desk.rig.payout()).state).toBe('held');
  });

  test('outlives a daily look-up that finds nothing', async () => {
    const desk = await openDesk();
    await holdSent(desk);
    await endQuote(desk);
    await desk.decide('not-paid', 'anna');
    await desk.rig.lookUp(desk.pay);
    await desk.decide('not-paid', 'bob');
    expect((await desk.rig.payout()).state).toBe('rejected');
  });

  test('confirmed by two people at once is carried out once', async () => {
    const desk = await openDesk();
    await holdUnsent(desk);
    await desk.decide('allow', 'anna');
    const results = await Promise.allSettled([desk.decide('allow', 'bob'), desk.decide('allow', 'carl')]);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect((await desk.rig.payout()).state).toBe('ready');
  });

  test.each(DECISIONS)('to %s a payout that is ready is refused', async (decision) => {
    const desk = await openDesk();
    await desk.decide(decision, 'anna', 'p1').catch(() => undefined);
    expect(await refusalOf(desk.decide(decision, 'bob', 'p1'))).toContain('cannot be settled like this');
    expect(await desk.rig.payout()).toMatchObject({ state: 'ready', proposal: null });
  });
});
