import type { Attributes } from '@opentelemetry/api';
import type { Clock } from './clock.ts';
import { codeOf, Refusal } from './refusal.ts';
import type { ObserveCall } from './service/client.ts';
import { VERSION } from './version.ts';

/** What the collector of the traces has not taken by then is lost: nothing of ours waits for it. */
const CLOSE_MS_MAX = 2000;
const PACKAGES =
  '@opentelemetry/api @opentelemetry/context-async-hooks @opentelemetry/exporter-trace-otlp-http @opentelemetry/resources @opentelemetry/sdk-trace-base';

/** One job, as traces name it. */
export interface TracedJob {
  readonly name: string;
  /** Undefined for a job that is about no run. */
  readonly run: string | undefined;
}

/** Does the work of a job; what it asks the service stands below it. Throws what the work throws. */
export type TraceJob = (job: TracedJob, work: () => Promise<void>) => Promise<void>;

/** Traces of one process. Like logs they carry names, ids of runs, classes and times: no names of people, amounts or bodies. */
export interface Tracing {
  readonly observe: ObserveCall;
  readonly job: TraceJob;
  readonly close: () => Promise<void>;
}

/** Traces nothing, and loads nothing for it. */
export const noTracing: Tracing = { observe() {}, job: (_job, work) => work(), close: async () => {} };

/**
 * Sends a span for each job and each exchange with the service to a collector, by OTLP over HTTP. Where it is, and how many
 * traces it gets, say OpenTelemetry's own variables: OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS,
 * OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER, OTEL_BSP_MAX_QUEUE_SIZE and their like.
 */
export async function openTracing(clock: Pick<Clock, 'now' | 'sleep'>): Promise<Tracing> {
  const { api, hooks, otlp, resources, sdk } = await loadPackages();
  const own = { 'service.name': 'payrun', 'service.version': VERSION };
  const named = resources.detectResources({ detectors: [resources.envDetector] });
  const provider = new sdk.BasicTracerProvider({
    resource: resources.resourceFromAttributes(own).merge(named),
    spanProcessors: [new sdk.BatchSpanProcessor(new otlp.OTLPTraceExporter())],
  });
  const tracer = provider.getTracer('payrun', VERSION);
  // What a job awaits knows by it below which span it stands.
  api.context.setGlobalContextManager(new hooks.AsyncLocalStorageContextManager().enable());

  return {
    observe({ operation, answer, ms }) {
      const attributes: Attributes = { 'payrun.operation': operation, 'payrun.class': answer };
      const endTime = clock.now();
      const options = { kind: api.SpanKind.CLIENT, attributes, startTime: endTime - ms };
      const span = tracer.startSpan(`service ${operation}`, options);
      if (answer !== '2xx') span.setStatus({ code: api.SpanStatusCode.ERROR });
      span.end(endTime);
    },
    async job({ name, run }, work) {
      const attributes: Attributes = { 'payrun.job': name, ...(run === undefined ? {} : { 'payrun.run': run }) };
      const options = { kind: api.SpanKind.CONSUMER, attributes };
      await tracer.startActiveSpan(`job ${name}`, options, async (span) => {
        try {
          await work();
        } catch (error) {
          // What an error says is for the log.
          span.setStatus({ code: api.SpanStatusCode.ERROR });
          throw error;
        } finally {
          span.end();
        }
      });
    },
    async close() {
      const waiting = new AbortController();
      await Promise.race([provider.shutdown().catch(() => {}), clock.sleep(CLOSE_MS_MAX, waiting.signal)]);
      waiting.abort();
    },
  };
}

async function loadPackages() {
  try {
    const [api, hooks, otlp, resources, sdk] = await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/context-async-hooks'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/sdk-trace-base'),
    ]);
    return { api, hooks, otlp, resources, sdk };
  } catch (cause) {
    if (codeOf(cause) !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new Refusal(
      'PAYRUN_OTEL needs packages that are not installed.',
      `npm install ${PACKAGES}, or set PAYRUN_OTEL to off.`,
      { cause },
    );
  }
}
