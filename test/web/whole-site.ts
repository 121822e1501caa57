import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { type JobQueues, openQueues } from '../../jobs/open.ts';
import type { App } from '../../src/app.ts';
import { writeReport } from '../../src/runs/after/report.ts';
import type { Web } from '../../src/web/web.ts';
import { movePayout, recordRun } from '../runs/recorded-run.ts';
import type { TestRedis } from '../support/redis.ts';
import { openWebRig } from './rig.ts';
import type { Visitor } from './visitor.ts';

const HEADER = 'reference,beneficiaryIdentityId,amount,sourceCurrency,destinationCurrency';
const BENEFICIARY = '7d9f1c1e-5f0a-4c56-9f5e-2b1d3c4a5e6f';
const ISSUER_ANSWERS_MS = 60_000;

/** A method and the path of a route, as the server has it: `GET /runs/:run`. */
export type Route = string;

/** All routes as the server itself lists them, the API's too: a tree, a level for each four columns. */
export function routesOf(web: Web): Route[] {
  const path: string[] = [];
  const lines = web.printRoutes({ commonPrefix: false }).split('\n');
  return lines.flatMap((line) => {
    const [, branches = '', piece = '', methods] = /^([│├└─ ]+)(\S+)(?: \(([A-Z, ]+)\))?$/.exec(line) ?? [];
    path.splice(branches.length / 4 - 1, Number.POSITIVE_INFINITY, piece);
    return (methods?.split(', ') ?? []).map((method) => `${method} ${path.join('').replace(/^\/\//, '/')}`);
  });
}

/** The routes that are no API's, without HEAD. */
export function pageRoutes(web: Web): Route[] {
  return routesOf(web).filter((route) => !/^HEAD |^\S+ \/api\/v1\//.test(route));
}

/** What stands in the place of each name in a path. */
export type Names = Readonly<Record<string, string>>;

/** An address of the route; what has no name is `none`. */
export function addressOf(route: Route, names: Names = {}): { readonly method: string; readonly path: string } {
  const [method = '', path = ''] = route.split(' ');
  // The tree of routes shows the board's files without their folder.
  const whole = path.replace('/admin/queues/*', '/admin/queues/static/*');
  return { method, path: whole.replaceAll(/:(\w+)|\*/g, (_all, name: string) => names[name] ?? 'none') };
}

/** The web app with every route that it can have. */
export async function openWholeSite(server: TestRedis) {
  const connection = new Redis(server.socket, { maxRetriesPerRequest: null });
  onTestFinished(() => connection.disconnect());
  let queues: JobQueues | undefined;
  const rig = await openWebRig(server.url, {
    settings: { oidc: await provider() },
    deps(app) {
      queues = openQueues(connection, `${app.config.prefix}:bull`);
      return { queues };
    },
  });
  // Its queues write their settings as soon as they are ready, which is not what tests look for.
  for (const queue of (await queues?.queues()) ?? []) await queue.waitUntilReady();
  await connection.ping();
  return rig;
}

/** An identity provider as settings name it; it knows nothing. */
async function provider() {
  const issuer = createServer((_request, response) => response.writeHead(404).end());
  issuer.requestTimeout = ISSUER_ANSWERS_MS;
  await new Promise<void>((listening) => issuer.listen(0, '127.0.0.1', listening));
  onTestFinished(() => {
    issuer.close();
  });
  return {
    issuer: `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`,
    clientId: 'payrun',
    clientSecret: 'a secret of this test',
    address: 'http://localhost:8420',
    scope: 'openid',
    nameClaim: 'sub',
    users: 'known',
  } as const;
}

/** A run with a report, payouts in several states and a refused row; an upload with mistakes. Gives their names. */
export async function fillSite(app: App, admin: Visitor): Promise<Names> {
  const run = await recordRun(app.ledger, { lines: [2, 3, 4], refused: [5] });
  await movePayout(app.ledger, { runId: run, line: 3 }, 'held');
  await movePayout(app.ledger, { runId: run, line: 4 }, 'cancelled');
  mkdirSync(app.config.reportDir, { recursive: true });
  await writeReport(app, run);
  return { run, line: '2', file: 'v1.csv', id: await uploadMistakes(admin) };
}

/** Uploads a file of which one row is refused; gives its id. */
export async function uploadMistakes(person: Visitor, name = 'payouts.csv', reference = '<b>x</b>'): Promise<string> {
  const form = new FormData();
  const cell = `"${reference.replaceAll('"', '""')}"`;
  const rows = [`INV-1,${BENEFICIARY},12.50,USD,MXN`, `${cell},${BENEFICIARY},twelve,USD,MXN`];
  form.set('file', new Blob([`${[HEADER, ...rows].join('\n')}\n`]), name);
  const { status, headers, text } = await person.upload('/upload', form);
  if (status !== 303) throw new Error(`the file was not taken: ${status} ${text}`);
  return headers.get('location')?.split('/').at(-1) ?? '';
}

/** Everything that a ledger holds, each key with its bytes; without sessions, whose last use is written now and then. */
export async function ledgerBytes({ redis }: TestRedis, { config }: Pick<App, 'config'>): Promise<Map<string, string>> {
  const keys = (await redis.keys('*')).filter((key) => key.startsWith(config.prefix) && !key.includes(':session:'));
  const found = keys
    .toSorted()
    .map(async (key) => [key, (await redis.dumpBuffer(key))?.toString('hex') ?? ''] as const);
  return new Map(await Promise.all(found));
}

/** Keys of which the bytes are not the same. */
export function changedKeys(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  const keys = new Set([...before.keys(), ...after.keys()]);
  return [...keys].filter((key) => before.get(key) !== after.get(key)).toSorted();
}
