import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { makeLedger } from '../runs/opened-app.ts';
import { type Ended, useProcesses } from '../support/payrun-processes.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';

const time = z.iso.datetime();

/** A schedule as `list` and `set` print it. */
const schema = z.strictObject({
  name: z.string(),
  do: z.string(),
  stages: z.strictObject({ sizes: z.string(), goesOnIfPaid: z.boolean() }).nullable(),
  cron: z.string(),
  zone: z.string(),
  words: z.string(),
  windowMs: z.int(),
  setBy: z.string(),
  setAt: time,
  last: z.strictObject({ planned: time.nullable(), doneAt: time.nullable() }),
  missed: time.nullable(),
  fault: z.string().nullable(),
  next: z.array(time).length(5),
});

// Each test starts several processes.
vi.setConfig({ testTimeout: 180_000 });

const server = await useTestRedis();
const processes = useProcesses();
let cwd: string;
let env: Record<string, string>;

beforeEach(async () => {
  cwd = processes.folder();
  env = { REDIS_URL: server.url, PAYRUN_PREFIX: freshPrefix(), PAYRUN_DATA_DIR: join(cwd, 'data') };
  await makeLedger(server.url, env);
});

const payrun = (...words: string[]): Promise<Ended> => processes.run(words, { env, cwd });
const set = (name: string, ...words: string[]): Promise<Ended> =>
  payrun('schedule', 'set', name, '--cron', '30 6 * * 1-5', '--zone', 'Europe/Berlin', ...words);

describe('payrun schedule', () => {
  test('set shows the schedule in words, with the next five times in its zone', async () => {
    const { code, stdout } = await set('morning', '--do', 'start', '--window', '2h');
    expect(code).toBe(0);
    expect(stdout).toContain('At 06:30, Monday through Friday (30 6 * * 1-5, Europe/Berlin)');
    expect(stdout).toContain('120 minutes');
    expect(stdout.match(/(Mon|Tue|Wed|Thu|Fri) \d{4}-\d{2}-\d{2} 06:30 \+0[12]:00 Europe\/Berlin\n/g)).toHaveLength(5);
  });

  test('list shows what there is, until it is removed; both stand on the audit log', async () => {
    mkdirSync(join(cwd, 'in'));
    await set('morning', '--do', 'inbox:in', '--as', 'anna');
    await set('evening', '--do', 'look-up', '--as', 'anna');
    const text = await payrun('schedule', 'list');
    expect(text.stdout).toMatch(/^name .*\nevening +look-up +At 06:30, .*\nmorning +inbox:.*\/in +At 06:30/);
    const json = await payrun('schedule', 'list', '--json');
    expect(z.array(schema).parse(JSON.parse(json.stdout))).toMatchObject([
      { name: 'evening', setBy: 'anna' },
      // Workers have another folder to work in.
      { name: 'morning', do: `inbox:${join(cwd, 'in')}`, windowMs: 3_600_000, last: { planned: null, doneAt: null } },
    ]);
    expect((await payrun('schedule', 'remove', 'morning', '--as', 'bob')).code).toBe(0);
    expect((await payrun('schedule', 'list')).stdout).not.toContain('morning');
    const [made, ...entries] = await server.redis.lrange(`${env['PAYRUN_PREFIX']}:audit`, 0, -1);
    expect(made).toContain('ledger.made');
    expect(
      entries.map((line) => /"actor":"(\w+)","action":"([\w.]+)","target":"([\w ]+)"/.exec(line)?.slice(1)),
    ).toEqual([
      ['anna', 'schedule.set', 'schedule morning'],
      ['anna', 'schedule.set', 'schedule evening'],
      ['bob', 'schedule.removed', 'schedule morning'],
    ]);
  });

  test('set and list show the stages in which an inbox is paid, and so does whoever looks at the audit log', async () => {
    mkdirSync(join(cwd, 'in'));
    const words = ['--do', 'inbox:in', '--stage', '10,1%,rest', '--go-on-if-paid'];
    const does = `inbox:${join(cwd, 'in')} in stages 10,1%,rest, each going on by itself if all was paid`;
    expect((await set('morning', ...words)).stdout).toContain(does);
    expect((await payrun('schedule', 'list')).stdout).toContain(does);
    const json = await payrun('schedule', 'list', '--json');
    expect(z.array(schema).parse(JSON.parse(json.stdout))).toMatchObject([
      { do: `inbox:${join(cwd, 'in')}`, stages: { sizes: '10,1%,rest', goesOnIfPaid: true } },
    ]);
    const entry = await server.redis.lindex(`${env['PAYRUN_PREFIX']}:audit`, -1);
    expect(entry).toContain(`"do":"${does}"`);
  });

  test('set says when nothing has changed', async () => {
    mkdirSync(join(cwd, 'in'));
    const first = await set('morning', '--do', 'inbox:in', '--json');
    expect(schema.parse(JSON.parse(first.stdout)).name).toBe('morning');
    expect((await set('morning', '--do', 'inbox:in')).stderr).toContain('It was set before; nothing has changed.');
  });

  test('refuses an inbox that is not there, is no folder or is open to everybody, with its place and a remedy, and makes nothing', async () => {
    writeFileSync(join(cwd, 'file'), '');
    mkdirSync(join(cwd, 'open'));
    chmodSync(join(cwd, 'open'), 0o777);
    for (const [dir, reason, remedy] of [
      ['absent', `The inbox ${join(cwd, 'absent')} is not there.`, 'mkdir'],
      ['file', `${join(cwd, 'file')} cannot be used: it is no folder.`, 'mkdir'],
      ['open', `Everybody on this machine may write to ${join(cwd, 'open')}.`, 'chmod o-w'],
    ] as const) {
      const { code, stderr } = await set('morning', '--do', `inbox:${dir}`);
      expect(code).toBe(2);
      expect(stderr).toContain(reason);
      expect(stderr).toContain(remedy);
    }
    expect([existsSync(join(cwd, 'absent')), readdirSync(join(cwd, 'open'))]).toEqual([false, []]);
    expect((await payrun('schedule', 'list')).stderr).toContain('There are no schedules yet.');
  });

  test('takes an inbox on a server as it is, and a purge only with PAYRUN_RETENTION', async () => {
    expect((await set('far', '--do', 'inbox:sftp://anna@files.example.com/in')).code).toBe(0);
    const refused = await set('clean', '--do', 'purge');
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/No retention period is set \(PAYRUN_RETENTION\).*\n.*PAYRUN_RETENTION=400d/);
    env['PAYRUN_RETENTION'] = '400d';
    expect((await set('clean', '--do', 'purge')).code).toBe(0);
    const { stdout } = await payrun('schedule', 'list');
    expect(stdout).toMatch(/^clean +purge .*\nfar +inbox:sftp:/m);
  });

  test.each<[what: string, words: string[], message: RegExp]>([
    ['a cron that is none', ['--cron', '30 6 * *'], /4 fields in place of five/],
    ['a cron that never comes', ['--cron', '0 6 31 4 *'], /its day never comes/],
    ['a zone that there is not', ['--zone', 'Berlin'], /There is no time zone "Berlin"/],
    ['something that it cannot do', ['--do', 'pay'], /must be inbox:DIR, start, look-up or purge/],
    ['stages of what reads no inbox', ['--stage', '10,rest'], /Only a schedule that reads an inbox has stages/],
    ['stages that nobody named', ['--go-on-if-paid'], /--go-on-if-paid is for --stage/],
    ['stages without an end', ['--stage', '10,100'], /--stage must be such as 10,100,rest/],
    ['a window that is too long', ['--window', '8d'], /--window must be from 1m to 7d/],
  ])('refuses %s, with a remedy, and sets nothing', async (_what, words, message) => {
    const { code, stderr } = await set('morning', '--do', 'start', ...words);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
    expect(stderr.trim().split('\n').length).toBeGreaterThan(1);
    expect((await payrun('schedule', 'list')).stderr).toContain('There are no schedules yet.');
  });

  test('refuses a name that no schedule may have, and one that no schedule has', async () => {
    expect(await set('a b', '--do', 'start')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/is not a name for/),
    });
    expect(await payrun('schedule', 'remove', 'morning')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/There is no schedule morning/),
    });
  });
});
