import { once } from 'node:events';
import type { JobQueues } from '../../../jobs/open.ts';
import { startWorker } from '../../../jobs/worker.ts';
import type { App } from '../../app.ts';
import { readConfig } from '../../config/config.ts';
import { type Metrics, openMetrics } from '../../metrics.ts';
import type { PayDeps } from '../../pay/deps.ts';
import { openWorkWords } from '../../runs/outages.ts';
import { listenForMetrics } from '../../web/operations/metrics-listener.ts';
import { command } from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { tellOutages } from '../look/outages.ts';
import { requireService, withApp } from '../open.ts';
import { NEW_LEDGER } from '../options.ts';
import { say } from '../print.ts';
import { STOP_MS } from '../stop.ts';
import { refuseRoot } from './as-root.ts';
import { openPayService } from './pay-service.ts';
import { stopWorker } from './stop-worker.ts';

/** Connections that have not closed so long after that are left to the system. */
const CLOSE_MS = 1500;

/** `payrun worker`: works on all runs until it is told to stop. */
export const workerCommand = command(
  'worker',
  {
    options: {
      sandbox: 'pay through the simulated service, when no service is configured',
      newLedger: NEW_LEDGER,
      allowRoot: 'run as root all the same',
    },
    help:
      'After a signal to stop it starts nothing new and ends within seconds. A second signal ends it at once.' +
      '\nStart as many as you like, on as many machines as you like.',
    examples: ['payrun worker', 'payrun worker --sandbox'],
  },
  async (given, at) => {
    refuseRoot(given);
    requireService(readConfig(), given);
    const metrics = openMetrics();
    return await withApp({ ...unattended(given, 'pay'), at, observe: metrics.observe }, async (app, stop) => {
      await tellMetrics(app, metrics);
      stop.addEventListener('abort', endAtLast);
      await payUntil(app, stop);
      return EXIT.ok;
    });
  },
);

/** How the app is opened for a process that goes on by itself. */
export function unattended({ sandbox, newLedger }: { sandbox: boolean; newLedger: boolean }, purpose: string) {
  return { logLevel: 'info', endsItself: true, makesLedger: sandbox || newLedger, purpose } as const;
}

/** Tells this worker's figures, where a port is set for them. */
async function tellMetrics(app: App<JobQueues>, metrics: Metrics): Promise<void> {
  const { metricsPort: port } = app.config;
  if (port === undefined) return;
  const listener = await listenForMetrics({ app, queues: app.jobs, metrics }, port);
  app.onClose(() => listener.close());
}

/**
 * Pays all runs until `stop` is aborted, through the configured service or the sandbox; tells when it begins to. Throws the
 * fault that ended it before.
 */
export async function payUntil(app: App<JobQueues>, stop: AbortSignal, tellReady = () => {}): Promise<void> {
  tellOutages(app, { stop, sentence: openWorkWords(app, stop) });
  const deps = await openPayService(app, { signal: stop, hasEnded: async () => false });
  if (deps !== undefined) await workUntil(app, deps, { stop, tellReady });
}

async function workUntil(
  app: App<JobQueues>,
  deps: PayDeps,
  { stop, tellReady }: { stop: AbortSignal; tellReady: () => void },
): Promise<void> {
  const fault = new AbortController();
  const missing = await deps.ensureSeason();
  if (missing.length > 0) tellMissing(missing);
  const worker = startWorker(app, deps, (error) => fault.abort(error));
  const ended = AbortSignal.any([stop, fault.signal]);
  try {
    say(`payrun worker ${process.pid} is ready`);
    tellReady();
    if (!ended.aborted) await once(ended, 'abort');
    say(`payrun worker ${process.pid} is stopping`);
  } finally {
    await stopWorker(app, worker);
  }
  fault.signal.throwIfAborted();
}

function tellMissing(missing: readonly string[]): void {
  say(
    `Nothing is paid from here before a worker has run on each of ${missing.length} more data directories ` +
      `(${missing.join(', ')}): they compare their intent logs after a restart of Redis, and take note of new directories. ` +
      'If one does not come back, two people can give it up: "payrun write-off ID".',
  );
}

/** A request that hangs holds the process no longer than this; its payout is unknown, and is looked up by the next worker. */
export function endAtLast(): void {
  setTimeout(() => {
    say('Ended with requests in flight: their payouts are looked up by the next worker.');
    process.exit(EXIT.ok);
  }, STOP_MS + CLOSE_MS).unref();
}
