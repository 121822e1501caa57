import { expect, test } from 'vitest';
import { useTestRedis } from '../support/redis.ts';
import { DATA_DIR, freshRows, movePayout, newLedger, payingRun, sendTo, useArming } from './test-ledger.ts';

const server = await useTestRedis();
const arming = await useArming(server);

test('payments that the service forgot do not take the place of those that it must show when the logs are compared again', async () => {
  const { ledger } = await newLedger({ redis: server.redis, arming });
  const runId = await payingRun(ledger, freshRows(5));
  const lines: { y: string; p: string }[] = [];
  const pay = async (line: number): Promise<string> => {
    const { quoteId, paymentId, credentials } = await sendTo(ledger, { runId, line }, 'accepted');
    lines.push({ y: quoteId ?? '', p: paymentId ?? '' });
    return credentials ?? '';
  };
  for (const line of [3, 4, 5, 6]) await pay(line);
  const credentials = await pay(2);
  const values = {
    reasonCode: 'E_PAYMENT_GONE',
    reason: 'the service does not know it any more',
    seen2xx: true,
  } as const;
  for (const line of [3, 4, 5, 6])
    await movePayout(ledger, { runId, line }, { to: 'held', values, isPaymentGone: true });
  const shown = lines.at(-1)?.p;
  expect(await ledger.payouts.knownPayments(credentials)).toEqual([shown]);
  // As after each restart of Redis: the intent log has a yes of the service for each of them.
  const { server: now } = await ledger.state.season();
  const json = JSON.stringify(lines);
  await ledger.state.compare({ dataDirId: DATA_DIR, server: now, last: true, json, peers: [DATA_DIR] });
  expect(await ledger.payouts.knownPayments(credentials)).toContain(shown);
});
