import { expect, test, vi } from 'vitest';
import { useProcesses } from '../support/payrun-processes.ts';
import { openSite, stopped, TEST_MS_MAX, WAIT } from './site.ts';

const processes = useProcesses();

test(
  'what somebody stops at the end of a stage is not paid because somebody else releases the next stage that they saw',
  async () => {
    const site = await openSite(processes, {});
    const worker = await site.worker();
    const run = await site.submit('first.csv', ['K-1', 'K-2', 'K-3'], '--stage', '1,rest', '--as', 'mia');
    await vi.waitUntil(async () => (await site.stateOf(run)) === 'paused', WAIT);
    await site.does(['pause', run, '--reason', 'fraud: the supplier was taken over', '--as', 'carol']);
    expect(await site.does(['status', run])).toContain('fraud: the supplier was taken over');
    const resumed = await site.run(['resume', run, '--stage', '1', '--as', 'bob']);
    expect([resumed.code, resumed.stderr]).toEqual([2, expect.stringContaining('has changed since you looked')]);
    await stopped(worker);
    expect(site.booked()).toBe(1);
  },
  TEST_MS_MAX,
);
