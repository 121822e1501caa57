import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type App, openApp } from '../../src/app.ts';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { type EnvironmentVariables, readConfig } from '../../src/config/config.ts';
import { silentLog } from '../../src/log.ts';
import { noCrash } from '../../src/pay/crash-point.ts';
import { freshPrefix } from '../support/redis.ts';

/** The app on a ledger and in a data directory of its own, without workers. */
export async function openTestApp(
  redisUrl: string,
  settings: EnvironmentVariables = {},
): Promise<App & { readonly dir: string }> {
  const dir = mkdtempSync(join(tmpdir(), 'payrun-runs-'));
  const app = await openApp({
    config: readConfig({ REDIS_URL: redisUrl, PAYRUN_DATA_DIR: dir, PAYRUN_PREFIX: freshPrefix(), ...settings }),
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    at: noCrash,
    report: () => {},
    openJobs: () => ({ async wake() {}, workers: async () => [], async close() {} }),
  });
  await app.joinSeason();
  return {
    ...app,
    dir,
    async close() {
      await app.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** A ledger as the first run would have made it, for commands that make none. */
export async function makeLedger(redisUrl: string, settings: EnvironmentVariables): Promise<void> {
  await (await openTestApp(redisUrl, settings)).close();
}
