import { execFile } from 'node:child_process';
import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { findOnPath } from '../../src/redis/redis-server.ts';
import { ROOT } from '../support/payrun-processes.ts';

const run = promisify(execFile);

const ENGINE = 'docker';
/** The user of the image. */
const NODE_ID = 1000;
const POLL_MS = 500;
const BUILD_MS_MAX = 15 * 60_000;
const PAID_MS_MAX = 3 * 60_000;

const ack = z.object({ runId: z.string(), duplicate: z.boolean() });

/** Needs an engine, and whoever runs the test must be able to give a folder to the image's user. */
describe.skipIf(process.env['DOCKER_HOST'] === undefined)('the set-up of docker-compose.yml', () => {
  let dir = '';
  let inbox = '';
  const project = `payrun-test-${process.pid}`;
  let program: readonly string[] = [];

  async function compose(...words: readonly string[]): Promise<string> {
    const [command = '', ...first] = [...program, '-p', project, '-f', join(ROOT, 'docker-compose.yml'), ...words];
    const { stdout } = await run(command, first, {
      env: { ...process.env, INBOX: inbox },
      maxBuffer: 64 * 1024 * 1024,
    });
    return stdout;
  }

  /** Ends the process, as a crash does: what `docker kill` ends is not started again. */
  async function crash(name: string): Promise<void> {
    const id = (await compose('ps', '-q', name)).trim();
    const { stdout } = await run(ENGINE, ['inspect', '-f', '{{.State.Pid}}', id]);
    process.kill(z.coerce.number().int().min(2).parse(stdout.trim()), 'SIGKILL');
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
    await compose('build');
    await compose('up', '-d');
    await vi.waitUntil(() => existsSync(join(inbox, 'in')), { timeout: PAID_MS_MAX, interval: POLL_MS });
  }, BUILD_MS_MAX);

  afterAll(async () => {
    if (program.length > 0) await compose('down', '-v', '-t', '1');
    rmSync(dir, { recursive: true, force: true });
  }, PAID_MS_MAX);

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
    await crash('worker-1');
    await crash('inbox');
    await crash('redis');
    await answered('big.csv', '.report.csv');
    const paid = readReport('big.csv.report.csv').match(/,paid,/g);
    expect(paid).toHaveLength(1000);
    const book = await compose('exec', '-T', 'sandbox', 'cat', '/sandbox/test/payments.jsonl');
    const references = [...book.matchAll(/"internalId":"([^"]+)"/g)].map(([, reference]) => reference);
    expect(references).toHaveLength(1010);
    expect(new Set(references).size).toBe(1010);
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
    expect(await compose('exec', '-T', 'worker-1', 'payrun', 'schedule', 'list')).toMatch(/^nightly +purge +At 03:00/m);
  });
});
