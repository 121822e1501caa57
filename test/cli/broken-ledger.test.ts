import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { blockOf, ledgerKeys } from '../../src/ledger/keys.ts';
import { changeStored, putBack, type RecordPlace, textOfRecord } from '../support/records.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';
import { parsed, payoutFile, runSchema, usePayrun } from './payrun.ts';

const MINUTES = { timeout: 240_000 };
const PREFIX = freshPrefix();

const redis = await useTestRedis();
const payrun = usePayrun();
let place: Record<string, string>;
let runId: string;
/** The ledger as payrun left it, key by key. */
let whole: Map<string, Buffer>;

/** Three payouts of 10, 20 and 30 USD that were paid. */
beforeAll(async () => {
  place = { REDIS_URL: redis.url, PAYRUN_PREFIX: PREFIX };
  const rows = [10, 20, 30].map((amount) => [`INV-${amount}`, `${amount}.00`] as const);
  writeFileSync(join(payrun.dir, 'three.csv'), payoutFile(rows));
  runId = parsed(runSchema, (await payrun.run(['run', 'three.csv', '--json'], place)).stdout).runId;
  const keys = await redis.redis.keys(`${PREFIX}*`);
  const dumps = keys.map(async (key) => [key, (await redis.redis.dumpBuffer(key)) ?? Buffer.alloc(0)] as const);
  whole = new Map(await Promise.all(dumps));
}, 180_000);
beforeEach(async () => {
  await redis.redis.del(...(await redis.redis.keys(`${PREFIX}*`)));
  for (const [key, dump] of whole) await redis.redis.restore(key, 0, dump);
});

function placeAt(line: number): RecordPlace {
  return { redis: redis.redis, prefix: PREFIX, runId, line };
}

/** Makes the run say what its rows add up to. */
async function countAnew(rows: number, usd: number): Promise<void> {
  const fields = { rows, 'n:completed': rows, 'm:USD:paid': usd * 100, fileTotals: `USD ${usd}.00` };
  const key = ledgerKeys(PREFIX).run(runId);
  expect(await redis.redis.hmget(key, ...Object.keys(fields))).toEqual(['3', '3', '6000', 'USD 60.00']);
  await redis.redis.hset(key, fields);
}

const RUN_CHANGED = 'was changed in Redis by something else than payrun';

const BROKEN: readonly [what: string, change: () => Promise<void>, found: readonly string[]][] = [
  [
    'a row was removed',
    async () => {
      await redis.redis.hdel(ledgerKeys(PREFIX).rows(runId, blockOf(3)), '3');
      await countAnew(2, 40);
    },
    ['the rows in the ledger are not those that were handed in', RUN_CHANGED],
  ],
  [
    'an amount was changed',
    async () => {
      await changeStored(placeAt(3), { amt: '2100', sam: '2100' });
      await countAnew(3, 61);
    },
    [
      'the rows in the ledger are not those that were handed in',
      RUN_CHANGED,
      'something else than payrun changed 1 of them in Redis, on lines 3',
    ],
  ],
  [
    'a payment was added',
    async () => {
      await putBack(placeAt(5), await textOfRecord(placeAt(4)));
      await redis.redis.setrange(ledgerKeys(PREFIX).states(runId), 5, await stateAt(4));
      await changeStored(placeAt(5), { ref: 'INV-40', q: '00000000-0000-4000-8000-00000000abcd' });
      await redis.redis.hset(ledgerKeys(PREFIX).run(runId), 'lastLine', 5);
      await countAnew(4, 90);
    },
    [
      'the rows in the ledger are not those that were handed in',
      RUN_CHANGED,
      'something else than payrun changed 1 of them in Redis, on lines 5',
    ],
  ],
  [
    'a beneficiary was changed',
    async () => await changeStored(placeAt(3), { ben: '00000000-0000-4000-8000-000000000009' }),
    [
      'the rows in the ledger are not those that were handed in',
      'something else than payrun changed 1 of them in Redis, on lines 3',
    ],
  ],
];

async function stateAt(line: number): Promise<string> {
  return await redis.redis.getrange(ledgerKeys(PREFIX).states(runId), line, line);
}

describe('payrun report finds a ledger that was broken, its counters rewritten to match:', MINUTES, () => {
  test('none where nothing was', async () => {
    const { code, stdout } = await payrun.run(['report', runId, '--format', 'summary'], place);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining('those that were handed in, by their hash'),
    });
  });

  test.each(BROKEN)('%s', async (_what, change, found) => {
    await change();
    const { code, stderr } = await payrun.run(['report', runId, '--format', 'summary'], place);
    expect(code).toBe(1);
    expect(stderr).toContain('THIS REPORT DOES NOT TIE');
    for (const fault of found) expect(stderr).toContain(fault);
  });

  test('and also one of which only the counters were changed', async () => {
    await redis.redis.hset(ledgerKeys(PREFIX).run(runId), { 'm:USD:paid': 5000, 'm:USD:pending': 1000 });
    const { code, stderr } = await payrun.run(['report', runId, '--format', 'summary'], place);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("the run's counter says") });
  });
});
