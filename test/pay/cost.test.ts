import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { costLimitText } from '../../src/ledger/payouts/values.ts';
import { costOf, isAbove, tooDear } from '../../src/pay/quote/cost.ts';
import { openRig, type PayRig } from '../support/pay-rig.ts';
import { changeStored } from '../support/records.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';

const CORRIDOR = { sourceCurrency: 'USD', destinationCurrency: 'MXN' };
const usd = (minor: bigint) => ({ minor, currency: 'USD' });
const mxn = (minor: bigint) => ({ minor, currency: 'MXN' });

describe('the cost of a quote', () => {
  test('counts what is finer than a minor unit of a fee as one', () => {
    const quote = { sourceAmount: usd(100n), destinationAmount: mxn(1000n), fees: [{ ...usd(37n), digits: 4 }] };
    expect(costOf(quote, { sourceCurrency: 'USD', destinationCurrency: 'MXN' })).toEqual({
      debited: 101n,
      arrives: 1000n,
    });
  });

  test('is what is debited with fees in the source currency, for what arrives less fees in the destination currency', () => {
    const quote = { sourceAmount: usd(10_000n), destinationAmount: mxn(180_000n), fees: [usd(150n), mxn(500n)] };
    expect(costOf(quote, CORRIDOR)).toEqual({ debited: 10_150n, arrives: 179_500n });
  });

  test('in one currency counts fees once, as debited', () => {
    const quote = { sourceAmount: usd(10_000n), destinationAmount: usd(10_000n), fees: [usd(150n)] };
    expect(costOf(quote, { sourceCurrency: 'USD', destinationCurrency: 'USD' })).toEqual({
      debited: 10_150n,
      arrives: 10_000n,
    });
  });

  test.each([
    ['shows no source amount', { sourceAmount: null, destinationAmount: mxn(1n), fees: [] }],
    ['shows no destination amount', { sourceAmount: usd(1n), destinationAmount: null, fees: [] }],
    [
      'has a fee in a third currency',
      { sourceAmount: usd(1n), destinationAmount: mxn(1n), fees: [{ minor: 1n, currency: 'EUR' }] },
    ],
    ['lets nothing arrive', { sourceAmount: usd(1n), destinationAmount: mxn(1n), fees: [mxn(1n)] }],
  ])('is not known when it %s', (_what, quote) => {
    expect(costOf(quote, CORRIDOR)).toBeNull();
  });
});

describe('a limit of 25 basis points', () => {
  const limit = { debited: 10_000n, arrives: 200_000n, driftBp: 25n };

  test.each<[debited: bigint, arrives: bigint, above: boolean]>([
    [10_000n, 200_000n, false],
    [10_025n, 200_000n, false],
    [10_026n, 200_000n, true],
    [10_000n, 199_502n, false],
    [10_000n, 199_500n, true],
    [9000n, 200_000n, false],
    [20_050n, 400_000n, false],
    [20_051n, 400_000n, true],
  ])('%i for %i is above it: %s', (debited, arrives, above) => {
    expect(isAbove({ debited, arrives }, limit)).toBe(above);
  });

  test('says that it compares with what it was when the file was handed in', () => {
    expect(tooDear({ debited: 10_026n, arrives: 200_000n }, limit)).toContain('more than when it was handed in');
  });

  test('holds what cannot be compared, and nothing is held without a limit', () => {
    expect(tooDear(null, limit)).toContain('cannot be compared');
    expect(tooDear({ debited: 20_000n, arrives: 1n }, null)).toBeUndefined();
  });

  test('is passed by any quote when none could be had at the recording', () => {
    expect(tooDear({ debited: 1n, arrives: 1n }, { debited: 0n, arrives: 1n, driftBp: 25n })).toContain('handed in');
  });

  test('is kept by the record to the last unit, whatever the amounts', () => {
    const amount = fc.bigInt({ min: 1n, max: 10n ** 18n });
    fc.assert(
      fc.property(amount, amount, fc.bigInt({ min: 0n, max: 99_999n }), (debited, arrives, driftBp) => {
        expect(costLimitText({ limit: { debited, arrives, driftBp }, seal: 'seal' })).toBe(
          `${debited} ${arrives} ${driftBp} seal`,
        );
        expect(isAbove({ debited, arrives }, { debited, arrives, driftBp })).toBe(false);
      }),
    );
  });
});

describe('a payout with a cost limit', () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startTestRedis();
  });
  afterAll(async () => {
    await redis.stop();
  });

  async function limited(limit: { debited: bigint; arrives: bigint }): Promise<PayRig> {
    const rig = await openRig(redis);
    const place = { runId: rig.runId, line: 2 };
    const { seals } = rig.ledger;
    const costLimit = { ...limit, driftBp: 0n };
    const { row } = await rig.payout();
    await changeStored(
      { redis: rig.redis, prefix: rig.prefix, ...place },
      {
        cx: costLimitText({ limit: costLimit, seal: seals.costLimit(place, costLimit) }),
        rh: seals.row(place, row, true),
      },
    );
    return rig;
  }

  test('is held, never armed and never sent, when its quote costs more', async () => {
    const rig = await limited({ debited: 1n, arrives: 1_000_000n });
    expect(await rig.pay(await rig.process())).toBe('done');
    expect(await rig.payout()).toMatchObject({ state: 'held', reasonCode: 'E_COST_DRIFT', attempts: 0, quoteId: null });
    expect(rig.service.payments()).toEqual([]);
    expect(await rig.intentLines()).toEqual([]);
  });

  test('is paid when its quote costs as much or less', async () => {
    const rig = await limited({ debited: 1_000_000n, arrives: 1n });
    await rig.pay(await rig.process());
    expect(await rig.payout()).toMatchObject({ state: 'accepted' });
  });
});
