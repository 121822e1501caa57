import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CAPABILITIES } from '../../src/config/config.ts';
import type { Dice } from '../simulation/dice.ts';
import type { Ended, Order, Working } from '../support/clerks.ts';
import { type BookEntry, readBook } from '../support/paid-once.ts';
import type { Processes } from '../support/payrun-processes.ts';
import { startTestRedis } from '../support/redis.ts';
import { type ServiceProcess, startService } from '../support/service-process.ts';

/** What companies share: the service, and the processes that work for them. */
export interface Town {
  readonly processes: Processes;
  readonly service: ServiceProcess;
}

/** Rows are refused at their quotes and for good; answers get lost on either side of the payment. */
const SWITCHES = [
  'quoteLifeMs=3000',
  'answerDelayMs.payments=30',
  'quoteRefused=0.1',
  'refused=0.03',
  'dropAfterCommit=0.08',
  'error500AfterCommit=0.04',
  'dropBeforeCommit=0.04',
];

export async function openTown(processes: Processes): Promise<Town> {
  return { processes, service: await startService(processes, { switches: SWITCHES }) };
}

export interface Row {
  readonly reference: string;
  readonly amount: string;
  readonly beneficiary: string;
}

export interface Listed {
  readonly runId: string;
  readonly state: string;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly file: { readonly rows: number; readonly sha256: string };
}

export interface Told {
  readonly reference: string;
  readonly outcome: string;
  readonly paymentId: string | null;
  readonly reasonCode: string | null;
  readonly quoteId: string | null;
}

/** A company with one ledger on a Redis of its own, and hosts that pay. */
export interface Company {
  readonly hosts: readonly string[];
  /** What was done, for whoever has to understand a failure. */
  readonly done: string[];
  /** The id of the data directory that burnt; undefined while none has. */
  readonly lost: string | undefined;
  /** Does a command on the first host; gives all that it said. */
  say(words: readonly string[], diesAt?: Order['diesAt']): Promise<{ code: Ended['code']; said: string }>;
  /** Runs in the order in which they came. */
  listed(): Promise<Listed[]>;
  rowsOf(runId: string): Promise<Told[]>;
  /** A report as a file; undefined for a run that is still being recorded, of which there is none. */
  reported(words: readonly string[]): Promise<Buffer | undefined>;
  /** Writes a payout file of these rows; gives its path. */
  write(name: string, rows: readonly Row[]): string;
  /** Starts a worker on each host that has none. */
  work(): void;
  stop(host: string, how: 'stop' | 'kill'): Promise<void>;
  /** Keeps Redis's files as they are now. */
  copy(): void;
  /** Ends Redis and starts it on the files that were kept. */
  putBack(): Promise<void>;
  /** A host burns, with its data directory. */
  lose(host: string): Promise<void>;
  /** The service's payments of these references, as its console shows them. */
  booked(references: readonly string[]): BookEntry[];
  close(): Promise<void>;
}

export async function openCompany({ processes, service }: Town, dice: Dice): Promise<Company> {
  const { clerks } = processes;
  const server = await startTestRedis();
  const cwd = processes.folder();
  const config = join(cwd, 'config.json');
  const rules = {
    ...(dice.chance(0.3) ? { limits: { currencies: { USD: { payout: '14.00', run: '60.00' } } } } : {}),
    ...(dice.chance(0.25) ? { approval: { mode: 'on' } } : {}),
  };
  writeFileSync(config, JSON.stringify(rules));
  const likely = dice.chance(0.4) ? '7d' : 'off';
  const hosts = dice.chance(0.4) ? ['one', 'two'] : ['one'];
  const done = [`hosts ${hosts.join(' ')}, likely duplicates ${likely}, rules ${Object.keys(rules).join(' ')}`];
  const redisFiles = join(dirname(server.socket), 'appendonlydir');
  const kept = join(cwd, 'kept');
  const workers = new Map<string, Working>();
  let lost: string | undefined;
  let reports = 0;

  const envOf = (host: string): Record<string, string> => ({
    REDIS_URL: server.url,
    ...service.settings(),
    PAYRUN_DATA_DIR: join(cwd, host),
    PAYRUN_CONFIG: config,
    PAYRUN_ASSUME: CAPABILITIES.join(','),
    PAYRUN_QUOTE_GRACE: '500ms',
    PAYRUN_NOT_FOUND_GAP: '500ms',
    PAYRUN_ARM_DEADLINE: '300ms',
    PAYRUN_TRACK_EVERY: '1s',
    PAYRUN_TRACK_RATE: '1000',
    PAYRUN_CONCURRENCY: '2',
    PAYRUN_DUPLICATES_WITHIN: likely,
    PAYRUN_LOG_LEVEL: 'silent',
  });

  async function jsonOf<T>(words: readonly string[]): Promise<T[]> {
    const carried = await clerks.run({ words: [...words, '--json'], env: envOf('one') });
    return carried.code === 0 ? (JSON.parse(carried.stdout) as T[]) : [];
  }

  const company: Company = {
    hosts,
    done,
    get lost() {
      return lost;
    },
    async say(words, diesAt) {
      const { code, stdout, stderr } = await clerks.run({ words, env: envOf('one'), diesAt });
      const came = `${code} ${code === 0 ? '' : stderr.split('\n')[0]}`;
      done.push(`${words.join(' ')}: ${came}`.replaceAll(`${cwd}/`, ''));
      return { code, said: stdout + stderr };
    },
    listed: async () => (await jsonOf<Listed>(['list'])).toReversed(),
    rowsOf: (runId) => jsonOf<Told>(['list', runId]),
    async reported(words) {
      const path = join(cwd, `report-${++reports}`);
      const carried = await clerks.run({ words: ['report', ...words, '--output', path], env: envOf('one') });
      if (carried.stderr.includes('is still being recorded')) return undefined;
      if (!existsSync(path)) throw new Error(`report ${words.join(' ')} ended with ${carried.code}: ${carried.stderr}`);
      return readFileSync(path);
    },
    write(name, rows) {
      const path = join(cwd, name);
      const lines = rows.map(({ reference, beneficiary, amount }) => `${reference},${beneficiary},${amount},USD,MXN\n`);
      writeFileSync(
        path,
        `reference,beneficiaryIdentityId,amount,sourceCurrency,destinationCurrency\n${lines.join('')}`,
      );
      return path;
    },
    work() {
      for (const host of hosts) {
        const isLost = host === 'two' && lost !== undefined;
        if (!isLost && workers.get(host)?.hasEnded !== false) workers.set(host, clerks.work(envOf(host)));
      }
    },
    async stop(host, how) {
      done.push(`${how} ${host}`);
      await workers.get(host)?.[how]();
    },
    copy() {
      done.push('copy');
      cpSync(redisFiles, kept, { recursive: true });
    },
    async putBack() {
      done.push('put back');
      process.kill(server.pid, 'SIGKILL');
      rmSync(redisFiles, { recursive: true });
      cpSync(kept, redisFiles, { recursive: true });
      await server.restart('SIGKILL');
    },
    async lose(host) {
      const identity = join(cwd, host, 'ledger.json');
      await company.stop(host, 'kill');
      if (!existsSync(identity)) return;
      lost = (JSON.parse(readFileSync(identity, 'utf8')) as { id: string }).id;
      done.push(`lost ${host}, ${lost}`);
      rmSync(join(cwd, host), { recursive: true });
    },
    booked: (references) =>
      readBook(service.folder).filter(({ internalId }) => internalId !== undefined && references.includes(internalId)),
    async close() {
      await Promise.all([...workers.values()].map((worker) => worker.stop()));
      await server.stop();
      rmSync(cwd, { recursive: true, force: true });
      mkdirSync(cwd, { recursive: true });
    },
  };
  return company;
}
