import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { useProcesses } from '../support/payrun-processes.ts';
import { idOf, openSite, rowsByReference, type Site, stopped, TEST_MS_MAX } from './site.ts';

const processes = useProcesses();

const WAIT = { timeout: TEST_MS_MAX, interval: 100 };
const LATER = `${new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10)}T06:00:00.000Z`;

/** Two hosts that know of each other; neither runs. */
async function withTwoHosts(): Promise<Site> {
  const site = await openSite(processes);
  for (const worker of [await site.worker('one'), await site.worker('two')]) await stopped(worker);
  return site;
}

test(
  'a host that was written off, and then started again, is waited for after a restore when it is lost: nothing is paid twice',
  async () => {
    const site = await withTwoHosts();
    const one = await site.worker('one');
    await site.server.restart();
    const isMissing = async (): Promise<boolean> => (await site.run(['doctor'])).stdout.includes(idOf(site, 'two'));
    await vi.waitUntil(isMissing, WAIT);
    const former = idOf(site, 'two');
    await site.writeOff(former);
    await site.release();
    const references = ['W-1', 'W-2', 'W-3'];
    const runId = await site.submit('file.csv', references, '--at', LATER);
    site.copy();

    const two = await site.worker('two');
    expect(idOf(site, 'two')).not.toBe(former);
    await vi.waitUntil(() => site.textOf('one/peers.json').includes(idOf(site, 'two')), WAIT);
    await stopped(one);
    await site.resume(runId);
    await site.untilEnded(runId);
    expect(site.booked()).toBe(references.length);
    await stopped(two);
    const lost = idOf(site, 'two');
    renameSync(join(site.cwd, 'two'), join(site.cwd, 'away'));
    await site.putBack();

    const again = await site.worker('one');
    expect(await site.run(['release', '--as', 'anna'])).toMatchObject({ code: 69 });
    await site.writeOff(lost);
    await site.release();
    await site.resume(runId);
    await site.untilEnded(runId);
    await stopped(again);
    expect(site.paidTwice()).toEqual([]);
    const reasons = [...(await rowsByReference(site, runId)).values()].map(({ reasonCode }) => reasonCode);
    expect(reasons).toEqual(references.map(() => 'E_DIR_LOST'));
  },
  TEST_MS_MAX,
);
