import { expect, test } from 'vitest';
import type { NotedOutage } from '../../src/ledger/outages.ts';
import { type OutageDeps, watchOutages } from '../../src/runs/outages.ts';

const BEGAN = Date.UTC(2026, 3, 1);
const NOW = '2026-04-01T00:00:0';

interface World {
  /** Seconds from the beginning to the end of what is away. */
  readonly service?: readonly [number, number];
  readonly redis?: readonly [number, number];
  readonly disk?: readonly [number, number];
  /** The disk of the intent logs, and what the system says of it. */
  readonly intents?: readonly [number, number];
  readonly code?: string;
  /** No comparison of the intent logs of another host's data directory, of one's own or of both. */
  readonly uncompared?: readonly [number, number];
  readonly missing?: readonly string[];
  /** What became of the latest request to the service. */
  readonly why?: string;
  readonly serviceName?: string;
  readonly seconds: number;
  readonly redisWaitMs?: number;
}

/** What is said, each with the second in which it was, and what others can read. */
async function watched(world: World): Promise<{ said: [number, string][]; noted: (readonly NotedOutage[])[] }> {
  let at = 0;
  const said: [number, string][] = [];
  const noted: (readonly NotedOutage[])[] = [];
  const end = new AbortController();
  const isAway = (times: readonly [number, number] = [0, 0]): boolean => at / 1000 >= times[0] && at / 1000 < times[1];
  let waiting: (() => void)[] = [];
  const deps: OutageDeps = {
    clock: {
      now: () => BEGAN + at,
      monotonic: () => at,
      async sleep(ms) {
        await new Promise((resolve) => setImmediate(resolve));
        at += ms;
        if (!isAway(world.redis)) {
          for (const resolve of waiting) resolve();
          waiting = [];
        }
        if (at >= world.seconds * 1000) end.abort();
      },
    },
    dataDirId: 'own',
    serviceName: world.serviceName ?? 'https://service.example test t1',
    place: '/data',
    config: { dataDir: '/data' },
    answering: {
      away: () =>
        isAway(world.service)
          ? { since: BEGAN + (world.service?.[0] ?? 0) * 1000, operation: null, fault: world.why ?? null }
          : null,
      hasAnswered: () => world.why !== 'ENOTFOUND',
    },
    intentRoom: {
      folder: '/data/intents',
      isThere: async () => !isAway(world.intents),
      fault: () =>
        isAway(world.intents) ? { since: BEGAN + (world.intents?.[0] ?? 0) * 1000, code: world.code } : undefined,
    },
    freeBytes: async () => (isAway(world.disk) ? 0 : 1e9),
    ledger: {
      state: {
        season: async () => {
          if (isAway(world.redis)) await new Promise<void>((resolve) => waiting.push(resolve));
          const missing = isAway(world.uncompared) ? (world.missing ?? ['own', 'lost']) : [];
          return { open: missing.length === 0, server: 's', missing, dataDirIds: [], strangers: [], name: 'before' };
        },
        dirPlaces: async (ids) => ids.map((id) => (id === 'known' ? '/data/b on host-b' : null)),
      },
      outages: {
        note: async (outages) => void noted.push(outages),
        forget: async () => void noted.push([]),
        read: async () => [],
      },
    },
  };
  const say = (line: string): void => void said.push([at / 1000, line]);
  await watchOutages(deps, {
    stop: end.signal,
    say,
    progress: () => '51 of 300 rows were sent, 249 wait.',
    redisWaitMs: world.redisWaitMs,
    writeOff: 'write off ID',
    neverAnswered: 'See the address.',
  });
  return { said, noted };
}

const GOES_ON = '51 of 300 rows were sent, 249 wait. payrun keeps trying and goes on by itself.';

test('a service that is away is told at once with what waits, once, and again when it is back', async () => {
  const { said, noted } = await watched({ service: [3, 45], seconds: 50 });
  expect(said).toEqual([
    [3, `The payments service (https://service.example test t1) has not answered since ${NOW}3.000Z. ${GOES_ON}`],
    [45, 'The payments service (https://service.example test t1) answers again after 42 s.'],
  ]);
  expect(noted).toHaveLength(43);
  expect(noted.at(-1)).toEqual([]);
  expect(noted[0]).toMatchObject([{ what: 'service', since: BEGAN + 3000 }]);
});

test('Redis that is silent is told within five seconds, and then that it is back', async () => {
  const { said } = await watched({ redis: [3, 30], seconds: 40 });
  expect(said.map(([, line]) => line)).toEqual([
    expect.stringContaining(`Redis of the ledger (/data) has not answered since ${NOW}3.000Z`),
    expect.stringContaining('Redis of the ledger (/data) answers again after'),
  ]);
  expect(said[0]?.[0]).toBeLessThanOrEqual(3 + 5);
});

test('where Redis is not waited for without end, the end is told', async () => {
  const { said } = await watched({ redis: [3, 30], seconds: 40, redisWaitMs: 900_000 });
  expect(said[0]?.[1]).toMatch(/249 wait\. payrun waits 15 min at most and goes on by itself\.$/);
});

test('a full disk is told by its name in one line, not with every row that waits for it', async () => {
  const { said } = await watched({ disk: [1, 40], seconds: 45 });
  expect(said.map(([, line]) => line)).toEqual([
    `The disk of /data has been full since ${NOW}1.000Z. ${GOES_ON}`,
    'The disk of /data has room again after 39 s.',
  ]);
});

test.each([
  ['ENOSPC', 'has been full', 'has room again'],
  ['EROFS', 'has been read-only', 'can be written again'],
])(
  'a disk that takes no intent line (%s) is told by its name in one line, and to those who only look',
  async (code, words, back) => {
    const { said, noted } = await watched({ intents: [1, 40], code, seconds: 45 });
    expect(said.map(([, line]) => line)).toEqual([
      `The disk of /data/intents ${words} since ${NOW}1.000Z. ${GOES_ON}`,
      `The disk of /data/intents ${back} after 39 s.`,
    ]);
    expect(noted[0]).toEqual([{ what: 'disk', name: 'The disk of /data/intents', since: BEGAN + 1000, fault: words }]);
  },
);

test('what a full disk keeps from answering, a private Redis or the sandbox, is not told beside it', async () => {
  const { said } = await watched({
    disk: [1, 40],
    redis: [3, 10],
    service: [2, 30],
    serviceName: 'sandbox',
    seconds: 45,
  });
  expect(said.map(([second, line]) => [second, line.split(' ', 2).join(' ')])).toEqual([
    [1, 'The disk'],
    [40, 'The disk'],
  ]);
});

test('a private Redis that was told before its disk was seen to be full is back once the disk has room', async () => {
  const { said } = await watched({ disk: [8, 40], redis: [3, 10], seconds: 45 });
  expect(said.map(([, line]) => line.split(' ', 2).join(' '))).toEqual([
    'Redis of',
    'The disk',
    'The disk',
    'Redis of',
  ]);
});

test.each([
  ['ECONNREFUSED', 'has not answered (ECONNREFUSED)', ''],
  ['UND_ERR_SOCKET', 'has not answered (the connection was closed without an answer)', ''],
  ['HTTP 503', 'has been answering HTTP 503', ''],
  ['HTTP 200 with a page', 'has been answering HTTP 200 with a page', ''],
  ['ENOTFOUND', 'has not answered (ENOTFOUND)', ' See the address.'],
])('a service that is away is shown with what became of the latest request: %s', async (why, words, hint) => {
  const { said } = await watched({ service: [3, 10], seconds: 5, why });
  expect(said[0]?.[1]).toBe(
    `The payments service (https://service.example test t1) ${words} since ${NOW}3.000Z. ${GOES_ON}${hint}`,
  );
});

test('an outage that goes on is told again each minute', async () => {
  const { said } = await watched({ service: [0, 150], seconds: 150 });
  expect(said.map(([second]) => second)).toEqual([0, 60, 120]);
});

test('a data directory that keeps everything waiting is named with the folder and the host where it was seen last', async () => {
  const { said } = await watched({ uncompared: [3, 20], missing: ['own', 'known', 'lost'], seconds: 15 });
  expect(said[0]?.[1]).toContain('of the data directories known (/data/b on host-b), lost.');
});

function waits(seconds: number): string {
  return (
    `Nothing has been sent since ${NOW}3.000Z (${seconds} s): Redis was restarted, and nobody has compared the intent logs of ` +
    'the data directory lost. 51 of 300 rows were sent, 249 wait. Start a worker on it. If it does not come back, ' +
    'two people write it off: write off lost.'
  );
}

test('a data directory of another host that keeps everything waiting since Redis was restarted is told with the way out', async () => {
  const { said, noted } = await watched({ uncompared: [3, 90], seconds: 95 });
  expect(said).toEqual([
    [13, waits(10)],
    [73, waits(70)],
    [
      expect.closeTo(90, 0),
      expect.stringMatching(/^Nothing waits for the data directory lost any more, after 8[78] s\.$/),
    ],
  ]);
  expect(noted).toEqual([]);
});

test.each([
  { why: 'it takes no longer than workers need', uncompared: [3, 12] as const },
  { why: 'it is one’s own', uncompared: [3, 90] as const, missing: ['own'] },
])('a comparison after a restart of Redis is not told where $why', async ({ why: _why, ...world }) => {
  expect((await watched({ ...world, seconds: 95 })).said).toEqual([]);
});
