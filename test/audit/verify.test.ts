import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type AuditHead, type AuditRecord, BEFORE_FIRST, readEntry, writeEntry } from '../../src/audit/entry.ts';
import { type KnownHead, verifyAudit } from '../../src/audit/verify.ts';
import { useTestRedis } from '../support/redis.ts';
import { type AuditRig, all, appendAll, auditRig } from './audit-rig.ts';

const PEOPLE = ['anna', 'ben', 'carl', 'dora', 'emil'];

const server = await useTestRedis();
let rig: AuditRig;
let lines: string[];
let head: AuditHead;

/** Entry 1 is the ledger's, entries 2 to 6 are of these people. */
beforeEach(async () => {
  rig = await auditRig(server.redis);
  await appendAll(rig.ledger, PEOPLE);
  lines = await all(rig.ledger.audit.lines());
  head = await rig.ledger.audit.head();
});
afterEach(() => rmSync(rig.dataDir, { recursive: true, force: true }));

async function replaceLog(others: readonly string[]): Promise<void> {
  await rig.redis.del(rig.key);
  if (others.length > 0) await rig.redis.rpush(rig.key, ...others);
}

function recordAt(number: number): AuditRecord {
  const record = readEntry(lines[number - 1] ?? '');
  if (record === undefined) throw new Error(`there is no entry ${number}`);
  return record;
}

/** The same log with a change, every hash made anew: what somebody does who knows how it works. */
function writtenAnew(change: (record: AuditRecord) => AuditRecord): string[] {
  let previous = BEFORE_FIRST.hash;
  return lines.map((_line, index) => {
    const line = writeEntry({ ...change(recordAt(index + 1)), previous });
    previous = line.slice(0, previous.length);
    return line;
  });
}

async function findings(known: KnownHead | null = null): Promise<[string, number][]> {
  const verdict = await verifyAudit(rig.ledger.audit, { known });
  return verdict.findings.map(({ code, number }) => [code, number]);
}

/** The findings of somebody who has no copies. */
async function findingsWithoutCopies(known: KnownHead | null = null): Promise<[string, number][]> {
  const verdict = await verifyAudit(rig.elsewhere('dir-b').audit, { known });
  return verdict.findings.map(({ code, number }) => [code, number]);
}

test('a log that nobody touched holds, for everybody, and names its head', async () => {
  expect(await verifyAudit(rig.ledger.audit, { known: null })).toEqual({
    entries: 6,
    head,
    findings: [],
    uncopied: 0,
    coded: null,
  });
  expect(await findingsWithoutCopies(head)).toEqual([]);
});

test('a log without entries holds', async () => {
  await replaceLog([]);
  rmSync(rig.file);
  expect(await verifyAudit(rig.ledger.audit, { known: null })).toMatchObject({ entries: 0, findings: [] });
});

describe('without a copy and without a head, it is found', () => {
  const changes: [what: string, change: () => string[], found: [string, number]][] = [
    ['a character', () => lines.with(2, (lines[2] ?? '').replace('ben', 'bin')), ['changed', 3]],
    ['the hash', () => lines.with(2, `${'0'.repeat(64)}${(lines[2] ?? '').slice(64)}`), ['changed', 3]],
    ['the last entry', () => lines.with(5, (lines[5] ?? '').replace('emil', 'nils')), ['changed', 6]],
    ['an entry and its hash', () => lines.with(2, writeEntry({ ...recordAt(3), actor: 'nils' })), ['replaced', 4]],
    ['an entry that is gone', () => lines.toSpliced(2, 1), ['order', 3]],
    ['the first entry gone', () => lines.slice(1), ['order', 1]],
    ['an entry twice', () => lines.toSpliced(3, 0, lines[2] ?? ''), ['order', 4]],
    ['two entries that changed places', () => lines.with(2, lines[3] ?? '').with(3, lines[2] ?? ''), ['order', 3]],
    [
      'an entry put in that follows the one before',
      () => lines.toSpliced(2, 0, writeEntry({ ...recordAt(3), actor: 'nils' })),
      ['order', 4],
    ],
    [
      'an entry gone and those after it counted anew',
      () =>
        lines
          .toSpliced(2, 1)
          .map((line, index) => (index < 2 ? line : writeEntry({ ...recordAt(index + 2), number: index + 1 }))),
      ['replaced', 3],
    ],
    [
      'a beginning that follows something',
      () => lines.with(0, writeEntry({ ...recordAt(1), previous: 'f'.repeat(64) })),
      ['replaced', 1],
    ],
    ['a line of nothing', () => lines.with(4, ''), ['changed', 5]],
  ];
  test.each(changes)('%s', async (_what, change, found) => {
    await replaceLog(change());
    expect(await findingsWithoutCopies()).toEqual([found]);
    const { head: proven } = await verifyAudit(rig.elsewhere('dir-b').audit, { known: null });
    expect(proven.number).toBe(found[1] - 1);
  });
});

describe('a log that was cut off at its end', () => {
  beforeEach(async () => replaceLog(lines.slice(0, 4)));

  test('is found by a head that a report printed', async () => {
    expect(await findingsWithoutCopies(head)).toEqual([['head', 6]]);
    expect(await findingsWithoutCopies({ number: null, hash: head.hash })).toEqual([['head', 4]]);
  });

  test('is found by the copies', async () => {
    expect(await findings()).toEqual([['copy', 5]]);
  });

  test('holds up to there for a head that is older', async () => {
    expect(await findingsWithoutCopies(recordAt(4))).toEqual([]);
  });
});

describe('a log that was written anew from an entry on', () => {
  beforeEach(async () => replaceLog(writtenAnew((one) => (one.number === 3 ? { ...one, actor: 'nils' } : one))));

  test('holds in itself, and is found by a head from after it', async () => {
    expect(await findingsWithoutCopies()).toEqual([]);
    expect(await findingsWithoutCopies(recordAt(2))).toEqual([]);
    expect(await findingsWithoutCopies(recordAt(3))).toEqual([['head', 3]]);
    expect(await findingsWithoutCopies({ number: null, hash: head.hash })).toEqual([['head', 6]]);
  });

  test('is found by the copies', async () => {
    expect(await findings()).toEqual([['copy', 3]]);
  });
});

test('a head with the hash of another number is not the one', async () => {
  expect(await findings({ number: 3, hash: head.hash })).toEqual([['head', 3]]);
});

test('a copy that was taken away from among the others is found', async () => {
  const text = readFileSync(rig.file, 'utf8');
  writeFileSync(rig.file, text.replace(`\n${lines[3]}`, ''));
  expect(await findings()).toEqual([['copy-hole', 4]]);
});

test('a copy that was changed is found', async () => {
  const text = readFileSync(rig.file, 'utf8');
  writeFileSync(rig.file, text.replace('carl', 'karl'));
  expect(await findings()).toEqual([['copy-hole', 4]]);
});

test('an entry that only the copies have is found', async () => {
  const extra = writeEntry({ ...recordAt(6), number: 7, previous: head.hash });
  writeFileSync(rig.file, `${readFileSync(rig.file, 'utf8')}\n${extra}`);
  expect(await findings()).toEqual([['copy', 7]]);
});

test('each message names the place in words', async () => {
  await replaceLog(lines.toSpliced(2, 1));
  const { findings: found } = await verifyAudit(rig.ledger.audit, { known: head });
  expect(found.map(({ message }) => message)).toEqual([
    'entry 4 stands in place 3: entries were removed, added or reordered',
    expect.stringMatching(/^entry 3 is in the data directory's copy, and /),
  ]);
});
