import {
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { onReplyTo } from '../support/proxy-moment.ts';
import type { TcpProxy } from '../support/tcp-proxy.ts';
import { connection, type RedisProcess } from './redis-process.ts';
import {
  ARMING,
  appendedFile,
  armings,
  isHalted,
  ledOn,
  nothingSentFor,
  rowsFrom,
  SENT_AT_LAST_MS,
  SLOWLY,
} from './redis-steps.ts';
import { type Rig, redisUrlOf } from './rig.ts';
import { faultRow } from './row.ts';

/** One payment after the other, each under way for a while. The pace keeps the next one from being armed while one is recorded. */
const ONE_BY_ONE = {
  rows: 16,
  switches: { answerDelayMs: { payments: 300 } },
  settings: { PAYRUN_CONCURRENCY: '1', PAYRUN_RATE: '2' },
} as const;

/** Until a payment request is under way whose payout Redis knows as armed, and nothing more. */
async function sentAndArmed(rig: Rig, payments: number): Promise<void> {
  await rig.until(
    'a request under way',
    async () => rig.service.counters().payments > payments && (await rig.states())['armed'] === 1,
  );
}

/** Redis does not start on its broken log: it is mended as the runbook says, and started. */
async function mended(rig: Rig, words: RegExp): Promise<void> {
  await expect(rig.redis.start()).rejects.toThrow(words);
  rig.redis.fix();
  await rig.redis.start();
}

faultRow({
  ids: ['F15'],
  fault: 'the last 5 bytes of the append-only file are lost',
  tries: { short: 1, long: 3 },
  ...SLOWLY,
  async body(rig) {
    await rig.submit();
    await rig.startWorker('one');
    await rig.booked(8);
    await rig.redis.kill();
    const file = appendedFile(rig.redis);
    truncateSync(file, statSync(file).size - 5);
    await mended(rig, /Unexpected end of file/);
    await ledOn(rig);
  },
});

faultRow({
  ids: ['F15'],
  fault: 'the append-only file loses its last arming, whose payment request had been sent',
  tries: { short: 1, long: 2 },
  ...ONE_BY_ONE,
  async body(rig) {
    await rig.submit();
    await rig.startWorker('one');
    await rig.booked(5);
    await sentAndArmed(rig, rig.service.counters().payments);
    await rig.redis.kill();
    const file = appendedFile(rig.redis);
    const log = readFileSync(file, 'latin1');
    truncateSync(file, log.lastIndexOf('*1\r\n$5\r\nMULTI\r\n', log.lastIndexOf('armings')));
    await rig.redis.start();
    expect(await ledOn(rig)).toBeGreaterThan(0);
  },
});

faultRow({
  ids: ['F16'],
  fault: 'a byte in the middle of the append-only file is another one',
  tries: { short: 1, long: 3 },
  ...SLOWLY,
  async body(rig) {
    await rig.submit();
    await rig.startWorker('one');
    await rig.booked(8);
    const middle = statSync(appendedFile(rig.redis)).size;
    await rig.booked(25);
    await rig.redis.kill();
    const file = appendedFile(rig.redis);
    const log = readFileSync(file);
    log.write('%', log.indexOf('\r\n$', middle) + 2, 'latin1');
    writeFileSync(file, log);
    await mended(rig, /Bad file format/);
    expect(await ledOn(rig)).toBeGreaterThan(0);
  },
});

/** Puts a copy of the data in Redis's place. */
async function rolledBack(rig: Rig, copy: string): Promise<void> {
  await rig.redis.kill();
  rig.redis.restoreFrom(copy);
  await rig.redis.start();
}

for (const [words, knows] of [
  ['which knows the directory of the stopped one', true],
  ['from before the stopped one came', false],
] as const) {
  faultRow({
    ids: ['F17'],
    fault: `Redis is restored from an old copy under two workers, one stopped between arming and sending, ${words}`,
    tries: { short: 1, long: 3 },
    rows: 90,
    // A small window leaves work for the second worker, a pace leaves payments for after the copy.
    settings: { PAYRUN_CONCURRENCY: '4', PAYRUN_WINDOW: '8', PAYRUN_RATE: '10' },
    async body(rig) {
      const copy = join(rig.folder, 'copy');
      await rig.submit();
      const first = await rig.startWorker('one');
      await rig.booked(5);
      first.kill('SIGTERM');
      await first.ended;
      if (!knows) rig.redis.copyTo(copy);
      // Both at the same time, so that the second one finds work however long they take to start.
      const [, two] = await Promise.all([rig.startWorker('one'), rig.startWorker('two', { crashAt: 'C6 SIGSTOP 2' })]);
      if (knows) rig.redis.copyTo(copy);
      await two.said('at the crash point');
      await rig.booked(Math.min(rig.book().length + 30, rig.rows - 20));
      const armed = await armings(rig);
      await rolledBack(rig, copy);
      expect(await armings(rig)).toBeLessThan(armed);
      await delay(SENT_AT_LAST_MS);
      const sent = rig.service.counters().payments;
      // Nothing is sent before the stopped one has said what it sent, whoever releases what.
      for (const name of ['anna', 'bob']) await rig.payrun(['release', '--as', name]);
      await delay(4000);
      expect(rig.service.counters().payments).toBe(sent);
      two.kill('SIGCONT');
      expect(await ledOn(rig)).toBeGreaterThan(0);
    },
  });
}

faultRow({
  ids: ['F62'],
  fault: 'a worker stands still with the reply to its arming unread, Redis goes back, and it wakes in the next season',
  tries: { short: 1, long: 3 },
  ...SLOWLY,
  outcomes: 'any',
  async body(rig) {
    const worker = await rig.startWorker('one');
    await rig.submit({ name: 'first.csv', file: rowsFrom(rig.file, 1, 5) });
    await rig.until('five paid', async () => (await rig.states())['completed'] === 5);
    worker.kill('SIGTERM');
    await worker.ended;
    await rig.submit({ file: rowsFrom(rig.file, 6, 40) });
    const copy = join(rig.folder, 'copy');
    rig.redis.copyTo(copy);
    const link = await rig.linkTo(rig.redis.socket);
    const held = link.set({ do: 'hold', ways: ['reply'], when: onReplyTo(ARMING), connectionsMax: 1 });
    const alone = { PAYRUN_CONCURRENCY: '1' };
    // On the same directory: whoever is there compares its log, and the season opens without the sleeper.
    const sleeper = await rig.startWorker('one', { redisUrl: redisUrlOf(link), settings: alone });
    await rig.until('an arming whose reply is on its way', () => held.hits === 1);
    expect(await armings(rig)).toBeGreaterThan(5);
    sleeper.kill('SIGSTOP');
    link.set({ do: 'pass' });
    await delay(100);
    await rolledBack(rig, copy);
    await rig.startWorker('one');
    await rig.booked(25);
    sleeper.kill('SIGCONT');
    await rig.until('an end', async () => (await rig.states())['ready'] === 0 || (await isHalted(rig)));
  },
});

faultRow({
  ids: ['F64'],
  fault: 'Redis is restored from before the submit, and the same command is given again',
  tries: { short: 1, long: 2 },
  outcomes: { paid: 40 },
  ...SLOWLY,
  async body(rig) {
    const worker = await rig.startWorker('one');
    await rig.submit({ name: 'first.csv', file: rowsFrom(rig.file, 1, 5) });
    await rig.booked(5);
    await rig.until('five paid', async () => (await rig.states())['completed'] === 5);
    const copy = join(rig.folder, 'copy');
    rig.redis.copyTo(copy);
    const second = { file: rowsFrom(rig.file, 6, 40) };
    await rig.submit(second);
    await rig.booked(20);
    worker.kill('SIGKILL');
    await rolledBack(rig, copy);
    await rig.submit(second).catch(() => {});
    await rig.startWorker('one');
    await rig.submit(second);
    expect(await ledOn(rig)).toBeGreaterThan(0);
  },
});

/** Makes a server a replica of the one behind a socket, in step with it; the way from the one to the other. */
async function follow(rig: Rig, replica: RedisProcess, socket: string): Promise<TcpProxy> {
  const link = await rig.linkTo(socket);
  await replica.client.replicaof('127.0.0.1', 'port' in link.end ? link.end.port : 0);
  const isInStep = async () => /master_link_status:up/.test(await replica.client.info('replication'));
  await rig.until('a replica in step', isInStep);
  return link;
}

/** Everybody who connects from now on comes to the server behind this socket. */
async function pointTo(rig: Rig, socket: string): Promise<void> {
  const first = firstSocket(rig);
  if (!existsSync(first)) renameSync(rig.redis.socket, first);
  rmSync(rig.redis.socket, { force: true });
  symlinkSync(socket, rig.redis.socket);
  rig.redisLink.set({ do: 'cut' });
  rig.redisLink.set({ do: 'pass' });
  rig.redis.client.disconnect(true);
  for (const isThere of [false, true]) {
    await rig.until('a connection to it', () => (rig.redis.client.status === 'ready') === isThere);
  }
}

function firstSocket({ redis }: Rig): string {
  return `${redis.socket}.first`;
}

faultRow({
  ids: ['F27'],
  fault: 'a fail-over to a replica that had fallen behind a primary which waits for it',
  tries: { short: 1, long: 2 },
  redis: { args: ['--min-replicas-to-write', '1', '--min-replicas-max-lag', '2'] },
  settings: { PAYRUN_CONCURRENCY: '4' },
  switches: SLOWLY.switches,
  async body(rig) {
    const replica = await rig.anotherRedis();
    const link = await follow(rig, replica, rig.redis.socket);
    await rig.submit();
    await rig.startWorker('one');
    await rig.booked(8);
    link.set({ do: 'hold', ways: ['reply'] });
    await nothingSentFor(rig, 5000);
    await rig.redis.kill();
    await replica.client.replicaof('NO', 'ONE');
    await pointTo(rig, replica.socket);
    await ledOn(rig);
  },
});

/** Accepted by the operator, and so in each report: a primary that goes on without its replica. */
const ALONE = { PAYRUN_CONCURRENCY: '4', PAYRUN_REDIS_DURABILITY: 'overridden' };

faultRow({
  ids: ['F27'],
  fault: 'a fail-over to a replica that lost armings, as the operator had accepted',
  tries: { short: 1, long: 2 },
  settings: ALONE,
  switches: SLOWLY.switches,
  async body(rig) {
    const replica = await rig.anotherRedis();
    const link = await follow(rig, replica, rig.redis.socket);
    await rig.submit();
    await rig.startWorker('one');
    await link.refuse();
    link.set({ do: 'cut' });
    await rig.booked(12);
    await rig.redis.kill();
    await replica.client.replicaof('NO', 'ONE');
    await pointTo(rig, replica.socket);
    expect(await ledOn(rig)).toBeGreaterThan(0);
  },
});

faultRow({
  ids: ['F67'],
  fault: 'a fail-over and a fail-back, and only the server in between knew the last armings',
  tries: { short: 1, long: 2 },
  settings: ALONE,
  switches: SLOWLY.switches,
  async body(rig) {
    const replica = await rig.anotherRedis();
    await follow(rig, replica, rig.redis.socket);
    await rig.submit();
    await rig.startWorker('one');
    await rig.booked(6);
    await replica.client.replicaof('NO', 'ONE');
    await pointTo(rig, replica.socket);
    await ledOn(rig);
    await rig.booked(16);
    // The first one was to follow the other, which it never reached, and is primary again, without a restart.
    const first = connection(firstSocket(rig));
    await first.replicaof('127.0.0.1', 1);
    await first.replicaof('NO', 'ONE');
    first.disconnect();
    await pointTo(rig, firstSocket(rig));
    await replica.kill();
    expect(await ledOn(rig)).toBeGreaterThan(0);
  },
});

faultRow({
  ids: ['F67'],
  fault: 'a fail-over, and a fail-back to a primary that was never told of it and has not changed its ids',
  tries: { short: 1, long: 2 },
  redis: { args: ['--min-replicas-to-write', '1'] },
  settings: { PAYRUN_CONCURRENCY: '4' },
  switches: SLOWLY.switches,
  async body(rig) {
    const next = await rig.anotherRedis();
    const third = await rig.anotherRedis();
    for (const replica of [next, third]) await follow(rig, replica, rig.redis.socket);
    await rig.submit();
    await rig.startWorker('one');
    await rig.booked(6);
    rig.redis.signal('SIGSTOP');
    await next.client.replicaof('NO', 'ONE');
    await next.client.config('SET', 'min-replicas-to-write', '1');
    await follow(rig, third, next.socket);
    await pointTo(rig, next.socket);
    await ledOn(rig);
    await rig.booked(20);
    await next.kill();
    rig.redis.signal('SIGCONT');
    await follow(rig, third, firstSocket(rig));
    await pointTo(rig, firstSocket(rig));
    // The next arming finds that Redis knows of fewer than there were.
    await rig.until('that it is noticed', () => isHalted(rig));
    expect(await ledOn(rig)).toBeGreaterThan(0);
  },
  // Where a payment was under way, its row may be held.
  outcomes: 'any',
});
