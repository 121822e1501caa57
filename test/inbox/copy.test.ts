import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemRandom } from '../../src/clock.ts';
import { type Copying, copyClaimed } from '../../src/inbox/copy.ts';
import { thingOf } from '../../src/inbox/rejected-entries.ts';
import type { Entry, InboxSource } from '../../src/inbox/source.ts';
import { type Box, openBox } from './rig.ts';

const CLAIM = { as: 'a.csv', id: '0'.repeat(32) };
const PATH = `claimed/${CLAIM.as}/${CLAIM.id}/a.csv`;
const FILE = 'the file that was looked at\n'.repeat(2000);
const SWAPS = 10_000;

let box: Box;

beforeEach(async () => {
  box = openBox();
  await box.source.prepare();
  mkdirSync(box.at(`claimed/${CLAIM.as}/${CLAIM.id}`), { recursive: true });
  mkdirSync(box.at('data'));
  writeFileSync(box.at(PATH), FILE);
  writeFileSync(box.at('secret'), FILE.replaceAll('looked', 'hidden'));
});
afterEach(() => {
  box.remove();
});

async function entryNow(): Promise<Entry> {
  const [entry] = (await box.source.list(`claimed/${CLAIM.as}/${CLAIM.id}`)).filter(({ name }) => name === 'a.csv');
  if (entry === undefined) throw new Error('it is not there');
  return entry;
}

async function copy(entry: Entry, source: InboxSource = box.source): Promise<Copying> {
  return await copyClaimed({ config: { dataDir: box.at('data') }, random: systemRandom }, source, {
    claim: CLAIM,
    entry,
  });
}

/** The source, with something that happens between the look and the opening; `read` tells whether anything was read then. */
function swapping(swap: () => void): InboxSource & { readonly read: () => boolean } {
  let isRead = false;
  return {
    ...box.source,
    read: () => isRead,
    async open(path) {
      swap();
      const opening = await box.source.open(path);
      if (opening.kind !== 'opened') return opening;
      const { file } = opening;
      const chunks = (): AsyncIterable<Buffer> => {
        isRead = true;
        return file.chunks();
      };
      return { kind: 'opened', file: { ...file, chunks } };
    },
  };
}

test('a copy has the bytes and the hash of the file, under its name, for its owner alone', async () => {
  const copied = await copy(await entryNow());
  if (copied.kind !== 'copied') throw new Error(copied.kind);
  expect(readFileSync(copied.path, 'utf8')).toBe(FILE);
  expect(copied.path).toMatch(/\/data\/inbox\/[^/]+\/a\.csv$/);
  expect(execFileSync('stat', ['-c', '%a', copied.path], { encoding: 'utf8' }).trim()).toBe('600');
  expect(copied.sha256).toBe(createHash('sha256').update(FILE).digest('hex'));
  await copied.remove();
  expect(readdirSync(box.at('data/inbox'))).toEqual([]);
});

test.each<[what: string, swap: () => void]>([
  ['a link to another file', () => replace((path) => symlinkSync(box.at('secret'), path))],
  ['a pipe', () => replace((path) => void execFileSync('mkfifo', [path]))],
  ['a folder', () => replace((path) => mkdirSync(path))],
  ['a hard link to another file', () => replace((path) => linkSync(box.at('secret'), path))],
  ['another file', () => replace((path) => writeFileSync(path, FILE.replaceAll('looked', 'hidden')))],
  ['nothing', () => replace(() => {})],
  [
    'a link to the same file, which lies elsewhere now',
    () => {
      renameSync(box.at(PATH), box.at('elsewhere'));
      symlinkSync(box.at('elsewhere'), box.at(PATH));
    },
  ],
  ['the same file, which has another name too now', () => linkSync(box.at(PATH), box.at('elsewhere'))],
])('what takes the place of the file between the look and the opening is not read: %s', async (_what, swap) => {
  const source = swapping(swap);
  expect((await copy(await entryNow(), source)).kind).not.toBe('copied');
  expect(source.read()).toBe(false);
});

function replace(put: (path: string) => void): void {
  unlinkSync(box.at(PATH));
  put(box.at(PATH));
}

test.each<[what: string, change: () => void]>([
  ['longer', () => writeFileSync(box.at(PATH), 'x', { flag: 'a' })],
  ['shorter', () => writeFileSync(box.at(PATH), FILE.slice(1))],
  ['another one of the same length', () => writeFileSync(box.at(PATH), FILE.replaceAll('looked', 'hidden'))],
])('a file that becomes %s while it is copied is no copy', async (_what, change) => {
  const entry = await entryNow();
  const opening = await box.source.open(PATH);
  if (opening.kind !== 'opened') throw new Error(opening.kind);
  const file = {
    ...opening.file,
    async *chunks() {
      for await (const chunk of opening.file.chunks()) {
        yield chunk;
        change();
      }
    },
  };
  const source = { ...box.source, open: async () => ({ kind: 'opened' as const, file }) };
  expect(await copy(entry, source)).toEqual({ kind: 'changed' });
});

test('a file that is too large is not copied byte by byte', async () => {
  truncateSync(box.at(PATH), 3 * 1024 ** 3);
  const copied = await copy(await entryNow());
  expect(copied).toMatchObject({ kind: 'copied', sha256: '' });
  expect(Number(execFileSync('du', ['-k', box.at('data')], { encoding: 'utf8' }).split('\t')[0])).toBeLessThan(1000);
});

/** In a thread of its own: puts links to another file, and files like the first one, in its place as fast as it can. */
const SWAPPER = `
  const { workerData: { path, secret, file, flag } } = require('node:worker_threads');
  const fs = require('node:fs');
  const shared = new Int32Array(flag);
  const next = path + '.next';
  for (let turn = 0; Atomics.load(shared, 0) === 0; turn++) {
    if (turn % 2 === 0) fs.symlinkSync(secret, next);
    else fs.linkSync(secret, next);
    fs.renameSync(next, path);
    Atomics.add(shared, 1, 1);
    fs.copyFileSync(file, next);
    fs.renameSync(next, path);
  }
`;

test(`while another file is put in the place of the one that was looked at ${SWAPS} times, it is never the one that is read`, {
  timeout: 120_000,
}, async () => {
  writeFileSync(box.at('file'), FILE);
  const flag = new SharedArrayBuffer(8);
  const [stop, swaps] = [0, 1];
  const shared = new Int32Array(flag);
  const workerData = { path: box.at(PATH), secret: box.at('secret'), file: box.at('file'), flag };
  const hidden = `:${statSync(box.at('secret')).ino}:`;
  const swapper = new Worker(SWAPPER, { eval: true, workerData });
  const kinds = { copied: 0, refused: 0, changed: 0 };
  while (Atomics.load(shared, swaps) < SWAPS || kinds.copied === 0) {
    const entry = await entryNow().catch(() => undefined);
    // What is no file by its look is refused before anything is opened.
    if (entry === undefined || thingOf(entry) !== undefined) continue;
    // Nor is a hard link that was taken away in the very moment of the look: then it is what was looked at.
    if (entry.signature.includes(hidden)) continue;
    const copied = await copy(entry);
    kinds[copied.kind]++;
    if (copied.kind !== 'copied') continue;
    expect(readFileSync(copied.path, 'utf8') === FILE).toBe(true);
    await copied.remove();
  }
  Atomics.store(shared, stop, 1);
  await swapper.terminate();
  // Else the swaps and the copies did not meet.
  expect(kinds.changed + kinds.refused).toBeGreaterThan(10);
});
