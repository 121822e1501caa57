import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { payoutFile } from '../cli/payrun.ts';
import { readBook } from '../support/paid-once.ts';
import { useProcesses } from '../support/payrun-processes.ts';
import { idOf, openSite, type Site, stopped, TEST_MS_MAX, WAIT } from './site.ts';

const processes = useProcesses();
const LATER = `${new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10)}T06:00:00.000Z`;

async function until(site: Site, runId: string, wanted: Readonly<Record<string, number>>): Promise<void> {
  await vi.waitUntil(async () => {
    const outcomes = await site.outcomesOf(runId);
    return Object.entries(wanted).every(([outcome, count]) => outcomes[outcome] === count);
  }, WAIT);
}

/** The service's payments of a reference, the first one first. */
function paymentsOf(site: Site, reference: string): string[] {
  return readBook(site.service.folder).flatMap(({ internalId, paymentId }) =>
    internalId === reference ? [paymentId] : [],
  );
}

async function untilCompared(site: Site): Promise<void> {
  await vi.waitUntil(async () => !(await site.run(['doctor'])).stdout.includes('have yet to'), WAIT);
}

/** As two people who read the evidence. */
async function settled(site: Site, words: readonly string[]): Promise<string> {
  const said: string[] = [];
  for (const name of ['anna', 'bob']) {
    const { stdout, stderr } = await site.run([...words, '--reason', 'by the console', '--as', name, '--yes']);
    said.push(stdout + stderr);
  }
  return said.join('\n');
}

test(
  'after a restore, a payment that was made beside a failed one is never called dead, and the failed one does not settle its row',
  async () => {
    const switches = ['endsFailed=1', 'completesAfterMs=600', 'dropAfterCommit=1', 'visibilityDelayMs=9000'];
    const site = await openSite(processes, { switches: [...switches, 'quoteLifeMs=60000'] });
    const worker = await site.worker();
    const run = await site.submit('first.csv', ['K-1', 'K-2']);
    await until(site, run, { unknown: 2 });
    site.copy();
    await until(site, run, { failed: 2 });
    await vi.waitUntil(async () => (await site.stateOf(run)) === 'finished', WAIT);
    await site.set('endsFailed=0', 'dropAfterCommit=0', 'visibilityDelayMs=0');
    await site.does(['retry-file', run, '--output', 'retry.csv']);
    const { stdout } = await site.run(['submit', 'retry.csv', '--again', '--json']);
    const { runId: again } = JSON.parse(stdout) as { runId: string };
    await until(site, again, { paid: 2 });
    await stopped(worker);

    await site.putBack();
    const second = await site.worker();
    await untilCompared(site);
    await until(site, run, { held: 2 });
    const shown = await site.does(['show', run, 'K-1']);
    const [failed = '', paid = ''] = paymentsOf(site, 'K-1');
    expect(shown).toContain('armed too');
    expect(shown).not.toContain('quote proven dead');
    expect(await settled(site, ['resolve', run, 'K-1', '--paid', failed])).toContain(
      `the service also has a payment for its quote ${paid}, which is COMPLETED: settle it as paid by that payment`,
    );
    for (const reference of ['K-1', 'K-2']) {
      await settled(site, ['resolve', run, reference, '--paid', paymentsOf(site, reference)[1] ?? '']);
    }
    await site.release();
    await site.resume(run);
    await until(site, run, { paid: 2 });
    // At its end the run looks up what its payouts left behind; this payment is known.
    await vi.waitUntil(async () => {
      const { stdout: report } = await site.run(['report', run, '--format', 'json']);
      return /"found":\s*0/.test(report);
    }, WAIT);
    expect(await site.outcomesOf(run)).toMatchObject({ paid: 2, held: 0 });
    await stopped(second);

    await site.server.restart('SIGTERM');
    const third = await site.worker();
    await untilCompared(site);
    expect(await site.does(['doctor'], 0, 1)).not.toContain('payment-id-is-quote-id was disproved');
    await stopped(third);
  },
  2 * TEST_MS_MAX,
);

describe('a hand-in that was killed while it recorded', () => {
  const ROWS = [
    ['T-1', '10.00'],
    ['T-2', '11.00'],
    ['T-3', '12.00'],
  ] as const;

  async function killed(site: Site, ...more: readonly string[]): Promise<void> {
    writeFileSync(join(site.cwd, 'pay.csv'), payoutFile(ROWS));
    const words = ['submit', 'pay.csv', '--at', LATER, '--as', 'anna', ...more];
    const { code } = await processes.clerks.run({ words, env: site.env('one'), cwd: site.cwd, diesAt: 'C16' });
    expect(code).toBe('SIGKILL');
  }

  test(
    'keeps its time when somebody else carries it on',
    async () => {
      const site = await openSite(processes);
      const worker = await site.worker();
      await killed(site);
      await site.does(['submit', 'pay.csv', '--as', 'bob']);
      const [run] = await site.listed();
      expect(await site.does(['status', run?.runId ?? ''])).toContain(`it starts at ${LATER}`);
      await stopped(worker);
      expect(site.booked()).toBe(0);
    },
    TEST_MS_MAX,
  );

  test(
    'keeps its time and its stages when the same rows in other bytes take it over',
    async () => {
      const site = await openSite(processes);
      const worker = await site.worker();
      await killed(site, '--stage', '1,rest', '--max-cost-drift', '0bp');
      writeFileSync(join(site.cwd, 'saved.csv'), payoutFile(ROWS).replaceAll('\n', '\r\n'));
      // Nobody records it any more after a minute.
      await vi.waitUntil(async () => (await site.run(['submit', 'saved.csv', '--as', 'bob'])).code === 0, WAIT);
      const [run] = await site.listed();
      expect(await site.does(['status', run?.runId ?? ''])).toContain(`it starts at ${LATER}`);
      await site.resume(run?.runId ?? '');
      await until(site, run?.runId ?? '', { paid: 1 });
      await vi.waitUntil(async () => (await site.stateOf(run?.runId ?? '')) === 'paused', WAIT);
      await stopped(worker);
      expect(site.booked()).toBe(1);
    },
    TEST_MS_MAX,
  );
});

test(
  'what a host that has yet to compare, or was written off, may have sent is not called never sent',
  async () => {
    const site = await openSite(processes, { settings: { PAYRUN_DUPLICATES_WITHIN: '7d' } });
    const one = await site.worker('one');
    const two = await site.worker('two');
    await site.untilEnded(await site.submit('first.csv', ['A-1']));
    const run = await site.submit('second.csv', ['B-1', 'B-2']);
    await until(site, run, { held: 1 });
    await until(site, run, { paid: 1 });
    await stopped(one);
    site.copy();
    await site.byTwo(['allow', run, 'B-1', '--reason', 'another invoice', '--yes']);
    await until(site, run, { paid: 2 });
    two.kill('SIGKILL');
    await two.ended;

    await site.putBack();
    const again = await site.worker('one');
    await vi.waitUntil(async () => (await site.run(['doctor'])).stdout.includes(idOf(site, 'two')), WAIT);
    for (const words of [['allow'], ['drop'], ['resolve', '--not-paid']]) {
      const [command = '', ...more] = words;
      const { code, stderr } = await site.run([command, run, 'B-1', ...more, '--reason', 'x', '--as', 'anna']);
      expect(code).toBe(2);
      expect(stderr).toContain('not every host has said what it sent');
    }
    await site.writeOff(idOf(site, 'two'));
    const shown = await site.does(['show', run, 'B-1']);
    expect(shown).toContain('E_DIR_LOST');
    expect(shown).not.toContain('never sent');
    const [payment = ''] = paymentsOf(site, 'B-1');
    expect(await settled(site, ['resolve', run, 'B-1', '--paid', payment])).toContain('leave it held');
    await stopped(again);
  },
  TEST_MS_MAX,
);

test(
  'a payment with another amount that people settle while it is under way is followed to its end',
  async () => {
    const site = await openSite(processes, {
      switches: ['completesAfterMs=20000', 'endsFailed=1', 'lookUpOtherAmount=1', 'dropAfterCommit=1'],
    });
    const worker = await site.worker();
    const run = await site.submit('first.csv', ['X-1']);
    await until(site, run, { held: 1 });
    const [payment = ''] = paymentsOf(site, 'X-1');
    await settled(site, ['resolve', run, 'X-1', '--paid', payment]);
    expect(await site.outcomesOf(run)).toMatchObject({ pending: 1, paid: 0 });
    await site.release();
    await site.resume(run);
    await until(site, run, { failed: 1 });
    await stopped(worker);
  },
  TEST_MS_MAX,
);

test(
  'reading back finds the payment of a quote that was taken for dead',
  async () => {
    const late = ['lateCommitAfterDrop=1', 'lateCommitMs=15000', 'takesExpiredQuotes=true'];
    const site = await openSite(processes, { switches: ['quoteLifeMs=2000', ...late] });
    const worker = await site.worker();
    const run = await site.submit('first.csv', ['V-1']);
    await until(site, run, { unknown: 1 });
    await site.set('lateCommitAfterDrop=0');
    await site.does(['cancel', run, '--as', 'anna']);
    await until(site, run, { cancelled: 1 });
    await vi.waitUntil(() => site.booked() === 1, WAIT);
    const report = await site.run(['report', run, '--verify-with-service']);
    expect(report.code).toBe(1);
    expect(report.stdout + report.stderr).toContain('payment of a quote that was left behind');
    await stopped(worker);
  },
  TEST_MS_MAX,
);
