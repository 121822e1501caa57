import { expect, test, vi } from 'vitest';
import { useProcesses } from '../support/payrun-processes.ts';
import { HIDDEN_MS, openSite, rowsByReference, stopped, TEST_MS_MAX } from './site.ts';

const processes = useProcesses();

const WAIT = { timeout: 70_000, interval: 200 };
/** Between two calls of `hideSince`: what was paid before has to be older. */
const APART_MS_MAX = 8000;
const LATER = `${new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10)}T06:00:00.000Z`;

test(
  'a payment that the service made, forgot and shows again stops the retry that waits, also where a restore forgot that',
  async () => {
    const site = await openSite(processes, { switches: ['quoteLifeMs=6000'] });
    const first = await site.worker();
    await site.untilEnded(await site.submit('known.csv', ['K-1']));
    const knownAt = Date.now();
    await vi.waitUntil(() => Date.now() - knownAt > APART_MS_MAX, WAIT);
    const since = Date.now() + HIDDEN_MS - APART_MS_MAX;
    const untilHidden = (isSo: () => Promise<boolean>) =>
      vi.waitUntil(async () => {
        await site.hideSince(since);
        return await isSo();
      }, WAIT);

    await site.set('completesAfterMs=3600000');
    const run = await site.submit('file.csv', ['A-1']);
    await untilHidden(async () => (await site.outcomesOf(run))['held'] === 1);
    const settle = ['resolve', run, 'A-1', '--not-paid', '--reason', 'it never moved', '--yes', '--as'];
    for (const name of ['anna', 'bob']) await untilHidden(async () => (await site.run([...settle, name])).code === 0);
    await site.does(['retry-file', run, '--output', 'retry.csv']);
    const { stdout } = await site.run(['submit', 'retry.csv', '--again', '--at', LATER, '--json']);
    const { runId: retry } = JSON.parse(stdout) as { runId: string };
    site.copy();

    await site.set('completesAfterMs=0', 'visibilityDelayMs=0');
    const { quoteId = '' } = (await rowsByReference(site, run)).get('A-1') ?? {};
    await site.byTwo(['resolve', run, 'A-1', '--paid', quoteId, '--reason', 'it is on the statement']);
    await vi.waitUntil(async () => (await site.outcomesOf(run))['paid'] === 1, WAIT);
    await stopped(first);

    await site.putBack();
    const second = await site.worker();
    await site.release();
    expect(await site.outcomesOf(run)).toMatchObject({ held: 1 });
    await site.resume(retry);
    await vi.waitUntil(async () => (await site.outcomesOf(retry))['waiting'] === 0, WAIT);
    await stopped(second);
    expect(site.paidTwice()).toEqual([]);
  },
  TEST_MS_MAX,
);
