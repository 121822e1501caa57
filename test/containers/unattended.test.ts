import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { findOnPath } from '../../src/redis/redis-server.ts';
import { type BookEntry, bookFaults } from '../support/paid-once.ts';
import { ROOT } from '../support/payrun-processes.ts';
import { hasEngine } from './engine.ts';

const run = promisify(execFile);

const ENGINE = 'docker';
const IMAGE = 'payrun:local';
/** The user of the image. */
const NODE_ID = 1000;
const POLL_MS = 500;
const BUILD_MS_MAX = 15 * 60_000;
const PAID_MS_MAX = 3 * 60_000;

const WORKERS = 4;

const ack = z.object({ runId: z.string(), duplicate: z.boolean() });
const engineEvent = z.object({
  Action: z.string(),
  Actor: z.object({ Attributes: z.looseObject({ 'com.docker.compose.service': z.string().optional() }) }),
});

async function engine(...words: readonly string[]): Promise<string> {
  const { stdout } = await run(ENGINE, words, { maxBuffer: 64 * 1024 * 1024 });
  return stdout.trim();
}

function imageToBuildOn(): Record<string, string> {
  const image = process.env['PAYRUN_TEST_NODE_IMAGE'];
  return image === undefined ? {} : { NODE_IMAGE: image };
}

/** What docker-compose.yml leaves to the tests: which Redis. */
function imagesFile(): string {
  const image = process.env['PAYRUN_TEST_REDIS_IMAGE'];
  return JSON.stringify(image === undefined ? {} : { services: { redis: { image } } });
}

function isWell(event: string): boolean {
  return event.endsWith(' health_status: healthy');
}

/** What happens to the containers of a project from now on, in order: the service and what. The engine itself forgets soon. */
function watchEvents(project: string): { readonly events: string[]; readonly watcher: ChildProcess } {
  const ours = ['--filter', `label=com.docker.compose.project=${project}`, '--filter', 'type=container'];
  const watcher = spawn(ENGINE, ['events', '--format', '{{json .}}', ...ours], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const events: string[] = [];
  createInterface({ input: watcher.stdout }).on('line', (line) => {
    const { Action: action, Actor: actor } = engineEvent.parse(JSON.parse(line));
    events.push(`${actor.Attributes['com.docker.compose.service']} ${action}`);
  });
  return { events, watcher };
}

/** The tests of the image and of what is started from it, in one file: both need it built. */
describe.skipIf(!hasEngine())('in containers', () => {
  let dir = '';
  let inbox = '';
  const project = `payrun-test-${process.pid}`;
  let program: readonly string[] = [];

  async function compose(...words: readonly string[]): Promise<string> {
    const files = ['-f', join(ROOT, 'docker-compose.yml'), '-f', join(dir, 'images.yml')];
    const [command = '', ...first] = [...program, '-p', project, '--project-directory', ROOT, ...files, ...words];
    const { stdout } = await run(command, first, {
      // Port 0: any that is free.
      env: { ...process.env, INBOX: inbox, WEB_PORT: '0', ...imageToBuildOn() },
      maxBuffer: 64 * 1024 * 1024,
    });
    return stdout;
  }

  async function idsOf(name: string): Promise<string[]> {
    return (await compose('ps', '-q', name)).trim().split('\n');
  }

  /** Ends the process, as a crash does: what `docker kill` ends is not started again. */
  async function crash(name: string): Promise<void> {
    const [id = ''] = await idsOf(name);
    const pid = await engine('inspect', '-f', '{{.State.Pid}}', id);
    process.kill(z.coerce.number().int().min(2).parse(pid), 'SIGKILL');
  }

  function drop(sample: string, name: string): void {
    copyFileSync(join(ROOT, 'samples', sample), join(inbox, 'in', name));
  }

  async function answered(file: string, ending: string): Promise<void> {
    const has = (one: string): boolean => existsSync(join(inbox, 'reports', `${file}${one}`));
    await vi.waitUntil(
      () => {
        if (has('.nack.json')) throw new Error(`${file} was refused: ${readReport(`${file}.nack.json`)}`);
        return has(ending);
      },
      { timeout: PAID_MS_MAX, interval: POLL_MS },
    );
  }

  function readReport(name: string): string {
    return readFileSync(join(inbox, 'reports', name), 'utf8');
  }

  beforeAll(async () => {
    program = (await findOnPath(['docker-compose'])) === undefined ? [ENGINE, 'compose'] : ['docker-compose'];
    dir = mkdtempSync(join(ROOT, '.tmp-compose-'));
    inbox = join(dir, 'inbox');
    mkdirSync(inbox);
    chownSync(inbox, NODE_ID, NODE_ID);
    writeFileSync(join(dir, 'images.yml'), imagesFile());
    await compose('build');
  }, BUILD_MS_MAX);

  afterAll(async () => {
    if (program.length > 0) await compose('down', '-v', '-t', '1');
    rmSync(dir, { recursive: true, force: true });
  }, PAID_MS_MAX);

  describe('the image', () => {
    const closed = ['--rm', '--read-only', '--cap-drop', 'ALL', '--network', 'none'];
    const shell = [...closed, '--entrypoint', 'sh', IMAGE, '-c'];

    test('is payrun, run by a user without rights on a file system that is only read', async () => {
      const { version } = z
        .object({ version: z.string() })
        .parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));
      expect(await engine('run', ...closed, IMAGE, '--version')).toBe(version);
      expect(await engine('run', ...shell, 'id -u; id -g')).toBe(`${NODE_ID}\n${NODE_ID}`);
      await expect(engine('run', ...shell, 'touch /payrun/dist/here')).rejects.toThrow(/Read-only file system/);
      await expect(engine('run', '--rm', '--entrypoint', 'sh', IMAGE, '-c', 'touch /payrun/dist/here')).rejects.toThrow(
        /Permission denied/,
      );
      expect(await engine('run', ...shell, 'touch /data/here && ls /data')).toBe('here');
    });

    test('holds no source, no test and nothing that only development needs', async () => {
      const inside = (await engine('run', ...shell, 'cd /payrun; ls; ls dist node_modules')).split(/\s+/);
      expect(inside).toEqual(expect.arrayContaining(['package.json', 'dist', 'src', 'jobs', 'bullmq']));
      expect(inside.filter((name) => /^(test|vitest|typescript|testcontainers|\.env)$/.test(name))).toEqual([]);
      expect(await engine('run', ...shell, 'find /payrun/dist -name "*.ts"')).toBe('');
    });

    test('is small: payrun and its libraries add less than 130 MB to the image below', async () => {
      const megabytes = z.coerce.number().positive();
      expect(megabytes.parse(await engine('run', ...shell, 'du -sm /payrun | cut -f 1'))).toBeLessThan(130);
    });

    test('knows of what runs in it whether it is well', { timeout: PAID_MS_MAX }, async () => {
      const often = ['--health-interval', '1s', '--health-timeout', '2s', '--health-retries', '1'];
      const serving = ['sandbox', '--folder', '/data/sandbox', '--any-identity'];
      const id = await engine(
        'run',
        '-d',
        '--init',
        ...closed,
        ...often,
        '--health-start-period',
        '0s',
        IMAGE,
        ...serving,
      );
      const status = async (): Promise<string> => await engine('inspect', '-f', '{{.State.Health.Status}}', id);
      const patience = { timeout: PAID_MS_MAX, interval: POLL_MS };
      try {
        await expect.poll(status, patience).toBe('healthy');
        await engine('exec', id, 'sh', '-c', 'kill -STOP $(pidof node)');
        await expect.poll(status, patience).toBe('unhealthy');
      } finally {
        await engine('rm', '-f', '-v', id);
      }
    });
  });

  describe('the set-up of docker-compose.yml', () => {
    let events: readonly string[] = [];
    let watcher: ChildProcess | undefined;

    beforeAll(async () => {
      ({ events, watcher } = watchEvents(project));
      // Its connection is made once it tells of something.
      await vi.waitUntil(
        async () => {
          await compose('run', '--rm', '--no-deps', '--entrypoint', 'true', 'credential');
          return events.length > 0;
        },
        { timeout: PAID_MS_MAX, interval: POLL_MS },
      );
      await compose('up', '-d', '--no-build', '--scale', `worker=${WORKERS}`);
      await vi.waitUntil(() => existsSync(join(inbox, 'in')), { timeout: PAID_MS_MAX, interval: POLL_MS });
    }, PAID_MS_MAX);

    afterAll(() => {
      watcher?.kill('SIGKILL');
    });

    test('comes up in order, each service when those that it needs are well', { timeout: PAID_MS_MAX }, async () => {
      const wellAtLast = ['redis', 'sandbox', 'serve', ...Array.from({ length: WORKERS }, () => 'worker')];
      await vi.waitUntil(() => events.filter(isWell).length >= wellAtLast.length, {
        timeout: PAID_MS_MAX,
        interval: POLL_MS,
      });
      const well = events.filter(isWell).map((event) => event.split(' ')[0] ?? '');
      expect(well.toSorted()).toEqual(wellAtLast);
      for (const needed of ['redis', 'sandbox']) {
        for (const other of ['serve', 'worker', 'inbox', 'schedule']) {
          const first = [`${needed} health_status: healthy`, `${other} start`].map((event) => events.indexOf(event));
          expect(first).toEqual(first.toSorted((one, next) => one - next));
          expect(first).not.toContain(-1);
        }
      }
      const mayEnd = ['credential', 'schedule'];
      const ended = events.filter((event) => event.endsWith(' die')).map((event) => event.split(' ')[0] ?? '');
      expect(ended.filter((name) => !mayEnd.includes(name))).toEqual([]);
    });

    test('lets this host reach the web app', async () => {
      const [host = '', port = ''] = (await compose('port', 'serve', '8420')).trim().split(':');
      expect(host).toBe('127.0.0.1');
      // By the name that it has where its port is not one for a test.
      const asked = request({ host, port, path: '/', headers: { host: 'localhost:8420' } }).end();
      const [{ statusCode, headers }] = (await once(asked, 'response')) as [IncomingMessage];
      asked.destroy();
      expect([statusCode, headers.location]).toEqual([303, '/sign-in?next=%2F']);
    });

    test('pays a dropped file, and answers it', { timeout: PAID_MS_MAX }, async () => {
      drop('small.csv', 'small.csv');
      await answered('small.csv', '.report.csv');
      const rows = readReport('small.csv.report.csv').trimEnd().split('\n').slice(1);
      expect(rows).toHaveLength(10);
      for (const row of rows) expect(row).toContain(',paid,');
      expect(readdirSync(join(inbox, 'done'))).toEqual(['small.csv']);
    });

    test('carries on when a worker, the inbox and Redis are killed, and pays nothing twice', {
      timeout: 2 * PAID_MS_MAX,
    }, async () => {
      drop('payouts.csv', 'big.csv');
      await answered('big.csv', '.ack.json');
      await crash('worker');
      await crash('inbox');
      await crash('redis');
      await answered('big.csv', '.report.csv');
      const paid = readReport('big.csv.report.csv').match(/,paid,/g);
      expect(paid).toHaveLength(1000);
      const journal = await compose('exec', '-T', 'sandbox', 'cat', '/sandbox/test/payments.jsonl');
      const book = journal
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as BookEntry);
      const [small = '', big = ''] = ['small.csv', 'payouts.csv'].map((name) =>
        readFileSync(join(ROOT, 'samples', name), 'utf8'),
      );
      expect(bookFaults(small, book.slice(0, 10))).toEqual([]);
      expect(bookFaults(big, book.slice(10))).toEqual([]);
    });

    test('gives each of the workers a data directory of its own, whose intent log they have all written', async () => {
      const [id = ''] = await idsOf('worker');
      const logs = (await engine('exec', id, 'sh', '-c', 'ls -d /data/*/intents/*.log')).split('\n');
      const folders = new Set(logs.map((log) => log.split('/')[2] ?? ''));
      expect([...folders].toSorted()).toEqual(['1', '2', '3', '4']);
    });

    test('knows a file again under another name', { timeout: PAID_MS_MAX }, async () => {
      drop('small.csv', 'again.csv');
      await answered('again.csv', '.ack.json');
      const [first, second] = ['small.csv', 'again.csv'].map((name) =>
        ack.parse(JSON.parse(readReport(`${name}.ack.json`))),
      );
      expect(second).toEqual({ runId: first?.runId, duplicate: true });
    });

    test('has set its schedule', async () => {
      expect(await compose('exec', '-T', 'serve', 'payrun', 'schedule', 'list')).toMatch(/^nightly +purge +At 03:00/m);
    });
  });
});
