import { describe, expect, test } from 'vitest';
import { openCanary } from '../../src/pay/look-up/canary.ts';
import type { Answer } from '../../src/service/answer.ts';
import { TokenUnavailable } from '../../src/service/token.ts';
import { answered, errors, lost } from './examples.ts';

const KNOWN = 'payment-1';
const PAYMENT = { paymentId: KNOWN, paymentState: 'COMPLETED' };
const GATEWAY = answered(404, { code: 'ROUTE_NOT_FOUND' });

interface Given {
  readonly known?: readonly string[];
  readonly payment?: Answer;
  readonly token?: Answer;
  readonly identities?: Answer;
}

function canaryOf({ known = [], payment = GATEWAY, token = GATEWAY, identities = GATEWAY }: Given) {
  const asked: string[] = [];
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
  });
  return { canary, asked };
}

describe('a "not found" counts', () => {
  test('while one of the payments that are known to exist is found', async () => {
    const { canary, asked } = canaryOf({ known: ['forgotten', KNOWN], payment: answered(200, PAYMENT) });
    expect(await canary.sings()).toBe('payment');
    expect(asked).toEqual(['forgotten', KNOWN]);
  });

  test('by what was asked after it came: those who ask meanwhile share the next answer', async () => {
    const { canary, asked } = canaryOf({ known: [KNOWN], payment: answered(200, PAYMENT) });
    expect(await Promise.all([canary.sings(), canary.sings(), canary.sings()])).toEqual([
      'payment',
      'payment',
      'payment',
    ]);
    expect(asked).toEqual([KNOWN, KNOWN]);
  });

  test('of a payment itself where the others are found, or there is no other', async () => {
    const identities = answered(200, { data: [] });
    const { canary, asked } = canaryOf({ known: [KNOWN], token: answered(200, {}), identities });
    expect(await canary.sings(KNOWN)).toBe('rest');
    expect(asked).toEqual([]);
    expect(await canary.sings('another')).toBe(false);
  });

  test.each<[string, Answer]>([
    ['lists identities', answered(200, { data: [] })],
    ['knows none, in its own words', answered(404, errors('USR_103'))],
  ])('where no payment is known, while the service tests the token and %s', async (_what, identities) => {
    expect(await canaryOf({ token: answered(200, {}), identities }).canary.sings()).toBe('rest');
  });
});

describe('a "not found" says nothing', () => {
  test.each<[string, Given]>([
    [
      'a gateway answers for every payment',
      { known: [KNOWN], token: answered(200, {}), identities: answered(200, { data: [] }) },
    ],
    ['a known payment is not found either', { known: [KNOWN], payment: answered(404, errors('USR_002')) }],
    ['another payment is shown', { known: [KNOWN], payment: answered(200, { ...PAYMENT, paymentId: 'payment-2' }) }],
    [
      'what a cache kept shows a known payment',
      {
        known: [KNOWN],
        payment: Object.assign(answered(200, PAYMENT), { isFromCache: true as const }),
        token: answered(200, {}),
        identities: answered(200, { identities: [] }),
      },
    ],
    ['the answer is lost', { known: [KNOWN], payment: lost('time-out') }],
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
      known: async () => [KNOWN],
    });
    expect([await canary.sings(), await silent.sings()]).toEqual([false, false]);
  });
});
