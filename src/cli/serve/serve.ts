import { once } from 'node:events';
import { z } from 'zod';
import type { JobQueues } from '../../../jobs/open.ts';
import type { App } from '../../app.ts';
import { readConfig } from '../../config/config.ts';
import { removeOldCopies } from '../../inbox/copy.ts';
import { openInbox } from '../../inbox/inbox.ts';
import { openSource } from '../../inbox/open-source.ts';
import { prepareInbox } from '../../inbox/prepare-inbox.ts';
import { type Metrics, openMetrics } from '../../metrics.ts';
import { openPasswords } from '../../people/password.ts';
import { codeOf, Refusal } from '../../refusal.ts';
import { requireReportFolder } from '../../runs/after/report.ts';
import { addressOf, hostsOf, type Listening, requireSafeAddress } from '../../web/limits/hosts.ts';
import { openWeb } from '../../web/server.ts';
import type { WatchedInbox } from '../../web/web.ts';
import { command, type GivenOptions } from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { explain } from '../explain.ts';
import { actorOf, requireService, withApp } from '../open.ts';
import { NEW_LEDGER } from '../options.ts';
import { safeText, say } from '../print.ts';
import { refuseRoot } from './as-root.ts';
import { lookUntilStopped } from './inbox-looking.ts';
import { endAtLast, payUntil, unattended } from './worker.ts';

const PORT_WORDS = 'must be an integer from 1 to 65535';
const PORT_MAX = 65_535;
const INBOXES_MAX = 100;

const options = {
  withWorker: 'pay in this process too',
  sandbox: 'for the simulated service, when no service is configured',
  host: [
    '<address>',
    'where to listen; other machines need TLS or a proxy (see "web" of PAYRUN_CONFIG)',
    z.string().min(1).max(255),
    '127.0.0.1',
  ],
  port: [
    '<port>',
    'where to listen',
    z.coerce.number(PORT_WORDS).int(PORT_WORDS).min(1, PORT_WORDS).max(PORT_MAX, PORT_WORDS),
    '8420',
  ],
  newLedger: NEW_LEDGER,
  allowRoot: 'run as root all the same',
  inbox: [
    '<dir>',
    'take files from this drop folder too; may be given several times',
    z.array(z.string().min(1, 'must name a folder')).max(INBOXES_MAX).default([]),
  ],
} as const;
type ServeOptions = GivenOptions<typeof options>;

/** `payrun serve`: the web app and its API. */
export const serveCommand = command(
  'serve',
  {
    options,
    help: 'The first user is made on the command line: payrun user add NAME --role admin --as NAME',
    examples: ['payrun serve --with-worker --sandbox', 'payrun serve --port 9000 --inbox /srv/payouts'],
  },
  async (given, at) => {
    refuseRoot(given);
    const config = readConfig();
    requireService(config, given);
    requireSafeAddress(given, config.web);
    const metrics = openMetrics();
    return await withApp({ ...unattended(given, 'serve'), at, observe: metrics.observe }, async (app, stop) => {
      await requireReportFolder(app.config.reportDir);
      stop.addEventListener('abort', endAtLast);
      await serveUntil(app, { given, metrics, stop });
      return EXIT.ok;
    });
  },
);

interface Serving {
  readonly given: ServeOptions;
  readonly metrics: Metrics;
  readonly stop: AbortSignal;
}

/** Serves, and pays and watches inboxes beside it if asked to; when the one ends, the others do. */
async function serveUntil(app: App<JobQueues>, { given, metrics, stop }: Serving): Promise<void> {
  const settings = app.config.web;
  const ended = new AbortController();
  const stopping = AbortSignal.any([stop, ended.signal]);
  const inboxes = await openServedInboxes(app, given.inbox, stopping);
  const web = await openWeb({
    app,
    settings,
    passwords: openPasswords(app.random),
    hosts: hostsOf(given, settings),
    queues: app.jobs,
    metrics,
    inboxes,
  });
  app.onClose(() => web.close());
  await listen(web, given);
  const tellReady = (): void => say(`payrun serve ${process.pid} is ready: ${addressOf(given, settings)}`);
  if (!given.withWorker) tellReady();
  const parts = [
    given.withWorker ? payUntil(app, stopping, tellReady) : untilAborted(stopping),
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
    throw new Refusal(
      `payrun cannot listen on ${host} port ${port} (${code}).`,
      'Give another --port or --host, or stop what listens there.',
      { cause: error },
    );
  }
}

/** An inbox that is watched beside something else. */
interface ServedInbox extends WatchedInbox {
  /** Answers its files until `stopping` is aborted. */
  watch(): Promise<void>;
}

/** Opens inboxes, each with the folders that it lacks; closed with the app. Throws a Refusal (exit 2) for one that cannot be used. */
async function openServedInboxes(
  app: App,
  addresses: readonly string[],
  stopping: AbortSignal,
): Promise<ServedInbox[]> {
  if (addresses.length > 0) await removeOldCopies(app.config, app.clock);
  const opened: ServedInbox[] = [];
  for (const address of new Set(addresses)) opened.push(await openOne(app, address, stopping));
  return opened;
}

async function openOne(app: App, address: string, stopping: AbortSignal): Promise<ServedInbox> {
  const source = openSource(app, address);
  app.onClose(() => source.close());
  if (await prepareInbox(app, source))
    say(`payrun serve made the folder ${safeText(source.name)}, which was not there`);
  const inbox = openInbox(app, source, {
    actor: actorOf(undefined),
    skipInvalid: false,
    stopping,
    answered: (as, { kind }) =>
      app.log.info(kind === 'ack' ? 'a file was accepted' : 'a file was refused', { reason: as }),
    reported: (run) => app.log.info('a report was delivered', { run }),
    describe: (error) => explain(error).text,
    say,
  });
  return {
    address: source.name,
    inbox,
    async watch() {
      say(`payrun serve ${process.pid} watches ${safeText(source.name)}`);
      await lookUntilStopped(app, inbox, { stopping, pollMs: source.pollMs });
    },
  };
}
