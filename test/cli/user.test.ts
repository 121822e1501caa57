import { join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { makeLedger } from '../runs/opened-app.ts';
import { type Ended, useProcesses } from '../support/payrun-processes.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';

const time = z.iso.datetime();
const userSchema = z.strictObject({
  name: z.string(),
  role: z.string(),
  isDisabled: z.boolean(),
  secretUntil: time.nullable(),
  addedBy: z.string(),
  addedAt: time,
  hasFactor: z.boolean(),
});
const proposalSchema = z.strictObject({ target: z.string(), what: z.string(), by: z.string(), at: time });
const listSchema = z.strictObject({ users: z.array(userSchema), proposals: z.array(proposalSchema) });
const keySchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  role: z.string(),
  createdBy: z.string(),
  createdAt: time,
  expiresAt: time.nullable(),
  lastUsedAt: time.nullable(),
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

async function list(): Promise<z.infer<typeof listSchema>> {
  return listSchema.parse(JSON.parse((await payrun('user', 'list', '--json')).stdout));
}

describe('payrun user', () => {
  test('a fresh install has nobody and no password; the first admin is made with a secret that is shown once', async () => {
    expect((await payrun('user', 'list')).stderr).toContain('There are no users yet: payrun user add');
    const added = await payrun('user', 'add', 'anna', '--role', 'admin', '--as', 'anna');
    expect(added.code).toBe(0);
    expect(added.stdout).toMatch(
      /^user +anna\nrole +admin\nstate +has a one-time secret until .*\none-time secret +[\w-]{22}\n$/,
    );
    expect(added.stderr).toContain('shown this once');
    const [secret = ''] = /[\w-]{22}$/m.exec(added.stdout) ?? [];
    const { stdout } = await payrun('user', 'list');
    expect(stdout).toMatch(/^anna +admin +has a one-time secret until .* by anna\n$/);
    expect(stdout).not.toContain(secret);
  });

  test('once there are two admins, one proposes and the other one confirms', async () => {
    await payrun('user', 'add', 'anna', '--role', 'admin', '--as', 'anna');
    await payrun('user', 'add', 'bob', '--role', 'admin', '--as', 'anna');
    const proposed = await payrun('user', 'add', 'cleo', '--role', 'maker', '--as', 'anna');
    expect(proposed).toMatchObject({ code: 0, stderr: expect.stringContaining('another admin') });
    expect(proposed.stdout).toMatch(/^one-time secret +[\w-]{22}\n$/);
    expect((await list()).proposals).toMatchObject([{ target: 'user cleo', what: 'add as maker', by: 'anna' }]);
    expect(await payrun('user', 'add', 'cleo', '--role', 'maker', '--as', 'ANNA')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('another person has to confirm it'),
    });
    const added = await payrun('user', 'add', 'cleo', '--role', 'maker', '--as', 'bob', '--json');
    expect(JSON.parse(added.stdout)).toMatchObject({ kind: 'done', user: { name: 'cleo' } });
    expect(added.stdout).not.toContain('"secret"');
  });

  test('a user is given another role, kept out, let in again and given a new secret, with a chain of entries', async () => {
    await payrun('user', 'add', 'anna', '--role', 'admin', '--as', 'anna');
    await payrun('user', 'add', 'cleo', '--role', 'maker', '--as', 'anna');
    const role = await payrun('user', 'role', 'cleo', 'checker', '--as', 'anna');
    expect(role.stdout).toMatch(/^user +cleo\nrole +checker/);
    expect((await payrun('user', 'disable', 'cleo', '--as', 'anna')).stdout).toContain('cleo cannot sign in');
    expect((await list()).users[1]).toMatchObject({ name: 'cleo', role: 'checker', isDisabled: true });
    expect((await payrun('user', 'enable', 'cleo', '--as', 'anna')).stdout).not.toContain('disabled');
    expect((await payrun('user', 'reset', 'cleo', '--as', 'anna')).stdout).toMatch(/one-time secret +[\w-]{22}/);
    expect((await payrun('audit', 'verify')).code).toBe(0);
  });

  test.each<[what: string, words: string[], message: RegExp]>([
    ['a role that is none', ['add', 'anna', '--role', 'root', '--as', 'anna'], /--role must be one of viewer, maker/],
    ['a name that is none', ['add', 'a|b', '--role', 'admin', '--as', 'anna'], /is no name for a user/],
    ['a first user who is no admin', ['add', 'anna', '--role', 'maker', '--as', 'anna'], /There is no admin yet/],
    ['somebody who is not there', ['role', 'anna', 'maker', '--as', 'anna'], /There is no user anna/],
    ['nobody’s name', ['reset', 'anna'], /^--as <name> is needed\.$/m],
  ])('refuses %s, with a remedy', async (_what, words, message) => {
    const { code, stdout, stderr } = await payrun('user', ...words);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr.trim().split('\n').length).toBeGreaterThan(1);
  });
});

describe('payrun key', () => {
  test('a key is shown once, listed without its secret, and revoked by one person', async () => {
    await payrun('user', 'add', 'anna', '--role', 'admin', '--as', 'anna');
    expect((await payrun('key', 'list')).stderr).toContain('There are no keys yet');
    const made = await payrun('key', 'create', 'accounting', '--role', 'maker', '--for', '30d', '--as', 'anna');
    expect(made.stdout).toMatch(/^pr_[0-9a-f]{16}_[\w-]{43}\n$/);
    const listed = await payrun('key', 'list', '--json');
    expect(z.array(keySchema).parse(JSON.parse(listed.stdout))).toMatchObject([
      { name: 'accounting', role: 'maker', createdBy: 'anna', lastUsedAt: null, expiresAt: expect.any(String) },
    ]);
    expect((await payrun('key', 'list')).stdout).toMatch(/^name .*\naccounting +maker +anna /);
    expect(listed.stdout).not.toContain(made.stdout.trim().slice(-43));
    const told = await payrun('key', 'revoke', 'accounting', '--as', 'anna');
    expect(told).toMatchObject({ code: 2, stderr: expect.stringMatching(/was not revoked yet[^]*--yes/) });
    expect((await payrun('key', 'list')).stdout).toContain('accounting');
    expect((await payrun('key', 'revoke', 'accounting', '--as', 'anna', '--yes')).stdout).toContain('is revoked');
    expect(await payrun('key', 'revoke', 'accounting', '--yes')).toMatchObject({ code: 2 });
  });

  test('no key decides anything that needs people', async () => {
    const { code, stderr } = await payrun('key', 'create', 'accounting', '--role', 'checker', '--as', 'anna');
    expect(code).toBe(2);
    expect(stderr).toContain('--role must be one of viewer, maker: a program decides nothing that needs people');
  });
});
