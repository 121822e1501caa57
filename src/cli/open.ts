import { userInfo } from 'node:os';
import { type JobQueues, openQueues } from '../../jobs/open.ts';
import { type App, openApp } from '../app.ts';
import { systemClock, systemRandom } from '../clock.ts';
import { type Config, type LogLevel, readConfig } from '../config.ts';
import { openLog } from '../log.ts';
import { type At, goOn } from '../pay/crash-point.ts';
import { EXIT, type ExitCode, Refusal } from '../refusal.ts';
import type { ObserveCall } from '../service/client.ts';
import { noTracing, openTracing, type Tracing } from '../tracing.ts';
import { say } from './print.ts';

export interface OpenOptions {
  readonly logLevel: LogLevel;
  /** The command looks or steers, and never pays (app.ts). */
  readonly looks?: boolean;
  readonly at?: At;
  /** Changes the settings that were read. */
  readonly adapt?: (config: Config) => Config;
  /** Told of each exchange with the service, for figures. */
  readonly observe?: ObserveCall;
}

/** Opens the app for one command, and closes it however the command ends. */
export async function withApp(
  options: OpenOptions,
  command: (app: App<JobQueues>) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { adapt = (asRead: Config) => asRead } = options;
  const config = adapt(readConfig());
  const tracing = config.otel ? await openTracing(systemClock) : noTracing;
  try {
    const app = await openCommandApp(config, { ...options, tracing });
    try {
      return await command(app);
    } finally {
      await app.close();
    }
  } finally {
    await tracing.close();
  }
}

async function openCommandApp(
  config: Config,
  { logLevel, looks = false, at = goOn, observe, tracing }: OpenOptions & { readonly tracing: Tracing },
): Promise<App<JobQueues>> {
  return await openApp({
    config,
    clock: systemClock,
    random: systemRandom,
    log: openLog(config.logLevel ?? logLevel),
    at,
    looks,
    report: say,
    observe(call) {
      observe?.(call);
      tracing.observe(call);
    },
    traceJob: tracing.job,
    openJobs: openQueues,
  });
}

/** Opens the app for a command that looks at runs or steers them: it needs no service, and any safety settings will do. */
export async function withLedger(command: (app: App<JobQueues>) => Promise<ExitCode>): Promise<ExitCode> {
  return await withApp({ logLevel: 'error', looks: true }, command);
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

/** Refuses a command that needs a service and was given neither one nor `--sandbox` (design 9), or both. */
export function requireService(config: Config, options: { sandbox: boolean }): void {
  if (config.service !== undefined && options.sandbox) {
    throw new Refusal(`The payments service ${config.service.url} is configured, and --sandbox asks for another.`, {
      exitCode: EXIT.usage,
      remedy: 'Leave --sandbox out, or unset the five service settings (see the README) to use the simulated service.',
    });
  }
  if (config.service !== undefined || options.sandbox) return;
  throw new Refusal('No payments service is configured.', {
    exitCode: EXIT.usage,
    remedy: 'Set the five service settings (see the README), or give --sandbox to use the simulated service.',
  });
}
