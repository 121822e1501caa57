import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { openProgram } from '../../src/cli/program.ts';
import { STOP_MS } from '../../src/cli/stop.ts';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { readConfig, SETTING_NAMES } from '../../src/config/config.ts';
import { duration } from '../../src/duration.ts';
import { connectRedis, letsAnybodyIn } from '../../src/redis/connect.ts';
import { readDurability } from '../../src/redis/durability.ts';
import { journalFile } from '../../src/sandbox/tenant.ts';
import { openCredentials } from '../../src/sandbox/tokens/credentials.ts';
import { requireSafeAddress } from '../../src/web/limits/hosts.ts';
import { startNetworkRedis } from '../support/network-redis.ts';
import { ROOT } from '../support/payrun-processes.ts';
import { COMPOSE, type ComposeService, composeService, readRootFile } from './compose-file.ts';

/** What a worker needs after its grace, until it ends by force. */
const END_MS = 2000;

const overrideFile = z.looseObject({ services: z.record(z.string(), z.looseObject({})) });

const SERVICES = Object.entries(COMPOSE.services);
const PAYRUNS = SERVICES.filter(([, { image }]) => image === 'payrun:local');
const COMMANDS = PAYRUNS.filter(([name]) => name !== 'credential');
const LASTING = PAYRUNS.filter(([, { restart }]) => restart === 'unless-stopped');
const SET = PAYRUNS.filter(([, { environment }]) => Object.keys(environment).length > 0);
const PAYING = ['inbox', 'serve', 'worker'];
const CREDENTIAL = ['client-id', 'client-secret', 'tenant'];

const DOCKERFILE = readRootFile('Dockerfile');
const INSTRUCTIONS = DOCKERFILE.replaceAll('\\\n', ' ')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'));

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'payrun-containers-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

/** As payrun takes it: the name, or the same for a file that holds the value. */
function isSetting(name: string): boolean {
  return SETTING_NAMES.includes(name) || SETTING_NAMES.includes(name.replace(/_FILE$/, ''));
}

/** The volume or folder behind a place in a service's container. */
function mounted({ volumes }: ComposeService, at: string): string | undefined {
  const mount = volumes.find((volume) => volume.replace(/:ro$/, '').endsWith(`:${at}`));
  return mount?.replace(/:ro$/, '').slice(0, -at.length - 1);
}

describe('docker-compose.yml', () => {
  test('has Redis, the sandbox, the web app, the inbox, a schedule and workers', () => {
    expect(Object.keys(COMPOSE.services)).toEqual(expect.arrayContaining(['redis', 'sandbox', 'schedule', ...PAYING]));
    expect(COMMANDS.length).toBe(SERVICES.length - 2);
  });

  test.each(SERVICES)(
    '%s has an image with a tag that stays, and a digest where others made it',
    (_name, { image }) => {
      expect(image).toMatch(/^(?:payrun:local|[a-z0-9./-]+:[\w.-]+@sha256:[0-9a-f]{64})$/);
      expect(image).not.toMatch(/:latest$/);
    },
  );

  test('builds its image once, in a service that all others wait for', () => {
    const builds = SERVICES.filter(([, { build }]) => build !== undefined).map(([name]) => name);
    expect(builds).toEqual(['credential']);
    for (const [, service] of COMMANDS) expect(Object.keys(service.depends_on)).toContain('credential');
  });

  test.each(SERVICES)('%s has no rights and a file system that is only read', (_name, service) => {
    expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] });
  });

  test('names volumes and networks that it declares, and no others', () => {
    const mounts = SERVICES.flatMap(([, { volumes }]) => volumes.map((volume) => volume.split(':')[0] ?? ''));
    const volumes = new Set(mounts.filter((mount) => /^[a-z0-9-]+$/.test(mount)));
    expect([...volumes].toSorted()).toEqual(Object.keys(COMPOSE.volumes).toSorted());
    const networks = new Set(SERVICES.flatMap(([, service]) => service.networks));
    expect([...networks].toSorted()).toEqual(Object.keys(COMPOSE.networks).toSorted());
  });

  test('lets nobody but its own reach Redis and the sandbox, and neither of the two the other one', () => {
    for (const [name, network] of [
      ['redis', 'ledger'],
      ['sandbox', 'service'],
    ] as const) {
      expect(COMPOSE.networks[network]).toEqual({ internal: true });
      expect(composeService(name).networks).toEqual([network]);
      expect(composeService(name).ports).toEqual([]);
    }
  });

  test('keeps the password of Redis from the sandbox, and from Redis itself', () => {
    for (const name of ['redis', 'sandbox']) expect(mounted(composeService(name), '/credential')).toBeUndefined();
    for (const name of [...PAYING, 'schedule']) {
      expect(composeService(name).environment['REDIS_URL']).toBeUndefined();
      expect(composeService(name).volumes).toContain('credential:/credential:ro');
    }
    expect(composeService('redis').volumes).toContain('redis-users:/redis-users:ro');
    expect(composeService('redis').depends_on).toEqual({
      credential: { condition: 'service_completed_successfully' },
    });
  });

  test('lets nobody but its own host reach the web app, whose connections are not encrypted', () => {
    const published = SERVICES.flatMap(([name, { ports }]) => ports.map((port) => `${name} ${port}`));
    expect(published).toEqual([expect.stringMatching(/^serve 127\.0\.0\.1:/)]);
  });

  test('gives each service that keeps something a volume of its own', () => {
    const volumes = PAYING.map((name) => mounted(composeService(name), '/data'));
    expect(volumes).not.toContain(undefined);
    expect(new Set(volumes).size).toBe(PAYING.length);
  });

  test('gives each worker a data directory that no other one holds, and one that was left before a new one', {
    timeout: 60_000,
  }, async () => {
    const { entrypoint = [], command } = composeService('worker');
    const [shell = '', ...words] = entrypoint.map((word) => word.replaceAll('$$', '$').replaceAll('/data', dir));
    writePayrun(`exec ${process.execPath} -e 'console.log(process.env.PAYRUN_DATA_DIR); setInterval(() => {}, 1000)'`);
    const workers: ChildProcess[] = [];
    const start = async (): Promise<string> => {
      const worker = spawn(shell, [...words, ...command], { env: withPayrun(), stdio: ['ignore', 'pipe', 'inherit'] });
      workers.push(worker);
      const [said] = (await once(worker.stdout, 'data')) as [Buffer];
      return said.toString().trimEnd();
    };
    try {
      const taken = await Promise.all([start(), start(), start()]);
      expect(taken.toSorted()).toEqual(['1', '2', '3'].map((number) => join(dir, number)));
      await Promise.all(workers.splice(1, 1).map(kill));
      expect(await start()).toBe(taken[1]);
      expect(await start()).toBe(join(dir, '4'));
    } finally {
      await Promise.all(workers.map(kill));
    }
  });

  test('sets only what payrun knows', () => {
    const texts = [readRootFile('docker-compose.yml'), DOCKERFILE, readRootFile('docs/containers.md')];
    const names = texts.flatMap((text) => text.match(/\bPAYRUN_(?!TEST_)[A-Z_]+\b/g) ?? []);
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !isSetting(name))).toEqual([]);
  });

  test('sets the same for all, and payrun takes it in test and refuses it in prod', () => {
    const [first, ...others] = SET.map(([, { environment }]) => environment);
    for (const other of others) expect(other).toEqual(first);
    const environment = { ...first, ...credentialFiles(), PAYRUN_DATA_DIR: '/data' };
    expect(readConfig(environment)).toMatchObject({
      redisUrl: 'redis://payrun:secret@redis:6379',
      service: { url: 'http://sandbox:4010', environment: 'test', clientId: 'of client-id' },
    });
    const inProd = { ...environment, PAYRUN_ENVIRONMENT: 'prod', PAYRUN_CONFIRM_PROD: 'of tenant' };
    expect(() => readConfig(inProd)).toThrow(/prod takes https only/);
    expect(() => readConfig({ ...environment, PAYRUN_HTTP_HOST: 'other' })).toThrow(/PAYRUN_HTTP_HOST only/);
  });

  test.each(COMMANDS)('%s gives payrun a command and options that it has', async (_name, { command: given }) => {
    let command: Command = await openProgram({ end: () => {} });
    for (const word of given) command = command.commands.find((one) => one.name() === word) ?? command;
    expect(command.name()).not.toBe('payrun');
    const options = given.filter((word) => word.startsWith('-'));
    expect(options.filter((option) => !command.options.some(({ long }) => long === option))).toEqual([]);
  });

  test.each(LASTING)('%s has time to end by itself', (_name, { stop_grace_period: grace }) => {
    expect(duration.parse(grace)).toBeGreaterThanOrEqual(STOP_MS + END_MS);
  });

  test('starts a Redis that payrun finds durable, and that lets in nobody else', async () => {
    makeCredential('true');
    const { command, healthcheck } = composeService('redis');
    const [program, ...args] = command.map((word) => word.replace('/redis-users', join(dir, 'redis-users')));
    expect(program).toBe('redis-server');
    const redis = await startNetworkRedis(...args);
    const url = readFileSync(join(dir, 'credential/redis-url'), 'utf8').trimEnd().replace('redis:6379', redis.host);
    const seen: Redis[] = [];
    try {
      const own = await connectRedis({ url }, { name: 'test', kind: 'commands' });
      seen.push(own);
      expect(await readDurability(own)).toEqual([]);
      expect(await own.set('{payrun}:key', 'value')).toBe('OK');
      await expect(own.flushall()).rejects.toThrow('NOPERM');
      expect(await letsAnybodyIn({ url })).toBe(false);
      expect(healthcheck?.['test']).toContain('--user health --pass none');
      const health = new Redis(`redis://health:none@${redis.host}`, { enableReadyCheck: false });
      seen.push(health);
      expect(await health.ping()).toBe('PONG');
      for (const name of ['info', 'dbsize']) await expect(health.call(name)).rejects.toThrow('NOPERM');
    } finally {
      for (const one of seen) one.disconnect();
      await redis.stop();
    }
  });

  test('makes a credential that the sandbox takes, and keeps it when it is started again', {
    timeout: 60_000,
  }, async () => {
    const [folder, book] = [join(dir, 'credential'), join(dir, 'sandbox')];
    const make = (): string[] => {
      makeCredential(`exec node ${inject('built')}/src/cli/main.js "$@"`);
      return [...CREDENTIAL, 'redis-url'].map((name) => readFileSync(join(folder, name), 'utf8').trimEnd());
    };
    const [clientId = '', clientSecret = '', tenant, redisUrl = ''] = make();
    const credentials = await openCredentials(journalFile(book, 'test', 'credentials'), {
      clock: systemClock,
      random: systemRandom,
    });
    expect(credentials.accepts(clientId, clientSecret)).toBe(true);
    await credentials.close();
    expect(JSON.parse(readFileSync(join(book, 'tenant.json'), 'utf8'))).toMatchObject({ tenantId: tenant });
    expect(redisUrl).toMatch(/^redis:\/\/payrun:[0-9a-f]{64}@redis:6379$/);
    expect(make()).toEqual([clientId, clientSecret, tenant, redisUrl]);
    expect(statSync(join(folder, 'redis-url')).mode & 0o077).toBe(0);

    const environment = { ...composeService('serve').environment, ...credentialFiles(), PAYRUN_DATA_DIR: '/data' };
    const { web } = readConfig({ ...environment, PAYRUN_CONFIG: join(folder, 'config.json') });
    const host = composeService('serve').command.at(-1) ?? '';
    expect(() => requireSafeAddress({ host }, web)).not.toThrow();
    expect(web.proxies).toEqual(['127.0.0.1']);
    expect(web.hosts).toEqual(['localhost:9000', '127.0.0.1:9000']);
  });
});

async function kill(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

/** Puts this in the place of payrun. */
function writePayrun(line: string): void {
  writeFileSync(join(dir, 'payrun'), `#!/bin/sh\n${line}\n`);
  chmodSync(join(dir, 'payrun'), 0o755);
}

function withPayrun(): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${dir}:${process.env['PATH'] ?? ''}` };
}

/** Does what the credential service does, here; `payrun` is the line that stands for payrun. */
function makeCredential(payrun: string): void {
  for (const name of ['credential', 'sandbox', 'redis-users']) mkdirSync(join(dir, name), { recursive: true });
  const script = (composeService('credential').command[0] ?? '').replaceAll('$$', '$');
  const here = script
    .replaceAll('${WEB_PORT:-8420}', '9000')
    .replaceAll('/payrun/redis.acl', join(ROOT, 'docs/redis.acl'))
    .replaceAll('/redis-users', join(dir, 'redis-users'))
    .replaceAll('/credential', join(dir, 'credential'))
    .replaceAll('/sandbox', join(dir, 'sandbox'))
    .replaceAll('/tmp/made', `${dir}/made`);
  writePayrun(payrun);
  execFileSync('sh', ['-euc', here], { env: withPayrun(), stdio: 'pipe' });
}

/** Files as the credential service makes them, each with its own name in it, and the address of Redis. */
function credentialFiles(): Record<string, string> {
  const files = Object.entries(composeService('inbox').environment).filter(([name]) => name.endsWith('_FILE'));
  expect(files.map(([, path]) => path)).toEqual(['redis-url', ...CREDENTIAL].map((name) => `/credential/${name}`));
  const settings = join(dir, 'config.json');
  writeFileSync(settings, '{}');
  const credentials = files.map(([name, path]) => {
    const file = join(dir, path.replace('/credential/', ''));
    const redisUrl = 'redis://payrun:secret@redis:6379';
    const secret = name === 'REDIS_URL_FILE' ? redisUrl : path.replace('/credential/', 'of ');
    writeFileSync(file, secret, { mode: 0o600 });
    return [name, file] as const;
  });
  return Object.fromEntries([...credentials, ['PAYRUN_CONFIG', settings] as const]);
}

test('docs/containers.md changes services that there are', () => {
  const blocks = [...readRootFile('docs/containers.md').matchAll(/```yaml\n(.*?)```/gs)].map(([, yaml = '']) => yaml);
  const names = blocks.flatMap((yaml) => Object.keys(overrideFile.parse(parse(yaml)).services));
  expect(names).toEqual(expect.arrayContaining(PAYING));
  expect(names.filter((name) => !(name in COMPOSE.services))).toEqual([]);
});

describe('the Dockerfile', () => {
  test('is for a builder that knows nothing new', () => {
    expect(DOCKERFILE).not.toMatch(/--mount|--chmod|--link|<<|^# *syntax/m);
    for (const line of INSTRUCTIONS)
      expect(line).toMatch(/^(ARG|FROM|WORKDIR|COPY|RUN|ENV|USER|VOLUME|HEALTHCHECK|ENTRYPOINT|CMD) /);
  });

  test('is built from one image with a tag and a digest, which can be told, and runs no script of a package', () => {
    const image = /^ARG NODE_IMAGE=(\S+)$/m.exec(DOCKERFILE)?.[1];
    expect(image).toMatch(/^node:[\w.-]+@sha256:[0-9a-f]{64}$/);
    expect(composeService('credential').build?.args).toEqual({ NODE_IMAGE: `\${NODE_IMAGE:-${image}}` });
    const bases = INSTRUCTIONS.filter((line) => line.startsWith('FROM '));
    expect(bases.length).toBeGreaterThan(1);
    for (const line of bases) expect(line.replace(/ AS \w+$/, '')).toBe('FROM ${NODE_IMAGE}');
    for (const call of DOCKERFILE.match(/npm (ci|prune)[^&\n]*/g) ?? []) expect(call).toContain('--ignore-scripts');
  });

  test.each([
    ['one of them answers', 204, 0],
    ['all that it has is an error', 500, 1],
    ['nothing answers', undefined, 1],
  ])('says of a container in which %s how it is', async (_when, status, code) => {
    const check = INSTRUCTIONS.find((line) => line.startsWith('HEALTHCHECK '))?.replace(/^.* CMD /, '') ?? '';
    const [program = '', ...words] = z.array(z.string()).parse(JSON.parse(check));
    const server = createServer((_request, response) => response.writeHead(status ?? 200).end()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    if (status === undefined) {
      server.close();
      await once(server, 'close');
    }
    try {
      const here = words.map((word) => word.replaceAll(/(?<=127\.0\.0\.1:)[0-9]+/g, String(port)));
      const child = spawn(program, here, { stdio: 'ignore' });
      expect(await once(child, 'exit')).toEqual([code, null]);
    } finally {
      server.close();
    }
  });

  test('ends as a user without rights, whose only folder of payrun is the data directory', () => {
    expect(INSTRUCTIONS.findLast((line) => line.startsWith('USER '))).toBe('USER node');
    expect(DOCKERFILE.match(/chown node:node [^&]*/g)?.map((call) => call.replaceAll(/\\\s*/g, '').trim())).toEqual([
      'chown node:node /data /sandbox /credential /redis-users',
    ]);
    expect(DOCKERFILE).toContain('PAYRUN_DATA_DIR=/data');
  });

  test('is given what it copies, and nothing else of the folder', () => {
    const copied = INSTRUCTIONS.filter((line) => /^COPY (?!--from=)/.test(line)).flatMap((line) =>
      line.split(' ').slice(1, -1),
    );
    const [first, ...given] = readRootFile('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(first).toBe('*');
    expect(given.map((line) => line.replace('!', '')).toSorted()).toEqual([...new Set(copied)].toSorted());
  });
});
