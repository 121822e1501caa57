import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { elementsAt, parseXml, schemaFaults, textsAt } from '../report/pain002-schema.ts';
import { useTestRedis } from '../support/redis.ts';
import { parsed, reportSchema, runSchema, usePayrun } from './payrun.ts';

const samples = resolve(import.meta.dirname, '../../samples');
const message = join(samples, 'payment-message.xml');
const template = join(samples, 'templates/payment-message.json');

const redis = await useTestRedis();
const payrun = usePayrun({ REDIS_URL: redis.url });
let runId: string;

beforeAll(async () => {
  const submitted = await payrun.run(['submit', message, '--template', template, '--sandbox', '--json']);
  runId = parsed(runSchema, submitted.stdout).runId;
}, 180_000);

describe('report --format pain.002', { timeout: 180_000 }, () => {
  test("answers a payment message with the message's own ids, and its counts are those of the JSON report", async () => {
    const wrote = await payrun.run([
      'report',
      runId,
      '--format',
      'pain.002',
      '--original',
      message,
      '--output',
      'status.xml',
    ]);
    expect(wrote).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(/^Service sandbox, .*\nwrote status\.xml\n$/),
    });
    const status = parseXml(readFileSync(join(payrun.dir, 'status.xml'), 'utf8'));
    expect(schemaFaults(status)).toEqual([]);
    const group = 'CstmrPmtStsRpt/OrgnlGrpInfAndSts';
    expect(textsAt(status, `${group}/OrgnlMsgId`)).toEqual(['m']);
    expect(textsAt(status, `${group}/OrgnlCtrlSum`)).toEqual(['1660.39']);
    expect(textsAt(status, `${group}/OrgnlNbOfTxs`)).toEqual(['3']);
    const json = await payrun.run(['report', runId, '--json']);
    const { outcomes } = parsed(reportSchema, json.stdout);
    expect(elementsAt(status, `${group}/NbOfTxsPerSts`).map((one) => textsAt(one, 'DtldNbOfTxs'))).toEqual([
      [String(outcomes['waiting'])],
    ]);
    const transactions = 'CstmrPmtStsRpt/OrgnlPmtInfAndSts/TxInfAndSts';
    expect(textsAt(status, `${transactions}/OrgnlEndToEndId`)).toEqual([
      'PM-2026-0001',
      'PM-2026-0002',
      'PM-2026-0003',
    ]);
    expect(textsAt(status, `${transactions}/TxSts`)).toEqual(['PDNG', 'PDNG', 'PDNG']);
  });

  test('says on standard error when the ids of the message are missing, and writes to standard output', async () => {
    const { code, stdout, stderr } = await payrun.run(['report', runId, '--format', 'pain.002']);
    expect(code).toBe(0);
    expect(schemaFaults(parseXml(stdout))).toEqual([]);
    expect(stderr).toContain('--original');
  });

  test('refuses options that do not go together, and a file that is not the one of the run', async () => {
    const other = join(payrun.dir, 'other.xml');
    writeFileSync(other, readFileSync(message, 'utf8').replace('Payer', 'Other'));
    const ended = await Promise.all([
      payrun.run(['report', runId, '--format', 'csv', '--original', message]),
      payrun.run(['report', runId, '--format', 'pain.002', '--json']),
      payrun.run(['report', runId, '--format', 'pain.002', '--original', other]),
    ]);
    expect(ended.map(({ code, stdout }) => ({ code, stdout }))).toEqual(ended.map(() => ({ code: 2, stdout: '' })));
    expect(ended.map(({ stderr }) => stderr)).toEqual([
      expect.stringContaining('--original is for --format pain.002'),
      expect.stringContaining('exclude each other'),
      expect.stringContaining('is not the file'),
    ]);
  });
});
