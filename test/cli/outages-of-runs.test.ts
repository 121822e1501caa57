import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, request } from 'node:http';
import { createServer } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { EXIT } from '../../src/cli/exit-code.ts';
import { onSmallDisk } from '../faults/disk-steps.ts';
import { missingRoot } from '../faults/needs.ts';
import { type Started, useProcesses } from '../support/payrun-processes.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';
import { type ServiceProcess, startService } from '../support/service-process.ts';
import { payoutFile } from './payrun.ts';

// It starts several processes.
vi.setConfig({ testTimeout: 180_000 });

const ROWS = 60;
/** Seconds from the beginning of an outage to its first line. */
const TOLD_S_MAX = 5;

const redis = await useTestRedis();
const processes = useProcesses();
let service: ServiceProcess;
beforeAll(async () => {
  service = await startService(processes);
});

interface Desk {
  readonly cwd: string;
  /** All that a process that pays needs, and what one that looks does. */
  readonly env: Record<string, string>;
  readonly looking: Record<string, string>;
}

/** A folder with a payout file, slow enough to be met in the middle. */
function desk(redisUrl: string): Desk {
  const cwd = processes.folder();
  const rows = Array.from({ length: ROWS }, (_, index) => [`INV-${index}`, '10.00'] as const);
  writeFileSync(join(cwd, 'payouts.csv'), payoutFile(rows));
  const looking = { REDIS_URL: redisUrl, PAYRUN_PREFIX: freshPrefix(), PAYRUN_DATA_DIR: join(cwd, 'data') };
  return { cwd, looking, env: { ...looking, ...service.settings(), PAYRUN_CONCURRENCY: '4', PAYRUN_RATE: '10' } };
}

/** Hands the file in, and gives the run's id. */
async function submitted({ cwd, env }: Desk): Promise<string> {
  const { stdout } = await processes.run(['submit', 'payouts.csv', '--json'], { cwd, env });
  return z.object({ runId: z.string() }).parse(JSON.parse(stdout)).runId;
}

test('a full disk of the intent log is told in one line, nothing is armed, and run goes on by itself with room', async ({
  skip,
}) => {
  if (missingRoot() !== undefined) skip('needs root, to mount');
  const at = desk(redis.url);
  const { cwd, env, looking } = at;
  await onSmallDisk(join(cwd, 'data/intents'), 12, async (disk) => {
    const runId = await submitted(at);
    const running = processes.start(['run', 'payouts.csv'], { cwd, env });
    await running.said(`The disk of ${disk.path} has been full since 20`);
    await running.said('wait. payrun keeps trying and goes on by itself.');
    const status = await processes.run(['status', runId], { cwd, env: looking });
    expect(status.stdout).toMatch(/^state +paying$/m);
    expect(status.stderr).toContain(`The disk of ${disk.path} has been full since 20`);
    disk.resize(1024);
    const { code, stdout, stderr } = await running.ended;
    expect(code).toBe(EXIT.ok);
    expect(stdout).toMatch(new RegExp(`rows +${ROWS} +${ROWS}`));
    expect(stderr.match(/has been full since/g)).toHaveLength(1);
    expect(stderr).toContain(`The disk of ${disk.path} has room again after`);
    expect(stderr).not.toContain('{"');
  });
});

async function inTheMiddle(watching: Started): Promise<void> {
  await vi.waitUntil(() => /paying [23][0-9]\/60 rows/.test(watching.stdout()), { timeout: 60_000, interval: 20 });
}

/** Resolves when all has been sent but for what was in flight, of which nobody may know for long. */
async function wentOn(watching: Started): Promise<void> {
  await vi.waitUntil(() => /(paying|paid;.*) (5[6-9]|60)\/60 rows/.test(watching.stdout()), {
    timeout: 100_000,
    interval: 20,
  });
}

/** What they said on standard error, once they have ended. */
async function saidBy(working: Started, watching: Started): Promise<readonly [string, string]> {
  working.kill('SIGTERM');
  watching.kill('SIGINT');
  return [(await working.ended).stderr, (await watching.ended).stderr];
}

/** How far the work was, as a line about an outage says it. */
const WORK = String.raw`(\d+) of ${ROWS} rows were sent(?: \(of \d+ nobody knows yet whether they were paid\))?, (\d+) wait\. payrun keeps trying and goes on by itself\.`;

/** Says what is wrong with the first line about an outage, if anything; the counts are those of a run in its middle. */
function expectTold(text: string, what: string): void {
  const told = new RegExp(`^${what} has not answered(?: \\(.+?\\))? since \\S+Z \\((\\d+) s\\)\\. ${WORK}$`, 'm').exec(
    text,
  );
  expect(text).toMatch(new RegExp(`^${what} has not answered(?: \\(.+?\\))? since`, 'm'));
  const [, seconds, sent, waiting] = (told ?? []).map(Number);
  expect(seconds).toBeLessThanOrEqual(TOLD_S_MAX);
  expect(sent).toBeGreaterThan(0);
  expect(waiting).toBeGreaterThan(0);
}

test('a service that is killed in mid-run is told by worker, watch and status with what was sent and what waits, and the run goes on by itself', async () => {
  const at = desk(redis.url);
  const { cwd, env, looking } = at;
  const runId = await submitted(at);
  const working = processes.start(['worker'], { cwd, env });
  const watching = processes.start(['watch', runId], { cwd, env: looking });
  await inTheMiddle(watching);
  await service.kill();
  for (const one of [working, watching]) await one.said('wait. payrun keeps trying and goes on by itself.');
  const status = await processes.run(['status', runId], { cwd, env: looking });
  await service.startAgain();
  await wentOn(watching);
  const said = await saidBy(working, watching);
  const name = `The payments service \\(${service.url} test \\S+\\)`;
  for (const stderr of said) expectTold(stderr, name);
  expect(status.stderr).toMatch(new RegExp(`^${name} has not answered(?: \\(.+?\\))? since .* ${WORK}$`, 'm'));
  expect(said[0]).toMatch(new RegExp(`^${name} answers again after`, 'm'));
  expect(said[1].match(/has not answered.* since/g)).toHaveLength(1);
  expect(status.stderr).not.toContain('Ends about');
});

test("a gateway's page in the place of the service is told within seconds by worker, watch and status, holds nothing, and the run goes on by itself", async () => {
  const gateway = await openGateway(service.url);
  const at = desk(redis.url);
  const { cwd, looking } = at;
  const env = { ...at.env, ...service.settings(gateway.url) };
  const runId = await submitted({ ...at, env });
  const working = processes.start(['worker'], { cwd, env });
  const watching = processes.start(['watch', runId], { cwd, env: looking });
  await inTheMiddle(watching);
  gateway.close();
  for (const one of [working, watching]) await one.said('has been answering HTTP 200 with a page since 20');
  const status = await processes.run(['status', runId], { cwd, env: looking });
  expect(status.stderr).toContain('has been answering HTTP 200 with a page since 20');
  expect(status.stderr).not.toContain('Ends about');
  gateway.open();
  await wentOn(watching);
  const { stdout } = await processes.run(['list', runId, '--outcome', 'held', '--json'], { cwd, env: looking });
  expect(JSON.parse(stdout)).toEqual([]);
  const [told] = await saidBy(working, watching);
  const [, seconds] = (/with a page since \S+Z \(([0-9]+) s\)/.exec(told) ?? []).map(Number);
  expect(seconds).toBeLessThanOrEqual(TOLD_S_MAX);
});

/** Stands before the service, and while it is closed answers with a page in its place. */
async function openGateway(target: string): Promise<{ url: string; close(): void; open(): void }> {
  let isClosed = false;
  const server = createHttpServer((asked, answer) => {
    if (isClosed) return void answer.end('<html>We are back soon</html>');
    const { method, headers, url = '' } = asked;
    asked.pipe(
      request(new URL(url, target), { ...(method === undefined ? {} : { method }), headers }, (found) => {
        answer.writeHead(found.statusCode ?? 502, found.headers);
        found.pipe(answer);
      }),
    );
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return { url: `http://127.0.0.1:${port}`, close: () => void (isClosed = true), open: () => void (isClosed = false) };
}

test('a service that answers everything but payment requests is told within seconds by worker, watch and status', async () => {
  const failing = await startService(processes, { switches: ['error503BeforeCommit=1'] });
  const at = desk(redis.url);
  const { cwd, looking } = at;
  const env = { ...at.env, ...failing.settings() };
  const runId = await submitted({ ...at, env });
  const working = processes.start(['worker'], { cwd, env });
  const watching = processes.start(['watch', runId], { cwd, env: looking });
  for (const one of [working, watching]) await one.said('has answered no payment request (HTTP 503) since 20');
  const status = await processes.run(['status', runId], { cwd, env: looking });
  expect(status.stderr).toContain('has answered no payment request (HTTP 503) since 20');
  const [, seconds] =
    /has answered no payment request .* \(([0-9]+) s\)/.exec((await saidBy(working, watching))[0]) ?? [];
  expect(Number(seconds)).toBeLessThanOrEqual(TOLD_S_MAX);
});

test('a Redis that is killed is told by worker and watch with what was sent and what waits, and both go on by themselves', async () => {
  const own = await useTestRedis();
  onTestFinished(() => own.stop());
  const at = desk(own.url);
  const { cwd, env, looking } = at;
  const runId = await submitted(at);
  const working = processes.start(['worker'], { cwd, env });
  const watching = processes.start(['watch', runId], { cwd, env: looking });
  await inTheMiddle(watching);
  process.kill(own.pid, 'SIGKILL');
  for (const one of [working, watching]) await one.said('wait. payrun keeps trying and goes on by itself.');
  const status = await processes.run(['status', runId], { cwd, env: looking });
  expect(status.code).toBe(EXIT.unavailable);
  expect(status.stderr).toContain(`Redis at ${own.url}`);
  await own.restart();
  await wentOn(watching);
  const said = await saidBy(working, watching);
  for (const stderr of said) {
    expectTold(stderr, String.raw`Redis of the ledger \(.+\)`);
    expect(stderr).toContain('answers again after');
  }
  const faults = faultsIn(said[0] ?? '');
  expect(faults).toEqual([...new Set(faults)]);
});

/** What went wrong by a process's log: the message and the error, without the payout. */
function faultsIn(stderr: string): string[] {
  const line = z.object({ msg: z.string(), job: z.string().default(''), error: z.string() });
  return stderr.split('\n').flatMap((text) => {
    const read = text.startsWith('{') ? line.safeParse(JSON.parse(text)).data : undefined;
    return read === undefined
      ? []
      : [`${read.msg} ${read.job} ${read.error.replaceAll(/[0-9]{8}-[-a-z0-9]+/g, 'RUN')}`];
  });
}

test('a worker whose data directory others have to note, after a host was lost, says how that one is given up', async () => {
  const at = desk(redis.url);
  const { cwd, env, looking } = at;
  const runId = await submitted(at);
  const lost = processes.start(['worker'], { cwd, env });
  const watching = processes.start(['watch', runId], { cwd, env: looking });
  await inTheMiddle(watching);
  for (const one of [lost, watching]) one.kill('SIGKILL');
  await Promise.all([lost.ended, watching.ended]);
  const worker = processes.start(['worker'], { cwd, env: { ...env, PAYRUN_DATA_DIR: join(cwd, 'other') } });
  await worker.said('"payrun write-off ID"');
  worker.kill('SIGTERM');
  expect((await worker.ended).stderr).toContain('Nothing is paid from here before a worker has run on each of 1 more');
});

test('a host that is lost before Redis is restarted is told by worker, watch, status and doctor with the way out', async () => {
  const own = await useTestRedis();
  onTestFinished(() => own.stop());
  const at = desk(own.url);
  const { cwd, env, looking } = at;
  const runId = await submitted(at);
  const lost = processes.start(['worker'], { cwd, env: { ...env, PAYRUN_DATA_DIR: join(cwd, 'lost') } });
  const working = processes.start(['worker'], { cwd, env });
  const watching = processes.start(['watch', runId], { cwd, env: looking });
  await inTheMiddle(watching);
  lost.kill('SIGKILL');
  await lost.ended;
  const { id } = z.object({ id: z.string() }).parse(JSON.parse(readFileSync(join(cwd, 'lost/ledger.json'), 'utf8')));
  rmSync(join(cwd, 'lost'), { recursive: true });
  process.kill(own.pid, 'SIGKILL');
  await own.restart();
  const named = `${id} \\(${join(cwd, 'lost')} on ${hostname()}\\)`;
  const remedy = `"payrun write-off ${id} --reason TEXT --as NAME"`;
  for (const one of [working, watching]) await one.said(remedy);
  const status = await processes.run(['status', runId], { cwd, env: looking });
  expect(status.stderr).toMatch(
    new RegExp(
      `^Nothing is sent: Redis was restarted, .* data directory ${named}\\. [0-9]+ of 60 rows were sent.*wait\\.`,
      'm',
    ),
  );
  expect(status.stderr).toContain(remedy);
  expect((await processes.run(['doctor'], { cwd, env })).stdout).toMatch(
    new RegExp(`^FAIL +season .*${named}\n.*If it does not come back, two people write it off`, 'm'),
  );
  const writeOff = (name: string) =>
    processes.run(['write-off', id, '--reason', 'it burnt', '--as', name], { cwd, env });
  expect((await writeOff('anna')).stderr).toContain('Still needed: another person');
  expect((await processes.run(['doctor'], { cwd, env })).stdout).toContain(`anna proposes to write ${id} off`);
  let second = await writeOff('bob');
  // The host that works on may not have compared its own log yet: then the command says to give it again.
  while (second.stdout === 'agreed\n') second = await writeOff('bob');
  expect(second.stdout).toMatch(/^written off: \d+ payouts are held/);
  expect(second.stderr).toMatch(/payrun list RUN --outcome held.*after a day[^]*payrun release --as NAME/);
  await working.said(`Nothing waits for the data directory ${id} (${join(cwd, 'lost')} on ${hostname()}) any more`);
  const { stdout: held } = await processes.run(['list', runId, '--outcome', 'held', '--json'], { cwd, env });
  const [first] = z.array(z.object({ reference: z.string() })).parse(JSON.parse(held));
  const shown = await processes.run(['show', runId, first?.reference ?? ''], { cwd, env });
  expect(shown.stdout).toMatch(/^not-paid +it could still be paid: this can be decided from \S+ on$/m);
  for (const one of [working, watching]) one.kill('SIGTERM');
  await Promise.all([working.ended, watching.ended]);
});

test('where no worker lives, watch and status say so, and name the command that starts one', async () => {
  const at = desk(redis.url);
  const runId = await submitted(at);
  const watching = processes.start(['watch', runId], { cwd: at.cwd, env: at.looking });
  await watching.said('No worker is running: nothing is sent.');
  await watching.said('Start one: payrun worker');
  watching.kill('SIGINT');
  await watching.ended;
  const { stdout, stderr } = await processes.run(['status', runId], { cwd: at.cwd, env: at.looking });
  expect(stderr).toContain(`No worker is running: nothing is sent. 0 of ${ROWS} rows were sent`);
  expect(stderr).not.toContain('Ends about');
  expect(stdout).toContain('payrun worker');
});

test('a worker that is killed counts as running for 10 seconds at most', async () => {
  const at = desk(redis.url);
  const { cwd, env, looking } = at;
  const runId = await submitted(at);
  const worker = processes.start(['worker'], { cwd, env });
  const isUnmanned = async (): Promise<boolean> => {
    const { stderr } = await processes.command(['status', runId], { cwd, env: looking });
    return stderr.includes('No worker is running: nothing is sent.');
  };
  await vi.waitUntil(async () => !(await isUnmanned()), { timeout: 30_000, interval: 20 });
  worker.kill('SIGKILL');
  const killedAt = Date.now();
  await vi.waitUntil(isUnmanned, { timeout: 60_000, interval: 500 });
  expect((Date.now() - killedAt) / 1000).toBeLessThan(10 + TOLD_S_MAX);
});

test('a preview of a service that hangs tells so within seconds, and ends at once when it is interrupted', async () => {
  const at = desk(redis.url);
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => void silent.close());
  const { port } = z.object({ port: z.number() }).parse(silent.address());
  const env = { ...at.env, PAYRUN_SERVICE_URL: `http://127.0.0.1:${port}` };
  const asking = processes.start(['preview', 'payouts.csv'], { cwd: at.cwd, env });
  await asking.said('has not answered');
  asking.kill('SIGINT');
  expect((await asking.ended).code).toBe(EXIT.interrupted);
});
