import type { Dispatcher, Pool } from 'undici';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { exchange } from '../../src/service/exchange.ts';

type Handler = Required<Pick<Dispatcher.DispatchHandler, 'onRequestStart'>>;

test('a client that is about to write a request a second time is stopped, and nobody knows what came of the first', async () => {
  const aborted: boolean[] = [];
  // undici, should it ever take a payment request for one that may be repeated.
  const repeating = {
    dispatch(_options: unknown, handler: Handler): boolean {
      for (const time of [0, 1]) {
        aborted[time] = false;
        const controller = { abort: () => (aborted[time] = true) };
        handler.onRequestStart(controller as unknown as Dispatcher.DispatchController, {});
      }
      return true;
    },
  };
  let marks = 0;
  const answer = await exchange(
    repeating as unknown as Pool,
    { method: 'POST', path: '/v2/payments', headers: {}, body: '{}' },
    { clock: systemClock, sendBefore: systemClock.monotonic() + 1000, timeoutMs: 300, onSent: () => (marks += 1) },
  );
  expect({ marks, aborted }).toEqual({ marks: 1, aborted: [false, true] });
  expect(answer).toMatchObject({ kind: 'lost', reason: 'would be sent twice' });
});

test.each([
  { sendMs: 20, timeoutMs: 60, clock: systemClock },
  { sendMs: 5000, timeoutMs: 60, clock: systemClock },
  // The clock stands still.
  { sendMs: 20, timeoutMs: 60, clock: { ...systemClock, monotonic: () => 0 } },
])('an answer has its time from the first byte, whatever time was left to send: %j', async ({ clock, ...ms }) => {
  const aborted: unknown[] = [];
  const silent = {
    dispatch(_options: unknown, handler: Handler): boolean {
      const controller = { abort: (error: Error) => aborted.push(error.message) };
      handler.onRequestStart(controller as unknown as Dispatcher.DispatchController, {});
      return true;
    },
  };
  const startedAt = performance.now();
  const answer = await exchange(
    silent as unknown as Pool,
    { method: 'POST', path: '/v2/payments', headers: {}, body: '{}' },
    { clock, sendBefore: clock.monotonic() + ms.sendMs, timeoutMs: ms.timeoutMs },
  );
  expect(answer).toMatchObject({ kind: 'lost', reason: 'time-out' });
  expect(aborted).toEqual(['time-out']);
  const tookMs = performance.now() - startedAt;
  // A timer may go off a millisecond early.
  expect(tookMs).toBeGreaterThan(ms.timeoutMs - 3);
});
