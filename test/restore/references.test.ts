import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { openSwitches } from '../../src/sandbox/faults/switch-journal.ts';
import { useProcesses } from '../support/payrun-processes.ts';
import type { ServiceProcess } from '../support/service-process.ts';
import { openSite, rowsByReference, stopped, TEST_MS_MAX } from './site.ts';

const processes = useProcesses();

const LATER = `${new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10)}T06:00:00.000Z`;
const REFERENCES = ['R-1', 'R-2', 'R-3'];

/** From now on; the service takes it at its next request. */
async function switchService({ folder }: ServiceProcess, ...set: string[]): Promise<void> {
  const switches = await openSwitches(folder, systemClock);
  await switches.write({ set, fromDefaults: false });
  await switches.close();
}

describe('a reference that went to another payout', () => {
  test(
    'of a run that waited in the copy, and of which the retry file paid the rows that were refused at the quote: is paid once after the restore',
    async () => {
      const site = await openSite(processes, {
        switches: ['answerDelayMs.payments=1500'],
        settings: { PAYRUN_CONCURRENCY: '1' },
      });
      const first = await site.worker();
      const evening = await site.submit('evening.csv', [...REFERENCES, 'R-4', 'R-5'], '--at', LATER);
      site.copy();

      await site.resume(evening);
      await vi.waitUntil(() => site.booked() > 0, { timeout: TEST_MS_MAX, interval: 5 });
      await switchService(site.service, 'quoteRefused=1');
      await site.untilEnded(evening);
      await switchService(site.service, 'quoteRefused=0');
      const morning = [...(await rowsByReference(site, evening)).entries()];
      const refused = morning.flatMap(([reference, { outcome }]) => (outcome === 'rejected' ? [reference] : []));
      expect(refused.length).toBeGreaterThan(0);
      expect(site.booked()).toBe(5 - refused.length);
      await site.does(['retry-file', evening, '--output', 'retry.csv']);
      await site.does(['submit', 'retry.csv']);
      const retry = (await site.listed()).map(({ runId }) => runId).find((runId) => runId !== evening) ?? '';
      await site.untilEnded(evening, retry);
      expect(site.booked()).toBe(5);
      await stopped(first);

      await site.putBack();
      const second = await site.worker();
      for (const name of ['evening.csv', 'retry.csv']) await site.does(['submit', name]);
      await site.release();
      await site.resume(evening, retry);
      await site.untilEnded(evening, retry);
      expect(site.paidTwice()).toEqual([]);
      expect(site.booked()).toBe(5);
      const after = await rowsByReference(site, evening);
      expect(refused.map((reference) => after.get(reference)?.['reasonCode'])).toEqual(
        refused.map(() => 'E_DUP_HISTORY'),
      );
      await stopped(second);
    },
    TEST_MS_MAX,
  );

  test(
    'of a run that waited in the copy, was cancelled afterwards and paid by a corrected file: is paid once after the restore',
    async () => {
      const site = await openSite(processes);
      const first = await site.worker();
      const waiting = await site.submit('evening.csv', REFERENCES, '--at', LATER);
      site.copy();
      await site.does(['cancel', waiting, '--reason', 'wrong', '--as', 'anna']);
      const corrected = await site.submit('corrected.csv', [...REFERENCES, 'R-4']);
      await site.untilEnded(waiting, corrected);
      expect(site.booked()).toBe(4);
      await stopped(first);

      // Without the copy of the audit log nobody knows that it was cancelled.
      rmSync(join(site.cwd, 'one/audit'), { recursive: true });
      await site.putBack();
      const second = await site.worker();
      await site.does(['submit', 'evening.csv'], 0);
      await site.does(['submit', 'corrected.csv'], 0);
      await site.release();
      await site.resume(waiting, corrected);
      await site.untilEnded(waiting, corrected);
      expect(site.paidTwice()).toEqual([]);
      const rows = await rowsByReference(site, waiting);
      expect([...rows.values()].map(({ outcome, reasonCode }) => [outcome, reasonCode])).toEqual(
        REFERENCES.map(() => ['held', 'E_DUP_HISTORY']),
      );
      expect(rows.get('R-1')?.['reason']).toContain(`${corrected}-2`);
      await stopped(second);
    },
    TEST_MS_MAX,
  );

  test(
    'by two people who let a second file be paid: they see that the first one waits, and that one is held at its time',
    async () => {
      const site = await openSite(processes);
      const worker = await site.worker();
      const waiting = await site.submit('first.csv', REFERENCES, '--at', LATER);
      const second = await site.submit('second.csv', [...REFERENCES, 'R-4']);
      for (const reference of REFERENCES) {
        const allow = ['allow', second, reference, '--reason', 'the first is wrong', '--as'];
        const said = [await site.does([...allow, 'anna']), await site.does([...allow, 'bob'], 5)];
        await site.does([...allow, 'bob', '--yes']);
        for (const words of said) {
          expect(words).toContain(`has the same reference and waits until ${LATER} in run ${waiting}`);
          expect(words).toContain('once this one is allowed, that one is held instead');
        }
      }
      await site.untilEnded(second);
      expect(site.booked()).toBe(4);
      await site.resume(waiting);
      await site.untilEnded(waiting);
      expect(site.paidTwice()).toEqual([]);
      const rows = await rowsByReference(site, waiting);
      expect([...rows.values()].map(({ outcome }) => outcome)).toEqual(REFERENCES.map(() => 'held'));
      await stopped(worker);
    },
    TEST_MS_MAX,
  );

  test(
    'is not paid again by two people who let all rows of its reason go together: each row is named and left out',
    async () => {
      const site = await openSite(processes);
      const worker = await site.worker();
      const first = await site.submit('first.csv', REFERENCES);
      await site.untilEnded(first);
      const second = await site.submit('second.csv', [...REFERENCES, 'R-4']);
      await site.untilEnded(second);
      for (const name of ['anna', 'bob']) {
        const together = ['allow', second, '--reason-code', 'E_DUP_HISTORY', '--reason', 'no duplicates', '--as', name];
        const said = await site.does(together, 4);
        expect(said).toContain('0 done, 0 proposed, 3 left out');
        expect(said).toContain(`payout ${first}-2 has the same reference and was`);
      }
      expect(site.paidTwice()).toEqual([]);
      expect(site.booked()).toBe(4);
      await stopped(worker);
    },
    TEST_MS_MAX,
  );
});
