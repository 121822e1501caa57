import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { payoutFile } from '../cli/payrun.ts';
import { useProcesses } from '../support/payrun-processes.ts';
import { openSite, type Site, stopped, TEST_MS_MAX } from './site.ts';

const processes = useProcesses();

const WAIT = { timeout: TEST_MS_MAX, interval: 100 };
const LIFE = 'quoteLifeMs=4000';
/** Past the end and grace of a quote, and two look-ups a gap apart. */
const PROVEN_MS = 20_000;

/** The service loses its answer to the payment that is let go, and does not show its latest payments for a while. */
async function losesAnswer(site: Site, letGo: () => Promise<unknown>): Promise<void> {
  const since = Date.now() - 60_000;
  const before = site.booked();
  await site.hideSince(since);
  await site.set('dropAfterCommit=1');
  await letGo();
  await vi.waitUntil(() => site.booked() > before, WAIT);
  await site.set('dropAfterCommit=0');
  for (const end = Date.now() + PROVEN_MS; Date.now() < end && site.paidTwice().length === 0; await delay(1000))
    await site.hideSince(since);
}

describe('a service that shows none of the payments that it must know is not believed', () => {
  test(
    'when the only ones under the present client id are those of rows that people allowed after it was rotated',
    async () => {
      const config = join(processes.folder(), 'payrun.json');
      writeFileSync(config, JSON.stringify({ limits: { over: 'hold', currencies: { USD: { payout: '100.00' } } } }));
      // Rows that wait are sealed by the same key before and after (docs/operation.md, "Credentials rotated").
      const settings = { PAYRUN_LEDGER_KEY: 'the key of this ledger, for all its credentials', PAYRUN_CONFIG: config };
      const site = await openSite(processes, { switches: [LIFE], settings });
      const held = ['H-1', 'H-2', 'H-3', 'H-4'];
      const [last = '', ...allowed] = held;
      const rest = Array.from({ length: 21 }, (_, index) => `R-${index}`);
      const rows = [...held.map((one) => [one, '200.00'] as const), ...rest.map((one) => [one, '10.00'] as const)];
      writeFileSync(join(site.cwd, 'file.csv'), payoutFile(rows));
      const first = await site.worker();
      const { runId } = JSON.parse((await site.run(['submit', 'file.csv', '--json'])).stdout) as { runId: string };
      const paid = (count: number) => vi.waitUntil(async () => (await site.outcomesOf(runId))['paid'] === count, WAIT);
      await paid(rest.length);
      await stopped(first);

      const words = ['sandbox', 'credential', 'create', 'test', '--json', '--folder', site.service.folder];
      const made = JSON.parse((await processes.run(words)).stdout) as { clientId: string; clientSecret: string };
      const rotated = { PAYRUN_CLIENT_ID: made.clientId, PAYRUN_CLIENT_SECRET: made.clientSecret };
      const second = await site.worker('one', rotated);
      const allow = (one: string) => site.byTwo(['allow', runId, one, '--reason', 'it is right']);
      for (const one of allowed) await allow(one);
      await paid(rest.length + allowed.length);
      await losesAnswer(site, () => allow(last));
      await stopped(second);
      expect(site.paidTwice()).toEqual([]);
    },
    TEST_MS_MAX,
  );

  test(
    'when all that it made so far failed',
    async () => {
      const site = await openSite(processes, { switches: [LIFE, 'finalState=FAILED'] });
      const worker = await site.worker();
      const failed = await site.submit('failed.csv', ['F-1', 'F-2', 'F-3']);
      await vi.waitUntil(async () => (await site.outcomesOf(failed))['failed'] === 3, WAIT);
      await losesAnswer(site, () => site.submit('file.csv', ['S-1']));
      await stopped(worker);
      expect(site.paidTwice()).toEqual([]);
    },
    TEST_MS_MAX,
  );
});
