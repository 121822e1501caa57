import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../src/clock.ts';
import { ensureSeason } from '../../src/ledger/season/season.ts';
import { silentLog } from '../../src/log.ts';
import { useTestRedis } from '../support/redis.ts';
import { armOn, hostOf } from './recovery-desk.ts';
import {
  armPayout,
  copyLedger,
  freshRows,
  newLedger,
  payingRun,
  readPayout,
  type TestLedger,
  useArming,
} from './test-ledger.ts';

const DEADLINE_MS = 10_000;

const server = await useTestRedis();
const arming = await useArming(server);
let desk: TestLedger;
let folder: string;
let runId: string;

beforeEach(async () => {
  desk = await newLedger({ redis: server.redis, arming });
  folder = mkdtempSync(join(tmpdir(), 'payrun-test-'));
  runId = await payingRun(desk.ledger, freshRows(1));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Closes the season, as whoever knows of more armings than Redis does. */
async function close(): Promise<string> {
  const { keys, redis, ledger } = desk;
  const armings = Number(await redis.hget(keys.head, 'armings'));
  await redis.hset(keys.head, 'armings', -1);
  const { name, open } = await ledger.state.season();
  await redis.hset(keys.head, 'armings', armings);
  expect(open).toBe(false);
  return name;
}

test('twice the arm deadline passes after each closing of the season, before its logs are compared', async () => {
  const host = hostOf(folder, desk.ledger, 'dir-a');
  await close();
  const slept: number[] = [];
  let onWait = async (): Promise<void> => {
    // While this process waits, another one of the same directory compares, opens the season and arms. Its line is still under
    // way to a slow disk when Redis goes back under its own name, to before that arming, and somebody notices that.
    const { server: now, name } = await desk.ledger.state.season();
    const part = { dataDirId: 'dir-a', server: now, season: name, last: true, json: '[]', peers: [] };
    expect((await desk.ledger.state.compare(part)).result).toBe('open');
    const putBack = await copyLedger(desk.redis, desk.prefix);
    await armPayout(desk.ledger, { runId, line: 2 });
    await putBack();
    await close();
    onWait = async () => {};
  };
  const clock: Clock = {
    ...systemClock,
    async sleep(ms) {
      slept.push(ms);
      await onWait();
    },
  };
  const missing = await ensureSeason({
    state: desk.ledger.state,
    dataDir: host.path,
    dataDirId: 'dir-a',
    armDeadlineMs: DEADLINE_MS,
    compareDecisions: async () => {},
    arms: true,
    clock,
    log: silentLog,
  });
  const again = await armOn(host, runId, [2]).then(
    () => 'armed a second time',
    () => 'not armed',
  );
  expect({ missing, slept, again, state: (await readPayout(desk.ledger, { runId, line: 2 })).state }).toMatchObject({
    slept: [2 * DEADLINE_MS, 2 * DEADLINE_MS],
  });
});

test('a comparison of logs that were read before the first season of an adopted ledger opens no later closing', async () => {
  // As it is right after an adoption.
  await desk.redis.hset(desk.keys.head, 'season', 'adopted');
  await desk.redis.hset(desk.keys.dirs, 'dir-a', '');
  const { server: now, name } = await desk.ledger.state.season();
  // This process has read its logs, and is held up. Another one of the directory compares, opens the season, and arms.
  const part = { dataDirId: 'dir-a', server: now, season: name, last: true, json: '[]', peers: [] };
  expect((await desk.ledger.state.compare(part)).result).toBe('open');
  await armPayout(desk.ledger, { runId, line: 2 });
  // Redis goes back to before that, under its own name, and somebody notices.
  await close();
  expect((await desk.ledger.state.compare(part)).result).toBe('changed');
});

test.each([
  ['in a closed season, and somebody looks before it comes', close, (): Promise<void> => looked()],
  ['in a closed season', close, async () => {}],
  ['in an open season', async (): Promise<string> => (await desk.ledger.state.season()).name, async () => {}],
] as const)(
  'a comparison of logs that were read %s does not count where Redis goes back to that',
  async (_, begin, look) => {
    const name = await begin();
    const putBack = await copyLedger(desk.redis, desk.prefix);
    const { server: now } = await desk.ledger.state.season();
    // This process has read its logs, and is held up. Another one of the directory compares, opens the season, and arms.
    const part = { dataDirId: 'dir-a', server: now, season: name, last: true, json: '[]', peers: [] };
    expect((await desk.ledger.state.compare(part)).result).toBe('open');
    await armPayout(desk.ledger, { runId, line: 2 });
    await putBack();
    await look();
    expect((await desk.ledger.state.compare(part)).result).toBe('changed');
    expect((await desk.ledger.state.season()).open).toBe(false);
  },
);

/** Whoever knows of that arming looks, again and again: it is one closing. */
async function looked(): Promise<void> {
  const { name } = await desk.ledger.state.season();
  expect((await desk.ledger.state.season()).name).toBe(name);
}
