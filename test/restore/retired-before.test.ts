import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { useProcesses } from '../support/payrun-processes.ts';
import { type Listed, openSite, stopped, TEST_MS_MAX } from './site.ts';

const processes = useProcesses();

const WAIT = { timeout: TEST_MS_MAX, interval: 100 };
const LATER = `${new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10)}T06:00:00.000Z`;

test(
  'what a host had paid that was given up before the next one came is not paid again after a restore to before both',
  async () => {
    const site = await openSite(processes);
    await site.submit('first.csv', ['A-1'], '--at', LATER);
    site.copy();
    const one = await site.worker('one');
    const run = await site.submit('file.csv', ['S-1', 'S-2']);
    await site.untilEnded(run);
    await stopped(one);
    expect(site.booked()).toBe(2);
    const { id } = JSON.parse(site.textOf('one/ledger.json')) as { id: string };
    renameSync(join(site.cwd, 'one'), join(site.cwd, 'away'));

    // docs/operation.md, "Data directory lost, Redis alive".
    const onTwo = async (...words: string[]): Promise<string> => {
      const { code, stdout, stderr } = await site.run(words, 'two');
      if (code !== 0) throw new Error(`payrun ${words.join(' ')} ended with ${code}: ${stdout}${stderr}`);
      return stdout;
    };
    for (const name of ['anna', 'bob']) await onTwo('write-off', id, '--reason', 'its disk is broken', '--as', name);
    const two = await site.worker('two');
    await vi.waitUntil(() => site.copiedAudit('two').includes(run), WAIT);
    await stopped(two);

    // "Redis restored from an older copy": any copy, however old, is better than none.
    await site.putBack();
    const again = await site.worker('two');
    expect(await site.run(['submit', 'file.csv'], 'two')).toMatchObject({
      code: 69,
      stderr: expect.stringContaining(id),
    });
    const giveUp = (name: string) => onTwo('write-off', id, '--reason', 'its disk is broken', '--json', '--as', name);
    await giveUp('anna');
    await vi.waitUntil(async () => (await giveUp('bob')).includes('"result":"done"'), WAIT);
    const { runId } = JSON.parse(await onTwo('submit', 'file.csv', '--json')) as Listed;
    expect(runId).toBe(run);
    await vi.waitUntil(async () => (await site.run(['release', '--as', 'anna'], 'two')).code === 0, WAIT);
    await onTwo('release', '--as', 'bob');
    // Its rows are held, so that it may be finished already.
    await site.run(['resume', run], 'two');
    await vi.waitUntil(async () => {
      const runs = JSON.parse(await onTwo('list', '--json')) as Listed[];
      const { waiting = 0, unknown = 0 } = runs.find((listed) => listed.runId === run)?.outcomes ?? {};
      return waiting + unknown === 0;
    }, WAIT);
    await stopped(again);
    expect(site.paidTwice()).toEqual([]);
  },
  TEST_MS_MAX,
);
