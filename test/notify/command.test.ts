import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { notify, wakeNotify } from '../../jobs/notify.ts';
import { notificationsCommand } from '../../src/cli/operate/notify.ts';
import { type Log, silentLog } from '../../src/log.ts';
import { freshRows, payingRun, useArming } from '../ledger/test-ledger.ts';
import { useTestRedis } from '../support/redis.ts';
import { type NotifyDesk, notifyDesk, SECRET, startReceiver, toldTo, webhook } from './notify-desk.ts';

const DAY_MS = 86_400_000;

const server = await useTestRedis();
const arming = await useArming(server);
let desk: NotifyDesk;
const folder = mkdtempSync(join(tmpdir(), 'payrun-notify-'));

afterAll(async () => {
  rmSync(folder, { recursive: true });
});
beforeEach(async () => {
  desk = await notifyDesk({ redis: server.redis, arming });
});

/** Runs `payrun notifications` in this process; what it printed, or what it refused with. */
async function command(...words: string[]): Promise<{ code: number; printed: string }> {
  let code = -1;
  let printed = '';
  vi.stubEnv('REDIS_URL', server.url);
  vi.stubEnv('PAYRUN_PREFIX', desk.prefix);
  vi.stubEnv('PAYRUN_DATA_DIR', join(folder, desk.prefix));
  const out = vi.spyOn(process.stdout, 'write').mockImplementation((text) => (printed += String(text)) !== '');
  const err = vi.spyOn(process.stderr, 'write').mockImplementation(() => true);
  try {
    await notificationsCommand((ended) => {
      code = ended;
    }).parseAsync(words, { from: 'user' });
  } finally {
    out.mockRestore();
    err.mockRestore();
    vi.unstubAllEnvs();
  }
  return { code, printed };
}

const list = async () => JSON.parse((await command('--json')).printed) as Record<string, unknown>[];

async function giveUp(): Promise<{ receiver: Awaited<ReturnType<typeof startReceiver>>; runId: string }> {
  const receiver = await startReceiver((_, answering) => answering.reply({ status: 500 }));
  const notifier = desk.notifier([webhook(receiver.url)]);
  await desk.look(notifier);
  const runId = await payingRun(desk.ledger, freshRows(1));
  await desk.look(notifier);
  desk.clock.pass(3 * DAY_MS);
  await desk.work(notifier);
  return { receiver, runId };
}

describe('payrun notifications', () => {
  test('shows what was given up and why, and puts it back for a worker', async () => {
    const { receiver, runId } = await giveUp();
    const [endpoint] = await list();
    const [id] = toldTo(receiver).map((told) => told.id);
    expect(endpoint).toMatchObject({ name: 'hook', configured: false, waiting: 0, deadLettersDropped: 0 });
    expect(endpoint?.['deadLetters']).toMatchObject([{ id, event: 'accepted', runId, reason: 'status 500' }]);
    expect((await command()).printed).toMatch(new RegExp(`${id}\\s+hook\\s+accepted\\s+${runId}`));
    expect((await command('retry', id ?? '')).code).toBe(0);
    expect(await list()).toMatchObject([{ name: 'hook', waiting: 1, deadLetters: [] }]);
    receiver.handle((_, answering) => answering.reply({}));
    await desk.work(desk.notifier([webhook(receiver.url)]));
    expect(toldTo(receiver).at(-1)?.id).toBe(id);
    expect(await list()).toMatchObject([{ name: 'hook', waiting: 0, nextTryAt: null, deadLetters: [] }]);
  });

  test('puts back all of them, and says on the audit log who did it', async () => {
    await giveUp();
    expect((await command('retry', '--all', '--as', 'anna')).code).toBe(0);
    expect(await list()).toMatchObject([{ waiting: 1, deadLetters: [] }]);
    expect(await desk.redis.lindex(desk.keys.audit, -1)).toMatch(/"anna","action":"notifications.retried"/);
  });

  test('drops an endpoint', async () => {
    await giveUp();
    expect((await command('drop', 'hook', '--as', 'anna')).code).toBe(0);
    expect(await list()).toEqual([]);
    expect(await desk.redis.lindex(desk.keys.audit, -1)).toMatch(/"anna","action":"notifications.dropped"/);
  });

  test('shows what is configured, also what was told nothing yet', async () => {
    const [config, secret] = [join(folder, 'config.json'), join(folder, 'secret')];
    writeFileSync(secret, SECRET, { mode: 0o600 });
    writeFileSync(
      config,
      JSON.stringify({ webhooks: [{ name: 'new', url: 'https://hooks.example/', secretFile: secret }] }),
    );
    vi.stubEnv('PAYRUN_CONFIG', config);
    expect(await list()).toMatchObject([{ name: 'new', configured: true, waiting: 0, nextTryAt: null }]);
  });

  test.each([
    [['retry'], /Name one/],
    [['retry', 'x', '--all'], /Name one/],
    [['retry', 'nothing'], /no dead letter nothing/],
    [['drop', 'nobody'], /no endpoint nobody/],
  ])('refuses %j', async (words, message) => {
    await expect(command(...words)).rejects.toThrow(message);
  });
});

describe('the job', () => {
  const stopping = new AbortController().signal;

  test('is given to each queue that is due, and delivers it', async () => {
    const receiver = await startReceiver();
    const notifier = desk.notifier([webhook(receiver.url)]);
    const added: { id: string; payload: { endpoint: string; queue: string } }[] = [];
    const jobs = { add: async (_name: 'notify', some: readonly (typeof added)[number][]) => void added.push(...some) };
    const app = { notifier, log: silentLog, jobs };
    await wakeNotify({ app });
    const runId = await payingRun(desk.ledger, freshRows(1));
    await desk.ledger.state.endTurn('notify');
    await wakeNotify({ app });
    expect(added).toEqual([{ id: `notify-hook-${runId}`, payload: { endpoint: 'hook', queue: runId } }]);
    for (const { payload } of added) await notify({ app, stopping }, payload);
    await notify({ app, stopping }, { endpoint: 'gone', queue: runId });
    expect(toldTo(receiver)).toMatchObject([{ event: 'accepted', runId }]);
  });

  test('keeps its faults to itself', async () => {
    const said: string[] = [];
    const log: Log = { ...silentLog, warn: (message) => said.push(message) };
    const broken = { ...desk.notifier([]), look: async () => await Promise.reject(new Error('Redis is gone')) };
    await wakeNotify({ app: { notifier: broken, log, jobs: { add: async () => {} } } });
    expect(said).toEqual(['no notification could be made']);
  });
});
