import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CAPABILITIES } from '../../src/config/config.ts';
import { EVENTS } from '../../src/config/notify.ts';
import { ledgerKeys } from '../../src/ledger/keys.ts';
import { openNames } from '../../src/ledger/people/names.ts';
import { openSeals } from '../../src/ledger/seals.ts';
import { SECRET } from '../notify/notify-desk.ts';
import { PRIVATE_KEY } from '../report/signed-reports.ts';
import { type AnsweringServer, startAnsweringServer } from '../support/answering-server.ts';
import { freePort } from '../support/network-redis.ts';
import { useProcesses } from '../support/payrun-processes.ts';
import { freshPrefix, startTestRedis, type TestRedis } from '../support/redis.ts';
import { startService } from '../support/service-process.ts';

const WAIT = { timeout: 120_000, interval: 500 };
const HEADER = 'reference,beneficiaryIdentityId,amount,sourceCurrency,destinationCurrency';
const CANARIES = {
  'identity id': 'ca9a7700-0b6c-4f18-a52d-9c4be8f1d073',
  reference: 'CANARY-REF-1',
  name: 'Canary Jane Roe',
} as const;
type Canary = keyof typeof CANARIES;
const GOOD = `${CANARIES.reference},${CANARIES['identity id']},10.00,USD,MXN`;

const processes = useProcesses();
let redis: TestRedis;
let receiver: AnsweringServer;
beforeAll(async () => {
  redis = await startTestRedis();
  receiver = await startAnsweringServer((_, answering) => answering.reply({}));
});
afterAll(async () => {
  await redis.stop();
  await receiver.close();
});

/** The rows of the table: place, and what is shown there of each canary. */
function documented(): Map<string, Record<Canary, string>> {
  const text = readFileSync(resolve(import.meta.dirname, '../../docs/security.md'), 'utf8');
  const [, table = ''] = text.split('| place | identity id | reference | name |\n|---|---|---|---|\n');
  const rows = table.split('\n\n')[0]?.split('\n') ?? [];
  return new Map(
    rows.map((row) => {
      const [place = '', id = '', reference = '', name = ''] = row
        .split('|')
        .slice(1)
        .map((cell) => cell.trim());
      return [place, { 'identity id': id, reference, name }];
    }),
  );
}

function shownIn(text: string): Record<Canary, string> {
  const shown = (canary: Canary): string => {
    const whole = CANARIES[canary];
    if (text.toLowerCase().includes(whole.toLowerCase())) return 'whole';
    return text.includes(`…${whole.slice(-4)}`) ? 'last 4' : 'none';
  };
  return { 'identity id': shown('identity id'), reference: shown('reference'), name: shown('name') };
}

/** Settings of a company whose service knows one beneficiary by a name, and whose file pays them. */
async function openCompany() {
  const service = await startService(processes, { switches: ['endsFailed=1'] });
  const cwd = processes.folder();
  writeFileSync(join(cwd, 'secret'), SECRET, { mode: 0o600 });
  const hook = { name: 'erp', url: receiver.url, secretFile: 'secret', events: EVENTS };
  writeFileSync(join(cwd, 'payrun.json'), JSON.stringify({ webhooks: [hook] }));
  writeFileSync(join(cwd, 'payouts.csv'), `${HEADER}\n${GOOD}\n`);
  const bad = [
    `INV-1,x${CANARIES['identity id']},10.00,USD,MXN`,
    `${CANARIES.reference}~,${CANARIES['identity id']},10.00,USD,MXN`,
  ].join('\n');
  writeFileSync(join(cwd, 'bad.csv'), `${HEADER}\n${bad}\n`);
  const env = {
    ...service.settings(),
    REDIS_URL: redis.url,
    PAYRUN_PREFIX: freshPrefix(),
    PAYRUN_DATA_DIR: join(cwd, 'data'),
    PAYRUN_CONFIG: join(cwd, 'payrun.json'),
    PAYRUN_ASSUME: CAPABILITIES.join(','),
    PAYRUN_TRACK_EVERY: '1s',
    PAYRUN_LOG_LEVEL: 'debug',
    PAYRUN_SIGNING_KEY: PRIVATE_KEY,
    PAYRUN_METRICS_PORT: String(await freePort()),
  };
  return {
    cwd,
    env,
    clientSecret: service.settings()['PAYRUN_CLIENT_SECRET'] ?? '',
    run: async (...words: string[]) => await processes.run(words, { cwd, env }),
  };
}

/** Whatever the queues keep in Redis. */
async function queueText(prefix: string): Promise<string> {
  const keys = (await redis.redis.keys('*')).filter((key) => key.includes(prefix) && key.includes(':bull'));
  const dumps = await Promise.all(
    keys.map(async (key) => (await redis.redis.dumpBuffer(key))?.toString('latin1') ?? ''),
  );
  return `${keys.join('\n')}\n${dumps.join('\n')}`;
}

function told(): string {
  return receiver.requests.map(({ body }) => body).join('\n');
}

function filesIn(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile())
    .map((file) => readFileSync(join(file.parentPath, file.name), 'utf8'))
    .join('\n');
}

test('an identity id, a reference and a name stand where docs/security.md says, and nowhere else', async () => {
  const { cwd, env, clientSecret, run } = await openCompany();
  const refused = await run('submit', 'bad.csv', '--json');
  const { runId } = JSON.parse((await run('submit', 'payouts.csv', '--json')).stdout) as { runId: string };
  const names = openNames(redis.redis, ledgerKeys(env.PAYRUN_PREFIX), openSeals());
  await names.note(new Map([[CANARIES['identity id'], CANARIES.name]]), 1);
  const serving = processes.start(['serve', '--port', '0'], { cwd, env });
  const worker = processes.start(['worker'], { cwd, env });
  await expect.poll(told, WAIT).toContain('"settled"');
  const signature = join(env.PAYRUN_DATA_DIR, 'reports', `${runId}.v1.sig`);
  await expect.poll(() => existsSync(signature), WAIT).toBe(true);
  const metrics = await (await fetch(`http://127.0.0.1:${env.PAYRUN_METRICS_PORT}/metrics`)).text();
  const jobs = await queueText(env.PAYRUN_PREFIX);
  for (const one of [serving, worker]) one.kill('SIGTERM');
  const [served, worked] = await Promise.all([serving.ended, worker.ended]);
  const report = await run('report', runId);
  const json = await run('report', runId, '--json');
  const found: Record<string, string> = {
    'report (CSV, JSON)': report.stdout + json.stdout,
    'retry file': (await run('retry-file', runId)).stdout,
    'list of payouts': (await run('list', runId, '--json')).stdout,
    'problems of a file': refused.stdout + refused.stderr,
    'status report (pain.002)': (await run('report', runId, '--format', 'pain.002')).stdout,
    'logs of a process': served.stderr + worked.stderr,
    notifications: told(),
    'audit log': (await run('audit', 'list', '--json')).stdout,
    'jobs in the queue': jobs,
    metrics,
    'intent logs on disk': filesIn(join(env.PAYRUN_DATA_DIR, 'intents')),
    'summary of a report': (await run('report', runId, '--format', 'summary')).stdout,
    'signature of a report': readFileSync(signature, 'utf8'),
  };
  const shown = Object.fromEntries(Object.entries(found).map(([place, text]) => [place, shownIn(text)]));
  const expected = documented();
  expect(Object.values(found).filter((text) => text.length < 100)).toEqual([]);
  expect(shown).toEqual(Object.fromEntries(expected));
  expect(Object.values(found).filter((text) => text.includes(clientSecret))).toEqual([]);
}, 240_000);
