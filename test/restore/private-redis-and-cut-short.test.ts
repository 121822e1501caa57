import { renameSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { payoutFile } from '../cli/payrun.ts';
import { paidTwice, readBook } from '../support/paid-once.ts';
import { type Ended, useProcesses } from '../support/payrun-processes.ts';
import { startService } from '../support/service-process.ts';
import { openSite, stopped, TEST_MS_MAX, WAIT } from './site.ts';

const processes = useProcesses();
const LATER = `${new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10)}T06:00:00.000Z`;

/** A company of one host with the private Redis, which each command starts anew. */
async function openOffice(switches: readonly string[] = []) {
  const service = await startService(processes, { switches });
  const cwd = processes.folder();
  const quick = { PAYRUN_QUOTE_GRACE: '1s', PAYRUN_NOT_FOUND_GAP: '1s', PAYRUN_ARM_DEADLINE: '500ms' };
  const env = { ...service.settings(), ...quick, PAYRUN_DATA_DIR: join(cwd, 'one') };
  for (const name of ['a', 'b'])
    writeFileSync(join(cwd, `${name}.csv`), payoutFile([[`${name}-1`, `${name === 'a' ? 10 : 20}.00`]]));
  return {
    dataDir: env.PAYRUN_DATA_DIR,
    book: () => readBook(service.folder),
    run: (...words: string[]): Promise<Ended> => processes.run(words, { cwd, env }),
    start: (...words: string[]) => processes.start(words, { cwd, env }),
  };
}

function idOf({ stdout }: Ended): string {
  return z.object({ runId: z.string() }).parse(JSON.parse(stdout)).runId;
}

test(
  'with the private Redis a row of a run that waits can be cancelled',
  async () => {
    const { run } = await openOffice();
    const runId = idOf(await run('submit', 'a.csv', '--at', LATER, '--json'));
    const cancelled = await run('cancel', runId, 'a-1', '--reason', 'wrong', '--as', 'anna');
    expect(cancelled).toMatchObject({ code: 0 });
  },
  TEST_MS_MAX,
);

test(
  'with the private Redis a held row can be settled as not paid',
  async () => {
    const { run } = await openOffice(['dropBeforeCommit=1', 'quoteLifeMs=2000']);
    const runId = idOf(await run('run', 'a.csv', '--json'));
    const words = ['resolve', runId, 'a-1', '--not-paid', '--reason', 'the bank says no', '--yes', '--as'];
    for (const name of ['anna', 'bob']) expect(await run(...words, name)).toMatchObject({ code: 0 });
  },
  TEST_MS_MAX,
);

test(
  'with the private Redis the season keeps no run from being purged',
  async () => {
    const { run } = await openOffice();
    const runId = idOf(await run('run', 'a.csv', '--json'));
    const purged = await run('purge', '--older-than', '1d', '--as', 'anna');
    expect(purged).toMatchObject({ code: 0 });
    expect(purged.stdout).toContain(runId);
    expect(purged.stdout).not.toContain('the season is closed');
  },
  TEST_MS_MAX,
);

test(
  'with the private Redis nothing is paid twice by whoever does what is said of a damaged ledger.json',
  async () => {
    const { run, start, dataDir, book } = await openOffice();
    expect(await run('run', 'a.csv')).toMatchObject({ code: 0 });
    truncateSync(join(dataDir, 'ledger.json'), 0);
    const damaged = await run('run', 'a.csv');
    expect(damaged.code).toBe(2);
    expect(damaged.stderr).toContain('Never name a new PAYRUN_DATA_DIR: the ledger is in this one.');
    renameSync(join(dataDir, 'ledger.json'), `${dataDir}.ledger.json`);
    expect((await run('run', 'a.csv')).stderr).toContain('Nothing was paid now.');
    const worker = start('worker');
    await worker.said('is ready');
    const [, former = ''] = /write-off ([0-9a-f-]+)/.exec((await run('doctor')).stdout) ?? [];
    const writeOff = async (name: string) =>
      await run('write-off', former, '--reason', 'damaged', '--json', '--as', name);
    expect(await writeOff('anna')).toMatchObject({ code: 0 });
    // The others compare first.
    await vi.waitUntil(async () => (await writeOff('bob')).stdout.includes('"result":"done"'), WAIT);
    for (const name of ['anna', 'bob']) await run('release', '--as', name);
    expect(await run('run', 'b.csv')).toMatchObject({ code: 0 });
    worker.kill('SIGTERM');
    await worker.ended;
    expect(paidTwice(book())).toEqual([]);
    expect(book()).toHaveLength(2);
  },
  TEST_MS_MAX,
);

test(
  'rows that were cut short, taken over by another file and paid are known again by that file after a restore to before',
  async () => {
    const site = await openSite(processes);
    const text = payoutFile([
      ['T-1', '10.00'],
      ['T-2', '11.00'],
    ]);
    writeFileSync(join(site.cwd, 'pay.csv'), text);
    writeFileSync(join(site.cwd, 'saved.csv'), text.replaceAll('\n', '\r\n'));
    const worker = await site.worker();
    const words = ['submit', 'pay.csv', '--as', 'anna'];
    const killed = await processes.clerks.run({ words, env: site.env('one'), cwd: site.cwd, diesAt: 'C16' });
    expect(killed.code).toBe('SIGKILL');
    site.copy();
    await site.does(['submit', 'saved.csv', '--as', 'bob']);
    await vi.waitUntil(() => site.booked() === 2, WAIT);
    await stopped(worker);

    await site.putBack();
    const second = await site.worker();
    await vi.waitUntil(async () => !(await site.run(['doctor'])).stdout.includes('have yet to'), WAIT);
    await site.release();
    const runId = idOf(await site.run(['submit', 'saved.csv', '--as', 'bob', '--json']));
    await site.resume(runId);
    await vi.waitUntil(async () => (await site.outcomesOf(runId))['paid'] === 2, WAIT);
    expect(site.paidTwice()).toEqual([]);
    await stopped(second);
  },
  2 * TEST_MS_MAX,
);
