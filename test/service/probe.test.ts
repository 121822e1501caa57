import { describe, expect, test } from 'vitest';
import { CAPABILITIES, type Capability, type ServiceSettings } from '../../src/config/config.ts';
import type { SwitchSettings } from '../../src/sandbox/faults/switches.ts';
import { asked, openAsker, REQUESTS_MAX } from '../../src/service/probe/asker.ts';
import { probe } from '../../src/service/probe/probe.ts';
import { startAnsweringServer } from '../support/answering-server.ts';
import { ROW } from '../support/payout-row.ts';
import { OTHER_BENEFICIARY, type Probed, probeSandbox, quickOptions } from './probe-rig.ts';
import { givingTokens, openTestService, testSettings } from './test-service.ts';

/** What a service that keeps its promises gets; P4 needs a payment that fails. */
const GOOD: Probed['verdicts'] = {
  P1: 'yes',
  P2: 'yes',
  P3: 'yes',
  P4: 'not known',
  P5: 'yes',
  P6: 'yes',
  P7: 'yes',
  P8: 'yes',
  P9: 'yes',
  P10: 'yes',
  P11: 'yes',
  P12: 'yes',
};
const UNKNOWN = 'not known';
const HURRIED = { waitMs: 9000, quoteGraceMs: 3000 };
const SLOW_MS = 60_000;

interface Case {
  readonly switches: SwitchSettings;
  /** How the answers differ from those of a good service. */
  readonly turned: Partial<Probed['verdicts']>;
  readonly lacking: readonly Capability[];
  /** Neither waits long for payments that will not be found. */
  readonly hurried?: boolean;
}

const CASES: Readonly<Record<string, Case>> = {
  'keeps its promises': { switches: {}, turned: {}, lacking: [] },
  'refuses a repeat with 400': { switches: { repeatedQuote: '400' }, turned: {}, lacking: [] },
  'refuses a repeat with 404': { switches: { repeatedQuote: '404' }, turned: {}, lacking: [] },
  'refuses a repeat with 409': { switches: { repeatedQuote: '409' }, turned: {}, lacking: [] },
  'pays a quote twice': {
    switches: { paysQuoteTwice: true, quoteLifeMs: 3000 },
    turned: { P1: 'no', P2: 'no', P3: 'no', P7: 'no' },
    lacking: ['one-payment-per-quote'],
  },
  'lets payments fail': {
    switches: { endsFailed: 1 },
    turned: { P3: UNKNOWN, P4: 'yes' },
    lacking: ['one-payment-per-quote'],
  },
  'pays a failed payment again': {
    switches: { endsFailed: 1, paysQuoteTwice: true, quoteLifeMs: 3000 },
    turned: { P1: 'no', P2: 'no', P3: UNKNOWN, P4: 'no', P7: 'no' },
    lacking: ['one-payment-per-quote'],
  },
  'takes expired quotes': {
    switches: { takesExpiredQuotes: true },
    turned: { P5: 'no' },
    lacking: ['expired-quote-refused'],
  },
  'shows the end of a quote earlier than it is': {
    switches: { quoteExpirySkewMs: -1200, quoteLifeMs: 4500 },
    turned: { P5: 'no' },
    lacking: ['expired-quote-refused'],
  },
  'dates its answers too late': {
    switches: { dateSkewMs: 60_000 },
    turned: { P5: 'no', P10: 'no' },
    lacking: ['expired-quote-refused'],
  },
  'dates its answers too early': { switches: { dateSkewMs: -2000 }, turned: {}, lacking: [] },
  'dates no answer': {
    switches: { withoutDate: true },
    turned: { P5: UNKNOWN, P10: 'no' },
    lacking: ['expired-quote-refused'],
  },
  'shows no end of quotes': {
    switches: { quoteWithoutExpiry: true },
    turned: { P5: UNKNOWN, P10: 'no' },
    lacking: ['expired-quote-refused'],
  },
  'gives quotes that outlive the wait': {
    switches: { quoteLifeMs: 600_000 },
    turned: { P5: UNKNOWN },
    lacking: ['expired-quote-refused'],
  },
  'says "not found" without an error body': {
    switches: { lookUpBareNotFound: 1 },
    turned: { P3: UNKNOWN, P5: UNKNOWN, P6: 'no', P9: UNKNOWN, P11: 'no' },
    lacking: [...CAPABILITIES],
    hurried: true,
  },
  'shows payments late': {
    switches: { visibilityDelayMs: 600_000 },
    turned: { P3: UNKNOWN, P6: 'no', P11: 'no' },
    lacking: ['payment-id-is-quote-id', 'one-payment-per-quote', 'payment-visible-in-time'],
    hurried: true,
  },
  'shows payments after a while': {
    switches: { visibilityDelayMs: 300 },
    turned: {},
    lacking: [],
  },
  'gives payments ids of their own': {
    switches: { otherPaymentIds: 1 },
    turned: { P6: 'no', P11: 'no' },
    lacking: ['payment-id-is-quote-id', 'payment-visible-in-time'],
  },
  'pays what it answers with 401': {
    switches: { unauthorisedAfterCommit: 1 },
    turned: { P1: UNKNOWN, P2: UNKNOWN, P3: UNKNOWN, P6: UNKNOWN, P7: UNKNOWN, P8: UNKNOWN, P9: 'no', P5: UNKNOWN },
    lacking: ['expired-quote-refused', 'one-payment-per-quote', 'payment-visible-in-time'],
  },
  'forgets requests whose connection is lost': {
    switches: { dropBeforeCommit: 1 },
    turned: { P1: UNKNOWN, P2: UNKNOWN, P3: UNKNOWN, P5: UNKNOWN, P6: UNKNOWN, P7: UNKNOWN, P8: UNKNOWN, P11: 'no' },
    lacking: [...CAPABILITIES],
  },
  'answers payments with a page': {
    switches: { html201AfterCommit: 1 },
    turned: { P1: UNKNOWN, P2: UNKNOWN, P3: UNKNOWN, P5: UNKNOWN, P6: UNKNOWN, P7: UNKNOWN, P8: UNKNOWN },
    lacking: ['expired-quote-refused', 'one-payment-per-quote', 'payment-visible-in-time'],
  },
  'limits reads': {
    switches: { rateLimitPerSecond: 15 },
    turned: { P12: 'no' },
    lacking: [],
  },
  'gives the same quote again': {
    switches: { sameQuoteForEqualRequests: true, quoteLifeMs: 600_000 },
    turned: Object.fromEntries(Object.keys(GOOD).map((question) => [question, UNKNOWN])),
    lacking: [...CAPABILITIES],
  },
  'gives no quotes': {
    switches: { emptyQuotes: true },
    turned: Object.fromEntries(Object.keys(GOOD).map((question) => [question, UNKNOWN])),
    lacking: [...CAPABILITIES],
  },
};

async function turns(_what: string, { switches, turned, lacking, hurried = false }: Case): Promise<void> {
  const probed = await probeSandbox(switches, hurried ? HURRIED : {});
  expect(probed.verdicts).toEqual({ ...GOOD, ...turned });
  expect(probed.lacking).toEqual(lacking);
  expect(probed.requestsSeen).toBeLessThanOrEqual(REQUESTS_MAX);
  expect(probed.findings.map(({ meaning }) => meaning)).not.toContain('');
}

/** A burst of reads is one only while nothing else keeps this process busy. */
function needsCalm([what]: [string, Case]): boolean {
  return what === 'limits reads';
}

describe('the answers turn with what the service does, and no others do: it', () => {
  const cases = Object.entries(CASES);
  test.concurrent.each(cases.filter((one) => !needsCalm(one)))('%s', turns, SLOW_MS * 2);
  test.each(cases.filter(needsCalm))('%s', turns, SLOW_MS * 2);
});

describe('a probe', () => {
  test(
    'makes one payment more to a beneficiary that is named as one whose payments fail',
    async () => {
      const probed = await probeSandbox({}, { failingBeneficiary: OTHER_BENEFICIARY });
      expect(probed.plan.payments).toBe(8);
      expect(probed.book).toBe(8);
      // The sandbox completes it all the same; and nobody is left for P7.
      expect(probed.verdicts).toEqual({ ...GOOD, P7: UNKNOWN });
    },
    SLOW_MS,
  );

  test(
    'makes as many payments of amount 1 as it announces, and sends no more requests than it says',
    async () => {
      const probed = await probeSandbox({});
      expect(probed.book).toBe(probed.plan.payments);
      expect(probed.payments).toBe(probed.plan.payments);
      expect(probed.paymentRequestsSeen).toBeLessThanOrEqual(probed.plan.paymentRequests);
      expect(probed.requestsSeen).toBe(probed.requests + 1);
    },
    SLOW_MS,
  );

  test(
    'says what a 429 told it',
    async () => {
      const retryAfters = ['1', ''].map((retryAfter) => probeSandbox({ rateLimitPerSecond: 15, retryAfter }));
      const [told, untold] = await Promise.all(retryAfters);
      expect(told?.finding('P12').conclusion).toContain('Retry-After: "1"');
      expect(untold?.finding('P12').conclusion).toContain('Retry-After: none');
    },
    SLOW_MS,
  );

  test(
    'says whether a repeat is refused or answered with the same payment',
    async () => {
      const repeats = ['replay-201', '409'] as const;
      const [replayed, refused] = await Promise.all(repeats.map((repeatedQuote) => probeSandbox({ repeatedQuote })));
      expect(replayed?.finding('P1').conclusion).toContain('the same payment');
      expect(refused?.finding('P1').conclusion).toContain('is refused');
    },
    SLOW_MS,
  );

  test(
    'sends no more requests than its limit, whatever it still wants to know',
    async () => {
      let answered = 0;
      const server = await startAnsweringServer(
        givingTokens((_request, answering) => {
          answered += 1;
          answering.reply({ json: {} });
        }),
      );
      const service = openTestService(server.url);
      const brake = { remainingMs: () => 0, hold: () => {} };
      const { clock, config } = quickOptions(testSettings(server.url));
      const asker = openAsker({ service, brake, clock, row: ROW, defaults: config, waitMs: SLOW_MS });
      const end = await asked(async () => {
        for (;;) await asker.lookUp('x');
      });
      expect(end).toEqual({ unanswered: expect.stringContaining(`${REQUESTS_MAX} requests`) });
      expect(answered).toBe(REQUESTS_MAX);
      await service.close();
      await server.close();
    },
    SLOW_MS,
  );

  test(
    'ends at the time that it was given',
    async () => {
      const probed = await probeSandbox({ visibilityDelayMs: 600_000 }, { waitMs: 1500 });
      expect(probed.finding('P1').conclusion).toMatch(/--wait/);
      expect(probed.lacking).toEqual([...CAPABILITIES]);
    },
    SLOW_MS,
  );

  test(
    'pays the beneficiary that is named, and needs one',
    async () => {
      const row = { ...quickOptions(testSettings('http://127.0.0.1:9')).row, beneficiaryIdentityId: OTHER_BENEFICIARY };
      const probed = await probeSandbox({}, { row });
      expect(probed.plan.beneficiaryIdentityId).toBe(OTHER_BENEFICIARY);
      expect(probed.verdicts).toEqual(GOOD);
    },
    SLOW_MS,
  );

  test.each<[string, Partial<ServiceSettings>]>([
    ['the environment prod', { environment: 'prod' }],
    ['an audience of prod', { audience: 'urn:servicexcurrent-prod:tenant-1' }],
  ])('refuses %s before anything is sent', async (_what, settings) => {
    const refused = probe(quickOptions(testSettings('http://127.0.0.1:9', settings)));
    await expect(refused).rejects.toThrow(/never uses prod/);
    await expect(refused).rejects.toMatchObject({ name: 'Refusal', kind: 'usage' });
  });
});
