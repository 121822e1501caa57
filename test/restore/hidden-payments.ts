import { join } from 'node:path';
import { vi } from 'vitest';
import { type Listed, type Site, stopped } from './site.ts';

export const WAIT = { timeout: 100_000, interval: 100 };
const RETRY_FILE_WAIT = { timeout: 60_000, interval: 1000 };
export const REFERENCES = ['Y-0', 'Y-1', 'Y-2', 'Y-3'];

/** Four rows that the service refused and paid all the same, and shows some time later. One that was paid long before is known. */
export async function refusedAndPaid(site: Site) {
  const worker = await site.worker('one');
  await site.untilEnded(await site.submit('known.csv', ['K-1']));
  const knownAt = Date.now();
  await vi.waitUntil(() => Date.now() - knownAt > 25_000, WAIT);
  await site.set('refusedAfterCommit=1', 'visibilityDelayMs=10000');
  const paidAt = Date.now();
  const runId = await site.submit('file.csv', REFERENCES);
  await vi.waitUntil(async () => (await site.outcomesOf(runId))['rejected'] === REFERENCES.length, WAIT);
  return { worker, runId, paidAt };
}

/** Redis is put back, and people pay the retry file of the run as soon as there is one. */
export async function retryAfterRestore(
  site: Site,
  { runId, paidAt }: { runId: string; paidAt: number },
): Promise<void> {
  await site.putBack();
  // For some minutes the service shows no payment that is younger than the copy.
  await site.hideSince(paidAt);
  const worker = await site.worker('one');
  const path = join(site.cwd, 'retry.csv');
  const isWritten = async (): Promise<boolean> => {
    await site.hideSince(paidAt);
    const { stdout, stderr } = await site.run(['retry-file', runId, '--output', path]);
    return (stdout + stderr).includes(`wrote ${path}`);
  };
  if (await vi.waitUntil(isWritten, RETRY_FILE_WAIT).catch(() => false)) {
    const handed = await site.run(['submit', 'retry.csv', '--again', '--json']);
    const { runId: retried } = JSON.parse(handed.stdout) as Listed;
    await site.run(['release', '--as', 'anna']);
    await site.run(['release', '--as', 'bob']);
    await site.run(['resume', retried]);
    await vi.waitUntil(async () => {
      await site.hideSince(paidAt);
      return (await site.outcomesOf(retried))['waiting'] === 0;
    }, WAIT);
  }
  await stopped(worker);
}
