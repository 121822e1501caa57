import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { CAPABILITIES } from '../../src/config/config.ts';
import { payoutFile } from '../cli/payrun.ts';
import { useProcesses } from '../support/payrun-processes.ts';
import { openSite, rowsByReference, stopped, TEST_MS_MAX } from './site.ts';

const processes = useProcesses();

const WAIT = { timeout: TEST_MS_MAX, interval: 100 };

test(
  'a file whose first hand-in was killed before it was on the audit log is not new after a restore and a write-off',
  async () => {
    const site = await openSite(processes);
    const env: Record<string, string> = {
      REDIS_URL: site.server.url,
      ...site.service.settings(),
      PAYRUN_DATA_DIR: join(site.cwd, 'one'),
      PAYRUN_ASSUME: CAPABILITIES.join(','),
      PAYRUN_QUOTE_GRACE: '1s',
      PAYRUN_NOT_FOUND_GAP: '1s',
      PAYRUN_ARM_DEADLINE: '500ms',
      PAYRUN_TRACK_EVERY: '1s',
      PAYRUN_TRACK_RATE: '1000',
      PAYRUN_DUPLICATES_WITHIN: 'off',
    };
    for (const worker of [await site.worker('one'), await site.worker('two')]) await stopped(worker);
    const first = await site.worker('one');
    await site.untilEnded(await site.submit('small.csv', ['S-1']));
    await stopped(first);
    site.copy();

    // Killed right after it claimed the file.
    let isShort = false;
    for (let tries = 0; tries < 8 && !isShort; tries++) {
      writeFileSync(join(site.cwd, 'file.csv'), payoutFile([1, 2, 3].map((row) => [`T-${tries}-${row}`, '10.00'])));
      const before = await site.server.redis.hlen('{payrun}:files');
      const submitting = processes.start(['submit', 'file.csv'], { cwd: site.cwd, env });
      while ((await site.server.redis.hlen('{payrun}:files')) === before);
      submitting.kill('SIGKILL');
      await submitting.ended;
      const said = await site.run(['audit', 'list'], 'one');
      const runs = await site.listed();
      const run = runs[0]?.runId ?? '';
      isShort = !said.stdout.includes(run);
    }
    expect(isShort).toBe(true);
    const run = (await site.listed())[0]?.runId ?? '';
    await site.does(['submit', 'file.csv']);
    const lost = await site.worker('two');
    await site.untilEnded(run);
    await stopped(lost);
    expect(site.booked()).toBe(4);
    const { id } = JSON.parse(site.textOf('two/ledger.json')) as { id: string };
    renameSync(join(site.cwd, 'two'), join(site.cwd, 'away'));
    await site.putBack();

    const worker = await site.worker('one');
    await site.writeOff(id);
    const again = JSON.parse((await site.run(['submit', 'file.csv', '--json'])).stdout) as { runId: string };
    await site.release();
    await site.resume(again.runId);
    await vi.waitUntil(async () => {
      const rows = [...(await rowsByReference(site, again.runId)).values()];
      return rows.every(({ outcome }) => outcome === 'held' || outcome === 'paid');
    }, WAIT);
    await stopped(worker);
    expect(site.paidTwice()).toEqual([]);
  },
  TEST_MS_MAX,
);
