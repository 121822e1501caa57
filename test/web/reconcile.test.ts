import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { camtXml } from '../intake/camt-message.ts';
import { armPayout, movePayout, recordRun } from '../runs/recorded-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { openApiRig } from './api-rig.ts';
import { foreignParts } from './page-html.ts';
import { openWebRig } from './rig.ts';

const server = await useTestRedis();

/** A run of three payments, of which one came back. */
async function paidRun({ ledger }: Pick<App, 'ledger'>, id: string, first: number): Promise<string> {
  const lines = [first, first + 1, first + 2];
  await recordRun(ledger, { id, lines });
  for (const line of lines) {
    await armPayout(ledger, { runId: id, line }, `q-${id}-${line}`);
    await movePayout(ledger, { runId: id, line }, 'accepted', 'completed');
  }
  return id;
}

function statementOf(lines: readonly number[], amount = '100.50'): string {
  const entries = lines.map((line) => ({
    amount,
    currency: 'USD',
    transactions: [{ reference: `INV-${line}`, id: '' }],
  }));
  return camtXml(entries);
}

function formOf(content: string, fields: Record<string, string>, name = 'bank.xml'): FormData {
  const form = new FormData();
  for (const [field, value] of Object.entries(fields)) form.set(field, value);
  form.set('file', new Blob([content]), name);
  return form;
}

async function rigWithRun() {
  const rig = await openWebRig(server.url);
  await paidRun(rig.app, 'a1', 2);
  const mia = await rig.person('mia', 'maker');
  await mia.get('/reconcile');
  return { ...rig, mia };
}

function uploadsOf({ config }: Pick<App, 'config'>): string[] {
  const folder = join(config.dataDir, 'uploads');
  return existsSync(folder) ? readdirSync(folder) : [];
}

describe('the page', () => {
  test('says what is missing, and how far the run is reconciled stands with it, in the list and on the audit log', async () => {
    const { app, mia } = await rigWithRun();
    expect((await mia.get('/runs/a1')).text).toContain('href="/reconcile?run=a1"');
    expect((await mia.get('/reconcile?run=a1')).text).toContain('value="a1"');
    const { status, text } = await mia.upload('/reconcile', formOf(statementOf([2, 4, 99]), { runs: 'a1' }));
    expect({ status, foreign: foreignParts(text) }).toEqual({ status: 200, foreign: [] });
    expect(text).toContain('Reconciled 2 of 3 payments');
    expect(text).toContain('1 missing, 0 different, 1 extra on the statement.');
    expect(text).toContain('its debit is not on the statement');
    expect(text).toContain('href="/runs/a1/payouts/3"');
    expect(await app.ledger.runs.read('a1')).toMatchObject({ reconciled: { payments: 3, reconciled: 2, extra: 1 } });
    for (const page of ['/runs', '/runs/a1']) expect((await mia.get(page)).text).toContain('reconciled 2 of 3');
    const log: string[] = [];
    for await (const line of app.ledger.audit.lines()) if (line.includes('run.reconciled')) log.push(line);
    expect(log.join('')).toMatch(/"actor":"mia".*"payments":"2 of 3"/);
    expect(uploadsOf(app)).toEqual([]);
  });

  test('says that all is there', async () => {
    const { mia } = await rigWithRun();
    const { text } = await mia.upload('/reconcile', formOf(statementOf([2, 3, 4]), { runs: 'a1' }));
    expect(text).toContain('Each payment is on the statement, and nothing else is.');
  });

  test('gives every line as CSV, of several runs, by a template', async () => {
    const { app, mia } = await rigWithRun();
    await paidRun(app, 'b1', 12);
    const text = `reference;Betrag;currency\n${[2, 3, 4, 12].map((line) => `INV-${line};100,50;USD`).join('\n')}\n`;
    const template = JSON.stringify({ delimiter: ';', decimalMark: ',', columns: { amount: 'Betrag' } });
    const fields = { runs: 'a1, b1', template, format: 'csv' };
    const answer = await mia.upload('/reconcile', formOf(text, fields, 'bank.csv'));
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="bank.csv.reconciled.csv"');
    const rows: Record<string, string>[] = parse(answer.text, { columns: true });
    expect(rows.map(({ status, runId }) => `${runId} ${status}`)).toEqual([
      ...['a1', 'a1', 'a1', 'b1'].map((run) => `${run} matched`),
      'b1 missing',
      'b1 missing',
    ]);
    expect(await app.ledger.runs.read('a1')).toMatchObject({ reconciled: { payments: 3, reconciled: 3 } });
    expect(await app.ledger.runs.read('b1')).toMatchObject({ reconciled: { payments: 3, reconciled: 1 } });
  });

  test.each<[what: string, form: { fields: Record<string, string>; content: string }, told: string]>([
    ['a run that there is not', { fields: { runs: 'a1 none' }, content: statementOf([2]) }, 'no run'],
    ['no run', { fields: { runs: ' ' }, content: statementOf([2]) }, 'must name a run'],
    [
      'a template that is none',
      { fields: { runs: 'a1', template: '{"delimter":";"}' }, content: statementOf([2]) },
      'is invalid',
    ],
    ['a statement that is none', { fields: { runs: 'a1' }, content: '<Document/>' }, 'cannot be used'],
  ])('refuses %s, keeps nothing of it and notes nothing', async (_what, { fields, content }, told) => {
    const { app, mia } = await rigWithRun();
    const { status, text } = await mia.upload('/reconcile', formOf(content, fields));
    expect(status).toBe(422);
    expect(text).toContain(told);
    expect(uploadsOf(app)).toEqual([]);
    expect((await app.ledger.runs.read('a1'))?.reconciled).toBeNull();
  });

  test('keeps nothing of a form of another site', async () => {
    const { app, mia } = await rigWithRun();
    const form = formOf(statementOf([2]), { runs: 'a1', csrf: 'x' });
    expect((await mia.upload('/reconcile', form)).status).toBeGreaterThanOrEqual(400);
    expect(uploadsOf(app)).toEqual([]);
  });
});

describe('the API', () => {
  test('does the same, and tells how far the run is', async () => {
    const { app, program, person } = await openApiRig(server.url);
    await person('anna', 'maker');
    const key = await program('bank', 'maker');
    await paidRun(app, 'c1', 2);
    const xml = { body: statementOf([2, 3], '99.00'), headers: { 'content-type': 'application/xml' } };
    const { status, json } = await key.call('POST', '/reconcile?run=c1', xml);
    expect(status).toBe(200);
    expect(json).toMatchObject({
      runs: ['c1'],
      statement: { name: 'payouts.xml', movements: 2 },
      lines: [{ status: 'different', reference: 'INV-2' }, { status: 'different' }, { status: 'missing', line: 4 }],
      counts: { payments: 3, reconciled: 0, different: 2, missing: 1 },
    });
    expect((await key.call('GET', '/runs/c1')).json).toMatchObject({ reconciled: { payments: 3, reconciled: 0 } });
    const csv = await key.call('POST', '/reconcile?run=c1&format=csv&name=bank.xml', xml);
    expect(csv.text.split('\r\n')).toHaveLength(5);
    expect((await key.call('POST', '/reconcile?run=none', xml)).status).toBe(422);
    expect((await key.call('POST', '/reconcile', xml)).status).toBe(400);
    expect((await key.call('POST', '/reconcile?run=c1', { body: {} })).status).toBe(415);
    expect(uploadsOf(app)).toEqual([]);
  });
});

test('a person reconciles two statements at a time, until the answer to one of them has ended', async () => {
  const { base, mia } = await rigWithRun();
  const lines = Array.from({ length: 60_000 }, (_, at) => `OTHER-${at},p-${at},12.34,USD`);
  const statement = ['reference,paymentId,amount,currency', ...lines].join('\n');
  const cookie = [...mia.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const headers = { cookie, origin: base, 'sec-fetch-site': 'same-origin' };
  const slow = async (): Promise<Response> => {
    const fields = new FormData();
    fields.set('csrf', mia.csrf());
    for (const [name, value] of formOf(statement, { runs: 'a1', format: 'csv' }, 'bank.csv'))
      fields.append(name, value);
    return await fetch(`${base}/reconcile`, { method: 'POST', headers, body: fields });
  };
  const [one, other] = [await slow(), await slow()];
  const small = () => mia.upload('/reconcile', formOf(statementOf([2]), { runs: 'a1' }));
  expect((await small()).status).toBe(429);
  await one.body?.cancel();
  await expect.poll(async () => (await small()).status).toBe(200);
  await other.body?.cancel();
});
