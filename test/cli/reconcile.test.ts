import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { camtXml } from '../intake/camt-message.ts';
import { useTestRedis } from '../support/redis.ts';
import { parsed, payoutFile, runSchema, usePayrun } from './payrun.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 180_000 });

const ROWS = 12;
const AS = { columns: { paymentId: 'none' } };

const redis = await useTestRedis();
const payrun = usePayrun({ REDIS_URL: redis.url });
let runId: string;
let rows: Record<string, string>[];

beforeAll(async () => {
  const payouts = Array.from({ length: ROWS }, (_, at) => [`INV-${at + 1}`, `${100 + at}.25`] as const);
  writeFileSync(join(payrun.dir, 'payouts.csv'), payoutFile(payouts));
  const { stdout } = await payrun.run(['run', 'payouts.csv', '--json']);
  runId = parsed(runSchema, stdout).runId;
  rows = parse((await payrun.run(['report', runId])).stdout, { columns: true });
});

/** What the bank would send of some rows. */
function statementOf(some: readonly Record<string, string>[]): string {
  return camtXml(
    some.map(({ sourceAmount = '', sourceCurrency = '', reference = '', paymentId = '' }) => ({
      amount: sourceAmount,
      currency: sourceCurrency,
      transactions: [{ reference, id: paymentId }],
    })),
  );
}

async function reconcile(name: string, text: string, ...more: string[]) {
  writeFileSync(join(payrun.dir, name), text);
  return await payrun.run(['reconcile', runId, '--statement', name, ...more]);
}

describe('reconcile', () => {
  test('exits 0 when each payment is on the statement, and notes it under a name on the audit log', async () => {
    const ended = await reconcile('all.xml', statementOf(rows), '--as', 'anna');
    expect(ended).toMatchObject({ code: 0, stderr: expect.stringMatching(/^Service sandbox, ledger .*\.\n$/) });
    expect(ended.stdout).toBe(
      `reconciled ${ROWS} of ${ROWS} payments; 0 missing, 0 different, 0 extra on the statement\n`,
    );
    const log = await redis.redis.lrange('{payrun}:audit', -1, -1);
    expect(log.join()).toContain('run.reconciled');
    expect(log.join()).toContain(`${ROWS} of ${ROWS}`);
    const sha256 = createHash('sha256').update(statementOf(rows)).digest('hex');
    const { stdout } = await payrun.run(['status', runId, '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      reconciled: { sha256, payments: ROWS, reconciled: ROWS, missing: 0, different: 0, extra: 0 },
    });
    const words = `reconciled ${ROWS} of ${ROWS}`;
    expect((await payrun.run(['status', runId])).stdout).toMatch(new RegExp(`bank +${words} payments on .*${sha256}`));
    expect((await payrun.run(['list'])).stdout).toContain(`finished, ${words}`);
  });

  test('adds several statements up, and the state of the run is what all of them have', async () => {
    const [some, others] = [rows.slice(0, 5), rows.slice(5, ROWS - 1)];
    writeFileSync(join(payrun.dir, 'january.xml'), statementOf(some));
    writeFileSync(join(payrun.dir, 'february.xml'), statementOf(others));
    const words = ['reconcile', runId, '--statement', 'january.xml', 'february.xml', '--as', 'anna'];
    const ended = await payrun.run(words);
    expect(ended.code).toBe(1);
    expect(ended.stdout).toContain(`reconciled ${ROWS - 1} of ${ROWS} payments; 1 missing, 0 different, 0 extra`);
    const status = await payrun.run(['status', runId, '--json']);
    const sha256 = [some, others].map((one) => createHash('sha256').update(statementOf(one)).digest('hex')).join(',');
    expect(JSON.parse(status.stdout)).toMatchObject({ reconciled: { sha256, reconciled: ROWS - 1, missing: 1 } });
    expect((await payrun.run(['list'])).stdout).toContain(`reconciled ${ROWS - 1} of ${ROWS}`);
    const twice = await payrun.run(['reconcile', runId, '--statement', 'january.xml', 'january.xml']);
    expect(twice.stdout).toContain(`${some.length} extra on the statement`);
  });

  test('exits 1 and names what is missing, different and extra', async () => {
    const [first = {}, second = {}, ...others] = rows;
    const dearer = { ...second, sourceAmount: '999.99' };
    const stranger = { ...first, reference: 'RENT', paymentId: 'x' };
    const { code, stdout } = await reconcile('some.xml', statementOf([dearer, stranger, ...others]));
    expect(code).toBe(1);
    expect(stdout).toContain(`reconciled ${ROWS - 2} of ${ROWS} payments; 1 missing, 1 different, 1 extra`);
    expect(stdout).toMatch(/missing +\S+ line 2 +INV-1 +its debit is not on the statement/);
    expect(stdout).toMatch(/different +\S+ line 3 +statement 1 +INV-2 +the amount is not 101\.25 USD/);
    expect(stdout).toMatch(/extra +statement 2 +RENT/);
  });

  test('reads CSV by a template, and writes every line as CSV and as JSON', async () => {
    writeFileSync(join(payrun.dir, 'bank.json'), JSON.stringify({ ...AS, delimiter: ';', decimalMark: ',' }));
    const lines = rows.slice(1).map((row) => `${row['reference']};${row['sourceAmount']?.replace('.', ',')};USD`);
    const text = `${['reference;amount;currency', ...lines].join('\n')}\n`;
    const csv = await reconcile('bank.csv', text, '--template', 'bank.json', '--format', 'csv', '--output', 'open.csv');
    expect(csv).toMatchObject({ code: 1, stdout: '' });
    expect(csv.stderr).toContain(`reconciled ${ROWS - 1} of ${ROWS} payments`);
    const written: Record<string, string>[] = parse(readFileSync(join(payrun.dir, 'open.csv')), { columns: true });
    expect(written.map(({ status }) => status)).toEqual(['missing', ...lines.map(() => 'matched')]);
    const json = await reconcile('bank.csv', text, '--template', 'bank.json', '--format', 'json');
    expect(JSON.parse(json.stdout)).toMatchObject({
      runs: [runId],
      statement: { name: 'bank.csv', movements: ROWS - 1 },
      lines: written.map(({ status, reference }) => ({ status, reference })),
      counts: { payments: ROWS, reconciled: ROWS - 1, missing: 1 },
    });
  });

  test('exits 3 for a statement that it cannot read, and 2 for a run that there is not', async () => {
    expect(await reconcile('bad.xml', '<Document/>')).toMatchObject({ code: 3, stdout: '' });
    const unknown = await payrun.run(['reconcile', 'r0', '--statement', 'all.xml']);
    expect(unknown).toMatchObject({ code: 2, stdout: '' });
  });
});
