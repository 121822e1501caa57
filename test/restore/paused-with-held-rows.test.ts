import { expect, test, vi } from 'vitest';
import { useProcesses } from '../support/payrun-processes.ts';
import { openSite, stopped, TEST_MS_MAX, WAIT } from './site.ts';

const processes = useProcesses();

test(
  'nothing of a run that people paused is paid before they resume it, though its last open row ended and a held one was allowed',
  async () => {
    const site = await openSite(processes, { switches: ['answerDelayMs.payments=6000'] });
    const worker = await site.worker();
    const first = await site.submit('first.csv', ['R-1']);
    // Both people see it in one state.
    await vi.waitUntil(async () => (await site.outcomesOf(first))['paid'] === 1, WAIT);
    const second = await site.submit('second.csv', ['R-1', 'R-4']);
    await vi.waitUntil(() => site.booked() === 2, { timeout: 20_000, interval: 20 });
    await site.does(['pause', second, '--as', 'carl', '--reason', 'I look at it first']);
    await vi.waitUntil(async () => (await site.outcomesOf(second))['paid'] === 1, WAIT);
    const allow = ['allow', second, 'R-1', '--reason', 'another invoice', '--as'];
    await site.does([...allow, 'anna']);
    await site.does([...allow, 'bob'], 5);
    await site.does([...allow, 'bob', '--yes']);
    expect(await site.stateOf(second)).toBe('paused');
    await stopped(worker);
    expect(site.booked()).toBe(2);
  },
  TEST_MS_MAX,
);
