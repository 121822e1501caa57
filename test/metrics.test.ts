import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createPort } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { type Figures, openMetrics } from '../src/metrics.ts';
import { OUTCOMES, PAYOUT_STATES, RUN_STATES } from '../src/payout.ts';
import { openTestService } from './service/test-service.ts';
import { buildProcesses } from './support/payrun-processes.ts';
import { freshPrefix, startTestRedis, type TestRedis } from './support/redis.ts';

vi.setConfig({ testTimeout: 180_000 });

function zeroes<Name extends string>(names: readonly Name[]): Record<Name, number> {
  return Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
}

const FIGURES: Figures = {
  ledger: {
    payouts: { ...zeroes(PAYOUT_STATES), refused: 3, unknown: 2 },
    runs: { ...zeroes(RUN_STATES), paying: 1 },
    armings: 7,
    refusedMoves: 0,
    halted: false,
    seasonOpen: true,
    durable: true,
    moving: false,
    ratePerSecond: 37.5,
    lateRows: 4100,
    endpoints: [{ name: 'ops', waiting: 1, deadLetters: 2 }],
  },
  queues: [{ job: 'pay', waiting: 4, active: 2, delayed: 0, oldestMs: 1500 }],
  disks: [{ folder: 'data', freeBytes: 10, sizeBytes: 20 }],
};

describe('the figures', () => {
  test('are told once for each label, and anew at each look', async () => {
    const metrics = openMetrics();
    metrics.runEnded(90_000);
    await metrics.text(FIGURES);
    const text = await metrics.text({ ...FIGURES, queues: [] });
    for (const line of [
      'payrun_payouts{state="unknown",outcome="unknown"} 2',
      'payrun_payouts{state="refused",outcome="refused"} 3',
      'payrun_runs{state="paying"} 1',
      'payrun_armings_total 7',
      'payrun_moving 0',
      'payrun_rate 37.5',
      'payrun_late_rows 4100',
      'payrun_season_open 1',
      'payrun_dead_letters{endpoint="ops"} 2',
      'payrun_disk_free_bytes{folder="data"} 10',
      'payrun_run_seconds_count 1',
      'payrun_run_seconds_sum 90',
    ]) {
      expect(text.split('\n').filter((one) => one === line)).toEqual([line]);
    }
    expect(text).not.toContain('payrun_jobs{');
  });

  test('name every outcome', async () => {
    const text = await openMetrics().text(FIGURES);
    const named = [...text.matchAll(/^payrun_payouts\{.*outcome="([a-z]+)"/gm)].map(([, outcome]) => outcome);
    expect(new Set(named)).toEqual(new Set(OUTCOMES));
  });

  test('say nothing of a ledger that did not answer, and that it did not', async () => {
    const text = await openMetrics().text({ ...FIGURES, ledger: null });
    expect(text).toContain('payrun_redis_up 0');
    expect(text).not.toMatch(/^payrun_(payouts|halted|season_open|redis_durable|moving|armings_total)\b/m);
  });

  test('of two processes are their own', async () => {
    const [one, other] = [openMetrics(), openMetrics()];
    one.observe({ operation: 'payment', answer: '2xx', ms: 30 });
    expect(await one.text(FIGURES)).toContain('payrun_service_seconds_count{operation="payment",answer="2xx"} 1');
    expect(await other.text(FIGURES)).not.toContain('operation="payment"');
  });
});

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('requests to the service', () => {
  test('are counted by operation and answer, and nothing of what they hold becomes a label', async () => {
    const secret = 'canary-4711';
    const url = await listen(
      createServer((request, response) => {
        request.resume().on('end', () => {
          if (request.url === `/v2/payments/${secret}-cut`) {
            request.socket.destroy();
            return;
          }
          const isToken = request.url === '/v2/oauth/token';
          response.writeHead(isToken ? 200 : 404, { 'content-type': 'application/json' });
          response.end(JSON.stringify({ access_token: secret, expires_in: 3600, token_type: 'Bearer' }));
        });
      }),
    );
    const metrics = openMetrics();
    const service = openTestService(url, { observe: metrics.observe });
    onTestFinished(() => service.close());
    await service.readPayment(secret);
    await service.readPayment(`${secret}-cut`);
    const text = await metrics.text(FIGURES);
    for (const line of [
      'payrun_service_seconds_count{operation="token",answer="2xx"} 1',
      'payrun_service_seconds_count{operation="look-up",answer="4xx"} 1',
      'payrun_service_seconds_count{operation="look-up",answer="lost"} 1',
      'payrun_token_refreshes_total{answer="2xx"} 1',
    ]) {
      expect(text).toContain(line);
    }
    expect(text).not.toContain(secret);
  });

  test('that cannot be sent are counted as such', async () => {
    const server = createServer(() => {});
    const url = await listen(server);
    await new Promise((resolve) => server.close(resolve));
    const metrics = openMetrics();
    const service = openTestService(url, { observe: metrics.observe });
    const asked = service.readPayment('x').catch(() => undefined);
    await expect
      .poll(async () => await metrics.text(FIGURES))
      .toMatch(/payrun_service_seconds_count\{operation="token",answer="not-sent"\} [1-9]/);
    await service.close();
    await asked;
  });
});

describe('a worker', () => {
  let server: TestRedis;
  beforeAll(async () => {
    server = await startTestRedis();
  });
  afterAll(async () => {
    await server.stop();
  });

  test('tells its figures at PAYRUN_METRICS_PORT of its own machine, and ends when it is told to', async () => {
    const processes = buildProcesses();
    onTestFinished(() => processes.remove());
    const probe = createPort();
    await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
    const { port } = probe.address() as AddressInfo;
    await new Promise((resolve) => probe.close(resolve));
    const env = {
      REDIS_URL: server.url,
      PAYRUN_PREFIX: freshPrefix(),
      PAYRUN_DATA_DIR: join(processes.folder(), 'data'),
      PAYRUN_METRICS_PORT: String(port),
    };
    const worker = processes.start(['worker', '--sandbox'], { env });
    await worker.said('is ready');
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(text).toContain('payrun_redis_up 1');
    expect(text).toMatch(/^payrun_jobs\{job="pay",state="waiting"\} 0$/m);
    worker.kill('SIGTERM');
    expect((await worker.ended).code).toBe(0);
  });
});

const read = (name: string): string => readFileSync(join('docs', name), 'utf8');
const base = (name: string): string => name.replace(/_(?:bucket|sum|count)$/, '');

describe('the dashboard, the alert rules and the guide', () => {
  /** Of Prometheus itself. */
  const ITS_OWN = new Set(['up']);
  const dashboard = z.object({
    panels: z.array(z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })).min(1) })).min(1),
  });
  const rules = z.object({
    groups: z.array(
      z.object({
        rules: z.array(
          z.object({
            alert: z.string(),
            expr: z.string(),
            labels: z.object({ severity: z.enum(['page', 'ticket']) }),
            annotations: z.object({ summary: z.string(), description: z.string() }),
          }),
        ),
      }),
    ),
  });

  /** Names of figures in an expression: what stands before a brace, a range, an operator or the end. */
  function namesIn(expr: string): string[] {
    const bare = expr
      .replace(/"[^"]*"/g, '')
      .replace(/\{[^}]*\}/g, '')
      .replace(/\b(?:by|without)\s*\([^)]*\)/g, '');
    const words = bare.match(/[a-z_][a-z0-9_]*(?!\s*\()\b/gi) ?? [];
    return words.filter((word) => /^(?:payrun|process|nodejs)_/.test(word) || ITS_OWN.has(word));
  }

  async function toldNames(): Promise<Set<string>> {
    const metrics = openMetrics();
    metrics.observe({ operation: 'token', answer: '2xx', ms: 1 });
    const text = await metrics.text(FIGURES);
    const told = [...text.matchAll(/^([a-z_][a-z0-9_]*)(?:\{| )/gm)].map(([, name]) => name ?? '');
    return new Set([...told, ...ITS_OWN]);
  }

  const alerts = rules.parse(parse(read('alert-rules.yml'))).groups.flatMap((group) => group.rules);
  const exprs = [
    ...dashboard.parse(JSON.parse(read('grafana-dashboard.json'))).panels.flatMap((panel) => panel.targets),
    ...alerts,
  ].map(({ expr }) => expr);

  test('ask for figures that there are, and for some in each expression', async () => {
    const told = await toldNames();
    expect(exprs.filter((expr) => namesIn(expr).length === 0)).toEqual([]);
    expect(exprs.flatMap(namesIn).filter((name) => !told.has(name))).toEqual([]);
  });

  test('tell of each figure of ours in the guide, and of none that is not there', async () => {
    const told = await toldNames();
    const ours = new Set([...told].filter((name) => name.startsWith('payrun_')).map(base));
    const named = new Set(read('monitoring.md').match(/\bpayrun_[a-z_]+[a-z]/g) ?? []);
    expect([...named].toSorted()).toEqual([...ours].toSorted());
  });

  test('say in the guide what to do about each alert', () => {
    const guide = read('monitoring.md');
    expect(alerts.map(({ alert }) => alert).filter((alert) => !guide.includes(alert))).toEqual([]);
  });

  test('have labels in their expressions that the figures have', async () => {
    const metrics = openMetrics();
    metrics.observe({ operation: 'token', answer: '2xx', ms: 1 });
    const text = await metrics.text(FIGURES);
    const labels = new Set([...text.matchAll(/[{,]([a-z]+)="/g)].map(([, label]) => label ?? ''));
    const asked = exprs.flatMap((expr) => [...expr.matchAll(/[{,]\s*([a-z]+)=~?"/g)].map(([, label]) => label ?? ''));
    expect(asked.filter((label) => !labels.has(label) && label !== 'job')).toEqual([]);
  });
});
