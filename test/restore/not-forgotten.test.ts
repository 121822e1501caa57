import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { useProcesses } from '../support/payrun-processes.ts';
import { openSite, type Site, stopped, TEST_MS_MAX, untilLongUnknown } from './site.ts';

const processes = useProcesses();

const WAIT = { timeout: TEST_MS_MAX, interval: 100 };
const LATER = `${new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10)}T06:00:00.000Z`;
const BENEFICIARY = '00000000-0000-4000-8000-000000000001';

/** The outcomes of the only run. */
async function outcomes(site: Site): Promise<Record<string, number>> {
  return (await site.listed())[0]?.outcomes ?? {};
}

describe('after a restore, what the service answered before is not forgotten:', () => {
  test(
    'what it said yes to is not sent again, though it does not show its payments for a while',
    async () => {
      const switches = ['visibilityDelayMs=600000', 'quoteLifeMs=3000', 'completesAfterMs=600000'];
      const site = await openSite(processes, { switches });
      const first = await site.worker();
      const runId = await site.submit('file.csv', ['A-1', 'A-2', 'A-3'], '--at', LATER);
      site.copy();
      await site.resume(runId);
      await vi.waitUntil(async () => (await outcomes(site))['pending'] === 3, WAIT);
      await stopped(first);
      await site.putBack();
      const second = await site.worker();
      await site.does(['submit', 'file.csv']);
      // Nothing can prove their quotes dead: people settle them.
      await vi.waitUntil(async () => (await outcomes(site))['unknown'] === 0, WAIT);
      expect(await outcomes(site)).toMatchObject({ held: 3, waiting: 0 });
      await stopped(second);
      expect(site.paidTwice()).toEqual([]);
    },
    TEST_MS_MAX,
  );

  test(
    'that its payments have ids of their own',
    async () => {
      const site = await openSite(processes, { switches: ['otherPaymentIds=1', 'quoteLifeMs=3000'] });
      const first = await site.worker();
      const runId = await site.submit('file.csv', ['B-1', 'B-2', 'B-3'], '--at', LATER);
      site.copy();
      await site.resume(runId);
      await site.untilEnded(runId);
      await stopped(first);
      await site.putBack();
      const second = await site.worker();
      await site.does(['submit', 'file.csv']);
      await vi.waitUntil(async () => (await outcomes(site))['unknown'] === 0, WAIT);
      expect(await outcomes(site)).toMatchObject({ waiting: 0 });
      expect((await site.run(['doctor'])).stdout).toContain('payment-id-is-quote-id was disproved');
      await site.release();
      await site.resume(runId);
      await site.untilEnded(runId);
      await stopped(second);
      expect(site.paidTwice()).toEqual([]);
      expect(site.booked()).toBe(3);
    },
    TEST_MS_MAX,
  );
});

test(
  'no quote is dead because a gateway knows no payment, though twenty later runs have none',
  async () => {
    const switches = [
      'visibilityDelayMs=6000000',
      'dropAfterCommit=0.5',
      'quoteLifeMs=4000',
      'completesAfterMs=600000',
    ];
    const site = await openSite(processes, { switches });
    const worker = await site.worker();
    for (let run = 0; run < 20; run++) await site.submit(`waits-${run}.csv`, [`W-${run}`], '--at', LATER);
    const references = Array.from({ length: 8 }, (_, index) => `O-${index}`);
    const runId = await site.submit('file.csv', references);
    await vi.waitUntil(() => site.booked() >= references.length, WAIT);
    await untilLongUnknown(site, runId, references.length);
    await stopped(worker);
    expect(site.paidTwice()).toEqual([]);
  },
  TEST_MS_MAX,
);

test(
  'a run that waited for approval in the copy, and was paused since, keeps no worker from starting',
  async () => {
    const config = join(processes.folder(), 'config.json');
    writeFileSync(config, JSON.stringify({ approval: { mode: 'on' } }));
    const site = await openSite(processes, { settings: { PAYRUN_CONFIG: config } });
    const first = await site.worker();
    const runId = await site.submit('file.csv', ['C-1', 'C-2'], '--at', LATER, '--as', 'anna');
    site.copy();
    const status = await site.run(['status', runId, '--json']);
    const sha256 = /"sha256": ?"([0-9a-f]{8})/.exec(status.stdout)?.[1] ?? '';
    await site.does(['approve', runId, '--sha256', sha256, '--as', 'bob']);
    await site.does(['pause', runId, '--reason', 'wait', '--as', 'anna']);
    await stopped(first);
    await site.putBack();
    await stopped(await site.worker());
    expect(await site.stateOf(runId)).toBe('awaiting-approval');
    expect((await site.run(['doctor'])).stdout).toContain(`run.paused ${runId}`);
  },
  TEST_MS_MAX,
);

test(
  'what was stopped after a first restore is stopped after a second one, though it had been let go before the first',
  async () => {
    const site = await openSite(processes);
    const first = await site.worker();
    const blocked = await site.submit('blocked.csv', ['E-1', 'E-2'], '--at', LATER);
    const cancelled = await site.submit('cancelled.csv', ['F-1', 'F-2'], '--at', LATER);
    site.copy();
    await site.does(['block', BENEFICIARY, '--reason', 'to be looked at', '--as', 'anna']);
    for (let pause = 0; pause < 7; pause++) await site.does(['pause', blocked, '--reason', 'wait', '--as', 'anna']);
    await site.byTwo(['unblock', BENEFICIARY]);
    await site.does(['pause', cancelled, '--reason', 'wait', '--as', 'anna']);
    await site.does(['resume', cancelled, '--as', 'anna']);
    await stopped(first);
    await site.putBack();
    // A host that has no copies of what was decided hands in first.
    await site.run(['submit', 'blocked.csv'], 'desk');
    const second = await site.worker();
    await site.does(['block', BENEFICIARY, '--reason', 'fraud', '--as', 'anna']);
    await site.does(['cancel', cancelled, '--reason', 'all of it is fraud', '--as', 'anna']);
    await stopped(second);
    await site.putBack();
    const third = await site.worker();
    await expect.poll(() => site.stateOf(cancelled), WAIT).toBe('cancelled');
    await expect.poll(async () => (await site.run(['block'])).stdout, WAIT).toContain(BENEFICIARY);
    await stopped(third);
  },
  TEST_MS_MAX,
);

test(
  'a ledger that was adopted blocks and cancels what the lost one had blocked and cancelled',
  async () => {
    const site = await openSite(processes);
    const first = await site.worker();
    const cancelled = await site.submit('cancelled.csv', ['H-1', 'H-2'], '--at', LATER);
    await site.submit('later.csv', ['I-1', 'I-2'], '--at', LATER);
    await site.does(['cancel', cancelled, '--reason', 'fraud', '--as', 'anna']);
    await site.does(['block', BENEFICIARY, '--reason', 'fraud', '--as', 'anna']);
    await vi.waitUntil(() => site.copiedAudit('one').includes('beneficiary.blocked'), WAIT);
    await stopped(first);
    await site.server.redis.flushall();
    await site.byTwo(['adopt-ledger', '--reason', 'lost']);
    const second = await site.worker();
    await site.does(['submit', 'cancelled.csv'], 0, 2);
    await site.does(['submit', 'later.csv']);
    expect((await site.run(['doctor'])).stdout).toContain(`run.cancelled ${cancelled}`);
    await site.release();
    const runs = (await site.listed()).map(({ runId }) => runId);
    await site.resume(...runs);
    await site.untilEnded(...runs);
    await stopped(second);
    expect(site.booked()).toBe(1);
  },
  TEST_MS_MAX,
);
