import { setTimeout as delay } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { useProcesses } from '../support/payrun-processes.ts';
import { openSite, stopped, TEST_MS_MAX } from './site.ts';

const processes = useProcesses();

const WAIT = { timeout: TEST_MS_MAX, interval: 50 };
/** Past the end and grace of a quote, and two look-ups a gap apart. */
const PROVEN_MS = 20_000;
/** So much older than what the service hides is what it shows. */
const HIDDEN_MS = 20_500;

test(
  'a service that shows none of the payments to which it said yes after the copy is not believed',
  async () => {
    const site = await openSite(processes, { switches: ['quoteLifeMs=4000'] });
    const worker = await site.worker();
    const known = await site.submit('known.csv', ['K-1', 'K-2', 'K-3']);
    await vi.waitUntil(async () => (await site.outcomesOf(known))['paid'] === 3, WAIT);
    site.copy();
    // What is older is shown all the while.
    await delay(HIDDEN_MS);
    const since = Date.now();
    await site.hideSince(since);
    const yes = await site.submit('yes.csv', ['Y-1', 'Y-2', 'Y-3', 'Y-4']);
    await vi.waitUntil(async () => (await site.outcomesOf(yes))['pending'] === 4, WAIT);
    await site.hideSince(since);
    await site.set('dropAfterCommit=1');
    const lost = await site.submit('lost.csv', ['S-1']);
    await vi.waitUntil(() => site.booked() === 8, WAIT);
    await site.set('dropAfterCommit=0');
    await site.hideSince(since);
    await stopped(worker);

    await site.putBack();
    await site.hideSince(since);
    const again = await site.worker();
    await site.hideSince(since);
    for (const name of ['yes.csv', 'lost.csv']) await site.does(['submit', name], 0, 4, 5);
    for (const end = Date.now() + PROVEN_MS; Date.now() < end; await delay(500)) await site.hideSince(since);
    await site.hideSince(since);
    await site.release();
    await site.hideSince(since);
    await site.resume(yes, lost);
    for (const end = Date.now() + PROVEN_MS; Date.now() < end && site.paidTwice().length === 0; await delay(500))
      await site.hideSince(since);
    await stopped(again);
    expect(site.paidTwice()).toEqual([]);
  },
  TEST_MS_MAX,
);
