import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { changeStored, forceState, putBack, type RecordPlace, textOfRecord } from '../support/records.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';
import { type Ended, parsed, payoutFile, runSchema, usePayrun } from './payrun.ts';

const MINUTES = { timeout: 180_000 };
const difference = z.strictObject({
  line: z.int(),
  reference: z.string(),
  paymentId: z.string(),
  what: z.string(),
  ledger: z.string().nullable(),
  service: z.string().nullable(),
});
const readBackSchema = z.strictObject({
  runId: z.string(),
  differences: z.array(difference),
  asked: z.int(),
  different: z.int(),
  unanswered: z.int(),
});

const redis = await useTestRedis();
const payrun = usePayrun();
let place: Record<string, string>;
let runId: string;
/** The records of the run as payrun wrote them. */
let records: string[];

/** Three payouts that the sandbox paid. */
beforeAll(async () => {
  place = { REDIS_URL: redis.url, PAYRUN_PREFIX: freshPrefix() };
  const file = payoutFile([
    ['INV-1', '10.00'],
    ['INV-2', '20.00'],
    ['INV-3', '30.00'],
  ]);
  writeFileSync(join(payrun.dir, 'three.csv'), file);
  runId = parsed(runSchema, (await payrun.run(['run', 'three.csv', '--json'], place)).stdout).runId;
  records = await Promise.all([2, 3, 4].map((line) => textOfRecord(placeAt(line))));
}, 180_000);
beforeEach(async () => {
  for (const [index, record] of records.entries()) {
    await putBack(placeAt(index + 2), record);
  }
});

function placeAt(line: number): RecordPlace {
  return { redis: redis.redis, prefix: place['PAYRUN_PREFIX'] ?? '', runId, line };
}

/** The beneficiary of a row of `payoutFile`, from 1. */
function idOf(row: number): string {
  return `00000000-0000-4000-8000-${String(row).padStart(12, '0')}`;
}

async function readBack(): Promise<z.infer<typeof readBackSchema> & { code: Ended['code'] }> {
  const { code, stdout } = await payrun.run(['report', runId, '--verify-with-service', '--json'], place);
  return { ...parsed(readBackSchema, stdout), code };
}

describe('payrun report RUN --verify-with-service', MINUTES, () => {
  test('reads every payment back and exits 0 when the service shows what the ledger has', async () => {
    expect(await readBack()).toEqual({ runId, differences: [], asked: 3, different: 0, unanswered: 0, code: 0 });
    const text = await payrun.run(['report', runId, '--verify-with-service', '--output', 'differences.csv'], place);
    expect(text).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('3 payments were read back: 0 differences'),
    });
    expect(readFileSync(join(payrun.dir, 'differences.csv'), 'utf8')).toBe(
      'line,reference,paymentId,what,ledger,service\r\n',
    );
  });

  test.each([
    ['an amount', { amt: '2100' }, ['source amount', '21.00', '20.00']],
    ['a beneficiary', { ben: idOf(9) }, ['beneficiary', idOf(9), idOf(2)]],
    ['a reference', { ref: 'INV-9' }, ['reference', 'INV-9', 'INV-2']],
    ['a currency', { dst: 'BRL' }, ['destination currency', 'BRL', 'MXN']],
    ['the state', { s: 'failed' }, ['outcome', 'failed', 'paid']],
    ['a state of the service', { ps: 'PENDING' }, ['state', 'PENDING', 'COMPLETED']],
  ])('tells %s that was changed in the ledger, and exits 1', async (_what, fields, expected) => {
    if ('s' in fields) await forceState(placeAt(3), { state: 'failed' });
    else await changeStored(placeAt(3), fields);
    const { code, differences } = await readBack();
    expect(code).toBe(1);
    expect(differences.map(({ line, what, ledger, service }) => [line, what, ledger, service])).toEqual([
      [3, ...expected],
    ]);
  });

  test('tells a payment that the service does not know, and one that the ledger does not have', async () => {
    const unknownId = '00000000-0000-4000-8000-00000000dead';
    await changeStored(placeAt(2), { q: unknownId, pid: unknownId });
    await forceState(placeAt(4), { state: 'rejected' });
    const { stdout, code } = await payrun.run(['report', runId, '--verify-with-service'], place);
    expect(code).toBe(1);
    expect(parse(stdout, { columns: true })).toMatchObject([
      { line: '2', reference: 'INV-1', paymentId: unknownId, what: 'payment', ledger: 'paid', service: '' },
      { line: '4', reference: 'INV-3', what: 'payment', ledger: 'rejected', service: 'COMPLETED' },
    ]);
  });

  test('and so does the report, with the line, when the rows in the ledger are not those that were handed in', async () => {
    const whole = await payrun.run(['report', runId, '--format', 'summary'], place);
    expect(whole).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('those that were handed in, by their hash'),
    });
    await changeStored(placeAt(3), { ben: '00000000-0000-4000-8000-000000000009' });
    const { code, stderr } = await payrun.run(['report', runId, '--format', 'summary'], place);
    expect(code).toBe(1);
    expect(stderr).toContain('the rows in the ledger are not those that were handed in');
    expect(stderr).toContain('something else than payrun changed 1 of them in Redis, on lines 3');
  });

  test('takes no other format', async () => {
    const ended = await payrun.run(['report', runId, '--verify-with-service', '--format', 'summary'], place);
    expect(ended).toMatchObject({ code: 2, stdout: '' });
  });
});
