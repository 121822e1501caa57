import { describe, expect, test } from 'vitest';
import { openCanary } from '../../src/pay/canary.ts';
import type { Answer } from '../../src/service/answer.ts';
import { TokenUnavailable } from '../../src/service/token.ts';
import { answered, errors, lost } from './examples.ts';

const KNOWN = 'payment-1';
const PAYMENT = { paymentId: KNOWN, paymentState: 'COMPLETED' };
const GATEWAY = answered(404, { code: 'ROUTE_NOT_FOUND' });

interface Given {
  readonly known?: string | undefined;
  readonly payment?: Answer;
  readonly token?: Answer;
  readonly identities?: Answer;
}

function canaryOf({ known, payment = GATEWAY, token = GATEWAY, identities = GATEWAY }: Given) {
  const asked: string[] = [];
  let monotonicMs = 0;
  const canary = openCanary({
    service: {
      readPayment: async (id) => {
        asked.push(id);
        return payment;
      },
      testToken: async () => token,
      listIdentities: async () => identities,
    },
    known: async () => known,
    clock: { monotonic: () => monotonicMs },
  });
  return { canary, asked, pass: (ms: number) => (monotonicMs += ms) };
}

describe('a "not found" counts', () => {
  test('while a payment that is known to exist is found, asked for once a minute', async () => {
    const { canary, asked, pass } = canaryOf({ known: KNOWN, payment: answered(200, PAYMENT) });
    expect(await Promise.all([canary.sings(), canary.sings()])).toEqual([true, true]);
    pass(59_000);
    expect(await canary.sings()).toBe(true);
    expect(asked).toEqual([KNOWN]);
    pass(1000);
    expect(await canary.sings()).toBe(true);
    expect(asked).toEqual([KNOWN, KNOWN]);
  });

  test.each<[string, Answer]>([
    ['lists identities', answered(200, { data: [] })],
    ['knows none, in its own words', answered(404, errors('USR_103'))],
  ])('where no payment is known, while the service tests the token and %s', async (_what, identities) => {
    expect(await canaryOf({ token: answered(200, {}), identities }).canary.sings()).toBe(true);
  });
});

describe('a "not found" says nothing', () => {
  test.each<[string, Given]>([
    ['a gateway answers for every payment', { known: KNOWN }],
    ['a known payment is not found either', { known: KNOWN, payment: answered(404, errors('USR_002')) }],
    ['another payment is shown', { known: KNOWN, payment: answered(200, { ...PAYMENT, paymentId: 'payment-2' }) }],
    ['the answer is lost', { known: KNOWN, payment: lost('time-out') }],
    ['a gateway answers for identities', { token: answered(200, {}) }],
    ['a gateway answers for the token test', { identities: answered(200, { data: [] }) }],
  ])('while %s', async (_what, given) => {
    const { canary } = canaryOf(given);
    expect(await canary.sings()).toBe(false);
    expect(await canary.sings()).toBe(false);
  });

  test('while no token can be had', async () => {
    const { canary } = canaryOf({});
    const silent = openCanary({
      service: {
        readPayment: () => Promise.reject(new TokenUnavailable('HTTP 503')),
        testToken: () => Promise.reject(new TokenUnavailable('HTTP 503')),
        listIdentities: () => Promise.reject(new TokenUnavailable('HTTP 503')),
      },
      known: async () => KNOWN,
      clock: { monotonic: () => 0 },
    });
    expect([await canary.sings(), await silent.sings()]).toEqual([false, false]);
  });
});
