import { expect, test, vi } from 'vitest';
import { CAPABILITIES } from '../../src/config/config.ts';
import { paymentBody, quoteBody } from '../../src/service/bodies.ts';
import { parseQuotes } from '../../src/service/replies.ts';
import { rowAt } from '../runs/recorded-run.ts';
import { openTestService } from '../service/test-service.ts';
import { useProcesses } from '../support/payrun-processes.ts';
import { openSite, type Site, stopped, TEST_MS_MAX, WAIT } from './site.ts';

const processes = useProcesses();
const ROW = {
  ...rowAt(2),
  reference: 'K-1',
  beneficiaryIdentityId: '00000000-0000-4000-8000-000000000001',
  amount: { minor: 1025n, currency: 'USD' },
};

/** Somebody pays the row at the service's own console; gives the payment's id. */
async function payByHand(site: Site): Promise<string> {
  const env = site.service.settings();
  const tenantId = env['PAYRUN_TENANT_ID'] ?? '';
  const [clientId, clientSecret] = [env['PAYRUN_CLIENT_ID'] ?? '', env['PAYRUN_CLIENT_SECRET'] ?? ''];
  const audience = `urn:servicexcurrent-test:${tenantId}`;
  const service = openTestService(site.service.url, { settings: { clientId, clientSecret, tenantId, audience } });
  const quoted = await service.quote(quoteBody(ROW, { payoutCategory: 'BANK', payinCategory: 'PRE_FUNDING' }));
  const [quote] = (quoted.kind === 'answered' ? parseQuotes(quoted.json) : undefined) ?? [];
  if (quote === undefined) throw new Error('no quote');
  await service.createPayment(paymentBody(ROW, quote.quoteId), { sendBefore: performance.now() + 60_000 });
  await service.close();
  return quote.quoteId;
}

test(
  'a row is not free while its own quote may be paid, where people settled it by a payment that failed and not all promises are verified',
  async () => {
    const settings = { PAYRUN_ASSUME: CAPABILITIES.filter((one) => one !== 'payment-id-is-quote-id').join(',') };
    const switches = ['quoteLifeMs=20000', 'completesAfterMs=25000', 'endsFailed=1'];
    const site = await openSite(processes, { switches, settings });
    const byHand = await payByHand(site);
    await site.set('endsFailed=0', 'dropAfterCommit=1', 'visibilityDelayMs=4000');
    const worker = await site.worker();
    const run = await site.submit('first.csv', ['K-1']);
    await vi.waitUntil(async () => (await site.outcomesOf(run))['unknown'] === 1 && site.booked() === 2, WAIT);
    for (const name of ['anna', 'bob']) {
      const words = ['resolve', run, 'K-1', '--paid', byHand, '--reason', 'by the console', '--as', name, '--yes'];
      // It is not shown at once.
      await vi.waitUntil(async () => (await site.run(words)).code === 0, WAIT);
    }
    await vi.waitUntil(async () => (await site.outcomesOf(run))['pending'] === 0, WAIT);
    expect(await site.outcomesOf(run)).toMatchObject({ held: 1, failed: 0 });
    await stopped(worker);
  },
  TEST_MS_MAX,
);
