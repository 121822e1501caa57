import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { expect, test } from 'vitest';
import { recordRun } from '../runs/recorded-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { openApiRig } from './api-rig.ts';

const ROWS = 100_000;
const SLOW_MS = 300_000;

const server = await useTestRedis();

/** The app with a large run, and how much of its rows was read and let go. */
async function openLargeRun() {
  const rig = await openApiRig(server.url);
  const { runs } = rig.app.ledger;
  const runId = await recordRun(rig.app.ledger, { lines: Array.from({ length: ROWS }, (_, index) => index + 2) });
  const reading = { rows: 0, ended: 0 };
  const rows = runs.rows.bind(runs);
  runs.rows = async function* counted(...asked) {
    try {
      for await (const batch of rows(...asked)) {
        reading.rows += batch.length;
        yield batch;
      }
    } finally {
      reading.ended++;
    }
  };
  const { headers } = await rig.person('anna', 'viewer');
  const begin = async (path: string): Promise<IncomingMessage> => {
    const asking = request(`${rig.base}/api/v1/runs/${runId}${path}`, { headers: { ...headers } });
    asking.on('error', () => {});
    asking.end();
    const [answer] = (await once(asking, 'response')) as [IncomingMessage];
    return answer;
  };
  return { ...rig, reading, begin };
}

async function linesOf(answer: IncomingMessage): Promise<number> {
  let lines = 0;
  for await (const chunk of answer) for (const byte of chunk as Buffer) if (byte === 0x0a) lines++;
  return lines;
}

test(
  'what is downloaded of 100,000 rows begins before they are read, is read no faster than it is taken, and not for nobody',
  async () => {
    const { begin, reading, stranger } = await openLargeRun();
    for (const [path, lines] of [
      ['/report?format=csv', ROWS + 1],
      ['/report?format=json', ROWS + 2],
      ['/payouts?format=ndjson', ROWS],
    ] as const) {
      reading.rows = 0;
      const answer = await begin(path);
      const { statusCode: status, headers } = answer;
      expect({ path, status, encoding: headers['transfer-encoding'] }).toEqual({
        path,
        status: 200,
        encoding: 'chunked',
      });
      await once(answer, 'readable');
      expect(reading.rows).toBeLessThan(ROWS);
      expect({ path, lines: await linesOf(answer), read: reading.rows }).toEqual({ path, lines, read: ROWS });
    }

    reading.rows = 0;
    reading.ended = 0;
    const answer = await begin('/report?format=json');
    await once(answer, 'readable');
    // Nobody reads on: what is under way is what sockets hold, a few of its 60 megabytes, while others are answered.
    for (let times = 0; times < 500; times++) await stranger.call('GET', '/nothing');
    expect(reading).toEqual({ rows: expect.any(Number), ended: 0 });
    expect(reading.rows).toBeLessThan(ROWS * 0.75);
    answer.destroy();
    await expect.poll(() => reading.ended, { timeout: SLOW_MS }).toBe(1);
    expect(reading.rows).toBeLessThan(ROWS);
  },
  SLOW_MS,
);
