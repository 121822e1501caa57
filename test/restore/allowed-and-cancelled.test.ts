import { expect, test, vi } from 'vitest';
import { useProcesses } from '../support/payrun-processes.ts';
import { openSite, stopped, TEST_MS_MAX, WAIT } from './site.ts';

const processes = useProcesses();
const LATER = `${new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10)}T06:00:00.000Z`;

test(
  'a reference that was paid is not paid again by a third file, where people allowed a second row of it and cancelled that before it was sent',
  async () => {
    const site = await openSite(processes);
    const worker = await site.worker();
    const first = await site.submit('first.csv', ['R-1', 'R-2']);
    // Both people see it in one state.
    await vi.waitUntil(async () => (await site.outcomesOf(first))['paid'] === 2, WAIT);
    const second = await site.submit('second.csv', ['R-1', 'R-9'], '--at', LATER);
    const allow = ['allow', second, 'R-1', '--reason', 'it looks like another invoice', '--as'];
    await site.does([...allow, 'anna']);
    await site.does([...allow, 'bob'], 5);
    await site.does([...allow, 'bob', '--yes']);
    await site.does(['cancel', second, 'R-1', '--reason', 'it was paid', '--as', 'anna']);

    const third = await site.submit('third.csv', ['R-1', 'R-3']);
    await site.untilEnded(third);
    expect(site.paidTwice()).toEqual([]);
    await stopped(worker);
  },
  TEST_MS_MAX,
);
