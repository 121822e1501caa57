import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type JobQueues, openQueues } from '../../jobs/open.ts';
import type { KeyRole } from '../../src/access/roles.ts';
import type { App } from '../../src/app.ts';
import { openMetrics } from '../../src/metrics.ts';
import type { Run } from '../../src/payout.ts';
import { createKey } from '../../src/people/keys.ts';
import { haltAll } from '../../src/runs/decide/control.ts';
import { openMovement, STILL_MS_MAX } from '../../src/web/operations/figures.ts';
import { listenForMetrics } from '../../src/web/operations/metrics-listener.ts';
import { openTallies } from '../../src/web/operations/tallies.ts';
import { openTestApp } from '../runs/opened-app.ts';
import { movePayout, recordRun } from '../runs/recorded-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { openWebRig } from './rig.ts';

vi.setConfig({ testTimeout: 180_000 });

const server = await useTestRedis();

function queuesOf({ config }: Pick<App, 'config'>, socket = server.socket): JobQueues {
  const connection = new Redis(socket, { maxRetriesPerRequest: null });
  const queues = openQueues(connection, `${config.prefix}:bull`);
  onTestFinished(async () => {
    await queues.close();
    connection.disconnect();
  });
  return queues;
}

async function keyOf(app: App, role: KeyRole): Promise<Record<string, string>> {
  const by = { name: `a ${role}`.replace(' ', '-'), role };
  const first = await createKey(app, { ...by, actor: 'one' });
  if (first.kind === 'proposed') await createKey(app, { ...by, actor: 'two' });
  return { authorization: `Bearer ${first.bearer}` };
}

/** The value of a figure, by its name and labels as Prometheus writes them. */
function valueOf(text: string, name: string): number | undefined {
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return line === undefined ? undefined : Number.parseFloat(line.slice(name.length + 1));
}

describe('/healthz', () => {
  test('is for everybody and says nothing', async () => {
    const { visitor } = await openWebRig(server.url);
    const { status, text } = await visitor().get('/healthz');
    expect([status, text]).toEqual([204, '']);
  });
});

describe('/readyz', () => {
  test('is for everybody, and says no more than which checks hold', async () => {
    const { visitor } = await openWebRig(server.url);
    const { status, text } = await visitor().get('/readyz');
    expect(status).toBe(200);
    expect(JSON.parse(text)).toEqual({
      ready: true,
      checks: { redis: true, season: true, service: true, movement: true },
    });
  });

  test('fails by the name of the check while Redis may forget what it acknowledged', async () => {
    const { visitor } = await openWebRig(server.url);
    await server.redis.config('SET', 'appendfsync', 'everysec');
    try {
      const { status, text } = await visitor().get('/readyz');
      expect(status).toBe(503);
      expect(JSON.parse(text)).toMatchObject({ ready: false, checks: { redis: false, season: true } });
    } finally {
      await server.redis.config('SET', 'appendfsync', 'always');
    }
  });

  test('fails in seconds while Redis does not answer, and holds again once it does', async () => {
    const own = await useTestRedis();
    onTestFinished(() => own.stop());
    const { visitor } = await openWebRig(own.url, { deps: (app) => ({ queues: queuesOf(app, own.socket) }) });
    process.kill(own.pid, 'SIGSTOP');
    try {
      const { status, text } = await visitor().get('/readyz');
      expect(status).toBe(503);
      expect(JSON.parse(text)).toMatchObject({ ready: false, checks: { redis: false, service: true } });
    } finally {
      process.kill(own.pid, 'SIGCONT');
    }
    await expect
      .poll(async () => (await visitor().get('/readyz')).status, { timeout: 60_000, interval: 500 })
      .toBe(200);
  });

  test('asks the service for a token and its test, once for everybody who asks at a time', async () => {
    const asked: string[] = [];
    const service = createServer((request, response) => {
      asked.push(request.url ?? '');
      request.resume().on('end', () => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ access_token: 'token', expires_in: 3600, token_type: 'Bearer' }));
      });
    });
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void service.close());
    const { visitor } = await openWebRig(server.url, { env: serviceAt((service.address() as AddressInfo).port) });
    const answers = await Promise.all(Array.from({ length: 20 }, () => visitor().get('/readyz')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(asked.toSorted()).toEqual(['/v2/oauth/token', '/v2/oauth/token/test']);
  });

  test('fails while the service does not answer, and waits for it no longer than seconds', async () => {
    const service = createServer(() => {});
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      service.closeAllConnections();
      service.close();
    });
    const { visitor } = await openWebRig(server.url, { env: serviceAt((service.address() as AddressInfo).port) });
    const { status, text } = await visitor().get('/readyz');
    expect(status).toBe(503);
    expect(JSON.parse(text)).toMatchObject({ checks: { redis: true, service: false } });
  });
});

function serviceAt(port: number): Record<string, string> {
  const dir = mkdtempSync(join(tmpdir(), 'payrun-web-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return {
    PAYRUN_SERVICE_URL: `http://127.0.0.1:${port}`,
    PAYRUN_CLIENT_ID: 'client',
    PAYRUN_CLIENT_SECRET: 'canary-secret',
    PAYRUN_TENANT_ID: 'tenant',
    PAYRUN_ENVIRONMENT: 'test',
    PAYRUN_DATA_DIR: dir,
  };
}

describe('consumption', () => {
  test('moves as long as anything changes, or nothing is due, and not once it stood still for two minutes', () => {
    let now = 0;
    const moves = openMovement({ monotonic: () => now });
    const later = (ms: number, seen: { due: number; changes: number }): boolean => {
      now += ms;
      return moves(seen);
    };
    expect(later(0, { due: 5, changes: 1 })).toBe(true);
    expect(later(STILL_MS_MAX - 1, { due: 5, changes: 1 })).toBe(true);
    expect(later(1, { due: 5, changes: 1 })).toBe(false);
    expect(later(1, { due: 4, changes: 2 })).toBe(true);
    expect(later(STILL_MS_MAX, { due: 0, changes: 2 })).toBe(true);
    expect(later(STILL_MS_MAX - 1, { due: 3, changes: 2 })).toBe(true);
  });
});

describe('the sums over all runs', () => {
  test('hold for each state, and follow a run that is worked on', async () => {
    const app = await openTestApp(server.url);
    onTestFinished(app.close);
    const tallies = openTallies(app.ledger.runs, app.clock);
    const run = await recordRun(app.ledger, { lines: [2, 3, 4] });
    await recordRun(app.ledger, { id: 'r2', lines: [12] });
    const before = await tallies.look();
    expect(before).toMatchObject({ payouts: { ready: 4, held: 0 }, runs: { paying: 2 }, due: 4 });
    await movePayout(app.ledger, { runId: run, line: 2 }, 'held');
    const after = await tallies.look();
    expect(after).toMatchObject({ payouts: { ready: 3, held: 1 }, due: 3 });
    expect(after.changes).toBeGreaterThan(before.changes);
  });

  test('leave out a run whose record is damaged, and tell of the others', async () => {
    const app = await openTestApp(server.url);
    onTestFinished(app.close);
    await recordRun(app.ledger, { lines: [2, 3] });
    await recordRun(app.ledger, { id: 'r2', lines: [12] });
    await server.redis.hset(`${app.config.prefix}:run:r2`, 'state', 'nonsense');
    expect(await openTallies(app.ledger.runs, app.clock).look()).toMatchObject({ payouts: { ready: 2 } });
  });

  test('read a part of the runs that are over at a look, and all of them in the end', async () => {
    const ids = Array.from({ length: 1200 }, (_, index) => `r${index}`);
    const app = await openTestApp(server.url);
    onTestFinished(app.close);
    const sample = await app.ledger.runs.read(await recordRun(app.ledger, { lines: [2] }));
    if (sample === undefined) throw new Error('no run');
    let read = 0;
    const runs = {
      live: async () => [],
      list: async () => ids,
      read: async () => {
        read++;
        return sample;
      },
    };
    const tallies = openTallies(runs, app.clock);
    const seen: number[] = [];
    for (let look = 0; look < 4; look++) {
      read = 0;
      seen.push((await tallies.look()).payouts.ready);
      expect(read).toBeLessThanOrEqual(500);
    }
    expect(seen).toEqual([500, 1000, 1200, 1200]);
  });
});

describe('the time that runs take', () => {
  test('is told once for each run that ended since the start, however often it is looked at', async () => {
    const app = await openTestApp(server.url);
    onTestFinished(app.close);
    const sample = await app.ledger.runs.read(await recordRun(app.ledger, { lines: [2] }));
    if (sample === undefined) throw new Error('no run');
    const startedAt = 1_000_000;
    const before = { ...sample, state: 'finished', createdAt: 1, finishedAt: startedAt - 1 } as const;
    const found = new Map<string, Run>([
      ['old', before],
      ['new', sample],
    ]);
    const runs = {
      live: async () => ['new'],
      list: async () => ['new', 'old'],
      read: async (id: string) => found.get(id),
    };
    const tallies = openTallies(runs, { now: () => startedAt });
    const seen = [(await tallies.look()).endedAfterMs];
    found.set('new', { ...sample, state: 'finished', createdAt: startedAt, finishedAt: startedAt + 5000 });
    for (let look = 0; look < 2; look++) seen.push((await tallies.look()).endedAfterMs);
    expect(seen).toEqual([[], [5000], []]);
  });
});

describe('/metrics', () => {
  test('is for people and programs that may read, and for nobody else', async () => {
    const { app, visitor, person } = await openWebRig(server.url);
    const anna = await person('anna', 'viewer');
    expect((await visitor().get('/metrics')).status).toBe(303);
    expect((await visitor().get('/metrics', { authorization: 'Bearer pr_00_nothing' })).status).toBe(401);
    expect((await visitor().get('/metrics', await keyOf(app, 'viewer'))).status).toBe(200);
    expect((await anna.get('/metrics')).status).toBe(200);
  });

  test('tells of payouts, runs, halt, season, Redis, disks and queues, in the form that Prometheus reads', async () => {
    const { app, visitor, person } = await openWebRig(server.url, {
      deps: (opened) => ({ queues: queuesOf(opened) }),
    });
    await person('anna', 'viewer');
    const run = await recordRun(app.ledger, { lines: [2, 3, 4] });
    await movePayout(app.ledger, { runId: run, line: 2 }, 'held');
    await haltAll(app, { actor: 'test', reason: 'test' });
    const queues = queuesOf(app);
    await queues.add('report', [{ id: 'report-a', payload: { runId: run } }]);
    const { headers, text } = await visitor().get('/metrics', await keyOf(app, 'viewer'));
    expect(headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    const figures = {
      'payrun_payouts{state="ready",outcome="waiting"}': 2,
      'payrun_payouts{state="held",outcome="held"}': 1,
      'payrun_runs{state="paying"}': 1,
      payrun_halted: 1,
      payrun_season_open: 1,
      payrun_redis_up: 1,
      payrun_redis_durable: 1,
      payrun_moving: 1,
      payrun_late_rows: 0,
      payrun_armings_total: 0,
      'payrun_jobs{job="report",state="waiting"}': 1,
      'payrun_jobs{job="pay",state="waiting"}': 0,
    };
    expect(Object.fromEntries(Object.keys(figures).map((name) => [name, valueOf(text, name)]))).toEqual(figures);
    expect(valueOf(text, 'payrun_disk_free_bytes{folder="data"}')).toBeGreaterThan(0);
    expect(valueOf(text, 'process_start_time_seconds')).toBeGreaterThan(0);
    expect(text).not.toContain(run);
  });
});

describe('the age of what waits', () => {
  test('is that of the job which was added first, and 0 when none waits', async () => {
    const app = await openTestApp(server.url);
    onTestFinished(app.close);
    const queues = queuesOf(app);
    const ageOf = async (nowMs: number): Promise<number | undefined> =>
      (await queues.depths(nowMs)).find(({ job }) => job === 'report')?.oldestMs;
    expect(await ageOf(Date.now())).toBe(0);
    const before = Date.now();
    await queues.add('report', [{ id: 'report-a', payload: { runId: 'a' }, rank: 3 }]);
    const after = Date.now();
    await expect.poll(() => Date.now()).toBeGreaterThan(after);
    await queues.add('report', [{ id: 'report-b', payload: { runId: 'b' } }]);
    const age = (await ageOf(before + 60_000)) ?? 0;
    expect(age).toBeLessThanOrEqual(60_000);
    expect(age).toBeGreaterThanOrEqual(60_000 - (after - before));
  });
});

describe('the figures of a worker', () => {
  test('are told to this machine at /metrics alone, and not under another name', async () => {
    const app = await openTestApp(server.url);
    onTestFinished(app.close);
    const listener = await listenForMetrics({ app, metrics: openMetrics() }, 0);
    onTestFinished(() => listener.close());
    const base = `http://127.0.0.1:${listener.port}`;
    expect(await (await fetch(`${base}/metrics`)).text()).toContain('payrun_redis_up 1');
    expect((await fetch(`${base}/`)).status).toBe(404);
    expect((await fetch(`${base}/metrics`, { method: 'POST' })).status).toBe(404);
    const status = await new Promise((resolve, reject) => {
      const headers = { host: 'evil.example' };
      httpRequest(`${base}/metrics`, { headers }, ({ statusCode }) => resolve(statusCode))
        .once('error', reject)
        .end();
    });
    expect(status).toBe(421);
  });

  test('are refused a port that is taken', async () => {
    const app = await openTestApp(server.url);
    onTestFinished(app.close);
    const listener = await listenForMetrics({ app, metrics: openMetrics() }, 0);
    onTestFinished(() => listener.close());
    await expect(listenForMetrics({ app, metrics: openMetrics() }, listener.port)).rejects.toThrow(/EADDRINUSE/);
  });
});

describe('the board of the queues', () => {
  test('is for admins alone', async () => {
    const { app, visitor, person } = await openWebRig(server.url, {
      deps: (opened) => ({ queues: queuesOf(opened) }),
    });
    expect((await visitor().get('/admin/queues')).status).toBe(303);
    for (const role of ['viewer', 'maker', 'checker'] as const) {
      expect((await (await person(`a-${role}`, role)).get('/admin/queues')).status).toBe(403);
    }
    expect((await visitor().get('/admin/queues/api/queues', await keyOf(app, 'maker'))).status).toBe(403);
    const root = await person('otto', 'admin');
    const page = await root.get('/admin/queues');
    for (const href of ['/', '/runs', '/to-settle']) expect(page.text).toContain(`<a href="${href}"`);
    expect(page.status).toBe(200);
    const script = /src="(static\/js\/main[^"]+)"/.exec(page.text)?.[1] ?? 'none';
    expect((await root.get(`/admin/queues/${script}`)).status).toBe(200);
    expect((await root.get('/admin/queues/api/queues')).text).toContain('"name":"pay"');
  });

  test('reaches no other host and lets nobody else show it; other pages keep their stricter policy', async () => {
    const { person } = await openWebRig(server.url, { deps: (opened) => ({ queues: queuesOf(opened) }) });
    const otto = await person('otto', 'admin');
    const page = await otto.get('/admin/queues');
    expect(page.text).toContain('<link href="static/css/');
    expect(page.text).not.toMatch(/(?:href|src)="(?:https?:)?\/\//);
    const policy = page.headers.get('content-security-policy');
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/https?:/);
    expect((await otto.get('/runs')).headers.get('content-security-policy')).not.toContain('unsafe-inline');
  });

  test('changes nothing', async () => {
    const { app, base, person } = await openWebRig(server.url, { deps: (opened) => ({ queues: queuesOf(opened) }) });
    const queues = queuesOf(app);
    await queues.add('report', [{ id: 'report-a', payload: { runId: 'a' }, rank: 3 }]);
    const otto = await person('otto', 'admin');
    const headers = { origin: base, 'sec-fetch-site': 'same-origin', 'x-csrf-token': otto.csrf() };
    const cookie = [...otto.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    for (const [method, path] of [
      ['PUT', 'report/pause'],
      ['PUT', 'report/empty'],
      ['PUT', 'report/report-a/clean'],
      ['PUT', 'report/obliterate'],
      ['POST', 'report/add'],
    ] as const) {
      const { status } = await fetch(`${base}/admin/queues/api/queues/${path}`, {
        method,
        headers: { ...headers, cookie },
      });
      expect(`${method} ${path} ${status}`).toBe(`${method} ${path} 405`);
    }
    expect((await queues.depths(Date.now())).find(({ job }) => job === 'report')?.waiting).toBe(1);
  });
});
