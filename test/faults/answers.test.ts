import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'vitest';
import { isHalted, ledOn } from './redis-steps.ts';
import type { Rig } from './rig.ts';
import { type FaultRow, faultRow } from './row.ts';
import { askedAgain, type Fault, nothingAskedTwice, odds, reported, struck, watchPayments } from './service-steps.ts';

/*
 * What the service answers to payment requests, and whether it has made the payment. Half of the first requests meet one
 * of the row's faults.
 */

const SHARE = 0.5;
const REPEATS = ['replay-201', '400', '404', '409'] as const;

interface StruckRow extends Omit<FaultRow, 'tries' | 'body' | 'after'> {
  readonly faults: readonly Fault[];
  /** What more than one request for a row may be: one after the end of an unpaid quote, or a repeat of a paid one. */
  readonly further: 'after an unpaid quote' | 'never' | 'repeats of a paid quote';
  readonly after?: (rig: Rig) => Promise<void>;
}

function struckRow({ faults, further, after, switches = {}, ...row }: StruckRow): void {
  const requests = new WeakMap<Rig, ReturnType<typeof watchPayments>>();
  faultRow({
    ...row,
    tries: { short: 1, long: 2 },
    switches: { ...switches, ...odds(faults, SHARE / faults.length) },
    async body(rig) {
      requests.set(rig, watchPayments(rig));
      await struck(rig, faults);
    },
    async after(rig) {
      const sent = requests.get(rig) ?? [];
      if (further === 'repeats of a paid quote') expect(sent.length).toBeGreaterThan(rig.rows);
      else nothingAskedTwice(rig, sent);
      if (further === 'after an unpaid quote') askedAgain(rig);
      await after?.(rig);
    },
  });
}

struckRow({
  ids: ['F28', 'F36'],
  fault: 'no answer, 500, 502, 503, 504 or a page of HTML, and nothing is paid',
  faults: [
    'timeoutBeforeCommit',
    'error500BeforeCommit',
    'error502BeforeCommit',
    'error503BeforeCommit',
    'error504BeforeCommit',
    'html502BeforeCommit',
  ],
  further: 'after an unpaid quote',
});

struckRow({
  ids: ['F29', 'F36'],
  fault: 'no answer, 500, 502, 503, 504 or a page of HTML, although it is paid',
  faults: [
    'timeoutAfterCommit',
    'error500AfterCommit',
    'error502AfterCommit',
    'error503AfterCommit',
    'error504AfterCommit',
    'html502AfterCommit',
  ],
  further: 'never',
});

struckRow({
  ids: ['F30'],
  fault: 'the payment is made late: after a reset or a time-out, and before the end of its quote',
  faults: ['lateCommit', 'lateCommitAfterDrop'],
  // After several look-ups that find nothing: each comes with a sweep.
  switches: { lateCommitMs: 9000 },
  times: { quoteLifeMs: 11_000 },
  further: 'never',
});

struckRow({
  ids: ['F33', 'F34'],
  fault: 'a success is cut in three ways, empty, or a page of HTML',
  faults: [
    'cutLengthAfterCommit',
    'cutChunkedAfterCommit',
    'cutCloseAfterCommit',
    'emptyAfterCommit',
    'html200AfterCommit',
    'html201AfterCommit',
  ],
  further: 'never',
});

struckRow({
  ids: ['F35'],
  fault: 'a success arrives a byte a second',
  faults: ['dripAfterCommit'],
  further: 'never',
});

struckRow({
  ids: ['F34'],
  fault: 'payments have other ids than their quotes',
  faults: ['otherPaymentIds'],
  further: 'never',
  times: { quoteLifeMs: 5000 },
  after: otherIdsShown,
});
async function otherIdsShown(rig: Rig): Promise<void> {
  // From now on no look-up by a quote's id proves anything.
  expect(await rig.redis.client.hget('{payrun}:head', 'disproved')).toContain('payment-id-is-quote-id');
  const ids = rig.book().map(({ paymentId }) => paymentId);
  for (const { paymentId } of await reported(rig)) expect(ids).toContain(paymentId);
}

faultRow({
  ids: ['F34'],
  fault: 'the look-up shows another amount or another beneficiary than ours',
  tries: { short: 1, long: 2 },
  switches: { timeoutAfterCommit: 1, lookUpOtherAmount: 0.5, lookUpOtherBeneficiary: 1 },
  settings: { PAYRUN_CONCURRENCY: '4' },
  outcomes: 'any',
  async body(rig) {
    await rig.submit();
    await rig.startWorker('one');
    await rig.until('a halt', () => isHalted(rig));
    rig.service.switches.set(odds(['timeoutAfterCommit', 'lookUpOtherAmount', 'lookUpOtherBeneficiary'], 0));
    await ledOn(rig);
  },
  async after(rig) {
    const held = (await reported(rig)).filter(({ outcome }) => outcome === 'held');
    expect(held.length).toBeGreaterThan(0);
    for (const { reasonCode, reason } of held) {
      expect({ reasonCode, reason }).toEqual({
        reasonCode: 'E_BREACH',
        reason: expect.stringMatching(/another (amount|beneficiary)/),
      });
    }
  },
});

const REDIRECTS: readonly Fault[] = ['redirect307', 'redirect308', 'quoteRedirect', 'tokenRedirect', 'lookUpRedirect'];

faultRow({
  ids: ['F49'],
  fault: 'payments are answered 307 or 308, and quotes, tokens and look-ups 307, with the address of another host',
  tries: { short: 1, long: 2 },
  async body(rig) {
    const elsewhere = await anotherHost();
    rig.service.switches.set({ ...odds(REDIRECTS, 0.25), redirectTo: elsewhere.url, revokeTokensEveryMs: 3000 });
    await struck(rig, REDIRECTS);
    rig.service.switches.set({ revokeTokensEveryMs: 0 });
    expect(elsewhere.received()).toBe(0);
    await elsewhere.close();
  },
  after: async (rig) => askedAgain(rig),
});

/** A server that nobody may connect to. */
async function anotherHost() {
  let received = 0;
  const server = createServer((_request, response) => response.end());
  server.on('connection', () => {
    received += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: () => received,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

struckRow({
  ids: ['F66'],
  fault: '429, 401 or 400 although the payment was made',
  faults: ['tooManyAfterCommit', 'unauthorisedAfterCommit', 'badRequestAfterCommit'],
  times: { quoteLifeMs: 3000 },
  further: 'repeats of a paid quote',
});

struckRow({
  ids: ['F66'],
  fault: 'refused for good although the payment was made',
  faults: ['refusedAfterCommit'],
  times: { quoteLifeMs: 8000 },
  further: 'never',
});

const TWICE: readonly Fault[] = ['gatewayDoubles', 'unauthorisedAfterCommit'];

faultRow({
  ids: ['F65', 'F66'],
  fault:
    'requests are handed in twice, or answered 401 although they are paid; repeats get 201, 400, 404 and 409 in turn',
  tries: { short: 1, long: 2 },
  switches: { answerDelayMs: { payments: 100 } },
  settings: { PAYRUN_CONCURRENCY: '4' },
  times: { quoteLifeMs: 3000 },
  async body(rig) {
    rig.service.switches.set(odds(TWICE, SHARE / TWICE.length));
    const sent = watchPayments(rig);
    await rig.submit();
    await rig.startWorker('one');
    for (const [index, repeatedQuote] of REPEATS.entries()) {
      rig.service.switches.set({ repeatedQuote });
      await rig.booked(((index + 1) * rig.rows) / REPEATS.length);
    }
    rig.service.switches.set(odds(TWICE, 0));
    expect(sent.length).toBeGreaterThanOrEqual(rig.rows);
  },
});
