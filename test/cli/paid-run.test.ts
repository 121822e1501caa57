import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { useTestRedis } from '../support/redis.ts';
import {
  type Ended,
  parsed,
  payoutFile,
  reportSchema,
  rowSchema,
  runSchema,
  statusSchema,
  storySchema,
  usePayrun,
  watchSchema,
} from './payrun.ts';

const redis = await useTestRedis();
const payrun = usePayrun({ REDIS_URL: redis.url });
let runId: string;
/** How the run came to be paid: the outputs of the commands that did it. */
let submit: Ended;
let worker: Ended & { pid: number | undefined };
let watch: Ended;

beforeAll(async () => {
  const rows = [...Array(8).keys()].map((index) => [`INV-${index + 1}`, `${100 + index}.25`] as const);
  writeFileSync(join(payrun.dir, 'payouts.csv'), payoutFile([...rows, ['INV-9', 'much']]));
  submit = await payrun.run(['submit', 'payouts.csv', '--sandbox', '--skip-invalid', '--as', 'anna', '--json']);
  runId = parsed(runSchema, submit.stdout).runId;
  const watching = payrun.start(['watch', runId, '--json']);
  const working = payrun.start(['worker', '--sandbox']);
  await working.said('is ready');
  watch = await watching.ended;
  await vi.waitUntil(paymentsAreSettled, { timeout: 60_000, interval: 50 });
  working.child.kill('SIGTERM');
  worker = { ...(await working.ended), pid: working.child.pid };
}, 180_000);

/** A run is finished when nothing is open any more; its payments complete a little later. */
async function paymentsAreSettled(): Promise<boolean> {
  return (await redis.redis.hget(`{payrun}:run:${runId}`, 'n:completed')) === '8';
}

describe('submit, worker and watch', () => {
  test('submit prints the run alone on standard output, and exits 4 for the refused row', () => {
    expect(submit.code).toBe(4);
    expect(parsed(runSchema, submit.stdout)).toMatchObject({
      state: 'paying',
      sandbox: true,
      outcomes: { waiting: 8, refused: 1 },
    });
    expect(submit.stderr).toContain('payrun worker --sandbox');
  });

  test('worker says once that it is ready, with its pid, prints no data, and exits 0 after an orderly stop', () => {
    expect(worker.stderr.split('\n').filter((line) => line.endsWith('is ready'))).toEqual([
      `payrun worker ${worker.pid} is ready`,
    ]);
    expect(worker).toMatchObject({ code: 0, stdout: '' });
  });

  test('watch prints a document a line, no two alike, until the run is over', () => {
    const lines = watch.stdout.trimEnd().split('\n');
    const runs = lines.map((line) => parsed(watchSchema, line));
    expect(runs.at(-1)).toMatchObject({ state: 'finished', outcomes: { waiting: 0, unknown: 0, refused: 1 } });
    expect(new Set(lines).size).toBe(lines.length);
    expect(watch.code).toBe(4);
  });

  test('the same file again is the same run', async () => {
    const again = await payrun.run(['submit', 'payouts.csv', '--sandbox', '--skip-invalid', '--json']);
    expect(parsed(runSchema, again.stdout).runId).toBe(runId);
    expect(again.stderr).toContain(`This file is run ${runId} already`);
  });
});

describe('list, status and show', () => {
  test('list has the run', async () => {
    const [json, text] = await Promise.all([payrun.run(['list', '--json']), payrun.run(['list'])]);
    expect(parsed(z.array(runSchema), json.stdout)).toMatchObject([{ runId, outcomes: { paid: 8, refused: 1 } }]);
    expect(text).toMatchObject({ code: 0, stderr: expect.stringMatching(/^Service sandbox, ledger .*\.\n$/) });
    expect(text.stdout).toMatch(
      new RegExp(`^run .*\\n${runId}  finished  2\\S+Z  9 .*8 paid, 1 refused  payouts.csv\\n$`),
    );
  });

  test.each([
    ['paid', 8],
    ['held', 0],
  ])('list RUN --outcome %s has %i rows', async (outcome, count) => {
    const { code, stdout } = await payrun.run(['list', runId, '--outcome', outcome, '--json']);
    const rows = parsed(z.array(rowSchema), stdout);
    expect(rows.map((row) => row.outcome)).toEqual(Array(count).fill(outcome));
    expect(code).toBe(0);
  });

  test('status shows the run, with aligned columns and times in UTC', async () => {
    const [json, text] = await Promise.all([payrun.run(['status', runId, '--json']), payrun.run(['status', runId])]);
    expect(parsed(statusSchema, json.stdout)).toMatchObject({
      state: 'finished',
      ending: null,
      totals: [{ currency: 'USD', file: '830.00', paid: '830.00', waiting: '0.00' }],
    });
    expect(json).toMatchObject({ code: 0, stderr: '' });
    expect(text.stdout).toMatch(/^submitted {5}\d{4}-\d\d-\d\dT[\d:.]+Z by anna$/m);
    expect(text.stdout).toContain(
      [
        '      in the file    paid  refused',
        'rows            9       8        1',
        'USD        830.00  830.00     0.00',
      ].join('\n'),
    );
    expect(text.stdout).toContain('sandbox: no money moved');
    expect(text.stdout).toMatch(/^capabilities {2}all four hold$/m);
  });

  test('show tells the whole story of a payout', async () => {
    const [json, text] = await Promise.all([
      payrun.run(['show', runId, 'INV-2', '--json']),
      payrun.run(['show', runId, 'INV-2']),
    ]);
    const story = parsed(storySchema, json.stdout);
    expect(story).toMatchObject({
      payout: `${runId}-3`,
      state: 'completed',
      outcome: 'paid',
      paymentId: story.quoteId,
      attempts: 1,
      evidence: { quotes: 1, armings: 1, lookUps: 0, armedBy: expect.any(String), quoteExpiresAt: expect.any(String) },
    });
    expect(story.history.map(({ to }) => to)).toEqual(['ready', 'armed', 'accepted', 'completed']);
    for (const fact of [story.paymentId, story.evidence?.armedBy, story.evidence?.quoteExpiresAt, 'COMPLETED']) {
      expect(text.stdout).toContain(fact);
    }
    for (const { at, to } of story.history) expect(text.stdout).toMatch(new RegExp(`^${at}  ${to} `, 'm'));
  });

  test('show --raw prints the record as it stands in Redis, each value with its place and name', async () => {
    const { stdout } = await payrun.run(['show', runId, 'INV-2', '--raw']);
    const [record = ''] = /^\[.*$/m.exec(stdout) ?? [];
    const values = JSON.parse(record) as unknown[];
    const named = [...stdout.matchAll(/^(\d+) {2,}(\S.*?) {2,}(\S.*)$/gm)].map(([, place, name, value]) => ({
      place,
      name,
      value,
    }));
    expect(named).toContainEqual({ place: '1', name: 'state', value: 'completed' });
    expect(named).toContainEqual({ place: '5', name: 'ref: reference', value: 'INV-2' });
    for (const { place, value } of named.slice(4)) expect(String(values[Number(place)])).toBe(value);
  });

  test('show tells why intake refused a row', async () => {
    const { stdout } = await payrun.run(['show', runId, 'INV-9', '--json']);
    expect(parsed(storySchema, stdout)).toMatchObject({
      state: 'refused',
      reasonCode: 'E_AMOUNT',
      evidence: null,
      history: [],
    });
  });

  test('show of a reference that the run does not have exits 2', async () => {
    const { code, stdout, stderr } = await payrun.run(['show', runId, 'INV-77']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('no row with the reference INV-77');
  });
});

describe('report', () => {
  test('the CSV is the same on standard output and in a file, which is whole and its owner’s only', async () => {
    const [printed, written] = await Promise.all([
      payrun.run(['report', runId]),
      payrun.run(['report', runId, '--output', 'out.csv']),
    ]);
    expect(printed).toMatchObject({ code: 0, stderr: expect.stringMatching(/^Service sandbox, ledger .*\.\n$/) });
    expect(written).toMatchObject({ code: 0, stdout: '' });
    expect(readFileSync(join(payrun.dir, 'out.csv'), 'utf8')).toBe(printed.stdout);
    expect(statSync(join(payrun.dir, 'out.csv')).mode & 0o777).toBe(0o600);
    expect(readdirSync(payrun.dir).filter((name) => name.endsWith('.part'))).toEqual([]);
    expect(printed.stdout.split('\r\n')).toHaveLength(11);
  });

  test('--json has the rows, --format summary --json does not', async () => {
    const [json, summary, text] = await Promise.all([
      payrun.run(['report', runId, '--json']),
      payrun.run(['report', runId, '--format', 'summary', '--json']),
      payrun.run(['report', runId, '--format', 'summary']),
    ]);
    expect(parsed(reportSchema, json.stdout).rows).toHaveLength(9);
    expect(parsed(reportSchema, summary.stdout)).toMatchObject({ conservation: { rows: true, money: true } });
    expect(parsed(reportSchema, summary.stdout).rows).toBeUndefined();
    expect(text.stdout).toMatch(/^sandbox: no money moved\n/);
  });

  test('one that does not tie says so on standard error and exits 1, and leaves standard output to the data', async () => {
    await redis.redis.hincrby(`{payrun}:run:${runId}`, 'm:USD:paid', 1);
    onTestFinished(async () => {
      await redis.redis.hincrby(`{payrun}:run:${runId}`, 'm:USD:paid', -1);
    });
    const { code, stdout, stderr } = await payrun.run(['report', runId]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^THIS REPORT DOES NOT TIE/m);
    expect(stdout).toMatch(/^line,reference,/);
  });

  test('a reader that has seen enough is no fault', async () => {
    const reporting = payrun.start(['report', runId]);
    reporting.child.stdout.destroy();
    const { code, stderr } = await reporting.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^Service sandbox, ledger .*\.\n$/) });
  });

  test('a file that cannot be written is exit 2, in words', async () => {
    const { code, stdout, stderr } = await payrun.run(['report', runId, '--output', 'no/such/folder.csv']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^Service .*\nThe system refused: ENOENT.*\nCheck the path\.\n$/);
  });
});

describe('commands that only look', () => {
  test('work under other safety settings, and on a Redis that is less durable', async () => {
    await redis.redis.config('SET', 'appendfsync', 'everysec');
    onTestFinished(async () => {
      await redis.redis.config('SET', 'appendfsync', 'always');
    });
    const words = [
      ['list'],
      ['status', runId],
      ['watch', runId],
      ['show', runId, 'INV-1'],
      ['report', runId],
      ['settings'],
    ];
    const ended = await Promise.all(words.map((each) => payrun.run(each, { PAYRUN_QUOTE_GRACE: '9s' })));
    expect(ended.map(({ code }) => code)).toEqual([0, 0, 4, 0, 0, 0]);
  });

  test('refuse to take the ledger for that of another service', async () => {
    const { code, stderr } = await payrun.run(['status', runId], {
      PAYRUN_SERVICE_URL: 'http://127.0.0.1:9',
      PAYRUN_CLIENT_ID: 'id',
      PAYRUN_CLIENT_SECRET: 'secret',
      PAYRUN_TENANT_ID: 'tenant',
      PAYRUN_ENVIRONMENT: 'test',
    });
    expect(code).toBe(2);
    expect(stderr).toContain('belongs to another service');
  });
});
