import { once } from 'node:events';
import { cpSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { z } from 'zod';
import type { Role } from '../../src/access/roles.ts';
import { ledgerKeys } from '../../src/ledger/keys.ts';
import { STATE_LETTERS } from '../../src/ledger/payouts/stored.ts';
import { readApprovals } from '../../src/ledger/people/approvals.ts';
import { ROOT } from '../support/payrun-processes.ts';
import type { When } from '../support/proxy-moment.ts';
import { readStored } from '../support/records.ts';
import { type Answer, openVisitor, type Visitor } from '../web/visitor.ts';
import type { Rig, RigProcess } from './rig.ts';
import { faultRow } from './row.ts';

/** Uploads and approvals over HTTP (faults.md, F56 and F57). */

const PASSWORD = 'four words for this row';
const CONFIG = 'payrun.json';
const KEYS = ledgerKeys('{payrun}');
const STRIKES = 4;
const STRIKE_MS_MAX = 250;
const CLICKS = 20;
const CANCEL_MS_MAX = 3000;

const withSecret = z.object({ secret: z.string() });
const auditEntries = z.array(z.object({ actor: z.string(), action: z.string() }));

/** `payrun serve` of a rig, at one address however often it is started. */
interface Site {
  start(): Promise<void>;
  /** Ends it as a power cut would. */
  kill(): Promise<void>;
  /** Somebody with this role, signed in; the server must be running. */
  person(name: string, role: Role): Promise<Visitor>;
}

/** With a worker beside it; approvals are asked for as this setting says. */
async function openSite(rig: Rig, approval: object): Promise<Site> {
  writeFileSync(join(rig.folder, CONFIG), JSON.stringify({ approval }));
  const pages = 'src/web/static';
  cpSync(join(ROOT, pages), join(rig.processes.built, pages), { recursive: true, force: false });
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  let serving: RigProcess | undefined;
  const addUser = async (name: string, role: Role): Promise<string> => {
    const added = await rig.payrun(['user', 'add', name, '--role', role, '--as', 'root', '--json']);
    return withSecret.parse(JSON.parse(added.stdout)).secret;
  };
  const site: Site = {
    async start() {
      serving = rig.launch('web', ['serve', '--port', String(port)]);
      await serving.said(' is ready: ');
      serving.wasReady = true;
    },
    async kill() {
      serving?.kill('SIGKILL');
      await serving?.ended;
    },
    async person(name, role) {
      const password = await addUser(name, role);
      const visitor = openVisitor(base);
      const chosen = { newPassword: PASSWORD, repeated: PASSWORD };
      expect(await visitor.post('/password', { name, kind: 'first', password, ...chosen })).toMatchObject({
        status: 303,
      });
      await visitor.get('/runs');
      return visitor;
    },
  };
  await rig.startWorker('one');
  await site.start();
  await addUser('root', 'admin');
  return site;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('the port is not known');
  return address.port;
}

/** Undefined when the server ended before its answer. */
async function answerOf(asked: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await asked;
  } catch {
    return undefined;
  }
}

/** Uploads the rig's file; the address of its review, undefined without an answer. */
async function upload(rig: Rig, person: Visitor): Promise<string | undefined> {
  const form = new FormData();
  form.set('file', new Blob([rig.file]), 'payouts.csv');
  const answer = await answerOf(person.upload('/upload', form));
  if (answer !== undefined) expect(answer).toMatchObject({ status: 303, text: '' });
  return answer?.headers.get('location') ?? undefined;
}

/** Reviews an upload and hands it in; the id of its run, undefined when that is not known yet. */
async function handIn(person: Visitor, review: string): Promise<string | undefined> {
  await answerOf(person.get(review));
  const handed = await answerOf(person.post(`${review}/hand-in`));
  if (handed?.status !== 303) return undefined;
  const shown = await answerOf(person.get(review));
  return /\/runs\/([\w-]+)/.exec(shown?.headers.get('location') ?? shown?.text ?? '')?.[1];
}

/** What somebody approves, as their page shows it. */
async function lookAt(person: Visitor, runId: string): Promise<{ sha256: string; digest: string }> {
  const page = await answerOf(person.get(`/runs/${runId}/approve`));
  const valueOf = (name: string): string =>
    new RegExp(`name="${name}" value="([0-9a-f]+)"`).exec(page?.text ?? '')?.[1] ?? '';
  return { sha256: valueOf('sha256'), digest: valueOf('digest') };
}

/** A run in the ledger at one moment. */
async function readRun({ redis: { client } }: Rig, runId: string) {
  const { approvals = '', state, finishedAt, ...fields } = await client.hgetall(KEYS.run(runId));
  const counts = Object.entries(fields).filter(([field, count]) => field.startsWith('n:') && count !== '0');
  const states = counts.map(([field]) => field.slice(2)).toSorted();
  return { state, finishedAt, states, approvers: readApprovals(approvals).map(({ by }) => by) };
}

/** Who did this to a run, by the audit log; whoever did it twice stands there twice, and here once. */
async function audited(rig: Rig, runId: string, action: string): Promise<string[]> {
  const { stdout } = await rig.payrun(['audit', 'list', '--run', runId, '--json']);
  const entries = auditEntries.parse(JSON.parse(stdout)).filter((entry) => entry.action === action);
  return [...new Set(entries.map(({ actor }) => actor))].toSorted();
}

/** Does something again and again while the server is killed at random moments of it, then until it is done. */
async function underKills(rig: Rig, site: Site, act: () => Promise<boolean>): Promise<void> {
  const strike = async (): Promise<void> => {
    await delay(rig.random() * STRIKE_MS_MAX);
    await site.kill();
  };
  for (let strikes = 0; strikes < STRIKES; strikes++) {
    await Promise.all([act(), strike()]);
    await site.start();
  }
  await rig.until('an act that holds', act);
}

/** The run that the file becomes under kills; nothing of it may be paid meanwhile. */
async function handInUnderKills(rig: Rig, site: Site, person: Visitor): Promise<string> {
  let review: string | undefined;
  let runId: string | undefined;
  await underKills(rig, site, async () => {
    review = (await upload(rig, person)) ?? review;
    return review !== undefined;
  });
  await underKills(rig, site, async () => {
    runId = (await handIn(person, review ?? '')) ?? runId;
    expect(rig.book()).toEqual([]);
    return runId !== undefined;
  });
  return runId ?? '';
}

/** Uploads the file and hands it in; the id of its run. */
async function handInAtOnce(rig: Rig, person: Visitor): Promise<string | undefined> {
  return await handIn(person, (await upload(rig, person)) ?? '');
}

/** Approves a run; whether it goes on. Nothing may be paid before. */
async function approve(rig: Rig, person: Visitor, runId: string): Promise<boolean> {
  await expectNothingUnapproved(rig, runId);
  await answerOf(person.post(`/runs/${runId}/approve`, { ...(await lookAt(person, runId)) }));
  const { state = '' } = await readRun(rig, runId);
  return ['paying', 'finished'].includes(state);
}

/** The book is read first: what it holds then was paid before the ledger was asked for the approval. */
async function expectNothingUnapproved(rig: Rig, runId: string): Promise<void> {
  const paid = rig.book().length;
  const { state, states, approvers } = await readRun(rig, runId);
  if (approvers.length > 0) return;
  expect({ paid, state, states }).toEqual({ paid: 0, state: 'awaiting-approval', states: ['ready'] });
}

async function expectOneApprovedRun(rig: Rig): Promise<void> {
  const [{ runId } = { runId: '' }] = rig.runs;
  expect(await rig.redis.client.zrange(KEYS.runs, 0, -1)).toEqual([runId]);
  expect(await readRun(rig, runId)).toMatchObject({ states: ['completed'], approvers: ['carl'] });
  expect(await audited(rig, runId, 'run.approved')).toEqual(['carl']);
}

faultRow({
  ids: ['F56'],
  fault:
    'the web app is killed with -9 at random moments of upload, handing in and approval, each of which is repeated',
  tries: { short: 1, long: 3 },
  settings: { PAYRUN_CONFIG: CONFIG },
  tryMsMax: 5 * 60_000,
  async body(rig) {
    const site = await openSite(rig, { mode: 'on' });
    const anna = await site.person('anna', 'maker');
    const carl = await site.person('carl', 'checker');
    const runId = await handInUnderKills(rig, site, anna);
    expect(await handInAtOnce(rig, anna)).toBe(runId);
    await underKills(rig, site, async () => await approve(rig, carl, runId));
    expect(await rig.submit()).toBe(runId);
  },
  after: expectOneApprovedRun,
});

faultRow({
  ids: ['F56'],
  fault: 'the web app is killed with -9 when an approval is recorded and nothing came of it yet, and it is sent again',
  tries: { short: 1, long: 3 },
  rows: 12,
  settings: { PAYRUN_CONFIG: CONFIG },
  async body(rig) {
    const site = await openSite(rig, { mode: 'on' });
    const anna = await site.person('anna', 'maker');
    const carl = await site.person('carl', 'checker');
    const runId = (await handInAtOnce(rig, anna)) ?? '';
    const seen = await lookAt(carl, runId);
    // The script that Redis does not know yet is sent a second time.
    const isRecorded: When = ({ way, request, reply }) =>
      way === 'reply' && request.includes(seen.digest) && !reply.includes('NOSCRIPT') ? 0 : undefined;
    rig.redisLink.set({ do: 'swallow', ways: ['reply'], when: isRecorded });
    const sent = answerOf(carl.post(`/runs/${runId}/approve`, { ...seen }));
    await rig.until('the approval', async () => (await readRun(rig, runId)).approvers.length > 0);
    await site.kill();
    expect(await sent).toBe(undefined);
    rig.redisLink.set({ do: 'pass' });
    await site.start();
    await rig.until('a run that goes on', async () => await approve(rig, carl, runId));
    expect(await rig.submit()).toBe(runId);
  },
  after: expectOneApprovedRun,
});

/** When payouts of a run were armed, in milliseconds by the clock of Redis. */
async function armedAt({ redis: { client }, rows }: Rig, runId: string): Promise<number[]> {
  const lines = Array.from({ length: rows }, (_, index) => index + 2);
  const places = lines.map((line) => ({ redis: client, prefix: KEYS.prefix, runId, line }));
  const records = await Promise.all(places.map(readStored));
  return records.flatMap((record) => {
    let at = 0;
    return (record?.history ?? []).flatMap(([letter, ms]) => {
      at += ms;
      return letter === STATE_LETTERS.armed ? [at] : [];
    });
  });
}

/** What was told to those who approved and to who cancelled. */
interface Told {
  /** The checkers who were told that it was done. */
  readonly approved: readonly string[];
  readonly cancelled: boolean;
}

/** Both checkers click many times at once, and the maker cancels meanwhile. */
async function race(rig: Rig, runId: string, people: Record<'anna' | 'carl' | 'dora', Visitor>): Promise<Told> {
  const { anna, carl, dora } = people;
  const checkers = Object.entries({ carl, dora });
  const seen = await Promise.all(
    checkers.map(async ([name, person]) => ({ name, person, form: await lookAt(person, runId) })),
  );
  const clicks = Array.from({ length: CLICKS }, () => seen).flat();
  const approving = clicks.map(async ({ name, person, form }) => {
    const { status } = await person.post(`/runs/${runId}/approve`, { ...form });
    return { name, status };
  });
  const cancelling = delay(rig.random() * CANCEL_MS_MAX).then(
    async () => await anna.post(`/runs/${runId}/cancel`, { reason: 'sent by mistake' }),
  );
  const [approvals, cancel] = await Promise.all([Promise.all(approving), cancelling]);
  const statuses = [...approvals.map(({ status }) => status), cancel.status];
  expect(statuses.filter((status) => status !== 303 && status !== 409)).toEqual([]);
  const approved = approvals.filter(({ status }) => status === 303).map(({ name }) => name);
  return { approved: [...new Set(approved)].toSorted(), cancelled: cancel.status === 303 };
}

/** What was told is what the ledger and the audit log have, and what is paid is what that lets be paid. */
async function expectAsTold(rig: Rig, runId: string, told: Told): Promise<void> {
  const run = await readRun(rig, runId);
  expect(run.approvers.toSorted()).toEqual(told.approved);
  expect(await audited(rig, runId, 'run.approved')).toEqual(told.approved);
  expect(await audited(rig, runId, 'run.cancelled')).toEqual(told.cancelled ? ['anna'] : []);
  expect(run.state).toBe(told.cancelled ? 'cancelled' : 'finished');
  if (!told.cancelled) expect(run).toMatchObject({ states: ['completed'], approvers: { length: 2 } });
  expect(run.states.filter((state) => state !== 'completed' && state !== 'cancelled')).toEqual([]);
  if (told.approved.length < 2) expect(rig.book()).toEqual([]);
  const armed = await armedAt(rig, runId);
  expect(armed.filter((at) => at > Number.parseInt(run.finishedAt ?? '', 10))).toEqual([]);
}

faultRow({
  ids: ['F57'],
  fault: `two people approve a run ${CLICKS} times each at once, and a third one cancels it meanwhile`,
  tries: { short: 2, long: 20 },
  rows: 12,
  settings: { PAYRUN_CONFIG: CONFIG },
  outcomes: 'any',
  async body(rig) {
    const site = await openSite(rig, { mode: 'tiers', tiers: { USD: [{ from: '0.01', approvals: 2 }] } });
    const anna = await site.person('anna', 'maker');
    const carl = await site.person('carl', 'checker');
    const dora = await site.person('dora', 'checker');
    const runId = (await handInAtOnce(rig, anna)) ?? '';
    await expectNothingUnapproved(rig, runId);
    const told = await race(rig, runId, { anna, carl, dora });
    expect(await rig.submit()).toBe(runId);
    await rig.until('the end of the run', async () => {
      const { state = '', states } = await readRun(rig, runId);
      const isOpen = states.some((one) => one !== 'completed' && one !== 'cancelled');
      return ['finished', 'cancelled'].includes(state) && !isOpen;
    });
    await expectAsTold(rig, runId, told);
  },
});
