import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { useProcesses } from '../support/payrun-processes.ts';
import { HIDDEN_MS, openSite, type Site, stopped, TEST_MS_MAX } from './site.ts';

const processes = useProcesses();

const WAIT = { timeout: 70_000, interval: 200 };
/** Between two calls of `hideSince`: what was paid before has to be older. */
const APART_MS_MAX = 8000;

/** The newest report of a run; empty before there is one. */
function newestReport(site: Site, runId: string): string {
  const folder = join(site.cwd, 'one', 'reports');
  const names = readdirSync(folder).filter((name) => name.startsWith(runId) && name.endsWith('.csv'));
  const newest = names.toSorted().at(-1);
  return newest === undefined ? '' : site.textOf(join('one', 'reports', newest));
}

test(
  'a quote of a cancelled run that is proven dead after its other rows were paid is looked up once more, and the report says what became of its row',
  async () => {
    const config = join(processes.folder(), 'payrun.json');
    writeFileSync(config, JSON.stringify({ limits: { over: 'hold', currencies: { USD: { payout: '11.00' } } } }));
    const site = await openSite(processes, { switches: ['quoteLifeMs=25000'], settings: { PAYRUN_CONFIG: config } });
    const worker = await site.worker();
    await site.untilEnded(await site.submit('known.csv', ['K-1']));
    await site.set('completesAfterMs=3600000');
    const run = await site.submit('file.csv', ['A-1', 'B-1']);
    await vi.waitUntil(async () => {
      const { pending, held } = await site.outcomesOf(run);
      return pending === 1 && held === 1;
    }, WAIT);
    const paidAt = Date.now();
    await vi.waitUntil(() => Date.now() - paidAt > APART_MS_MAX, WAIT);
    const since = Date.now() + HIDDEN_MS - APART_MS_MAX;
    const untilUnknown = (count: number) =>
      vi.waitUntil(async () => {
        await site.hideSince(since);
        return (await site.outcomesOf(run))['unknown'] === count;
      }, WAIT);

    // The answer to its payment is lost, and the payment is hidden until its quote is proven dead.
    await site.set('dropAfterCommit=1');
    await site.byTwo(['allow', run, 'B-1', '--reason', 'it is right']);
    await untilUnknown(1);
    await site.does(['cancel', run, '--as', 'anna'], 0, 2, 5);
    await site.set('completesAfterMs=0');
    await untilUnknown(0);
    await site.set('dropAfterCommit=0', 'visibilityDelayMs=0');

    await vi.waitUntil(async () => (await site.outcomesOf(run))['held'] === 1, WAIT);
    await vi.waitUntil(() => newestReport(site, run).includes('held'), WAIT);
    await stopped(worker);
    expect(newestReport(site, run)).not.toContain('unknown');
    expect(site.paidTwice()).toEqual([]);
  },
  TEST_MS_MAX,
);
