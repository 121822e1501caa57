import { cpSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { useProcesses } from '../support/payrun-processes.ts';
import { idOf, openSite, rowsByReference, type Site, stopped, TEST_MS_MAX } from './site.ts';

const processes = useProcesses();

const REFERENCES = Array.from({ length: 40 }, (_, index) => `K-${index}`);
const WAIT = { timeout: TEST_MS_MAX, interval: 50 };

function hasArmed(site: Site, host: string): boolean {
  const folder = join(site.cwd, host, 'intents');
  return (
    existsSync(folder) &&
    readdirSync(folder).some((name) => readFileSync(join(folder, name), 'utf8').includes('quoteId'))
  );
}

/** Hosts whose data directories are copies of each other are killed while both pay; Redis was copied before. */
async function payFromCopies(): Promise<{ site: Site; runId: string }> {
  const site = await openSite(processes, {
    switches: ['answerDelayMs.payments=300', 'quoteLifeMs=6000'],
    settings: { PAYRUN_CONCURRENCY: '2' },
  });
  await stopped(await site.worker('one'));
  cpSync(join(site.cwd, 'one'), join(site.cwd, 'two'), { recursive: true, preserveTimestamps: true });
  const workers = [await site.worker('one'), await site.worker('two')];
  expect(idOf(site, 'one')).not.toBe(idOf(site, 'two'));

  const runId = await site.submit('file.csv', REFERENCES);
  site.copy();
  await vi.waitUntil(() => hasArmed(site, 'one') && hasArmed(site, 'two') && site.booked() >= 6, WAIT);
  for (const worker of workers) worker.kill('SIGKILL');
  await Promise.all(workers.map(({ ended }) => ended));
  return { site, runId };
}

/** Redis goes back, and the first host's worker waits for the second one. */
async function restoreOne() {
  const { site, runId } = await payFromCopies();
  await site.putBack();
  const sent = site.booked();
  const first = await site.worker('one');
  await first.said(idOf(site, 'two'));
  return { site, runId, sent, first };
}

describe('a data directory that was copied to a second host', () => {
  test(
    'is one of its own: after a restore of Redis nothing is sent before both have compared their logs, and nothing twice',
    async () => {
      const { site, runId, sent, first } = await restoreOne();
      expect((await site.run(['doctor'])).stdout).toContain(idOf(site, 'two'));
      expect(site.booked()).toBe(sent);
      const second = await site.worker('two');
      await site.release();
      await site.resume(runId);
      await site.untilEnded(runId);
      expect(site.paidTwice()).toEqual([]);
      expect(site.booked()).toBe(REFERENCES.length);
      await stopped(first);
      await stopped(second);
    },
    TEST_MS_MAX,
  );

  test(
    'and one of the two hosts is lost: after a restore nothing is sent before two people write it off, and nothing twice',
    async () => {
      const { site, runId, sent, first } = await restoreOne();
      const lost = idOf(site, 'two');
      rmSync(join(site.cwd, 'two'), { recursive: true });
      expect(await site.run(['release', '--as', 'anna'])).toMatchObject({ code: 69 });
      expect(site.booked()).toBe(sent);

      await site.writeOff(lost);
      await site.release();
      await site.resume(runId);
      await site.untilEnded(runId);
      expect(site.paidTwice()).toEqual([]);
      // What nobody can tell of is for people; what was paid is followed to its end.
      const rows = async () => [...(await rowsByReference(site, runId)).values()];
      await vi.waitUntil(async () => (await rows()).every(({ outcome }) => outcome !== 'pending'), {
        timeout: TEST_MS_MAX,
        interval: 200,
      });
      const told = await rows();
      expect(new Set(told.map(({ outcome }) => outcome))).toEqual(new Set(['paid', 'held']));
      const held = told.filter(({ outcome }) => outcome === 'held');
      expect(new Set(held.map(({ reasonCode }) => reasonCode))).toEqual(new Set(['E_DIR_LOST']));
      await stopped(first);
    },
    TEST_MS_MAX,
  );
});
