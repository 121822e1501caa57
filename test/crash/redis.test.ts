import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { bookFaults, firstRows, paidTwice, readBook } from '../support/paid-once.ts';
import { ROOT, redisServersBelow, useProcesses } from '../support/payrun-processes.ts';

const TEST_MS_MAX = 6 * 60_000;
const ROWS = 300;
const SMALL = join(ROOT, 'samples/small.csv');
const FILE = firstRows(readFileSync(join(ROOT, 'samples/payouts.csv'), 'utf8'), ROWS);

const processes = useProcesses();

interface Place {
  readonly cwd: string;
  /** The book of the sandbox, which is that of each run in this place. */
  readonly sandbox: string;
  readonly redis: string;
}

function freshPlace(): Place {
  const cwd = processes.folder();
  writeFileSync(join(cwd, 'payouts.csv'), FILE);
  return { cwd, sandbox: join(cwd, '.payrun/sandbox'), redis: join(cwd, '.payrun/redis') };
}

async function hasBooked({ sandbox }: Place, count: number): Promise<void> {
  await vi.waitUntil(() => readBook(sandbox).length >= count, { timeout: TEST_MS_MAX, interval: 10 });
}

async function killRedis({ cwd }: Place): Promise<void> {
  for (const pid of redisServersBelow(cwd)) process.kill(pid, 'SIGKILL');
  await vi.waitUntil(() => redisServersBelow(cwd).length === 0, { timeout: 60_000, interval: 5 });
}

describe.concurrent('the private Redis', () => {
  test(
    'is started again when it is killed in the middle of a run, which goes on by itself and pays each row once',
    async () => {
      const place = freshPlace();
      const started = processes.start(['run', 'payouts.csv'], { cwd: place.cwd });
      for (const count of [40, 150]) {
        await hasBooked(place, count);
        for (const pid of redisServersBelow(place.cwd)) process.kill(pid, 'SIGKILL');
      }
      const ended = await started.ended;
      expect(ended).toMatchObject({ code: 0 });
      expect(ended.stderr).toContain('The private Redis went away');
      expect(bookFaults(FILE, readBook(place.sandbox))).toEqual([]);
    },
    TEST_MS_MAX,
  );

  test.each(['in the middle', 'when all was paid'])(
    'restored from before the submit %s: everything is halted, and after a release by two each row is paid once',
    async (when) => {
      const place = freshPlace();
      const { cwd } = place;
      expect(await processes.run(['run', SMALL], { cwd })).toMatchObject({ code: 0 });
      const small = readBook(place.sandbox);
      cpSync(place.redis, join(cwd, 'copy'), { recursive: true, filter: (path) => !path.endsWith('.sock') });

      const started = processes.start(['run', 'payouts.csv', '--as', 'anna'], { cwd });
      if (when === 'in the middle') {
        await hasBooked(place, small.length + 100);
        started.kill('SIGKILL');
      }
      await started.ended;
      await killRedis(place);
      rmSync(place.redis, { recursive: true });
      cpSync(join(cwd, 'copy'), place.redis, { recursive: true });
      const paid = readBook(place.sandbox);

      const halted = await processes.run(['run', 'payouts.csv'], { cwd });
      expect(halted).toMatchObject({ code: 5 });
      expect(halted.stdout + halted.stderr).toMatch(/halted/);
      expect(halted.stderr).toContain('payrun release');
      expect(readBook(place.sandbox)).toEqual(paid);

      for (const name of ['anna', 'bob']) {
        expect(await processes.run(['release', '--as', name], { cwd })).toMatchObject({ code: 0 });
      }
      const list = await processes.run(['list', '--json'], { cwd });
      const runs = JSON.parse(list.stdout) as { runId: string; state: string; file: { name: string } }[];
      for (const { runId } of runs.filter(({ state }) => state === 'paused')) {
        expect(await processes.run(['resume', runId], { cwd })).toMatchObject({ code: 0 });
      }
      const finished = await processes.run(['run', 'payouts.csv'], { cwd });
      expect(paidTwice(readBook(place.sandbox))).toEqual([]);
      expect(finished).toMatchObject({ code: 0 });
      expect(bookFaults(FILE, readBook(place.sandbox).slice(small.length))).toEqual([]);
    },
    TEST_MS_MAX,
  );

  test(
    'that is empty is refused by a data directory that has paid, and nothing is paid again',
    async () => {
      const place = freshPlace();
      const { cwd } = place;
      expect(await processes.run(['run', SMALL], { cwd })).toMatchObject({ code: 0 });
      const paid = readBook(place.sandbox);
      rmSync(place.redis, { recursive: true });
      const refused = await processes.run(['run', SMALL], { cwd });
      expect(refused).toMatchObject({ code: 2, stdout: '' });
      expect(refused.stderr).toContain('belongs to a ledger that this Redis does not hold');
      expect(readBook(place.sandbox)).toEqual(paid);
    },
    TEST_MS_MAX,
  );
});
