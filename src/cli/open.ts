import { userInfo } from 'node:os';
import { type JobQueues, openQueues } from '../../jobs/open.ts';
import { type App, openApp } from '../app.ts';
import { systemClock, systemRandom } from '../clock.ts';
import { type Config, type LogLevel, readConfig } from '../config.ts';
import { openLog } from '../log.ts';
import { goOn } from '../pay/crash-point.ts';
import { EXIT, type ExitCode, Refusal } from '../refusal.ts';
import { say } from './print.ts';

/** Opens the app for one command, and closes it however the command ends. */
export async function withApp(
  options: { logLevel: LogLevel },
  command: (app: App<JobQueues>) => Promise<ExitCode>,
): Promise<ExitCode> {
  const config = readConfig();
  const app = await openCommandApp(config, options);
  try {
    return await command(app);
  } finally {
    await app.close();
  }
}

async function openCommandApp(config: Config, { logLevel }: { logLevel: LogLevel }): Promise<App<JobQueues>> {
  return await openApp({
    config,
    clock: systemClock,
    random: systemRandom,
    log: openLog(config.logLevel ?? logLevel),
    at: goOn,
    report: say,
    openJobs: openQueues,
  });
}

/** Who acts: the name that was given, else the user of the operating system. */
export function actorOf(name: string | undefined): string {
  return name ?? userInfo().username;
}

/** Refuses a command that needs a service and was given neither one nor `--sandbox` (design 9). */
export function requireService(config: Config, options: { sandbox?: boolean | undefined }): void {
  if (config.service !== undefined || options.sandbox === true) return;
  throw new Refusal('No payments service is configured.', {
    exitCode: EXIT.usage,
    remedy: 'Set the five service settings (see the README), or give --sandbox to use the simulated service.',
  });
}
