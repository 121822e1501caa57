import { describe, expect, test, vi } from 'vitest';
import { useProcesses } from '../support/payrun-processes.ts';
import { openSite, type Site, stopped, TEST_MS_MAX } from './site.ts';

const processes = useProcesses();

const LATER = `${new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10)}T06:00:00.000Z`;
/** Of the beneficiary that the rows of test files have. */
const BENEFICIARY = /beneficiaryIdentityId[^\n]*\n[^,]*,([0-9a-f-]{36})/;

async function untilHalted(site: Site): Promise<string> {
  let said = '';
  await vi.waitUntil(
    async () => {
      said = (await site.run(['doctor'])).stdout;
      return said.includes('decisions are missing in Redis');
    },
    { timeout: TEST_MS_MAX, interval: 100 },
  );
  return said;
}

describe('a Redis that was put back to a copy in which people had not yet decided', () => {
  test(
    'is halted and says what is missing; cancels and blocks are done again before anything is sent',
    async () => {
      const site = await openSite(processes);
      const first = await site.worker();
      const cancelled = await site.submit('cancelled.csv', ['C-1', 'C-2'], '--at', LATER);
      const blocked = await site.submit('blocked.csv', ['B-1'], '--at', LATER);
      site.copy();
      await site.does(['cancel', cancelled, '--reason', 'wrong month', '--as', 'anna']);
      const beneficiary = BENEFICIARY.exec(site.textOf('blocked.csv'))?.[1] ?? '';
      await site.does(['block', beneficiary, '--reason', 'fraud', '--as', 'anna']);
      await stopped(first);

      await site.putBack();
      const second = await site.worker();
      const said = await untilHalted(site);
      expect(said).toContain(`run.cancelled ${cancelled}`);
      expect(said).toContain(`beneficiary.blocked ${beneficiary}`);
      await vi.waitUntil(async () => (await site.stateOf(cancelled)) === 'cancelled', { timeout: TEST_MS_MAX });
      await site.release();
      await site.resume(blocked);
      await site.untilEnded(cancelled, blocked);
      expect(site.booked()).toBe(0);
      expect((await site.listed()).map(({ outcomes }) => [outcomes['held'], outcomes['cancelled']])).toEqual(
        expect.arrayContaining([
          [1, 0],
          [0, 2],
        ]),
      );
      await stopped(second);
      const third = await site.worker();
      expect((await site.run(['doctor'])).stdout).not.toContain('decisions are missing');
      await stopped(third);
      await site.does(['audit', 'verify']);
    },
    TEST_MS_MAX,
  );

  test(
    'is halted again where a halt is what it forgot, in another data directory than that of the worker',
    async () => {
      const site = await openSite(processes);
      const first = await site.worker();
      const waiting = await site.submit('waiting.csv', ['W-1'], '--at', LATER);
      site.copy();
      expect(await site.run(['halt', '--reason', 'the bank called', '--as', 'anna'], 'two')).toMatchObject({ code: 0 });
      await vi.waitUntil(() => site.copiedAudit('one').includes('the bank called'), { timeout: TEST_MS_MAX });
      await stopped(first);

      await site.putBack();
      const second = await site.worker();
      expect(await untilHalted(site)).toContain('ledger.halted');
      expect(await site.run(['resume', waiting])).toMatchObject({ code: 2 });
      expect(site.booked()).toBe(0);
      await stopped(second);
    },
    TEST_MS_MAX,
  );
});
