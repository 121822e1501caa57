import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { makeLedger } from '../runs/opened-app.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';
import { type Ended, parsed, payoutFile, reportSchema, runSchema, usePayrun } from './payrun.ts';

const verdictSchema = z.strictObject({
  holds: z.boolean(),
  entries: z.int(),
  head: z.string().nullable(),
  coded: z.strictObject({ entries: z.int(), from: z.int() }).nullable(),
  uncopied: z.int(),
  findings: z.array(z.strictObject({ code: z.string(), number: z.int(), message: z.string() })),
});
const entriesSchema = z.array(
  z.strictObject({
    number: z.int(),
    at: z.iso.datetime(),
    actor: z.string(),
    action: z.string(),
    target: z.string(),
    details: z.record(z.string(), z.string()),
    dataDir: z.string(),
    previous: z.string().length(64),
    hash: z.string().length(64),
  }),
);

/** A test here starts up to seven processes, each of which a busy machine may take seconds to start. */
const MANY_PROCESSES = { timeout: 180_000 };

const redis = await useTestRedis();
const payrun = usePayrun({ REDIS_URL: redis.url });
let place: Record<string, string>;
let places = 0;

beforeAll(async () => {
  writeFileSync(join(payrun.dir, 'one.csv'), payoutFile([['INV-1', '10.00']]));
}, 180_000);
beforeEach(async () => {
  places++;
  place = { PAYRUN_PREFIX: freshPrefix(), PAYRUN_DATA_DIR: join(payrun.dir, `data-${places}`) };
  await makeLedger(redis.url, place);
});

const run = (...words: string[]): Promise<Ended> => payrun.run(words, place);
const key = (): string => `${place['PAYRUN_PREFIX']}:audit`;
const audit = (): string => join(place['PAYRUN_DATA_DIR'] ?? '', 'audit');

async function submitOne(): Promise<string> {
  const { stdout } = await run('submit', 'one.csv', '--sandbox', '--as', 'anna', '--json');
  return parsed(runSchema, stdout).runId;
}

async function verdict(...words: string[]): Promise<z.infer<typeof verdictSchema> & { code: Ended['code'] }> {
  const { stdout, code } = await run('audit', 'verify', '--json', ...words);
  return { ...parsed(verdictSchema, stdout), code };
}

describe('payrun audit verify', MANY_PROCESSES, () => {
  test('exits 0 while the log holds, also before there is anything in it', async () => {
    expect(await verdict()).toEqual({
      holds: true,
      entries: 0,
      head: null,
      coded: null,
      uncopied: 0,
      findings: [],
      code: 0,
    });
    await submitOne();
    const { code, stdout } = await run('audit', 'verify');
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^The audit log holds: 2 entries, proven up to 2:/),
    });
  });

  test('exits 1 with the place when an entry was changed', async () => {
    await submitOne();
    await run('halt', '--reason', 'doubt', '--as', 'ben');
    await redis.redis.lset(key(), 1, ((await redis.redis.lindex(key(), 1)) ?? '').replace('anna', 'nils'));
    const { code, stdout } = await run('audit', 'verify');
    expect(code).toBe(1);
    expect(stdout).toContain('THE AUDIT LOG DOES NOT HOLD: 3 entries, proven up to 1:');
    expect(stdout).toContain('entry 2 is not what its hash says: it was changed');
  });

  test('finds by the head of a report that the log was cut off, without any copy', async () => {
    const runId = await submitOne();
    await run('pause', runId, '--reason', 'look', '--as', 'ben');
    const { stdout } = await run('report', runId, '--format', 'summary', '--json');
    const head = parsed(reportSchema, stdout).auditHead ?? '';
    expect(await verdict('--head', head)).toMatchObject({ code: 0, head });
    await redis.redis.rpop(key());
    rmSync(audit(), { recursive: true });
    expect(await verdict()).toMatchObject({ code: 0 });
    expect(await verdict('--head', head)).toMatchObject({ code: 1, findings: [{ code: 'head', number: 3 }] });
    expect(await verdict('--head', head.slice(2))).toMatchObject({ code: 1, findings: [{ code: 'head' }] });
  });

  test('finds by the copies that the log was cut off', async () => {
    await submitOne();
    await redis.redis.rpop(key());
    expect(await verdict()).toMatchObject({ code: 1, findings: [{ code: 'copy', number: 2 }] });
  });

  test.each([`0:${'a'.repeat(64)}`, 'a'.repeat(63)])('refuses a head that is none: %j', async (head) => {
    expect(await run('audit', 'verify', '--head', head)).toMatchObject({ code: 2, stdout: '' });
  });

  test('holds after a process was killed between the entry and its copy, and half of the copy', async () => {
    const runId = await submitOne();
    for (let killed = 1; killed <= 2; killed++) {
      const before = await redis.redis.llen(key());
      const { child, ended } = payrun.start(['pause', runId, '--reason', 'look', '--as', `p${killed}`], place);
      // Not expect.poll, which would look too rarely to kill it here.
      while ((await redis.redis.llen(key())) === before && child.exitCode === null);
      child.kill('SIGKILL');
      await ended;
      appendFileSync(join(audit(), `${await instanceOf()}.log`), `\n${'a'.repeat(64)} {"number":${before + 1},"at"`);
      expect(await verdict()).toMatchObject({ code: 0, entries: before + 1 });
    }
    await run('resume', runId);
    expect(await verdict()).toMatchObject({ code: 0, uncopied: 0, entries: 5 });
  });
});

describe('with a ledger key', MANY_PROCESSES, () => {
  beforeEach(() => {
    place['PAYRUN_LEDGER_KEY'] = 'k'.repeat(32);
  });

  test('payrun audit verify exits 1 for a log that somebody wrote anew without the key, and names the entry', async () => {
    await submitOne();
    expect(await verdict()).toMatchObject({ code: 0, coded: { entries: 2, from: 1 } });
    const line = (await redis.redis.lindex(key(), 1)) ?? '';
    const text = line.slice(65, line.lastIndexOf(' ')).replace('anna', 'nils');
    const hash = createHash('sha256').update(text).digest('hex');
    await redis.redis.lset(key(), 1, `${hash} ${text}${line.slice(line.lastIndexOf(' '))}`);
    rmSync(audit(), { recursive: true });
    expect(await verdict()).toMatchObject({ code: 1, findings: [{ code: 'forged', number: 2 }] });
    const { stderr } = await payrun.run(['audit', 'verify'], { ...place, PAYRUN_LEDGER_KEY: 'n'.repeat(32) });
    expect(stderr).toContain("No entry carries a code of the ledger's key");
  });
});

async function instanceOf(): Promise<string> {
  return (await redis.redis.hget(`${place['PAYRUN_PREFIX']}:head`, 'instance')) ?? '';
}

describe('payrun audit list', MANY_PROCESSES, () => {
  test('prints what people did, all of it or one run’s', async () => {
    const runId = await submitOne();
    await run('cancel', runId, 'INV-1', '--as', 'ben', '--reason', 'paid by hand');
    await run('halt', '--reason', 'doubt', '--as', 'carl');
    const { stdout, code } = await run('audit', 'list', '--json');
    expect(code).toBe(0);
    expect(parsed(entriesSchema, stdout).map(({ number, actor, action }) => [number, actor, action])).toEqual([
      [1, 'payrun', 'ledger.made'],
      [2, 'anna', 'run.submitted'],
      [3, 'ben', 'payout.cancelled'],
      [4, 'carl', 'ledger.halted'],
    ]);
    const ofRun = parsed(entriesSchema, (await run('audit', 'list', '--run', runId, '--json')).stdout);
    expect(ofRun.map(({ target }) => target)).toEqual([runId, `${runId}-2`]);
    const text = (await run('audit', 'list')).stdout.split('\n');
    expect(text[0]).toMatch(/^entry +time +who +did +to +details$/);
    expect(text[3]).toMatch(/^3 .* ben +payout\.cancelled +.*reason=paid by hand$/);
  });

  test('prints an empty array when nobody has done anything', async () => {
    expect(await run('audit', 'list', '--json')).toMatchObject({ code: 0, stdout: '[]\n' });
  });

  test('goes on after an entry that was changed, and says so', async () => {
    await submitOne();
    await redis.redis.lset(key(), 0, 'nothing');
    const { stdout, stderr } = await run('audit', 'list', '--json');
    expect(parsed(entriesSchema, stdout)).toMatchObject([{ number: 2 }]);
    expect(stderr).toContain('place 1 was changed');
  });
});

test('settings that were adopted are on the log, with what they were before', async () => {
  await submitOne();
  const adopted = await payrun.run(['settings', 'adopt'], { ...place, PAYRUN_QUOTE_GRACE: '10m' });
  expect(adopted.code).toBe(0);
  const entries = parsed(entriesSchema, (await run('audit', 'list', '--json')).stdout);
  expect(entries.at(-1)).toMatchObject({ action: 'settings.adopted', target: 'ledger' });
  expect(entries.at(-1)?.details['before']).toContain('quote grace 1000 ms');
  expect(entries.at(-1)?.details['after']).toContain('quote grace 600000 ms');
});

test('a halt takes effect although its copy cannot be written, and says so', MANY_PROCESSES, async () => {
  await submitOne();
  rmSync(audit(), { recursive: true });
  writeFileSync(audit(), '');
  const { code, stderr, stdout } = await run('halt', '--reason', 'doubt', '--as', 'anna');
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('Everything is halted: doubt') });
  expect(stderr).toContain('The copy of the audit log in ');
  expect((await run('release', '--as', 'anna')).code).toBe(2);
  rmSync(audit());
  mkdirSync(audit());
  expect((await run('release', '--as', 'ben')).code).toBe(0);
  expect(statSync(audit()).isDirectory()).toBe(true);
  expect(await verdict()).toMatchObject({ code: 0, uncopied: 0 });
});
