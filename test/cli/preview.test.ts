import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { openSandbox } from '../sandbox/desk.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';
import { type Ended, parsed, payoutFile, problemsSchema, reportSchema, usePayrun } from './payrun.ts';

const decimal = z.string().regex(/^[0-9]+(\.[0-9]+)?$/);
const money = z.strictObject({ amount: decimal, currency: z.string().length(3) });
const costPair = z.string().regex(/^[0-9]+ [0-9]+$/);

/** What `preview --json` prints. */
const previewSchema = problemsSchema.extend({
  sha256: z.string(),
  service: z.string(),
  sandbox: z.boolean(),
  quotes: z.strictObject({
    sample: z.union([z.int(), z.literal('all')]),
    asked: z.int(),
    usable: z.int(),
    unquoted: z.int(),
    unasked: z.int(),
    ended: z.strictObject({ code: z.string(), reason: z.string() }).nullable(),
  }),
  funds: z.array(
    z.strictObject({
      currency: z.string().length(3),
      amount: decimal,
      fees: decimal,
      needed: decimal,
      estimate: z.boolean(),
      balance: z.strictObject({ available: decimal.nullable(), short: decimal.nullable() }).nullable(),
    }),
  ),
  arriving: z.array(z.strictObject({ currency: z.string().length(3), amount: decimal, estimate: z.boolean() })),
  rowsUnpriced: z.int(),
  corridors: z.array(
    z.strictObject({
      corridor: z.string(),
      sourceCurrency: z.string(),
      destinationCurrency: z.string(),
      amountType: z.string(),
      thirdParty: z.boolean(),
      rows: z.int(),
      amount: decimal,
      quoted: z.int(),
      unquoted: z.int(),
      payable: z.int(),
      estimate: z.boolean(),
      sourceAmount: decimal.nullable(),
      destinationAmount: decimal.nullable(),
      fees: z.array(money).nullable(),
      rates: z.strictObject({ lowest: decimal, highest: decimal }).nullable(),
    }),
  ),
  unquotedRows: z.array(
    z.strictObject({
      line: z.int(),
      reference: z.string(),
      amount: decimal,
      currency: z.string(),
      outcome: z.enum(['held', 'rejected', 'waiting']),
      code: z.string(),
      reason: z.string(),
    }),
  ),
  time: z
    .strictObject({
      ms: z.int(),
      basis: z.enum(['rate', 'latency']),
      ratePerSecond: z.int().nullable(),
      quoteMs: z.int().nullable(),
      concurrency: z.int(),
    })
    .nullable(),
  costBasis: z.record(z.string(), z.strictObject({ mean: costPair, worst: costPair })),
  foreseen: z
    .looseObject({ pays: z.looseObject({ rows: z.int() }), stopped: z.array(z.looseObject({ code: z.string() })) })
    .nullable(),
});

/** What a preview must tie with. */
const bookingSchema = z.array(
  z.looseObject({ currency: z.string(), debited: decimal, debitedPayments: z.int(), fees: decimal }),
);

const redis = await useTestRedis();
const payrun = usePayrun();
let place: Record<string, string>;
let places = 0;

vi.setConfig({ testTimeout: 180_000 });

/** Each test has a folder for temporary files of its own, and a data directory that is not there yet. */
beforeEach(() => {
  places++;
  const temporary = join(payrun.dir, `tmp-${places}`);
  mkdirSync(temporary);
  place = { TMPDIR: temporary, PAYRUN_DATA_DIR: join(payrun.dir, `data-${places}`) };
});

const run = (...words: string[]): Promise<Ended> => payrun.run(words, place);

function write(name: string, text: string): void {
  writeFileSync(join(payrun.dir, name), text);
}

function manyRows(count: number): string {
  return payoutFile(Array.from({ length: count }, (_, index) => [`INV-${index}`, `${10 + ((index * 31) % 977)}.25`]));
}

describe('preview', () => {
  test('leaves nothing behind and needs no Redis', async () => {
    write('three.csv', manyRows(3));
    const { code, stdout } = await payrun.run(['preview', 'three.csv', '--sandbox'], {
      ...place,
      REDIS_URL: 'redis://127.0.0.1:9',
    });
    expect(code).toBe(0);
    expect(stdout).toMatch(/USD {2,}123\.75 {2,}[0-9.]+ {2,}[0-9.]+/);
    expect(stdout).toContain('sandbox: simulated rates and fees, no money moves');
    expect(readdirSync(place['TMPDIR'] ?? '')).toEqual([]);
    expect(existsSync(place['PAYRUN_DATA_DIR'] ?? '')).toBe(false);
  });

  test('makes no payment and arms nothing at a service, whatever the size of the file', async () => {
    write('many.csv', manyRows(400));
    const sandbox = await openSandbox();
    const { clientId, clientSecret } = await sandbox.createCredential('preview', 'test');
    const { code, stdout } = await payrun.run(['preview', 'many.csv', '--json'], {
      ...place,
      PAYRUN_SERVICE_URL: sandbox.url('test'),
      PAYRUN_CLIENT_ID: clientId,
      PAYRUN_CLIENT_SECRET: clientSecret,
      PAYRUN_TENANT_ID: sandbox.tenantId,
      PAYRUN_ENVIRONMENT: 'test',
      PAYRUN_RATE: '10',
    });
    expect(code).toBe(0);
    const preview = parsed(previewSchema, stdout);
    expect(preview).toMatchObject({ rows: 400, sandbox: false, quotes: { sample: 20, unquoted: 0, unasked: 0 } });
    expect(preview.quotes.usable).toBe(sandbox.counters().quotes);
    expect(preview.time).toMatchObject({ ms: 40_000, basis: 'rate', ratePerSecond: 10 });
    expect(sandbox.counters()).toMatchObject({ payments: 0, payment: 0, identities: 0 });
    expect(sandbox.book('test')).toEqual([]);
    expect(existsSync(place['PAYRUN_DATA_DIR'] ?? '')).toBe(false);
  });

  test('of all rows has the totals that the run has afterwards, and its refused rows', async () => {
    // 1.00 USD is less than the least that the sandbox pays out in BHD.
    const text = manyRows(250)
      .replace('INV-7,', 'TINY,')
      .replace(/^(TINY,[^,]*),[^,]*,USD,MXN$/m, '$1,1.00,USD,BHD');
    write('all.csv', text);
    const ledger = { ...place, REDIS_URL: redis.url, PAYRUN_PREFIX: freshPrefix() };
    const found = await payrun.run(['preview', 'all.csv', '--sandbox', '--sample', 'all', '--json'], ledger);
    expect(found.code).toBe(4);
    const preview = parsed(previewSchema, found.stdout);
    expect(preview.unquotedRows).toMatchObject([{ line: 9, reference: 'TINY', outcome: 'rejected', code: 'USR_013' }]);
    const paid = await payrun.run(['run', 'all.csv', '--json'], ledger);
    expect(paid.code).toBe(4);
    const { runId } = z.looseObject({ runId: z.string() }).parse(JSON.parse(paid.stdout));
    const report = await payrun.run(['report', runId, '--format', 'summary', '--json'], ledger);
    const { outcomes, booking } = parsed(reportSchema, report.stdout);
    expect(outcomes).toMatchObject({ rejected: 1 });
    expect(preview.funds).toMatchObject(
      bookingSchema
        .parse(booking)
        .map(({ currency, debited, fees }) => ({ currency, amount: debited, fees, estimate: false })),
    );
  });

  test('tells by the ledger which rows would not be paid, and is told by nobody where there is none', async () => {
    write('first.csv', manyRows(2));
    write('next.csv', manyRows(3).replaceAll('INV-0', 'inv-0').replaceAll('INV-1', 'NEW-1'));
    const before = await run('preview', 'first.csv', '--sandbox');
    expect(before.code).toBe(0);
    expect(before.stdout).toContain('were not looked up: there is no data directory');
    expect(before.stdout).toMatch(/\n\npay it -> payrun run first\.csv\n$/);
    await run('run', 'first.csv', '--json');
    const known = await run('preview', 'first.csv', '--sandbox');
    const runId = /The content of this file is run (\S+) already \(finished\)/.exec(known.stdout)?.[1];
    expect(known.stdout).toContain(`\n\nhow far it is -> payrun status ${runId}\n`);
    const { code, stdout } = await run('preview', 'next.csv', '--sandbox');
    expect(code).toBe(4);
    expect(stdout).toContain('By the ledger, 1 row would be paid: 72.25 USD.');
    expect(stdout).toContain('1 row would be held: the reference was used before (E_DUP_HISTORY)');
    expect(stdout).toMatch(/line 3 {2}NEW-1 {2}see \S+-3/);
    write('unpayable.csv', manyRows(1).replaceAll('INV-0', 'inv-0'));
    const none = await run('preview', 'unpayable.csv', '--sandbox');
    expect(none.stdout).toContain('By the ledger, no row would be paid by itself.');
    expect(none.stdout).not.toContain('pay it ->');
    const document = parsed(previewSchema, (await run('preview', 'next.csv', '--sandbox', '--json')).stdout);
    expect(document.foreseen?.stopped.map((group) => group.code)).toEqual(['E_DUP_HISTORY', 'E_DUP_LIKELY']);
  });

  test('of a file with problems shows its valid rows, tells the problems and exits 3', async () => {
    write(
      'wrong.csv',
      payoutFile([
        ['INV-1', '10.00'],
        ['INV-2', 'many'],
      ]),
    );
    const { code, stdout } = await run('preview', 'wrong.csv', '--sandbox');
    expect(code).toBe(3);
    expect(stdout).toContain('E_AMOUNT');
    expect(stdout).toMatch(/USD {2,}10\.00 {2,}[0-9.]+/);
  });

  test('takes no larger file than the settings let a run have', async () => {
    const config = join(payrun.dir, 'limits.json');
    writeFileSync(config, '{"files": {"rowsMax": 3}}');
    writeFileSync(
      join(payrun.dir, 'four.csv'),
      payoutFile(Array.from({ length: 4 }, (_, at) => [`ROW-${at}`, '10.00'] as const)),
    );
    const { code, stdout } = await payrun.run(['preview', 'four.csv', '--sandbox'], { PAYRUN_CONFIG: config });
    expect(code).toBe(3);
    expect(stdout).toContain('E_TOO_MANY_ROWS');
  });

  test('compares the file with what it should hold', async () => {
    write('three.csv', manyRows(3));
    const { code, stdout } = await run('preview', 'three.csv', '--sandbox', '--expect-rows', '4');
    expect(code).toBe(3);
    expect(stdout).toContain('one for each valid row (3)');
    expect(stdout).toContain('The file is refused as a whole.');
  });

  test('is refused without a service, and with a sample of nothing', async () => {
    write('three.csv', manyRows(3));
    expect(await run('preview', 'three.csv')).toMatchObject({ code: 2, stdout: '' });
    const { code, stderr } = await run('preview', 'three.csv', '--sandbox', '--sample', '0');
    expect(code).toBe(2);
    expect(stderr).toContain('--sample must be all, or a number of rows from 1 to 1000');
  });

  test('tells that the credentials are refused, and shows no secret', async () => {
    write('three.csv', manyRows(3));
    const sandbox = await openSandbox();
    const { code, stderr } = await payrun.run(['preview', 'three.csv'], {
      ...place,
      PAYRUN_SERVICE_URL: sandbox.url('test'),
      PAYRUN_CLIENT_ID: 'nobody',
      PAYRUN_CLIENT_SECRET: 'canary-secret',
      PAYRUN_TENANT_ID: sandbox.tenantId,
      PAYRUN_ENVIRONMENT: 'test',
    });
    expect(code).toBe(2);
    expect(stderr).toContain('Check PAYRUN_CLIENT_ID');
    expect(stderr).not.toContain('canary-secret');
  });
});

describe('retry-file', () => {
  test('writes what may be sent again, which is accepted and payable; and nothing when there is nothing', async () => {
    write('first.csv', manyRows(5).replace(/^(INV-2,[^,]*),[^,]*,USD,MXN$/m, '$1,1.00,USD,BHD'));
    place = { ...place, REDIS_URL: redis.url, PAYRUN_PREFIX: freshPrefix() };
    const paid = await run('run', 'first.csv', '--json');
    const { runId } = z.looseObject({ runId: z.string() }).parse(JSON.parse(paid.stdout));
    const wrote = await run('retry-file', runId, '--output', 'again.csv');
    expect(wrote).toMatchObject({ code: 0, stdout: '' });
    expect(wrote.stderr).toContain('wrote again.csv: 1 row may be sent again');
    expect(await run('retry-file', runId)).toMatchObject({
      stdout: readFileSync(join(payrun.dir, 'again.csv'), 'utf8'),
    });
    expect(await run('validate', 'again.csv')).toMatchObject({ code: 0 });

    const submitted = await run('submit', 'again.csv', '--sandbox', '--json');
    const again = z.looseObject({ runId: z.string(), outcomes: z.looseObject({}) }).parse(JSON.parse(submitted.stdout));
    expect(again.runId).not.toBe(runId);
    expect(again.outcomes).toMatchObject({ waiting: 1, held: 0 });
    const none = await run('retry-file', again.runId, '--output', 'none.csv');
    expect(none).toMatchObject({ code: 0, stdout: '' });
    expect(none.stderr).toContain('nothing was written');
    expect(none.stderr).toContain('1 row still open');
    expect(existsSync(join(payrun.dir, 'none.csv'))).toBe(false);
  });
});
