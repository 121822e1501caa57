import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import { CAPABILITIES } from '../../src/config/config.ts';
import { payoutFile } from '../cli/payrun.ts';
import { paidTwice, readBook } from '../support/paid-once.ts';
import type { Ended, Processes, Started } from '../support/payrun-processes.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { type ServiceProcess, startService } from '../support/service-process.ts';

export const TEST_MS_MAX = 4 * 60_000;
export const WAIT = { timeout: TEST_MS_MAX, interval: 200 };
/** For so long a call of `hideSince` holds. */
export const HIDDEN_MS = 20_000;

export interface Listed {
  readonly runId: string;
  readonly state: string;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly file: { readonly rows: number };
}

/** A company with one Redis, one service and hosts of its own; everything is done by commands. */
export interface Site {
  readonly cwd: string;
  readonly server: TestRedis;
  readonly service: ServiceProcess;
  /** All settings of a command on a host. */
  env(host: string): Record<string, string>;
  run(words: readonly string[], host?: string): Promise<Ended>;
  /** The same, which must end with one of these codes. */
  does(words: readonly string[], ...codes: readonly number[]): Promise<string>;
  worker(host?: string, settings?: Readonly<Record<string, string>>): Promise<Started>;
  /** Writes a file of these references and hands it in; gives its run. */
  submit(name: string, references: readonly string[], ...more: readonly string[]): Promise<string>;
  listed(): Promise<Listed[]>;
  stateOf(runId: string): Promise<string>;
  untilEnded(...runIds: readonly string[]): Promise<void>;
  /** Keeps Redis's files as they are now. */
  copy(): void;
  /** Ends Redis and starts it on the files that were kept. */
  putBack(): Promise<void>;
  /** Two people release, once the season is open. */
  release(): Promise<void>;
  resume(...runIds: readonly string[]): Promise<void>;
  /** Two people do the same act. */
  byTwo(words: readonly string[]): Promise<string[]>;
  /** Two people write a data directory off; as the command tells them, they ask again while others have yet to compare. */
  writeOff(dataDirId: string): Promise<void>;
  /** References that the service's book has more than once. */
  paidTwice(): string[];
  booked(): number;
  /** Sets switches of the service, such as `dropAfterCommit=1`. */
  set(...switches: readonly string[]): Promise<unknown>;
  /** From now on the service hides payments that were made since a time (in milliseconds since 1970); for 20 s from this call. */
  hideSince(at: number): Promise<unknown>;
  outcomesOf(runId: string): Promise<Readonly<Record<string, number>>>;
  /** A file below the company's folder. */
  textOf(name: string): string;
  /** A host's copy of the audit log; empty before there is one. */
  copiedAudit(host: string): string;
}

export async function openSite(
  processes: Processes,
  { switches = [], settings = {} }: { switches?: readonly string[]; settings?: Readonly<Record<string, string>> } = {},
): Promise<Site> {
  const server = await startTestRedis();
  onTestFinished(() => server.stop());
  const service = await startService(processes, { switches });
  const cwd = processes.folder();
  const envOf = (host: string): Record<string, string> => ({
    REDIS_URL: server.url,
    ...service.settings(),
    PAYRUN_DATA_DIR: join(cwd, host),
    PAYRUN_ASSUME: CAPABILITIES.join(','),
    PAYRUN_QUOTE_GRACE: '1s',
    PAYRUN_NOT_FOUND_GAP: '1s',
    PAYRUN_ARM_DEADLINE: '500ms',
    PAYRUN_TRACK_EVERY: '1s',
    PAYRUN_TRACK_RATE: '1000',
    // Else likely duplicates are held, and hide what is paid twice.
    PAYRUN_DUPLICATES_WITHIN: 'off',
    ...settings,
  });
  const redisFiles = join(dirname(server.socket), 'appendonlydir');
  const kept = join(cwd, 'kept');

  const site: Site = {
    cwd,
    server,
    service,
    env: envOf,
    run: (words, host = 'one') => processes.command(words, { cwd, env: envOf(host) }),
    async does(words, ...codes) {
      const ended = await site.run(words);
      const said = ended.stdout + ended.stderr;
      const isExpected = (codes.length === 0 ? [0] : codes).some((code) => code === ended.code);
      if (!isExpected) throw new Error(`payrun ${words.join(' ')} ended with ${ended.code}: ${said}`);
      return said;
    },
    async worker(host = 'one', more = {}) {
      const started = processes.start(['worker'], { cwd, env: { ...envOf(host), ...more } });
      await started.said('is ready');
      return started;
    },
    async submit(name, references, ...more) {
      writeFileSync(join(cwd, name), payoutFile(references.map((reference, index) => [reference, `${10 + index}.25`])));
      const { stdout, stderr } = await site.run(['submit', name, '--json', ...more]);
      if (stdout === '') throw new Error(`nothing was handed in: ${stderr}`);
      return (JSON.parse(stdout) as Listed).runId;
    },
    async listed() {
      return JSON.parse((await site.run(['list', '--json'])).stdout) as Listed[];
    },
    async stateOf(runId) {
      return (await site.listed()).find((run) => run.runId === runId)?.state ?? 'unknown';
    },
    async untilEnded(...runIds) {
      const isOver = async (): Promise<boolean> => {
        const runs = (await site.listed()).filter(({ runId }) => runIds.includes(runId));
        const { waiting = 0, unknown = 0 } = sumOf(runs);
        return runs.length === runIds.length && waiting + unknown === 0;
      };
      await vi.waitUntil(isOver, WAIT);
    },
    copy() {
      rmSync(kept, { recursive: true, force: true });
      cpSync(redisFiles, kept, { recursive: true });
    },
    async putBack() {
      process.kill(server.pid, 'SIGKILL');
      rmSync(redisFiles, { recursive: true });
      cpSync(kept, redisFiles, { recursive: true });
      await server.restart('SIGKILL');
    },
    async release() {
      await vi.waitUntil(async () => (await site.run(['release', '--as', 'anna'])).code === 0, WAIT);
      await site.does(['release', '--as', 'bob']);
    },
    async resume(...runIds) {
      for (const runId of runIds) await site.does(['resume', runId], 0, 2);
    },
    async byTwo(words) {
      const said: string[] = [];
      for (const name of ['anna', 'bob']) said.push(await site.does([...words, '--as', name]));
      return said;
    },
    async writeOff(dataDirId) {
      const words = ['write-off', dataDirId, '--reason', 'it does not come back', '--json', '--as'];
      await site.does([...words, 'anna']);
      const isDone = async (): Promise<boolean> => (await site.does([...words, 'bob'])).includes('"result":"done"');
      await vi.waitUntil(isDone, WAIT);
    },
    paidTwice: () => paidTwice(readBook(service.folder)),
    booked: () => readBook(service.folder).length,
    set: (...words) => site.does(['sandbox', 'set', ...words, '--folder', service.folder]),
    hideSince: (at) => site.set(`visibilityDelayMs=${Date.now() - at + HIDDEN_MS}`),
    outcomesOf: async (runId) => (await site.listed()).find((run) => run.runId === runId)?.outcomes ?? {},
    textOf: (name) => readFileSync(join(cwd, name), 'utf8'),
    copiedAudit(host) {
      const folder = join(cwd, host, 'audit');
      const files = existsSync(folder) ? readdirSync(folder) : [];
      return files.map((name) => readFileSync(join(folder, name), 'utf8')).join('');
    },
  };
  return site;
}

function sumOf(runs: readonly Listed[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { outcomes } of runs) {
    for (const [outcome, count] of Object.entries(outcomes)) sums[outcome] = (sums[outcome] ?? 0) + count;
  }
  return sums;
}

/** The rows of a run's report, by their reference. */
export async function rowsByReference(site: Site, runId: string): Promise<Map<string, Record<string, string>>> {
  const { stdout } = await site.run(['report', runId, '--format', 'json']);
  const { rows } = JSON.parse(stdout) as { rows: Record<string, string>[] };
  return new Map(rows.map((row) => [row['reference'] ?? '', row]));
}

/** Until each row whose outcome is unknown was sent long ago, past the end and grace of its quote; or one is paid twice. */
export async function untilLongUnknown(site: Site, runId: string, rows: number): Promise<void> {
  const isLongAgo = async (): Promise<boolean> => {
    const all = [...(await rowsByReference(site, runId)).values()];
    const unknown = all.filter(({ outcome }) => outcome === 'unknown');
    const isOld = unknown.every(({ sentAt }) => Date.now() - Date.parse(sentAt ?? '') > 20_000);
    return site.paidTwice().length > 0 || (all.length === rows && unknown.length > 0 && isOld);
  };
  await vi.waitUntil(isLongAgo, WAIT);
}

/** People let a run go on once nothing of it is unknown, until nothing of it waits. The service hides what is younger all the while. */
export async function settledWhileHidden(site: Site, runId: string, paidAt: number): Promise<void> {
  const none = (outcome: string): Promise<boolean> =>
    vi.waitUntil(async () => {
      await site.hideSince(paidAt);
      return (await site.outcomesOf(runId))[outcome] === 0;
    }, WAIT);
  await none('unknown');
  await site.release();
  await site.resume(runId);
  await none('waiting');
}

/** The id of a host's data directory. */
export function idOf(site: Site, host: string): string {
  return (JSON.parse(site.textOf(`${host}/ledger.json`)) as { id: string }).id;
}

export function stopped(worker: Started): Promise<Ended> {
  worker.kill('SIGTERM');
  return worker.ended;
}
