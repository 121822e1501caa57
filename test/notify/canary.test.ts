import { beforeAll, expect, test } from 'vitest';
import { EVENTS } from '../../src/config/notify.ts';
import type { Log } from '../../src/log.ts';
import { finishRun } from '../../src/runs/after/finish.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { claimRun, recordRows, rowOf, sendTo, useArming } from '../ledger/test-ledger.ts';
import { useTestRedis } from '../support/redis.ts';
import { type NotifyDesk, notifyDesk, SECRET, startReceiver, toldTo, webhook } from './notify-desk.ts';

const DAY_MS = 86_400_000;
/** What must never be told, kept for telling, or logged. */
const CANARIES = {
  secret: SECRET,
  path: 'canary-path-token',
  password: 'canary-password-1',
  user: 'canary-user',
  address: 'canary-address@example.com',
  reference: 'CANARY-REF-1',
  identity: 'ca9a7700-0b6c-4f18-a52d-9c4be8f1d073',
  actor: 'canary-actor',
  said: 'Canary Jane Roe',
  value: 'canary-value',
} as const;

const server = await useTestRedis();
const arming = await useArming(server);
let desk: NotifyDesk;

beforeAll(async () => {
  desk = await notifyDesk({ redis: server.redis, arming });
});

/** All that is kept for telling: keys and what they hold. */
async function kept(): Promise<string> {
  const keys = (await desk.redis.keys(`${desk.prefix}*`)).filter((key) => /:(?:outbox|told|news)|:told$/.test(key));
  const texts = keys.map(async (key) => {
    const type = await desk.redis.type(key);
    if (type === 'hash') return JSON.stringify(await desk.redis.hgetall(key));
    if (type === 'string') return (await desk.redis.get(key)) ?? '';
    if (type === 'list') return JSON.stringify(await desk.redis.lrange(key, 0, -1));
    return JSON.stringify(await desk.redis.zrange(key, 0, -1));
  });
  return `${keys.join('\n')}\n${(await Promise.all(texts)).join('\n')}`;
}

test('no secret and nothing of people is told, kept for telling, or logged, when everything happens and everything fails', async () => {
  const lines: string[] = [];
  const note = (message: string, { error, ...fields }: Record<string, unknown> = {}): void => {
    lines.push(JSON.stringify([message, fields, error instanceof Error ? `${error.name}: ${error.message}` : error]));
  };
  const log: Log = { debug: note, info: note, warn: note, error: note };
  const receiver = await startReceiver((_, answering) => answering.reply({ status: 500, text: CANARIES.said }));
  const mail = {
    kind: 'mail',
    name: 'mail',
    host: '127.0.0.1',
    port: 9,
    secure: false,
    login: { userName: CANARIES.user, password: CANARIES.password },
    from: CANARIES.address,
    to: [CANARIES.address],
    events: new Set(EVENTS),
  } as const;
  const hook = webhook(`${receiver.url}/${CANARIES.path}`, { events: new Set(EVENTS) });
  const notifier = desk.notifier([hook, mail], { log });
  await desk.look(notifier);
  const rows = [2, 3, 4, 5].map((line) =>
    rowOf(line, { reference: `${CANARIES.reference}${line}`, beneficiaryIdentityId: CANARIES.identity }),
  );
  const runId = await claimRun(desk.ledger, rows);
  await recordRows(desk.ledger, runId, rows);
  await desk.ledger.runs.note(runId, { lastLine: '5' });
  await desk.ledger.runs.move(runId, { to: 'paying', actor: CANARIES.actor, reason: 'submitted' });
  await desk.ledger.runs.move(runId, { to: 'paused', actor: 'payrun', reason: `CFG_1: ${CANARIES.said}` });
  for (const [index, state] of (['unknown', 'held', 'failed', 'returned'] as const).entries()) {
    if (index === 0) await desk.ledger.runs.move(runId, { to: 'paying', actor: CANARIES.actor, reason: 'go' });
    await sendTo(desk.ledger, { runId, line: index + 2 }, state);
  }
  await finishRun(desk.ledger, runId);
  await desk.ledger.state.halt(CANARIES.actor, 'look');
  await releaseHalt({ ledger: desk.ledger }, CANARIES.actor);
  const problems = [
    { code: 'E_X', line: 2, column: 'reference', value: CANARIES.value, message: CANARIES.value, remedy: '' },
  ];
  await notifier.announceRefused(
    { name: 'f.csv', sha256: 'ab', rows: 1, problems: problems as never },
    desk.clock.now(),
  );
  for (let days = 0; days < 5; days++) {
    await desk.work(notifier);
    desk.clock.pass(DAY_MS);
  }
  const told = toldTo(receiver);
  const all = [await kept(), lines.join('\n'), JSON.stringify(told)];
  expect(told.map(({ event }) => event)).toEqual(expect.arrayContaining(['accepted', 'halted', 'refused']));
  expect(all[0]).toContain('CFG_1');
  expect(lines.length).toBeGreaterThan(3);
  for (const text of all) {
    for (const canary of Object.values(CANARIES)) expect(text.toLowerCase()).not.toContain(canary.toLowerCase());
  }
});
