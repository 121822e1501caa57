import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { payoutFile } from '../cli/payrun.ts';
import { asTestStarts } from '../support/as-test-starts.ts';
import { bookFaults, firstRows, paidTwice, readBook, reportFaults, rowsOf } from '../support/paid-once.ts';
import { type Ended, ROOT, redisServersBelow, useProcesses } from '../support/payrun-processes.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { startService } from '../support/service-process.ts';
import { runScript } from './run-script.ts';

const TEST_MS_MAX = 6 * 60_000;
const ROWS = 250;
const FILE = firstRows(readFileSync(join(ROOT, 'samples/payouts.csv'), 'utf8'), ROWS);

const processes = useProcesses();

async function untilBooked(folder: string, count: number): Promise<void> {
  await vi.waitUntil(() => readBook(folder).length >= count, { timeout: TEST_MS_MAX, interval: 10 });
}

interface Listed {
  readonly runId: string;
  readonly state: string;
  readonly file: { readonly rows: number; readonly sha256: string };
}

type Run = (words: readonly string[]) => Promise<Ended>;

async function listed(run: Run): Promise<Listed[]> {
  return JSON.parse((await run(['list', '--json'])).stdout) as Listed[];
}

/** Two people release, and one resumes what is paused. */
async function goOn(run: Run): Promise<void> {
  for (const name of ['anna', 'bob']) expect(await run(['release', '--as', name])).toMatchObject({ code: 0 });
  const paused = (await listed(run)).filter(({ state }) => state === 'paused');
  for (const { runId } of paused) expect(await run(['resume', runId])).toMatchObject({ code: 0 });
}

function reportOf({ stdout }: Ended): string {
  return readFileSync(/^report (.+\.csv)$/m.exec(stdout)?.[1] ?? '', 'utf8');
}

describe('a private Redis that is gone for good in the middle of a run', () => {
  test(
    'is refused, adopted by two people, halted, released, and each row ends paid once',
    async () => {
      const cwd = processes.folder();
      const book = join(cwd, '.payrun/sandbox');
      const run: Run = (words) => processes.run(words, { cwd });
      writeFileSync(join(cwd, 'payouts.csv'), FILE);
      const started = processes.start(['run', 'payouts.csv', '--as', 'anna'], { cwd });
      await untilBooked(book, 100);
      started.kill('SIGKILL');
      await started.ended;
      for (const pid of redisServersBelow(cwd)) process.kill(pid, 'SIGKILL');
      await vi.waitUntil(() => redisServersBelow(cwd).length === 0, { timeout: 60_000, interval: 5 });
      rmSync(join(cwd, '.payrun/redis'), { recursive: true });
      const paid = readBook(book);

      const refused = await run(['run', 'payouts.csv']);
      expect(refused).toMatchObject({ code: 2, stdout: '' });
      expect(refused.stderr).toContain('payrun adopt-ledger');
      const adopt = (name: string): Promise<Ended> =>
        run(['adopt-ledger', '--reason', 'the disk is gone', '--as', name]);
      expect(await adopt('anna')).toMatchObject({ code: 0, stdout: expect.stringContaining('proposed') });
      expect(await adopt('Anna')).toMatchObject({ code: 2, stderr: expect.stringContaining('another person') });
      expect(await adopt('bob')).toMatchObject({ code: 0, stdout: expect.stringContaining('adopted') });
      expect(await adopt('carol')).toMatchObject({ code: 2 });

      const halted = await run(['run', 'payouts.csv']);
      expect(halted).toMatchObject({ code: 5, stderr: expect.stringContaining('restored as unknown') });
      expect(readBook(book)).toEqual(paid);
      await goOn(run);
      const finished = await run(['run', 'payouts.csv']);
      expect(finished).toMatchObject({ code: 0 });
      expect(bookFaults(FILE, readBook(book))).toEqual([]);
      expect(reportFaults(FILE, readBook(book), reportOf(finished))).toEqual([]);
      expect(await run(['audit', 'verify'])).toMatchObject({ code: 0 });
      const audit = await run(['audit', 'list', '--json']);
      const entry = audit.stdout.split('\n').find((line) => line.includes('ledger.adopted')) ?? '';
      for (const told of ['"proposedBy":"anna"', 'formerInstance', 'the disk is gone']) expect(entry).toContain(told);
    },
    TEST_MS_MAX,
  );

  test(
    'with files that are not handed in again: list and doctor name the hash that they need',
    async () => {
      const cwd = processes.folder();
      const run: Run = (words) => processes.run(words, { cwd });
      writeFileSync(join(cwd, 'payouts.csv'), payoutFile([['A-1', '10.00']]));
      writeFileSync(join(cwd, 'later.csv'), payoutFile([['B-1', '10.00']]));
      expect(await run(['run', 'payouts.csv'])).toMatchObject({ code: 0 });
      const [{ file } = { file: { sha256: '' } }] = await listed(run);
      rmSync(join(cwd, '.payrun/redis'), { recursive: true });
      for (const name of ['anna', 'bob']) await run(['adopt-ledger', '--reason', 'gone', '--as', name]);
      expect(await run(['run', 'later.csv'])).toMatchObject({ code: 4 });
      const told = `1 payouts are known from intent logs only`;
      const list = await run(['list']);
      expect(list.stderr).toContain(told);
      expect(list.stderr).toContain(file.sha256);
      const doctor = await run(['doctor']);
      expect(doctor.stdout).toContain(told);
      expect(doctor.stdout).toContain(file.sha256);
    },
    TEST_MS_MAX,
  );
});

async function ownRedis(): Promise<TestRedis> {
  const server = await startTestRedis();
  onTestFinished(() => server.stop());
  return server;
}

describe('of two hosts on one Redis, one that is lost for good', () => {
  test(
    'keeps everything from being sent after a restart of Redis, until two people write it off; nothing is paid twice',
    async () => {
      const references = Array.from({ length: 40 }, (_, index) => [`H-${index}`, `${10 + index}.25`] as const);
      const file = payoutFile(references);
      const service = await startService(processes, { switches: ['answerDelayMs.payments=400'] });
      const server = await ownRedis();
      const cwd = processes.folder();
      writeFileSync(join(cwd, 'payouts.csv'), file);
      const envOf = (name: string) => ({
        REDIS_URL: server.url,
        ...service.settings(),
        PAYRUN_DATA_DIR: join(cwd, name),
        PAYRUN_CONCURRENCY: '2',
        PAYRUN_ARM_DEADLINE: '500ms',
        PAYRUN_TRACK_EVERY: '1s',
        PAYRUN_TRACK_RATE: '1000',
      });
      const run: Run = (words) => processes.run(words, { cwd, env: envOf('one') });
      const workers = ['one', 'two'].map((name) => processes.start(['worker'], { cwd, env: envOf(name) }));
      await Promise.all(workers.map((worker) => worker.said('is ready')));
      const { runId } = JSON.parse((await run(['submit', 'payouts.csv', '--json'])).stdout) as Listed;
      await untilBooked(service.folder, 8);
      for (const worker of workers) worker.kill('SIGKILL');
      const lost = JSON.parse(readFileSync(join(cwd, 'two/ledger.json'), 'utf8')) as { id: string };
      rmSync(join(cwd, 'two'), { recursive: true });
      await server.restart();

      const next = processes.start(['worker'], { cwd, env: envOf('one') });
      await next.said(`data directories (${lost.id})`);
      const sent = readBook(service.folder).length;
      expect((await run(['doctor'])).stdout).toContain(lost.id);
      const writeOff = (name: string): Promise<Ended> => run(['write-off', lost.id, '--reason', 'burnt', '--as', name]);
      expect(await writeOff('anna')).toMatchObject({ code: 0, stdout: 'proposed\n' });
      expect(await writeOff('ANNA')).toMatchObject({ code: 2 });
      expect(await writeOff('bob')).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^written off: \d+ payouts/),
      });
      expect((await run(['doctor'])).stdout).toContain('Two people release it');
      await goOn(run);

      // What was sent and is held is looked up at once: it is found.
      const rows = async () => rowsOf((await run(['report', runId, '--format', 'csv'])).stdout);
      const isTold = async (): Promise<boolean> => {
        const paid = (await rows()).filter(({ outcome }) => outcome === 'paid').length;
        return paid >= sent && paid === readBook(service.folder).length;
      };
      await vi.waitUntil(isTold, { timeout: 60_000, interval: 500 });
      expect(new Set((await rows()).map(({ outcome }) => outcome))).toEqual(new Set(['paid', 'held']));
      const held = (await rows()).find(({ outcome, quoteId }) => outcome === 'held' && quoteId === '');
      expect(held).toMatchObject({ reasonCode: 'E_DIR_LOST' });
      // Its request may still be under way, so that nobody sends it anew for a day.
      const allow = ['allow', runId, held?.['reference'] ?? '', '--reason', 'not in the console', '--as', 'anna'];
      expect(await run(allow)).toMatchObject({ code: 2, stderr: expect.stringContaining('it could still be paid') });
      expect(paidTwice(readBook(service.folder))).toEqual([]);
      next.kill('SIGTERM');
      expect(await next.ended).toMatchObject({ code: 0 });
      expect(await run(['audit', 'verify'])).toMatchObject({ code: 0 });
    },
    TEST_MS_MAX,
  );
});

/** The commands of the drill, as the page has them. */
function drillOf(page: string): string {
  return /### Restore drill\n[\s\S]*?```sh\n([^`]+)```/.exec(page)?.[1] ?? '';
}

describe('the restore drill of docs/operation.md', () => {
  test(
    'carried out word for word: the halt and the block hold, all other rows end, nothing is paid twice',
    async () => {
      const cwd = processes.folder();
      writeFileSync(join(cwd, 'payouts.csv'), FILE);
      mkdirSync(join(cwd, 'bin'));
      writeFileSync(
        join(cwd, 'bin/payrun'),
        `#!/bin/sh
[ "$1" = worker ] && { shift; set -- ${asTestStarts(['worker']).join(' ')} "$@"; }
exec ${process.execPath} ${processes.built}/src/cli/main.js "$@"
`,
      );
      chmodSync(join(cwd, 'bin/payrun'), 0o755);
      const drill = drillOf(readFileSync(join(ROOT, 'docs/operation.md'), 'utf8'));
      const { code, output } = await runScript(drill, { cwd, path: join(cwd, 'bin') });
      expect(output).toContain('decisions are missing in Redis');
      for (const action of ['ledger.halted', 'beneficiary.blocked', 'payout.cancelled', 'run.submitted']) {
        expect(output).toContain(action);
      }
      expect(output).toContain('sent while halted: 0');
      expect(output).toContain('paid twice: 0');
      expect(code).toBe(0);
      const book = readBook(join(cwd, '.payrun/sandbox'));
      const [header = '', ...lines] = FILE.trimEnd().split('\n');
      const blocked = lines.at(-20)?.split(',')[1] ?? '';
      const unpaid = lines.slice(-20, -1).filter((line) => line.includes(blocked));
      expect(bookFaults(`${[header, ...lines.filter((line) => !unpaid.includes(line))].join('\n')}\n`, book)).toEqual(
        [],
      );
    },
    TEST_MS_MAX,
  );
});
