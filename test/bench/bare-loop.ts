import { Pool } from 'undici';

/*
 * The limit of paying: the same two requests for each payout, by undici's Pool.request, with as many in flight and no queue,
 * no ledger, no checks. A process of its own (child_process.fork), told by messages what to do.
 */

export interface LoopOrder {
  readonly url: string;
  readonly payouts: number;
  readonly inFlight: number;
}

const HEADERS = {
  'user-agent': 'payrun/bench',
  accept: 'application/json',
  authorization: 'Bearer token',
  'content-type': 'application/json',
};
const BENEFICIARY = '93ee9da3-1bef-4af5-a284-d42b1737949b';

async function payAll({ url, payouts, inFlight }: LoopOrder): Promise<void> {
  const pool = new Pool(url, { connections: inFlight, pipelining: 1 });
  let next = 0;
  const payNext = async (): Promise<void> => {
    while (next < payouts) {
      next += 1;
      await payOne(pool, next);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, payNext));
  await pool.close();
}

async function payOne(pool: Pool, row: number): Promise<void> {
  const asked = {
    quoteAmount: (row % 9000) + 1.25,
    quoteAmountType: 'SOURCE_AMOUNT',
    sourceCurrency: 'USD',
    destinationCurrency: 'MXN',
    payoutCategory: 'BANK',
    payinCategory: 'PRE_FUNDING',
  };
  const collection = (await post(pool, '/v2/quotes/quote-collection', asked)) as { quotes: [{ quoteId: string }] };
  const payment = {
    quoteId: collection.quotes[0].quoteId,
    beneficiaryIdentityId: BENEFICIARY,
    internalId: `bare-${row}`,
    purposeCode: 'OTHR',
  };
  await post(pool, '/v2/payments', payment);
}

async function post(pool: Pool, path: string, json: object): Promise<unknown> {
  const { statusCode, body } = await pool.request({
    method: 'POST',
    path,
    headers: HEADERS,
    body: JSON.stringify(json),
  });
  if (statusCode !== 201) throw new Error(`${path} answered ${statusCode}`);
  return await body.json();
}

process.on('message', (order: LoopOrder) => {
  void payAll(order).then(() => process.send?.({ done: true }));
});
process.on('disconnect', () => process.exit(0));
process.send?.({ ready: true });
