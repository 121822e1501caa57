import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { buildProcesses } from './support/payrun-processes.ts';

/** As OTLP over HTTP brings it (opentelemetry.proto.trace.v1, JSON form). */
const body = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: z.array(z.looseObject({ key: z.string() })) }),
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.object({
              traceId: z.string(),
              spanId: z.string(),
              parentSpanId: z.string().optional(),
              name: z.string(),
              status: z.object({ code: z.int().optional(), message: z.string().optional() }),
              attributes: z.array(z.object({ key: z.string(), value: z.object({ stringValue: z.string() }) })),
              events: z.array(z.unknown()).default([]),
            }),
          ),
        }),
      ),
    }),
  ),
});

interface SeenSpan {
  readonly name: string;
  readonly spanId: string;
  readonly traceId: string;
  readonly parentSpanId: string | undefined;
  readonly attributes: Readonly<Record<string, string>>;
}

interface Collector {
  readonly url: string;
  /** All that it was sent, as it came. */
  readonly texts: string[];
  readonly spans: () => SeenSpan[];
}

function spansOf(text: string): SeenSpan[] {
  return body
    .parse(JSON.parse(text.slice(text.indexOf('} {') + 2)))
    .resourceSpans.flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap(({ spans }) => spans)
    .map(({ attributes, parentSpanId, ...span }) => ({
      ...span,
      parentSpanId,
      attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue])),
    }));
}

const operationOf = ({ attributes }: SeenSpan): string | undefined => attributes['payrun.operation'];
const classOf = ({ attributes }: SeenSpan): string | undefined => attributes['payrun.class'];

async function startCollector(): Promise<Collector> {
  const texts: string[] = [];
  const keep = async (request: IncomingMessage): Promise<void> => {
    texts.push(`${request.url} ${JSON.stringify(request.headers)} ${await textOf(request)}`);
  };
  const server = createServer((request, response) => {
    void keep(request).then(() => response.setHeader('content-type', 'application/json').end('{}'));
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, texts, spans: () => texts.flatMap(spansOf) };
}

const REFERENCES = ['SECRET-REF-1', 'SECRET-REF-2', 'SECRET-REF-3'];
const BENEFICIARY = '93ee9da3-1bef-4af5-a284-000000000007';
const FILE = [
  'reference,beneficiaryIdentityId,amount,sourceCurrency,destinationCurrency',
  ...REFERENCES.map((reference, place) => `${reference},${BENEFICIARY},71717.9${place},USD,MXN`),
  '',
].join('\n');

/** Pays the file in one process; gives the run's id. */
async function payFile(env: Readonly<Record<string, string>>): Promise<{ runId: string }> {
  const processes = buildProcesses();
  onTestFinished(() => processes.remove());
  const folder = processes.folder();
  const dataDir = join(folder, 'data');
  await writeFile(join(folder, 'secret-file.csv'), FILE);
  const words = ['run', 'secret-file.csv', '--json'];
  const { code, stdout, stderr } = await processes.run(words, {
    cwd: folder,
    env: { PAYRUN_DATA_DIR: dataDir, ...env },
  });
  if (code !== 0) throw new Error(`payrun run ended with ${code}: ${stderr}`);
  return { runId: z.object({ runId: z.string() }).parse(JSON.parse(stdout)).runId };
}

describe('traces', () => {
  test('of a run have a span for each job, and below it one for each exchange with the service, and nothing of a person or of money', async () => {
    const collector = await startCollector();
    const { runId } = await payFile({ PAYRUN_OTEL: 'on', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    const spans = collector.spans();
    const jobs = spans.filter(({ name }) => name.startsWith('job '));
    const calls = spans.filter(({ name }) => name.startsWith('service '));
    const paid = jobs.filter(({ name }) => name === 'job pay');
    expect(jobs.length + calls.length).toBe(spans.length);
    expect(paid.length).toBeGreaterThan(0);
    for (const { attributes } of paid) expect(attributes).toEqual({ 'payrun.job': 'pay', 'payrun.run': runId });
    for (const operation of ['quote', 'payment']) {
      // On a slow machine a quote may run out before it is armed, and there are more of them.
      const own = calls.filter((call) => operationOf(call) === operation && classOf(call) === '2xx');
      expect(own.length).toBeGreaterThanOrEqual(REFERENCES.length);
      for (const call of own) {
        expect(Object.keys(call.attributes)).toEqual(['payrun.operation', 'payrun.class']);
        const above = paid.find(({ spanId }) => spanId === call.parentSpanId);
        expect(above?.traceId).toBe(call.traceId);
      }
    }
    expect(calls.filter((call) => operationOf(call) === 'payment' && classOf(call) === '2xx')).toHaveLength(
      REFERENCES.length,
    );
    // Ids and times may hold any digits.
    const sent = collector.texts.join('\n').replace(/"(?:\w*[sS]panId|traceId|\w+UnixNano)":"[0-9a-f]+"/g, '');
    for (const secret of ['SECRET-REF', BENEFICIARY, '71717', 'USD', 'MXN', 'secret-file', 'bearer']) {
      expect(sent.toLowerCase()).not.toContain(secret.toLowerCase());
    }
  }, 180_000);

  test('are sent nowhere unless PAYRUN_OTEL is on, whatever the variables of OpenTelemetry say', async () => {
    const collector = await startCollector();
    await payFile({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    expect(collector.texts).toEqual([]);
  }, 180_000);

  test('that no collector takes keep nobody from paying', async () => {
    const paid = payFile({ PAYRUN_OTEL: 'on', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' });
    await expect(paid).resolves.toHaveProperty('runId');
  }, 180_000);
});
