import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, type TestContext, test } from 'vitest';
import { findRedisServer } from '../../src/redis/redis-server.ts';
import type { BookEntry } from '../support/paid-once.ts';
import type { Started } from '../support/payrun-processes.ts';
import { type Fleet, type FleetOptions, openFleet } from './fleet.ts';
import { type Host, missingNetwork, openNetwork, type Place } from './network.ts';
import { openServers, PASSWORD } from './redis-servers.ts';

type OnEnd = TestContext['onTestFinished'];

const run = promisify(execFile);
const TEST_MS_MAX = 6 * 60_000;
const METRICS_PORT = 9464;
const RATE_PER_SECOND = 8;
/** Payments in a row whose rate is looked at. */
const RATED = 24;
/** What was taken of the rate and is sent later, for the machine is slow: one payment of each worker, and the first of all. */
const TAKEN_BEFORE_MAX = 4;

interface Scene {
  readonly fleet: Fleet;
  /** Room for workers. */
  readonly hosts: readonly [Host, Host, Host];
  readonly redis: Host;
}

/** One host with Redis, one with the service, three for workers. */
async function openScene(onEnd: OnEnd, options: Omit<Partial<FleetOptions>, 'service'>): Promise<Scene> {
  const network = openNetwork();
  onEnd(() => network.close());
  const [redis, service] = [network.host('redis'), network.host('service')];
  const servers = openServers(await findRedisServer(undefined, (line) => console.error(line)));
  onEnd(() => servers.close());
  const { client, port } = await servers.redis(placeOf(redis));
  const fleet = await openFleet({
    redisUrl: `redis://:${PASSWORD}@${redis.addresses.ledger}:${port}`,
    ledger: async () => client,
    rows: 100,
    ...options,
    service: { address: service.addresses.service, through: service.through },
  });
  onEnd(() => fleet.close());
  return { fleet, redis, hosts: [network.host('one'), network.host('two'), network.host('three')] };
}

function placeOf({ addresses, through }: Host): Place {
  return { address: addresses.ledger, through };
}

/** A figure of the worker of a host, summed over its labels. */
async function figure({ through }: Host, name: string): Promise<number> {
  const script = `fetch('http://127.0.0.1:${METRICS_PORT}/metrics').then((r) => r.text()).then(console.log)`;
  const [program, ...words] = [...through, process.execPath, '-e', script];
  const { stdout } = await run(program, words);
  const values = [...stdout.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'gm'))].map(([, value]) =>
    Number(value),
  );
  return values.reduce((sum, value) => sum + value, 0);
}

/** The least time in milliseconds in which the service made so many payments. */
function briefest(book: readonly BookEntry[], count: number): number {
  const times = book.map(({ initiatedAt }) => initiatedAt).toSorted((one, other) => one - other);
  return Math.min(...times.slice(count - 1).map((last, index) => last - (times[index] ?? 0)));
}

const missing = missingNetwork();
const why = missing === undefined ? '' : ` (${missing})`;
const NAMES = ['one', 'two', 'three'] as const;
const payingEach = (fleet: Fleet): Promise<void> =>
  fleet.until('payments by each', () => NAMES.every((name) => fleet.intents(name) > 0));

async function comeAndGo(onEnd: OnEnd): Promise<string[]> {
  const settings = {
    PAYRUN_RATE: String(RATE_PER_SECOND),
    PAYRUN_CONCURRENCY: '1',
    PAYRUN_METRICS_PORT: String(METRICS_PORT),
  };
  // Slow until all have come and gone.
  const { fleet, hosts } = await openScene(onEnd, { rows: 120, settings, switches: ['answerDelayMs.payments=500'] });
  const [first, second, third] = hosts;
  const one = await fleet.worker('one', placeOf(first));
  await fleet.worker('two', placeOf(second));
  await fleet.submit(placeOf(first));
  await fleet.booked(5);

  await fleet.worker('three', placeOf(third));
  await payingEach(fleet);
  const refreshes = await Promise.all(hosts.map((host) => figure(host, 'payrun_token_refreshes_total')));
  expect(refreshes.reduce((sum, count) => sum + count, 0)).toBe(1);
  one.kill('SIGTERM');
  expect(await one.ended).toMatchObject({ code: 0 });

  // Said on one host, and it holds on all.
  const halted = await fleet.payrun(['halt', '--reason', 'drill', '--as', 'anna'], 'three', placeOf(third));
  expect(halted).toMatchObject({ code: 0 });
  await fleet.nothingSentFor(2000);
  await fleet.payrun(['sandbox', 'set', 'answerDelayMs.payments=0', '--folder', fleet.service.folder]);
  expect(await fleet.settled(placeOf(second))).toBe(1);
  expect(briefest(fleet.book(), RATED)).toBeGreaterThanOrEqual(((RATED - TAKEN_BEFORE_MAX) / RATE_PER_SECOND) * 1000);
  return await fleet.faults(placeOf(second));
}

async function cutOff(onEnd: OnEnd): Promise<string[]> {
  const { fleet, hosts, redis } = await openScene(onEnd, { switches: ['answerDelayMs.payments=300'] });
  const [first, second, third] = hosts;
  const workers: Started[] = [];
  for (const [index, name] of NAMES.entries()) workers.push(await fleet.worker(name, placeOf(hosts[index] ?? first)));
  await fleet.submit(placeOf(first));
  await payingEach(fleet);
  second.drop(redis.addresses.ledger);
  third.unplug('ledger');
  third.unplug('service');
  expect(fleet.book().length).toBeLessThan(100);
  // The first one alone: what the others had under way is looked up, and what they had taken is given to it.
  expect(await fleet.settled(placeOf(first))).toBe(0);
  const sent = fleet.book();

  second.pass(redis.addresses.ledger);
  third.plug('ledger');
  third.plug('service');
  for (const worker of workers) expect(worker.hasEnded).toBe(false);
  for (const [host, name] of [[second, 'two'] as const, [third, 'three'] as const]) {
    const isBack = async (): Promise<boolean> => (await fleet.payrun(['list'], name, placeOf(host))).code === 0;
    await fleet.until(`${name}, back again`, isBack);
  }
  expect(fleet.book()).toEqual(sent);
  return await fleet.faults(placeOf(first));
}

test
  .skipIf(missing !== undefined)
  .concurrent(
    `hosts that join and leave in the middle share run, token, rate and halt, and each row is paid once${why}`,
    { timeout: TEST_MS_MAX },
    async ({ onTestFinished }) => expect(await comeAndGo(onTestFinished)).toEqual([]),
  );

test
  .skipIf(missing !== undefined)
  .concurrent(
    `one host is cut off from Redis and can still pay, one is cut off from all: the rest pays on, each row once${why}`,
    { timeout: TEST_MS_MAX },
    async ({ onTestFinished }) => expect(await cutOff(onTestFinished)).toEqual([]),
  );
