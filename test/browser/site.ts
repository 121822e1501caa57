import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';
import type { Role } from '../../src/access/roles.ts';
import { openSeals } from '../../src/ledger/seals.ts';
import { type BookEntry, readBook } from '../support/paid-once.ts';
import { buildProcesses, type Started } from '../support/payrun-processes.ts';
import { freshPrefix, startTestRedis } from '../support/redis.ts';

/** `payrun serve --with-worker --sandbox` as a process, with all that it needs and that commands beside it share. */
export interface Site {
  readonly base: string;
  /** Runs a command of payrun on the same ledger; gives its standard output. Throws when it fails. */
  command(...words: string[]): Promise<string>;
  /** Adds a user; gives the one-time secret. */
  addUser(name: string, role: Role): Promise<string>;
  /** Sets switches of the simulated service, and all others back. */
  misbehave(...switches: string[]): Promise<void>;
  /** Makes all proofs of who somebody is older by so many milliseconds. */
  ageProofs(ms: number): Promise<void>;
  /** The payments that the simulated service made. */
  book(): BookEntry[];
  /** Ends the process as a power cut would. */
  kill(): Promise<void>;
  /** Starts it again, at the same address. */
  serve(): Promise<void>;
  close(): Promise<void>;
}

const withProof = z.looseObject({ reauthAt: z.int() });
const withSecret = z.object({ secret: z.string() });

/**
 * The site for one test file: runs wait for the approval of another person, and few payouts are paid at a time; with more
 * settings where they are given.
 */
export async function openSite(settings: object = {}): Promise<Site> {
  const redis = await startTestRedis();
  const processes = buildProcesses();
  const cwd = processes.folder();
  const data = join(cwd, 'data');
  writeFileSync(join(cwd, 'payrun.json'), JSON.stringify({ approval: { mode: 'on' }, ...settings }));
  const env = {
    REDIS_URL: redis.url,
    PAYRUN_PREFIX: freshPrefix(),
    PAYRUN_DATA_DIR: data,
    PAYRUN_CONFIG: join(cwd, 'payrun.json'),
    PAYRUN_CONCURRENCY: '2',
    PAYRUN_TRACK_EVERY: '1s',
  };
  const port = await freePort();
  let serving: Started | undefined;
  const command = async (...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await processes.command(words, { cwd, env });
    if (code !== 0) throw new Error(`payrun ${words.join(' ')} ended with ${code}: ${stderr}`);
    return stdout;
  };
  return {
    base: `http://127.0.0.1:${port}`,
    command,
    async addUser(name, role) {
      const text = await command('user', 'add', name, '--role', role, '--as', 'root', '--sandbox', '--json');
      return withSecret.parse(JSON.parse(text)).secret;
    },
    async misbehave(...switches) {
      await command(
        'sandbox',
        'set',
        '--folder',
        join(data, 'sandbox'),
        '--defaults',
        'acceptsAnyIdentity=true',
        ...switches,
      );
    },
    async ageProofs(ms) {
      for (const key of await redis.redis.keys(`${env.PAYRUN_PREFIX}:session:*`)) {
        const [, kept = ''] = /^\S+ (.*)$/.exec((await redis.redis.get(key)) ?? '') ?? [];
        const session = withProof.parse(JSON.parse(kept));
        const record = JSON.stringify({ ...session, reauthAt: session.reauthAt - ms });
        // Sealed as payrun would.
        const hash = key.slice(key.lastIndexOf(':') + 1);
        await redis.redis.set(key, `${openSeals().session(hash, record)} ${record}`, 'KEEPTTL');
      }
    },
    book: () => readBook(join(data, 'sandbox')),
    async kill() {
      serving?.kill('SIGKILL');
      await serving?.ended;
    },
    async serve() {
      serving = processes.start(['serve', '--with-worker', '--sandbox', '--port', String(port)], { cwd, env });
      await serving.said(' is ready: ');
    },
    async close() {
      await processes.remove();
      await redis.stop();
    },
  };
}

/** A port that was free a moment ago: the same one is taken again after a kill. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('the port is not known');
  return address.port;
}
