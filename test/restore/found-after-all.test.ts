import { setTimeout as delay } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { CAPABILITIES } from '../../src/config/config.ts';
import { useProcesses } from '../support/payrun-processes.ts';
import { HIDDEN_MS, openSite, rowsByReference, stopped, TEST_MS_MAX } from './site.ts';

const processes = useProcesses();

const WAIT = { timeout: TEST_MS_MAX, interval: 100 };
/** Between two calls of `hideSince`. */
const APART_MS_MAX = 1000;
const LATER = `${new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10)}T06:00:00.000Z`;

test(
  'a row of a retry file that waits is not paid once the payment of the first row is found after all',
  async () => {
    // What nothing proves is decided by people.
    const settings = { PAYRUN_ASSUME: CAPABILITIES.filter((one) => one !== 'payment-visible-in-time').join(',') };
    const site = await openSite(processes, { switches: ['quoteLifeMs=6000'], settings });
    const worker = await site.worker();
    await site.untilEnded(await site.submit('known.csv', ['K-1']));
    await site.set('dropAfterCommit=1');
    // Hidden is what is younger: what was paid before has to be older by more than two calls are apart.
    await delay(2 * APART_MS_MAX);
    const since = Date.now() + HIDDEN_MS - APART_MS_MAX;
    await site.hideSince(since);
    const run = await site.submit('file.csv', ['S-1']);
    await vi.waitUntil(async () => {
      await site.hideSince(since);
      return (await site.outcomesOf(run))['held'] === 1;
    }, WAIT);
    await site.set('dropAfterCommit=0');
    await site.hideSince(since);
    for (const name of ['anna', 'bob'])
      await vi.waitUntil(async () => {
        await site.hideSince(since);
        return (
          (await site.run(['resolve', run, 'S-1', '--not-paid', '--reason', 'the service has none', '--as', name]))
            .code === 0
        );
      }, WAIT);
    await vi.waitUntil(async () => {
      await site.hideSince(since);
      return (await site.stateOf(run)) === 'finished';
    }, WAIT);
    await site.does(['retry-file', run, '--output', 'retry.csv']);
    const { stdout } = await site.run(['submit', 'retry.csv', '--again', '--at', LATER, '--json']);
    const { runId: retry } = JSON.parse(stdout) as { runId: string };
    expect(retry).not.toBe(run);
    await site.set('visibilityDelayMs=0');
    const { quoteId = '' } = (await rowsByReference(site, run)).get('S-1') ?? {};
    await site.byTwo(['resolve', run, 'S-1', '--paid', quoteId, '--reason', 'it is on the statement']);
    await site.resume(retry);
    await site.untilEnded(retry);
    await stopped(worker);
    expect(site.paidTwice()).toEqual([]);
  },
  TEST_MS_MAX,
);
