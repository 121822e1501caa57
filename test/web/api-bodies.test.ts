import { existsSync, readdirSync } from 'node:fs';
import { type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { recordRun } from '../runs/recorded-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { configured, openApiRig } from './api-rig.ts';

const HEADER = 'reference,beneficiaryIdentityId,amount,sourceCurrency,destinationCurrency\n';
const BENEFICIARY = '3f0c7a52-6b1d-4c8e-9a34-5d2e8b7f1c60';

const server = await useTestRedis();

async function openRig(options: Parameters<typeof openApiRig>[1] = {}) {
  const rig = await openApiRig(server.url, options);
  await rig.person('anna', 'maker');
  return { ...rig, key: await rig.program('accounting', 'maker') };
}

function fileOf(reference: string): string {
  return `${HEADER}${reference},${BENEFICIARY},10.50,USD,MXN\n`;
}

const csv = (body: unknown, headers = {}) => ({ body, headers: { 'content-type': 'text/csv', ...headers } });
const json = { 'content-type': 'application/json' };

describe('a body', () => {
  test.each([
    {
      what: 'that names a member of prototypes',
      body: '{"reason":"x","__proto__":{"role":"admin"}}',
      headers: json,
      status: 400,
    },
    { what: 'that names one under an escape', body: '{"reason":"x","\\u005f_proto__":1}', headers: json, status: 400 },
    { what: 'that names one deep inside', body: '{"reason":{"a":[{"__proto__":1}]}}', headers: json, status: 400 },
    { what: 'that says a name twice', body: '{"reason":"x","reason":"y"}', headers: json, status: 400 },
    { what: 'that has a member nobody knows', body: '{"reason":"x","by":"root"}', headers: json, status: 400 },
    { what: 'that is no JSON', body: '{"reason":', headers: json, status: 400 },
    { what: 'that is no object', body: '["x"]', headers: json, status: 400 },
    { what: 'that is empty', body: '', headers: json, status: 400 },
    { what: 'that lacks a member', body: '{}', headers: json, status: 400 },
    { what: 'whose member would break a history', body: '{"reason":"a|b"}', headers: json, status: 400 },
    { what: 'whose member is of another kind', body: '{"reason":1}', headers: json, status: 400 },
    {
      what: 'that is JSON under the name of text',
      body: '{"reason":"x"}',
      headers: { 'content-type': 'text/plain' },
      status: 415,
    },
    {
      what: 'that is a form',
      body: 'reason=x',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      status: 415,
    },
    { what: 'that is a payout file', body: 'reason\nx\n', headers: { 'content-type': 'text/csv' }, status: 415 },
    { what: 'of no type', body: Buffer.from('{"reason":"x"}'), headers: {}, status: 415 },
  ])('$what is refused, and nothing is done', async ({ body, headers, status }) => {
    const { key, app } = await openRig();
    const answer = await key.call('POST', '/halt', { body, headers });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      status,
      'application/problem+json; charset=utf-8',
    ]);
    expect(answer.json).toMatchObject({ status, remedy: expect.stringMatching(/\w/) });
    expect((await app.ledger.state.read()).halt).toBeNull();
  });

  test('with several faults is told all of them, each with its place', async () => {
    const { key } = await openRig();
    const wrong = await key.call('GET', '/runs?state=lost&page=0&who=me');
    expect(wrong.json).toMatchObject({
      status: 400,
      errors: [
        { place: 'querystring/state' },
        { place: 'querystring/page' },
        { place: 'querystring', message: 'Unrecognized key: "who"' },
      ],
    });
    const line = await key.call('GET', '/runs/r1/payouts/1e3x');
    expect(line.json).toMatchObject({ status: 400, errors: [{ place: 'params/line' }] });
  });

  test('is no file where one is asked for', async () => {
    const { key } = await openRig();
    for (const asked of [
      {},
      { body: { file: 'x' } },
      { body: fileOf('A'), headers: { 'content-type': 'text/plain' } },
    ]) {
      expect((await key.call('POST', '/validate', asked)).status).toBe(415);
    }
  });
});

describe('an id that nobody has', () => {
  test.each([
    ['GET', '/runs/none'],
    ['GET', '/runs/none/details'],
    ['GET', '/runs/none/events'],
    ['GET', '/runs/none/payouts'],
    ['GET', '/runs/none/report'],
    ['GET', '/runs/none/report?format=summary'],
    ['GET', '/runs/none/retry-file'],
    ['GET', '/runs/r1/payouts/999'],
    ['GET', '/runs/..%2f..%2fetc/report'],
    ['POST', '/runs/none/cancel'],
    ['POST', '/runs/r1/payouts/999/cancel'],
  ])('is answered with 404: %s %s', async (method, path) => {
    const { key, app } = await openRig();
    await recordRun(app.ledger, { lines: [2] });
    const body = method === 'POST' ? { body: { reason: 'x' } } : {};
    const answer = await key.call(method, path, body);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      404,
      'application/problem+json; charset=utf-8',
    ]);
  });
});

describe('a payout file', () => {
  test('comes as one part of a form as well, with what is said of it', async () => {
    const { key } = await openRig();
    const form = new FormData();
    form.set('expectRows', '2');
    form.set('file', new Blob([fileOf('A')]), '../../etc/march.csv');
    const answer = await key.call('POST', '/validate', { body: form });
    expect(answer.json).toMatchObject({ file: 'march.csv', rows: 1, problems: [{ code: 'E_TOTALS' }] });
    form.append('other', new Blob(['x']), 'x.csv');
    expect((await key.call('POST', '/validate', { body: form })).status).toBe(400);
  });

  test('is held against what the address says of it', async () => {
    const { key } = await openRig();
    const told = await key.call('POST', '/validate?expectTotal=USD=10.50&expectTotal=EUR=1.00', csv(fileOf('A')));
    expect(told.json).toMatchObject({ problems: [{ code: 'E_TOTALS' }], problemsTotal: 1 });
    expect((await key.call('POST', '/validate?expectTotal=USD=x', csv(fileOf('A')))).status).toBe(400);
    expect((await key.call('POST', '/validate?template=none.json', csv(fileOf('A')))).status).toBe(422);
    expect((await key.call('POST', '/runs?at=25:99&zone=UTC', csv(fileOf('A')))).status).toBe(422);
  });

  test('of more bytes than intake takes is refused, told before or not, and nothing is left of it', async () => {
    const { key, app, base } = await openRig({ env: await configured({ files: { fileBytesMax: 10_000 } }) });
    const large = `${HEADER}${`A,${BENEFICIARY},1.00,USD,MXN\n`.repeat(500)}`;
    expect((await key.call('POST', '/runs', csv(large))).status).toBe(413);
    expect(await sendInChunks(`${base}/api/v1/runs`, { ...key.headers, 'content-type': 'text/csv' }, large)).toBe(413);
    expect(readdirSync(join(app.config.dataDir, 'uploads'))).toEqual([]);
    expect(await app.ledger.runs.list()).toEqual([]);
  });

  test('is larger than any other body may be', async () => {
    const { key } = await openRig();
    const rows = Array.from({ length: 20_000 }, (_, index) => `A ${index},${BENEFICIARY},10.50,USD,MXN\n`);
    const large = `${HEADER}${rows.join('')}`;
    const form = new FormData();
    form.set('file', new Blob([large]), 'march.csv');
    const expected = { rows: 20_000, valid: 20_000, totals: [{ currency: 'USD', file: '210000.00' }] };
    expect((await key.call('POST', '/validate', csv(large))).json).toMatchObject(expected);
    expect((await key.call('POST', '/validate', { body: form })).json).toMatchObject(expected);
  });

  test('that is cut short leaves nothing', async () => {
    const { key, app, base } = await openRig();
    const headers = { ...key.headers, 'content-type': 'text/csv', 'content-length': 1000 };
    const asking = request(`${base}/api/v1/runs`, { method: 'POST', headers });
    asking.on('error', () => {});
    asking.write(fileOf('A'));
    const uploads = join(app.config.dataDir, 'uploads');
    await expect.poll(() => (existsSync(uploads) ? readdirSync(uploads).length : 0)).toBe(1);
    asking.destroy();
    await expect.poll(() => readdirSync(uploads)).toEqual([]);
    expect(await app.ledger.runs.list()).toEqual([]);
  });
});

describe('an Idempotency-Key', () => {
  test('makes one run of one file, however many send it at once, and each gets the same answer', async () => {
    const { key, app } = await openRig();
    const asked = csv(fileOf('A'), { 'idempotency-key': 'march-1' });
    const answers = await Promise.all(Array.from({ length: 20 }, () => key.call('POST', '/runs', asked)));
    answers.push(await key.call('POST', '/runs', asked));
    const [first] = answers;
    expect(first?.status).toBe(201);
    for (const { status, json: document } of answers) expect([status, document]).toEqual([201, first?.json]);
    expect(await app.ledger.runs.list()).toHaveLength(1);
  });

  test('that comes with another file is refused, and the run of the first one stands', async () => {
    const { key, app } = await openRig();
    const headers = { 'idempotency-key': 'march-1' };
    const files = Array.from({ length: 10 }, (_, index) => csv(fileOf(`A ${index}`), headers));
    const answers = await Promise.all(files.map((asked) => key.call('POST', '/runs', asked)));
    expect(answers.filter(({ status }) => status === 422)).toHaveLength(9);
    expect(await app.ledger.runs.list()).toHaveLength(1);
  });

  test.each([
    'skipInvalid=true',
    'again=true',
    'expectTotal=USD=1.00',
    'at=schedule',
    'expectRows=1',
    'name=other.csv',
  ])('that comes again with %s is refused, and the run of the first one stands', async (option) => {
    const { key, app } = await openRig();
    const asked = csv(fileOf('A'), { 'idempotency-key': 'march-1' });
    expect((await key.call('POST', '/runs', asked)).status).toBe(201);
    const { status, json: told } = await key.call('POST', `/runs?${option}`, asked);
    expect([status, told]).toMatchObject([422, { detail: expect.stringContaining('other options') }]);
    expect(await app.ledger.runs.list()).toHaveLength(1);
  });

  test('is of whoever brings it: the same words of somebody else are another one', async () => {
    const { key, program, app } = await openRig();
    const other = await program('payroll', 'maker');
    const headers = { 'idempotency-key': 'march-1' };
    expect((await key.call('POST', '/runs', csv(fileOf('A'), headers))).status).toBe(201);
    expect((await other.call('POST', '/runs', csv(fileOf('B'), headers))).status).toBe(201);
    expect(await app.ledger.runs.list()).toHaveLength(2);
    const notes = await Promise.all((await app.ledger.runs.list()).map((id) => app.ledger.runs.read(id)));
    expect(JSON.stringify(notes.map((run) => run?.submissionKey))).not.toContain('march');
  });

  test.each(['', 'a b', 'x'.repeat(256)])('such as %j is none', async (word) => {
    const { key } = await openRig();
    const { status, json: told } = await key.call('POST', '/runs', csv(fileOf('A'), { 'idempotency-key': word }));
    expect([status, told]).toMatchObject([400, { errors: [{ place: 'headers/idempotency-key' }] }]);
  });
});

async function sendInChunks(url: string, headers: OutgoingHttpHeaders, body: string): Promise<number | undefined> {
  const asking = request(url, { method: 'POST', headers });
  asking.on('error', () => {});
  const answered = new Promise<IncomingMessage>((resolve) => asking.once('response', resolve));
  asking.write(body.slice(0, 100));
  asking.end(body.slice(100));
  const answer = await answered;
  answer.resume();
  return answer.statusCode;
}
