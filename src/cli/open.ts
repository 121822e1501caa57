import { userInfo } from 'node:os';
import { type JobQueues, openQueues } from '../../jobs/open.ts';
import { type App, openApp } from '../app.ts';
import { systemClock, systemRandom } from '../clock.ts';
import { type Config, type LogLevel, readConfig } from '../config/config.ts';
import { type Log, openLog, withoutRepeats } from '../log.ts';
import { type AtCrashPoint, noCrash } from '../pay/crash-point.ts';
import { Refusal } from '../refusal.ts';
import { placeOf } from '../runs/safety/no-ledger.ts';
import type { ObserveCall } from '../service/client.ts';
import { noTracing, openTracing, type Tracing } from '../tracing.ts';
import { safeText, say } from './print.ts';
import { onStop, STOP_MS, unlessStopped } from './stop.ts';

const TELL_WAIT_MS = 3000;

export interface OpenOptions {
  readonly logLevel: LogLevel;
  /** The command looks or steers, and never pays (app.ts). */
  readonly readOnly?: boolean;
  /** Whether a ledger is made where there is none (app.ts). */
  readonly makesLedger?: boolean;
  /** As in `AppOptions`. */
  readonly purpose?: string | undefined;
  /** Says of which service and ledger the answer is, where the command itself does not. */
  readonly tellsPlace?: boolean;
  readonly at?: AtCrashPoint;
  /** The command ends by itself, in good order, once the signal comes; any other is left where it is. */
  readonly endsItself?: boolean;
  /** Changes the settings that were read. */
  readonly adapt?: (config: Config) => Config;
  /** Told of each exchange with the service, for figures. */
  readonly observe?: ObserveCall;
  /** As in `AppOptions`; standard error, where a command shows nothing else there. */
  readonly report?: (line: string) => void;
}

/** A command; `stop` ends at the first signal to end. */
export type AppCommand<Result> = (app: App<JobQueues>, stop: AbortSignal) => Promise<Result>;

/**
 * Opens the app for one command, and closes it however the command ends. Throws a Refusal (exit 130) for one that a signal
 * ended while it was being opened, or later where it does not end by itself.
 */
export async function withApp<Result>(options: OpenOptions, command: AppCommand<Result>): Promise<Result> {
  const stop = onStop();
  try {
    return await withStop(options, command, stop.signal);
  } finally {
    stop.release();
  }
}

async function withStop<Result>(options: OpenOptions, command: AppCommand<Result>, stop: AbortSignal): Promise<Result> {
  const { adapt = (asRead: Config) => asRead } = options;
  const config = adapt(readConfig());
  const tracing = config.otel ? await openTracing(systemClock) : noTracing;
  try {
    const opening = openCommandApp(config, { ...options, tracing });
    const opened = tellWait(config);
    const app = await unlessStopped(opening, stop)
      .catch(async (error: unknown) => await closeOpening(opening, error))
      .finally(opened);
    try {
      if (options.tellsPlace === true) say(safeText(`Service ${app.serviceName}, ledger ${app.place}.`));
      const working = command(app, stop);
      return await (options.endsItself === true ? working : unlessStopped(working, stop));
    } finally {
      await app.close();
    }
  } finally {
    await tracing.close();
  }
}

/** Says that Redis has not answered yet, unless what it returns is called before. */
function tellWait(config: Config): () => void {
  if (config.redisUrl === undefined) return () => {};
  const opened = new AbortController();
  const tell = async (): Promise<void> => {
    await systemClock.sleep(TELL_WAIT_MS, opened.signal);
    if (!opened.signal.aborted) say(`The ledger (${placeOf(config)}) does not answer yet; payrun keeps trying.`);
  };
  void tell();
  return () => opened.abort();
}

/** Closes what is opened after all, within a limit, and throws what kept it from being used. */
async function closeOpening(opening: Promise<App>, fault: unknown): Promise<never> {
  const closed = opening.then(
    async (app) => await app.close(),
    () => {},
  );
  await Promise.race([closed, systemClock.sleep(STOP_MS)]);
  throw fault;
}

async function openCommandApp(
  config: Config,
  {
    logLevel,
    readOnly = false,
    makesLedger = !readOnly,
    purpose,
    at = noCrash,
    observe,
    report = say,
    tracing,
  }: OpenOptions & { readonly tracing: Tracing },
): Promise<App<JobQueues>> {
  return await openApp({
    config,
    clock: systemClock,
    random: systemRandom,
    log: logOf(config.logLevel, logLevel),
    at,
    readOnly,
    makesLedger,
    ...(purpose === undefined ? {} : { purpose }),
    report,
    observe(call) {
      observe?.(call);
      tracing.observe(call);
    },
    traceJob: tracing.job,
    openJobs: openQueues,
  });
}

/** Who waits for a command reads each fault once a minute; what runs on its own, or was told a level, logs all of them. */
function logOf(told: LogLevel | undefined, usual: LogLevel): Log {
  const log = openLog(told ?? usual);
  return told === undefined && usual === 'error' ? withoutRepeats(log, () => systemClock.monotonic()) : log;
}

export interface LedgerOptions extends Pick<OpenOptions, 'endsItself' | 'purpose' | 'tellsPlace'> {
  /** The command was given `--sandbox`: it may be the first on its ledger. */
  readonly sandbox?: boolean;
}

/**
 * Opens the app for a command that looks at runs or steers them: it needs no service and accepts any safety settings. Throws a
 * Refusal (exit 2) where there is no ledger.
 */
export async function withLedger<Result>(command: AppCommand<Result>, options: LedgerOptions = {}): Promise<Result> {
  const { sandbox = false, endsItself = false, purpose, tellsPlace = false } = options;
  if (sandbox) requireService(readConfig(), { sandbox });
  const ends = { endsItself, purpose, tellsPlace };
  return await withApp({ logLevel: 'error', readOnly: true, makesLedger: sandbox, ...ends }, command);
}

/** Who acts: the name that was given, else the user of the operating system. */
export function actorOf(name: string | undefined): string {
  if (name !== undefined) return name;
  try {
    return userInfo().username;
  } catch {
    // A container may run as a user that has no name.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** Refuses a command that needs a service and was given neither one nor `--sandbox`, which not each has, or both. */
export function requireService(config: Config, { sandbox }: { sandbox?: boolean }): void {
  if (config.service !== undefined && sandbox === true) {
    throw new Refusal(
      `The payments service ${config.service.url} is configured, and --sandbox asks for another one.`,
      'Leave --sandbox out, or unset the five service settings (see docs/settings.md) to use the simulated service.',
    );
  }
  if (config.service !== undefined || sandbox === true) return;
  const instead = sandbox === undefined ? '' : ', or give --sandbox to use the simulated service';
  throw new Refusal(
    'No payments service is configured.',
    `Set the five service settings (see docs/settings.md)${instead}.`,
  );
}
