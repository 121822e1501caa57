import { expect, test, vi } from 'vitest';
import { useProcesses } from '../support/payrun-processes.ts';
import { openSite, stopped, TEST_MS_MAX } from './site.ts';

const processes = useProcesses();

const WAIT = { timeout: 60_000, interval: 200 };

test(
  'a host that was frozen, is written off and goes on running, keeps no other one from paying',
  async () => {
    // The default deadline.
    const site = await openSite(processes, { settings: { PAYRUN_ARM_DEADLINE: '2s' } });
    const one = await site.worker('one');
    const two = await site.worker('two');
    await site.untilEnded(await site.submit('first.csv', ['A-0', 'A-1', 'A-2', 'A-3']));
    await stopped(one);
    site.copy();
    await site.untilEnded(
      await site.submit(
        'others.csv',
        Array.from({ length: 60 }, (_, index) => `B-${index}`),
      ),
    );
    two.kill('SIGSTOP');
    await site.putBack();
    const { id } = JSON.parse(site.textOf('two/ledger.json')) as { id: string };
    const again = await site.worker('one');
    const writeOff = (name: string) => site.run(['write-off', id, '--reason', 'burnt', '--as', name]);
    await vi.waitUntil(async () => (await writeOff('anna')).code === 0, { timeout: 30_000, interval: 1000 });
    const isDone = async () => /written off|held/i.test((await writeOff('bob')).stdout);
    await vi.waitUntil(isDone, { timeout: 30_000, interval: 1000 });
    await site.release();
    const isOpen = async (): Promise<boolean> => {
      const season = (await site.server.redis.hget('{payrun}:head', 'season')) ?? '';
      return (
        !season.startsWith('closed') &&
        season.startsWith(/run_id:(\w+)/.exec(await site.server.redis.info('server'))?.[1] ?? '?')
      );
    };
    await vi.waitUntil(isOpen, WAIT);
    // The host thaws. It says that it was written off, and sends nothing.
    two.kill('SIGCONT');
    await new Promise((resolve) => setTimeout(resolve, 3000));
    const looks: boolean[] = [];
    for (let times = 0; times < 60; times++) {
      looks.push(await isOpen());
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    const changes = looks.filter((is, index) => index > 0 && is !== looks[index - 1]).length;
    console.log(`open at ${looks.filter(Boolean).length} of ${looks.length} looks, ${changes} changes`);
    for (const worker of [two, again]) await stopped(worker);
    expect(looks.slice(20).every(Boolean)).toBe(true);
  },
  TEST_MS_MAX,
);
