import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { describe, expect, test, vi } from 'vitest';
import { readBook } from '../support/paid-once.ts';
import { useProcesses } from '../support/payrun-processes.ts';
import { changeStored, readValues } from '../support/records.ts';
import { openSite, type Site, stopped, TEST_MS_MAX } from './site.ts';

/*
 * Whoever can write to Redis, and does not have the ledger's key, redirects no money (docs/security.md, "Seals").
 */

const processes = useProcesses();

const WAIT = { timeout: TEST_MS_MAX, interval: 50 };
const LATER = `${new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10)}T06:00:00.000Z`;
const THIEF = '0f0c7a52-6b1d-4c8e-9a34-0123456789ab';
const BENEFICIARY = /beneficiaryIdentityId[^\n]*\n[^,]*,([0-9a-f-]{36})/;

async function openControlledSite(controls: object): Promise<Site> {
  const folder = processes.folder();
  writeFileSync(join(folder, 'config.json'), JSON.stringify(controls), { mode: 0o600 });
  return await openSite(processes, { settings: { PAYRUN_CONFIG: join(folder, 'config.json') } });
}

const runKey = (runId: string): string => `{payrun}:run:${runId}`;
const rowAt = (redis: Redis, runId: string, line: number) => ({ redis, prefix: '{payrun}', runId, line });
const FORGED = 'f'.repeat(64);

async function untilHalted(site: Site, why: RegExp): Promise<void> {
  const halt = async (): Promise<string> => (await site.server.redis.hget('{payrun}:head', 'halt')) ?? '';
  await vi.waitUntil(async () => why.test(await halt()), WAIT);
}

function paidTo(site: Site): string[] {
  return readBook(site.service.folder).map(({ internalId }) => internalId ?? '');
}

describe('what something else than payrun changed in Redis', () => {
  test(
    'a beneficiary and an amount that wait: both are held, everything is halted, and the report does not tie',
    async () => {
      const site = await openControlledSite({});
      const runId = await site.submit('waits.csv', ['W-1', 'W-2', 'W-3'], '--at', LATER);
      await changeStored(rowAt(site.server.redis, runId, 2), { ben: THIEF });
      await changeStored(rowAt(site.server.redis, runId, 3), { amt: '900000' });
      const report = await site.run(['report', runId, '--format', 'json']);
      expect(report.code).toBe(1);
      expect((JSON.parse(report.stdout) as { faults: string[] }).faults.join()).toMatch(
        /changed 2 of them in Redis, on lines 2, 3/,
      );
      await site.release();
      const worker = await site.worker();
      await site.resume(runId);
      await untilHalted(site, /its row was changed in Redis by something else than payrun/);
      await stopped(worker);
      expect(paidTo(site).filter((reference) => reference !== 'W-3')).toEqual([]);
    },
    TEST_MS_MAX,
  );

  test(
    'a seal that no key of ours made, or a run whose facts or approvals were changed: the report does not tie',
    async () => {
      const site = await openControlledSite({ approval: { mode: 'on' } });
      const { redis } = site.server;
      const runId = await site.submit('sealed.csv', ['D-1', 'D-2']);
      const faults = async (): Promise<string> => {
        const { code, stdout } = await site.run(['report', runId, '--format', 'json']);
        expect(code).toBe(1);
        return (JSON.parse(stdout) as { faults: string[] }).faults.join('\n');
      };
      const halt = async (): Promise<string | null> => await redis.hget('{payrun}:head', 'halt');
      const seal = (await readValues(rowAt(redis, runId, 2)))['rh'] ?? '';
      await changeStored(rowAt(redis, runId, 2), { ben: THIEF, rh: `deadbeef.${'0'.repeat(28)}` });
      expect(await faults()).toMatch(/nobody can tell here whether 1 of them were changed, on lines 2/);
      expect(await halt()).toBeNull();
      await changeStored(rowAt(redis, runId, 2), { rh: seal });
      expect(await faults()).toMatch(/changed 1 of them in Redis, on lines 2/);
      await redis.hset(runKey(runId), { approvals: JSON.stringify([{ by: 'bob', at: 1, digest: 'd' }]) });
      expect(await faults()).toMatch(/^run: the approval of run \S+ by bob was changed in Redis/m);
      await redis.hset(runKey(runId), { createdBy: 'nobody' });
      expect(await faults()).toMatch(/^run: run \S+ was changed in Redis/m);
      expect(await halt()).toMatch(/line 2 of run \S+ was changed.*the approval of run \S+ by bob was changed/);
    },
    TEST_MS_MAX,
  );

  test(
    'a run that waits for approval is given a forged one, or totals that need none: nothing is paid',
    async () => {
      const tiers = {
        USD: [
          { from: '0.00', approvals: 0 },
          { from: '20.00', approvals: 1 },
        ],
      };
      const site = await openControlledSite({ approval: { mode: 'tiers', tiers } });
      const forged = await site.submit('forged.csv', ['F-1', 'F-2']);
      const cheap = await site.submit('cheap.csv', ['C-1', 'C-2']);
      const { redis } = site.server;
      const approval = { by: 'carl', at: Date.now(), digest: FORGED, seal: `${'0'.repeat(8)}.${'0'.repeat(28)}` };
      await redis.hset(runKey(forged), {
        state: 'paying',
        approved: FORGED,
        approvedUntil: String(Date.now() + 86_400_000),
        approvals: JSON.stringify([approval]),
      });
      const worker = await site.worker();
      await vi.waitUntil(async () => (await site.stateOf(forged)) === 'paused', WAIT);
      await redis.hset(runKey(cheap), { state: 'paying', fileTotals: 'USD 1.00' });
      await redis.sadd('{payrun}:live', cheap);
      await untilHalted(site, new RegExp(`run ${cheap} was changed in Redis`));
      await stopped(worker);
      expect(site.booked()).toBe(0);
    },
    TEST_MS_MAX,
  );

  test(
    'rows of a run that people approved: the next approval, and the worker, see it',
    async () => {
      const site = await openControlledSite({ approval: { mode: 'on' } });
      const runId = await site.submit('rows.csv', ['R-1', 'R-2']);
      const seal = (await readValues(rowAt(site.server.redis, runId, 2)))['rh'] ?? '';
      await changeStored(rowAt(site.server.redis, runId, 2), { rh: FORGED.slice(0, 32) });
      const sha = (await site.server.redis.hget(runKey(runId), 'fileSha256')) ?? '';
      const refused = await site.run(['approve', runId, '--sha256', sha, '--as', 'bob']);
      expect([refused.code, refused.stderr]).toEqual([
        2,
        expect.stringMatching(/rows of the run was changed in Redis/),
      ]);
      await untilHalted(site, /rows of the run/);
      await changeStored(rowAt(site.server.redis, runId, 2), { rh: seal });
      await site.release();
      await site.does(['approve', runId, '--sha256', sha, '--as', 'bob']);
      const worker = await site.worker();
      await site.untilEnded(runId);
      await stopped(worker);
      expect(new Set(paidTo(site))).toEqual(new Set(['R-1', 'R-2']));
    },
    TEST_MS_MAX,
  );

  test(
    'a beneficiary under the seal of its row, while people look: no command shows it, none approves it, and everything is halted',
    async () => {
      const site = await openControlledSite({ approval: { mode: 'on' } });
      const { redis } = site.server;
      const runId = await site.submit('look.csv', ['K-1', 'K-2']);
      const sha = (await redis.hget(runKey(runId), 'fileSha256')) ?? '';
      const former = (await readValues(rowAt(redis, runId, 2)))['ben'] ?? '';
      await changeStored(rowAt(redis, runId, 2), { ben: THIEF });
      const looks = [
        ['approve', runId, '--sha256', sha, '--as', 'bob'],
        ['list', runId],
        ['show', runId, 'K-1'],
      ];
      for (const words of looks) {
        const { code, stdout, stderr } = await site.run(words);
        expect([words[0], code, stderr]).toEqual([
          words[0],
          2,
          expect.stringContaining(`line 2 of run ${runId} was changed`),
        ]);
        expect(stdout).not.toContain(THIEF);
      }
      await untilHalted(site, new RegExp(`line 2 of run ${runId} was changed in Redis`));
      await changeStored(rowAt(redis, runId, 2), { ben: former });
      await redis.hset(runKey(runId), { createdBy: 'nobody' });
      await site.does(['status', runId], 2);
    },
    TEST_MS_MAX,
  );

  test(
    'a beneficiary taken off the block list: everything is halted before it is paid, and two people who look at the list let it go',
    async () => {
      const site = await openControlledSite({});
      const runId = await site.submit('blocked.csv', ['B-1'], '--at', LATER);
      const beneficiary = BENEFICIARY.exec(site.textOf('blocked.csv'))?.[1] ?? '';
      await site.does(['block', beneficiary, '--reason', 'fraud', '--as', 'anna']);
      await site.server.redis.hdel('{payrun}:blocked', beneficiary);
      const worker = await site.worker();
      await site.resume(runId);
      await untilHalted(site, /the block list was changed in Redis/);
      expect(site.booked()).toBe(0);
      const refused = await site.does(['block', THIEF, '--reason', 'fraud', '--as', 'anna'], 2);
      expect(refused).toContain('Nothing was changed: the block list is not as payrun wrote it.');
      await site.release();
      await site.does(['block', beneficiary, '--reason', 'fraud', '--as', 'anna']);
      await site.resume(runId);
      await vi.waitUntil(async () => (await site.listed())[0]?.outcomes['held'] === 1, WAIT);
      await stopped(worker);
      expect(site.booked()).toBe(0);
    },
    TEST_MS_MAX,
  );

  test(
    'a word of two people that limits do not count: the payout is held',
    async () => {
      const site = await openControlledSite({ limits: { currencies: { USD: { payout: '1.00' } } } });
      const runId = await site.submit('limits.csv', ['L-1'], '--at', LATER);
      await changeStored(rowAt(site.server.redis, runId, 2), { al: '1' });
      const worker = await site.worker();
      await site.resume(runId);
      await vi.waitUntil(async () => (await site.stateOf(runId)) !== 'paying', WAIT);
      await stopped(worker);
      expect(site.booked()).toBe(0);
    },
    TEST_MS_MAX,
  );
});

test(
  'a run recorded under a client secret that was changed since is paused, and goes on once the former one is named',
  async () => {
    const site = await openControlledSite({});
    const runId = await site.submit('secret.csv', ['S-1', 'S-2'], '--at', LATER);
    const former = site.service.settings()['PAYRUN_CLIENT_SECRET'] ?? '';
    const file = join(site.cwd, 'ledger.key');
    writeFileSync(file, `${'n'.repeat(32)}\n`, { mode: 0o600 });
    const changed = await site.worker('one', { PAYRUN_LEDGER_KEY_FILE: file });
    await site.resume(runId);
    const reason = async (): Promise<string> => (await site.run(['status', runId])).stdout;
    await vi.waitUntil(async () => /E_LEDGER_KEY.*PAYRUN_LEDGER_KEY_FILE/s.test(await reason()), WAIT);
    await stopped(changed);
    expect(site.booked()).toBe(0);
    writeFileSync(file, `${'n'.repeat(32)}\n${former}\n`, { mode: 0o600 });
    const whole = await site.worker('one', { PAYRUN_LEDGER_KEY_FILE: file });
    await site.resume(runId);
    await site.untilEnded(runId);
    await stopped(whole);
    expect(new Set(paidTo(site))).toEqual(new Set(['S-1', 'S-2']));
  },
  TEST_MS_MAX,
);
