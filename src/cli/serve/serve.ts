import { once } from 'node:events';
import { Command } from 'commander';
import { z } from 'zod';
import type { JobQueues } from '../../../jobs/open.ts';
import type { App } from '../../app.ts';
import { readConfig } from '../../config/config.ts';
import { type Metrics, openMetrics } from '../../metrics.ts';
import type { AtCrashPoint } from '../../pay/crash-point.ts';
import { openPasswords } from '../../people/password.ts';
import { codeOf, EXIT, type ExitCode, Refusal } from '../../refusal.ts';
import { requireReportFolder } from '../../runs/after/report.ts';
import { addressOf, hostsOf, type Listening, requireSafeAddress } from '../../web/limits/hosts.ts';
import { openWeb } from '../../web/server.ts';
import { requireService, withApp } from '../open.ts';
import { newLedgerOption, parseOptions } from '../options.ts';
import { say } from '../print.ts';
import { refuseRoot } from './as-root.ts';
import { openServedInboxes } from './served-inbox.ts';
import { endAtLast, payUntil } from './worker.ts';

const PORT_WORDS = 'must be an integer from 1 to 65535';
const PORT_MAX = 65_535;
const INBOXES_MAX = 100;

const schema = z.object({
  withWorker: z.boolean(),
  allowRoot: z.boolean(),
  sandbox: z.boolean(),
  newLedger: z.boolean(),
  host: z.string().min(1).max(255),
  port: z.coerce.number(PORT_WORDS).int(PORT_WORDS).min(1, PORT_WORDS).max(PORT_MAX, PORT_WORDS),
  inbox: z.array(z.string().min(1, 'must name a folder')).max(INBOXES_MAX),
});
type ServeOptions = z.infer<typeof schema>;

/** `payrun serve`: the web app and its API. */
export function serveCommand(end: (code: ExitCode) => void, at: AtCrashPoint): Command {
  return new Command('serve')
    .option('--with-worker', 'pay in this process too', false)
    .option('--sandbox', 'for the simulated service, when no service is configured', false)
    .option(
      '--host <address>',
      'where to listen; other machines need TLS or a proxy (see "web" of PAYRUN_CONFIG)',
      '127.0.0.1',
    )
    .option('--port <port>', 'where to listen', '8420')
    .addOption(newLedgerOption())
    .option('--allow-root', 'run as root all the same', false)
    .option('--inbox <dir>', 'take files from this drop folder too; may be given several times', withAnother, [])
    .addHelpText(
      'after',
      '\nThe first user is made on the command line: payrun user add NAME --role admin --as NAME' +
        '\n\nExamples:\n  payrun serve --with-worker --sandbox\n  payrun serve --port 9000 --inbox /srv/payouts',
    )
    .action(async (raw: unknown) => end(await serve(parseOptions(schema, raw), at)));
}

function withAnother(dir: string, dirs: readonly string[]): string[] {
  return [...dirs, dir];
}

async function serve(options: ServeOptions, at: AtCrashPoint): Promise<ExitCode> {
  refuseRoot(options);
  const config = readConfig();
  requireService(config, options);
  requireSafeAddress(options, config.web);
  const metrics = openMetrics();
  const first = { makesLedger: options.sandbox || options.newLedger, purpose: 'serve' };
  const opening = { logLevel: 'info', at, observe: metrics.observe, endsItself: true, ...first } as const;
  return await withApp(opening, async (app, stop) => {
    await requireReportFolder(app.config.reportDir);
    stop.addEventListener('abort', endAtLast);
    await serveUntil(app, { options, metrics, stop });
    return EXIT.ok;
  });
}

interface Serving {
  readonly options: ServeOptions;
  readonly metrics: Metrics;
  readonly stop: AbortSignal;
}

/** Serves, and pays and watches inboxes beside it if asked to; when the one ends, the others do. */
async function serveUntil(app: App<JobQueues>, { options, metrics, stop }: Serving): Promise<void> {
  const settings = app.config.web;
  const ended = new AbortController();
  const stopping = AbortSignal.any([stop, ended.signal]);
  const inboxes = await openServedInboxes(app, options.inbox, stopping);
  const web = await openWeb({
    app,
    settings,
    passwords: openPasswords(app.random),
    hosts: hostsOf(options, settings),
    queues: app.jobs,
    metrics,
    inboxes,
  });
  app.onClose(() => web.close());
  await listen(web, options);
  const tellReady = (): void => say(`payrun serve ${process.pid} is ready: ${addressOf(options, settings)}`);
  if (!options.withWorker) tellReady();
  const parts = [
    options.withWorker ? payUntil(app, stopping, tellReady) : untilAborted(stopping),
    ...inboxes.map(async (inbox) => await inbox.watch()),
  ];
  const results = await Promise.allSettled(parts.map((part) => part.finally(() => ended.abort())));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

async function listen(web: Awaited<ReturnType<typeof openWeb>>, { host, port }: Listening): Promise<void> {
  try {
    await web.listen({ host, port });
  } catch (error) {
    const code = codeOf(error);
    if (code !== 'EADDRINUSE' && code !== 'EACCES' && code !== 'EADDRNOTAVAIL' && code !== 'ENOTFOUND') throw error;
    throw new Refusal(`payrun cannot listen on ${host} port ${port} (${code}).`, {
      exitCode: EXIT.usage,
      remedy: 'Give another --port or --host, or stop what listens there.',
      cause: error,
    });
  }
}
