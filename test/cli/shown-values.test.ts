import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { EXIT } from '../../src/cli/exit-code.ts';
import { parseXml, schemaFaults, textsAt } from '../report/pain002-schema.ts';
import { sheetsOf } from '../report/workbook.ts';
import { type Ended, useProcesses } from '../support/payrun-processes.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';
import { errorBody, type ScriptedService, startScriptedService } from '../support/scripted-service.ts';
import { openWebRig } from '../web/rig.ts';

// It starts several processes.
vi.setConfig({ testTimeout: 180_000 });

const SAMPLES = resolve(import.meta.dirname, '../../samples');
const TEMPLATE = join(SAMPLES, 'templates/payment-message.json');
/** With every sign that a reference may have beside letters, digits and those of words. */
const REFERENCE = "INV+7:(a),'b'1";
const SHOWN_MAX = 300;
const BEGIN = 'an amount of the <b>quote</b> & its "fee" would be above 100000000 ';
const DESCRIPTION = BEGIN + 'x'.repeat(400);
const SHOWN = DESCRIPTION.slice(0, SHOWN_MAX);

const redis = await useTestRedis();
const processes = useProcesses();
let service: ScriptedService;
let cwd: string;
let env: Record<string, string>;
let runId: string;
beforeAll(async () => {
  service = await startScriptedService();
  service.onQuote = (_request, answering) => {
    const { errors, ...body } = errorBody('USR_001');
    const described = [{ ...z.array(z.looseObject({})).parse(errors)[0], description: DESCRIPTION }];
    service.reply(answering, { status: 400, json: { ...body, errors: described } });
  };
  cwd = processes.folder();
  env = {
    REDIS_URL: redis.url,
    PAYRUN_PREFIX: freshPrefix(),
    PAYRUN_DATA_DIR: join(cwd, 'data'),
    PAYRUN_SERVICE_URL: service.server.url,
    PAYRUN_CLIENT_ID: 'id',
    PAYRUN_CLIENT_SECRET: 'secret',
    PAYRUN_TENANT_ID: 'tenant',
    PAYRUN_ENVIRONMENT: 'test',
  };
  const message = readFileSync(join(SAMPLES, 'payment-message.xml'), 'utf8').replace('PM-2026-0001', REFERENCE);
  writeFileSync(join(cwd, 'message.xml'), message);
  const ended = await payrun('run', 'message.xml', '--template', TEMPLATE, '--json');
  if (ended.code !== EXIT.notPaid) throw new Error(`the run ended with ${ended.code}: ${ended.stderr}`);
  runId = z.object({ runId: z.string() }).parse(JSON.parse(ended.stdout)).runId;
}, 180_000);
afterAll(async () => {
  await service.close();
});

async function payrun(...words: string[]): Promise<Ended> {
  return await processes.run(words, { cwd, env });
}

async function printed(...words: string[]): Promise<string> {
  const { code, stdout } = await payrun(...words);
  expect(code).toBe(EXIT.ok);
  return stdout;
}

const row = z.looseObject({ reference: z.string(), reason: z.string() });

test("the service's own description stands in report, show, page and API, cut at 300 characters and escaped", async () => {
  expect(row.parse(JSON.parse(await printed('show', runId, REFERENCE, '--json')))).toMatchObject({ reason: SHOWN });
  expect(await printed('show', runId, REFERENCE)).toContain(SHOWN);
  expect(await printed('report', runId)).toContain(`"${SHOWN.replaceAll('"', '""')}"`);
  const report = z.object({ rows: z.array(row) }).parse(JSON.parse(await printed('report', runId, '--json')));
  expect(report.rows[0]).toMatchObject({ reference: REFERENCE, reason: SHOWN });
  const { visitor } = await site();
  const { text } = await visitor.get(`/runs/${runId}`);
  expect(text).toContain(SHOWN.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;'));
  expect(text).not.toContain('<b>quote');
  const rows = z.array(row).parse(JSON.parse((await visitor.get(`/api/v1/runs/${runId}/payouts`)).text));
  expect(rows[0]).toMatchObject({ reference: REFERENCE, reason: SHOWN });
});

test('a reference with every sign that it may have is the same in CSV, workbook, status report, page, API, show and retry file', async () => {
  expect(await printed('report', runId)).toContain(`,"${REFERENCE}",`);
  await printed('report', runId, '--format', 'xlsx', '--output', 'report.xlsx');
  const sheets = await sheetsOf(readFileSync(join(cwd, 'report.xlsx')));
  expect([...sheets.values()].flat(2)).toContain(REFERENCE);
  const status = parseXml(await printed('report', runId, '--format', 'pain.002', '--original', 'message.xml'));
  expect(schemaFaults(status)).toEqual([]);
  const ids = 'CstmrPmtStsRpt/OrgnlPmtInfAndSts/TxInfAndSts/OrgnlEndToEndId';
  expect(textsAt(status, ids)).toContain(REFERENCE);
  expect(await printed('show', runId, REFERENCE)).toContain(REFERENCE);
  expect(await printed('retry-file', runId)).toContain(`"${REFERENCE}"`);
  const { visitor } = await site();
  expect((await visitor.get(`/runs/${runId}/payouts`)).text).toContain(REFERENCE);
  const path = `/api/v1/runs/${runId}/payouts?text=${encodeURIComponent(REFERENCE)}`;
  expect(JSON.parse((await visitor.get(path)).text)).toMatchObject([{ reference: REFERENCE }]);
});

/** The pages on the ledger of the run, and somebody who is signed in. */
async function site() {
  const rig = await openWebRig(redis.url, { env });
  return { visitor: await rig.person(`anna-${new URL(rig.base).port}`, 'maker') };
}
