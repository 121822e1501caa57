import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type JobQueues, openQueues } from '../../../jobs/open.ts';
import { type App, openApp } from '../../../src/app.ts';
import { systemClock, systemRandom } from '../../../src/clock.ts';
import { CAPABILITIES, readConfig } from '../../../src/config/config.ts';
import { silentLog } from '../../../src/log.ts';
import { noCrash } from '../../../src/pay/crash-point.ts';
import type { Started } from '../../support/payrun-processes.ts';
import { startTestRedis, type TestRedis } from '../../support/redis.ts';
import { startService } from '../../support/service-process.ts';
import { openProcesses } from './processes.ts';

/** One ledger on a Redis of its own, and all the processes of a site around it. */
export interface Stage {
  readonly app: App<JobQueues>;
  readonly redis: TestRedis;
  /** Runs a command of payrun; gives its standard output. Throws when it does not end well. */
  readonly payrun: (words: readonly string[]) => Promise<string>;
  readonly folder: string;
  /** Starts the web app and these workers; gives the address of the web app. */
  readonly open: (workers: number) => Promise<{ base: string; pids: ReadonlyMap<string, readonly number[]> }>;
  readonly remove: () => Promise<void>;
}

export async function setStage(): Promise<Stage> {
  const processes = openProcesses();
  // A rewrite of the append-only file that falls into one round and not into another would be measured with it.
  const redis = await startTestRedis('--auto-aof-rewrite-percentage', '0');
  let servicePid = 0;
  const service = await startService({
    ...processes,
    start(words, options) {
      const started = processes.start(words, options);
      servicePid = started.pid;
      return started;
    },
  });
  const folder = processes.folder();
  const env = {
    ...service.settings(),
    REDIS_URL: redis.url,
    PAYRUN_DATA_DIR: join(folder, 'data'),
    PAYRUN_ASSUME: CAPABILITIES.join(','),
  };
  const app = await openStageApp(env);

  async function begin(words: readonly string[], ready: string): Promise<Started> {
    const started = processes.start(words, { env });
    await started.said(ready);
    return started;
  }

  return {
    app,
    redis,
    folder,
    async payrun(words) {
      const { code, stdout, stderr } = await processes.run(words, { env });
      if (code !== 0) throw new Error(`payrun ${words[0]} ended with ${code}: ${stderr}`);
      return stdout;
    },
    async open(workers) {
      const port = await freePort();
      const serve = await begin(['serve', '--port', String(port)], 'is ready');
      const working = await Promise.all(Array.from({ length: workers }, () => begin(['worker'], 'is ready')));
      const pids = new Map([
        ['serve', [serve.pid]],
        ['workers', working.map(({ pid }) => pid)],
        ['redis', [redis.pid]],
        ['service', [servicePid]],
      ]);
      return { base: `http://127.0.0.1:${port}`, pids };
    },
    async remove() {
      await app.close();
      await processes.remove();
      await redis.stop();
    },
  };
}

async function openStageApp(env: Readonly<Record<string, string>>): Promise<App<JobQueues>> {
  const app = await openApp({
    config: readConfig(env),
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    at: noCrash,
    report: () => {},
    openJobs: openQueues,
  });
  const missing = await app.joinSeason();
  if (missing.length > 0) throw new Error('the season of a fresh ledger did not open');
  return app;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port is free');
  return address.port;
}
