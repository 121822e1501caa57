import { setTimeout as delay } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { useProcesses } from '../support/payrun-processes.ts';
import { openSite, stopped, TEST_MS_MAX } from './site.ts';

const processes = useProcesses();

const WAIT = { timeout: TEST_MS_MAX, interval: 50 };
/** In which it would pay many rows more. */
const WATCHED_MS = 15_000;

test(
  'a worker that lived through a restore pays nothing of a stage that the copy has not released',
  async () => {
    const site = await openSite(processes, { switches: ['completesAfterMs=6000'], settings: { PAYRUN_RATE: '1' } });
    const worker = await site.worker();
    const references = Array.from({ length: 60 }, (_, index) => `S-${index}`);
    const run = await site.submit('file.csv', references, '--stage', '1,rest');
    await vi.waitUntil(() => site.booked() === 1, WAIT);
    site.copy();
    await vi.waitUntil(async () => (await site.stateOf(run)) === 'paused', WAIT);
    await site.resume(run);
    await vi.waitUntil(() => site.booked() === 4, WAIT);
    await site.putBack();
    await site.release();
    const sent = site.booked();
    // It goes on in its first stage, of which everything is sent.
    await site.resume(run);
    for (const end = Date.now() + WATCHED_MS; Date.now() < end && site.booked() === sent; ) await delay(200);
    await stopped(worker);
    expect(site.booked()).toBe(sent);
  },
  TEST_MS_MAX,
);
