import { describe, expect, test } from 'vitest';
import type { SwitchSettings } from '../../src/sandbox/faults/switches.ts';
import { BENEFICIARY, openDesk, payAndRead, temporaryFolder, testClock } from './desk.ts';
import { listen, type Wire } from './wire.ts';

/** What the sender of a payment request gets byte by byte, and how many payments there are then. */
async function payOnWire(switches: SwitchSettings, forMs?: number): Promise<Wire & { paid: number }> {
  const desk = await openDesk({ switches });
  const body = { quoteId: await desk.quoteId(), beneficiaryIdentityId: BENEFICIARY };
  const wire = await listen(`${desk.url}/v2/payments`, { method: 'POST', token: desk.token, body }, forMs);
  return { ...wire, paid: desk.sandbox.book('test').length };
}

function headOf({ text }: Wire): string {
  return text.slice(0, text.indexOf('\r\n\r\n')).toLowerCase();
}

function bodyOf({ text }: Wire): string {
  return text.slice(text.indexOf('\r\n\r\n') + 4);
}

describe('connections that end badly', () => {
  test.each([
    [{ dropBeforeCommit: 1 }, 'reset', 0],
    [{ dropAfterCommit: 1 }, 'reset', 1],
    [{ halfOpenBeforeCommit: 1 }, 'closed', 0],
    [{ halfOpenAfterCommit: 1 }, 'closed', 1],
  ])('%o: not a byte, the connection is %s, %i payments', async (switches, end, paid) => {
    expect(await payOnWire(switches)).toEqual({ text: '', end, paid });
  });

  test.each([
    [{ timeoutBeforeCommit: 1 }, 0],
    [{ timeoutAfterCommit: 1 }, 1],
  ])('%o: not a byte, and the connection stays', async (switches, paid) => {
    expect(await payOnWire(switches, 300)).toEqual({ text: '', end: 'open', paid });
  });

  test('a connection that is half open can still be written to', async () => {
    const desk = await openDesk({ switches: { lookUpHalfOpen: 1 } });
    const wire = await listen(`${desk.url}/v2/payments/${BENEFICIARY}`, { method: 'GET', token: desk.token });
    expect(wire).toEqual({ text: '', end: 'closed' });
  });
});

describe('bodies that do not arrive whole', () => {
  test.each([
    ['cutLengthAfterCommit', 'content-length: '],
    ['cutChunkedAfterCommit', 'transfer-encoding: chunked'],
    ['cutCloseAfterCommit', 'connection: close'],
  ])('%s: a 201, half of its body, the end; the payment is made', async (name, framing) => {
    const wire = await payOnWire({ [name]: 1 });
    expect(wire).toMatchObject({ end: 'closed', paid: 1 });
    expect(headOf(wire)).toMatch(/^http\/1\.1 201 created\r\n/);
    expect(headOf(wire)).toContain(framing);
    expect(bodyOf(wire)).toContain('"paymentId"');
    expect(bodyOf(wire)).not.toMatch(/\}$/);
  });

  test('emptyAfterCommit: 201 without a body', async () => {
    const wire = await payOnWire({ emptyAfterCommit: 1 }, 300);
    expect([headOf(wire).split('\r\n')[0], bodyOf(wire), wire.paid]).toEqual(['http/1.1 201 created', '', 1]);
  });

  test.each([
    ['html200AfterCommit', 200, 1],
    ['html201AfterCommit', 201, 1],
    ['html502AfterCommit', 502, 1],
    ['html502BeforeCommit', 502, 0],
  ])('%s: a page with %i, and %i payments', async (name, status, paid) => {
    const wire = await payOnWire({ [name]: 1 }, 300);
    expect(headOf(wire)).toMatch(new RegExp(`^http/1.1 ${status} [^]*content-type: text/html`));
    expect([bodyOf(wire).startsWith('<html>'), wire.paid]).toEqual([true, paid]);
  });

  test('a payment that was refused is never shown as a success', async () => {
    const desk = await openDesk({ switches: { html201AfterCommit: 1 } });
    expect((await desk.pay({ quoteId: BENEFICIARY })).status).toBe(404);
  });

  test('dripAfterCommit: the head at once, the body byte by byte', async () => {
    const slow = await payOnWire({ dripAfterCommit: 1, dripMs: 100 }, 350);
    expect([slow.end, bodyOf(slow).length > 0, bodyOf(slow).length < 5, slow.paid]).toEqual(['open', true, true, 1]);
    const whole = await payOnWire({ dripAfterCommit: 1, dripMs: 0 });
    expect(JSON.parse(bodyOf(whole))).toHaveProperty('paymentId');
  });
});

describe('create payment is refused', () => {
  test.each([
    ...[500, 502, 503, 504].flatMap((status) => [
      [`error${status}BeforeCommit`, status, 0] as const,
      [`error${status}AfterCommit`, status, 1] as const,
    ]),
    ['tooManyAfterCommit', 429, 1] as const,
    ['unauthorisedAfterCommit', 401, 1] as const,
    ['badRequest', 400, 0] as const,
    ['badRequestAfterCommit', 400, 1] as const,
    ['refused', 400, 0] as const,
    ['refusedAfterCommit', 400, 1] as const,
    ['forbidden', 403, 0] as const,
    ['redirect307', 307, 0] as const,
    ['redirect308', 308, 0] as const,
  ])('%s: %i, and %i payments', async (name, status, paid) => {
    const desk = await openDesk({ switches: { [name]: 1 } });
    expect((await desk.pay({ quoteId: await desk.quoteId() })).status).toBe(status);
    expect(desk.sandbox.book('test')).toHaveLength(paid);
    desk.sandbox.switches.set({ [name]: 0 });
    expect((await desk.pay({ quoteId: await desk.quoteId() })).status).toBe(201);
  });

  test.each(['USR_062', 'USR_064', 'USR_066', 'USR_067'] as const)('402 with %s', async (paymentRequiredCode) => {
    const desk = await openDesk({ switches: { paymentRequired: 1, paymentRequiredCode } });
    const { status, json } = await desk.pay({ quoteId: await desk.quoteId() });
    expect([status, json.errors?.[0].code]).toEqual([402, paymentRequiredCode]);
    expect(desk.sandbox.book('test')).toEqual([]);
  });

  test('redirects lead to the other host and keep the path', async () => {
    const desk = await openDesk({ switches: { redirect308: 1, redirectTo: 'http://127.0.0.1:9/' } });
    const { headers } = await desk.pay({ quoteId: await desk.quoteId() });
    expect(headers.location).toBe('http://127.0.0.1:9/v2/payments');
  });

  test.each([
    ['date+60', '2026-01-15T12:01:00.000Z'],
    ['date-60', '2026-01-15T11:59:00.000Z'],
  ])('Retry-After %s is a date of the sandbox', async (retryAfter, date) => {
    const desk = await openDesk({ clock: testClock(), switches: { tooMany: 1, retryAfter } });
    const header = (await desk.pay({ quoteId: BENEFICIARY })).headers['retry-after'] ?? '';
    expect(header).toBe(new Date(date).toUTCString());
  });

  test('of several kinds of Retry-After each is drawn', async () => {
    const desk = await openDesk({ switches: { tooMany: 1, retryAfter: '2|864000||soon' } });
    const seen = new Set<string | undefined>();
    for (let i = 0; i < 30; i += 1) seen.add((await desk.pay({ quoteId: BENEFICIARY })).headers['retry-after']);
    expect(seen).toEqual(new Set(['2', '864000', 'soon', undefined]));
  });
});

describe('payments that are made otherwise than asked', () => {
  test.each(['lateCommit', 'lateCommitAfterDrop'])('%s: made after the sender has lost the answer', async (name) => {
    const desk = await openDesk({ switches: { [name]: 1, lateCommitMs: 400 } });
    const quoteId = await desk.quoteId();
    const body = { quoteId, beneficiaryIdentityId: BENEFICIARY };
    const wire = await listen(`${desk.url}/v2/payments`, { method: 'POST', token: desk.token, body }, 100);
    expect(wire).toEqual({ text: '', end: name === 'lateCommit' ? 'open' : 'reset' });
    expect((await desk.read(quoteId)).status).toBe(404);
    await expect.poll(() => desk.sandbox.book('test').length).toBe(1);
    expect((await desk.read(quoteId)).status).toBe(200);
  });

  test('a payment is not made late when its quote has died by then', async () => {
    const clock = testClock();
    const sleepers: (() => void)[] = [];
    const sleep = () =>
      new Promise<void>((done) => {
        sleepers.push(done);
      });
    const desk = await openDesk({
      clock: { ...clock, sleep },
      switches: { lateCommitAfterDrop: 1, repeatedQuote: '409' },
    });
    const pay = async (afterMs: number) => {
      const quoteId = await desk.quoteId();
      await expect(desk.pay({ quoteId })).rejects.toThrow('ECONNRESET');
      clock.advance(afterMs);
      for (const wake of sleepers.splice(0)) wake();
      // Its answer shows that what was to come late has come.
      await desk.read(quoteId);
      return desk.sandbox.book('test').length;
    };
    expect(await pay(20_000)).toBe(0);
    expect(await pay(19_999)).toBe(1);
  });

  test('a sandbox that is closed makes no payment any more', async () => {
    const desk = await openDesk({ switches: { lateCommitAfterDrop: 1, lateCommitMs: 60_000 } });
    await expect(desk.pay({ quoteId: await desk.quoteId() })).rejects.toThrow('ECONNRESET');
    await desk.sandbox.close();
    expect(desk.sandbox.book('test')).toEqual([]);
  });

  test.each([
    [{ repeatedQuote: '409' as const }, 409, 1],
    [{ repeatedQuote: 'replay-201' as const }, 201, 1],
    [{ paysQuoteTwice: true }, 201, 2],
  ])('gatewayDoubles with %o: the second answer is %i, %i payments', async (switches, status, paid) => {
    const desk = await openDesk({ switches: { gatewayDoubles: 1, ...switches } });
    expect((await desk.pay({ quoteId: await desk.quoteId() })).status).toBe(status);
    expect(desk.sandbox.book('test')).toHaveLength(paid);
  });

  test('otherPaymentIds: the payment is found under its own id alone, and its quote is used', async () => {
    const desk = await openDesk({ switches: { otherPaymentIds: 1, repeatedQuote: '409' } });
    const { quoteId, paid, found } = await payAndRead(desk);
    expect([paid.status, paid.json.paymentId === quoteId, found.status]).toEqual([201, false, 404]);
    expect((await desk.read(paid.json.paymentId)).status).toBe(200);
    expect((await desk.pay({ quoteId })).status).toBe(409);
    expect(desk.sandbox.book('test')).toHaveLength(1);
  });

  test('a used quote is known after a restart, whatever id its payment has', async () => {
    const folder = await temporaryFolder();
    const switches = { otherPaymentIds: 1, repeatedQuote: '409' as const };
    const first = await openDesk({ folder, switches });
    const { quoteId } = await payAndRead(first);
    await first.sandbox.close();
    const second = await openDesk({ folder, switches });
    expect((await second.pay({ quoteId })).status).toBe(409);
    expect(second.sandbox.book('test')).toHaveLength(1);
  });

  test.each([
    [{ endsFailed: 1 }, 'FAILED', 'USR_169'],
    [{ endsFailed: 1, failureCode: 'USR_067' as const }, 'FAILED', 'USR_067'],
    [{ endsReturned: 1 }, 'RETURNED', 'SYS_120'],
    [{ endsFailed: 0 }, 'COMPLETED', undefined],
  ])('%o: the payment ends %s with %s, also when the switch is off again', async (switches, state, code) => {
    const clock = testClock();
    const desk = await openDesk({ clock, switches });
    const { quoteId } = await payAndRead(desk);
    desk.sandbox.switches.set({ endsFailed: 0, endsReturned: 0 });
    clock.advance(60_000);
    const { json } = await desk.read(quoteId);
    expect([json.paymentState, json.errors?.[0].code]).toEqual([state, code]);
  });
});
