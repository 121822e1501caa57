import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { bookFaults, firstRows, readBook, reportFaults } from '../support/paid-once.ts';
import { ROOT, useProcesses } from '../support/payrun-processes.ts';
import { startTestRedis } from '../support/redis.ts';
import { startService } from '../support/service-process.ts';

const TEST_MS_MAX = 6 * 60_000;
const POLL = { timeout: TEST_MS_MAX, interval: 100 };
const SAMPLE = firstRows(readFileSync(join(ROOT, 'samples/payouts.csv'), 'utf8'), 60);

const processes = useProcesses();

/** Whether a run as `list` prints it is over, with all of its payments. */
function isSettled({ state, outcomes }: { state: string; outcomes: { pending: number } }): boolean {
  return state === 'finished' && outcomes.pending === 0;
}

test(
  "the ledger's key is changed word for word while two workers pay: the new line last, then first, one process after the other; nothing pauses or halts, and each row is paid once",
  async () => {
    const service = await startService(processes);
    const server = await startTestRedis();
    onTestFinished(() => server.stop());
    const cwd = processes.folder();
    const keyFile = join(cwd, 'ledger.key');
    const [former, next] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')];
    const setKeys = (...lines: string[]): void => writeFileSync(keyFile, `${lines.join('\n')}\n`, { mode: 0o600 });
    const envOf = (name: string) => ({
      REDIS_URL: server.url,
      PAYRUN_LEDGER_KEY_FILE: keyFile,
      PAYRUN_DUPLICATES_WITHIN: 'off',
      PAYRUN_RATE: '15',
      PAYRUN_TRACK_RATE: '1000',
      PAYRUN_TRACK_EVERY: '1s',
      ...service.settings(),
      PAYRUN_DATA_DIR: join(cwd, name),
    });
    const payrun = async (words: readonly string[]): Promise<string> => {
      const { code, stdout, stderr } = await processes.run(words, { cwd, env: envOf('data') });
      expect({ words, code, stderr }).toMatchObject({ code: 0 });
      return stdout;
    };
    const files: { readonly runId: string; readonly text: string }[] = [];
    /** Hands in a file, and waits until some of it is paid. */
    const payMore = async (): Promise<void> => {
      const name = `file-${files.length}`;
      const [header = '', ...lines] = SAMPLE.trimEnd().split('\n');
      const text = [header, ...lines.map((line) => `${name}-${line}`), ''].join('\n');
      writeFileSync(join(cwd, `${name}.csv`), text);
      const before = readBook(service.folder).length;
      const { runId } = JSON.parse(await payrun(['submit', `${name}.csv`, '--json'])) as { runId: string };
      files.push({ runId, text });
      await vi.waitUntil(() => readBook(service.folder).length > before + 10, POLL);
    };
    const start = (name: string) => processes.start(['worker'], { cwd, env: envOf(name) });
    const workers = new Map(['one', 'two'].map((name) => [name, start(name)]));
    const restart = async (name: string): Promise<void> => {
      const worker = workers.get(name);
      worker?.kill('SIGTERM');
      expect(await worker?.ended).toMatchObject({ code: 0 });
      workers.set(name, start(name));
      await payMore();
    };
    setKeys(former);
    await payMore();
    for (const lines of [
      [former, next],
      [next, former],
    ]) {
      setKeys(...lines);
      await restart('one');
      await restart('two');
    }
    await vi.waitUntil(
      async () => (JSON.parse(await payrun(['list', '--json'])) as Parameters<typeof isSettled>[0][]).every(isSettled),
      POLL,
    );
    for (const worker of workers.values()) worker.kill('SIGTERM');
    for (const worker of workers.values()) expect((await worker.ended).stderr).not.toMatch(/E_LEDGER_KEY|halted/);

    const book = readBook(service.folder);
    const [header = ''] = (files[0]?.text ?? '').split('\n', 1);
    const all = [header, ...files.flatMap(({ text }) => text.trimEnd().split('\n').slice(1)), ''].join('\n');
    expect(bookFaults(all, book)).toEqual([]);
    for (const { runId, text } of files) {
      const rows = new Set(
        text
          .split('\n')
          .slice(1)
          .map((line) => line.split(',')[0]),
      );
      const own = book.filter(({ internalId }) => rows.has(internalId));
      expect(reportFaults(text, own, await payrun(['report', runId, '--format', 'csv']))).toEqual([]);
    }
    expect(await payrun(['audit', 'verify'])).toBeDefined();
    // What the former line sealed is still told from what nobody sealed.
    setKeys(next);
    expect((await processes.run(['audit', 'verify'], { cwd, env: envOf('data') })).code).not.toBe(0);
  },
  TEST_MS_MAX,
);
