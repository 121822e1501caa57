import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { useProcesses } from '../support/payrun-processes.ts';
import { openSite, stopped, TEST_MS_MAX, untilLongUnknown } from './site.ts';

const processes = useProcesses();

const WAIT = { timeout: TEST_MS_MAX, interval: 100 };
const LATER = `${new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10)}T06:00:00.000Z`;

describe('nothing is paid twice', () => {
  test(
    'when a file is handed in after a restore before any worker runs: what was decided is missed all the same',
    async () => {
      const site = await openSite(processes);
      const first = await site.worker();
      const cancelled = await site.submit('cancelled.csv', ['C-1', 'C-2'], '--at', LATER);
      site.copy();
      await site.does(['cancel', cancelled, '--reason', 'wrong month', '--as', 'anna']);
      await stopped(first);
      await site.putBack();
      // It appends to the audit log, which puts back the entries that Redis lost.
      await site.run(['submit', 'cancelled.csv']);
      const second = await site.worker();
      await vi.waitUntil(async () => (await site.stateOf(cancelled)) === 'cancelled', WAIT);
      expect((await site.run(['doctor'])).stdout).toContain(`run.cancelled ${cancelled}`);
      await site.release();
      expect(await site.run(['resume', cancelled])).toMatchObject({ code: 2 });
      await stopped(second);
      expect(site.booked()).toBe(0);
    },
    TEST_MS_MAX,
  );

  test(
    'when the payout that waited is paid between the two who allow the other one: the second proposes anew',
    async () => {
      const site = await openSite(processes);
      const worker = await site.worker();
      const waiting = await site.submit('first.csv', ['R-1'], '--at', LATER);
      const second = await site.submit('second.csv', ['R-1', 'R-2']);
      const allow = ['allow', second, 'R-1', '--reason', 'never sent', '--as'];
      expect(await site.does([...allow, 'anna'])).toContain('waits until');
      await site.resume(waiting);
      await site.untilEnded(waiting);
      expect(await site.does([...allow, 'bob'])).toContain('both are paid then');
      await site.untilEnded(second);
      await stopped(worker);
      expect(site.paidTwice()).toEqual([]);
    },
    TEST_MS_MAX,
  );

  test(
    'when a gateway says in the service’s own words that it knows no payment, also of those that it made',
    async () => {
      const site = await openSite(processes, {
        switches: ['visibilityDelayMs=600000', 'dropAfterCommit=0.3', 'quoteLifeMs=4000', 'completesAfterMs=600000'],
      });
      const worker = await site.worker();
      const runId = await site.submit(
        'file.csv',
        Array.from({ length: 20 }, (_, index) => `K-${index}`),
      );
      // Those whose answers were lost are asked for again and again.
      await untilLongUnknown(site, runId, 20);
      await stopped(worker);
      expect(site.paidTwice()).toEqual([]);
    },
    TEST_MS_MAX,
  );

  test(
    'when a lost host may have sent it: what its directory leaves in doubt cannot be dropped and handed in again',
    async () => {
      const site = await openSite(processes);
      for (const worker of [await site.worker('one'), await site.worker('two')]) await stopped(worker);
      const runId = await site.submit('file.csv', ['D-1', 'D-2']);
      site.copy();
      const lost = await site.worker('two');
      await site.untilEnded(runId);
      await stopped(lost);
      const { id } = JSON.parse(site.textOf('two/ledger.json')) as { id: string };
      rmSync(join(site.cwd, 'two'), { recursive: true });
      await site.putBack();
      const one = await site.worker('one');
      await site.writeOff(id);
      for (const reference of ['D-1', 'D-2']) {
        const dropped = await site.run(['drop', runId, reference, '--reason', 'it was paid', '--as', 'anna']);
        expect(dropped).toMatchObject({ code: 2, stderr: expect.stringContaining('the lost host may have sent it') });
      }
      const retry = await site.run(['retry-file', runId]);
      writeFileSync(join(site.cwd, 'retry.csv'), retry.stdout);
      expect(retry.stdout).not.toContain('D-1');
      await stopped(one);
      expect(site.paidTwice()).toEqual([]);
    },
    TEST_MS_MAX,
  );
});
