import { beforeEach, describe, expect, test } from 'vitest';
import { type AuditRecord, BEFORE_FIRST, entryText, readEntry, writeEntry } from '../../src/audit/entry.ts';
import { type AuditVerdict, verifyAudit } from '../../src/audit/verify.ts';
import { ledgerKeys } from '../../src/ledger/keys.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import { type MacKeys, openLedgerKeys } from '../../src/ledger-key.ts';
import { runsForAudit } from '../../src/runs/safety/sealed-runs.ts';
import { recordRun } from '../runs/recorded-run.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';
import { actOf, all, appendAll } from './audit-rig.ts';

const PEOPLE = ['anna', 'ben', 'carl', 'dora', 'emil'];
const KEY = 'k'.repeat(32);

const server = await useTestRedis();
let prefix: string;
let ledger: Ledger;
let lines: string[];

/** Entry 1 is the ledger's, entries 2 to 6 are of these people; no directory has copies. */
beforeEach(async () => {
  prefix = freshPrefix();
  ledger = openWith(keysOf(KEY));
  const claim = { knownInstance: '', newInstance: prefix, service: 'sandbox', safety: 'test', requireMatch: true };
  await ledger.state.open(claim);
  await appendAll(ledger, PEOPLE);
  lines = await all(ledger.audit.lines());
});

function keysOf(...ledgerKey: string[]): MacKeys | undefined {
  return openLedgerKeys(
    { ledgerKey: ledgerKey.length === 0 ? undefined : ledgerKey, service: undefined },
    'audit entry',
  );
}

function openWith(auditKeys: MacKeys | undefined): Ledger {
  const { redis } = server;
  return openLedger({ redis, arming: redis }, { prefix, dataDirId: 'dir-a', auditKeys });
}

async function replaceLog(others: readonly string[]): Promise<void> {
  const { audit } = ledgerKeys(prefix);
  await server.redis.del(audit);
  if (others.length > 0) await server.redis.rpush(audit, ...others);
}

function recordAt(number: number): AuditRecord {
  const record = readEntry(lines[number - 1] ?? '');
  if (record === undefined) throw new Error(`there is no entry ${number}`);
  return record;
}

/** All of the log written anew with a change, its hashes and numbers in order; `code` makes the codes. */
function writtenAnew(
  records: readonly AuditRecord[],
  code: (record: AuditRecord) => string | undefined = ({ code: own }) => own,
): string[] {
  let previous = BEFORE_FIRST.hash;
  return records.map((record, index) => {
    const { code: _code, ...entry } = { ...record, number: index + 1, previous };
    const own = code({ ...record, ...entry });
    const line = writeEntry(own === undefined ? entry : { ...entry, code: own });
    previous = line.slice(0, previous.length);
    return line;
  });
}

const nils = (record: AuditRecord): AuditRecord => (record.number === 3 ? { ...record, actor: 'nils' } : record);

const records = (): AuditRecord[] => lines.map((_line, index) => recordAt(index + 1));

async function verdict(keys = keysOf(KEY), codedFrom: number | null = null): Promise<AuditVerdict> {
  return await verifyAudit(openWith(keys).audit, { known: null, codedFrom });
}

async function found(keys = keysOf(KEY)): Promise<[string, number][]> {
  return (await verdict(keys)).findings.map(({ code, number }) => [code, number]);
}

test('each entry carries a code of its text under the key, and the log holds', async () => {
  for (const record of records()) expect(keysOf(KEY)?.check(entryText(record), record.code ?? '')).toBe('holds');
  expect(await verdict()).toMatchObject({ findings: [], coded: { entries: 6, from: 1 } });
});

describe('without copies and without a head, who has no key and wrote the log anew is found', () => {
  const forgedKeys = keysOf('f'.repeat(32));
  test.each<[what: string, change: () => string[], found: [string, number][]]>([
    ['an entry changed', () => writtenAnew(records().map(nils)), [['forged', 3]]],
    ['an entry removed', () => writtenAnew(records().toSpliced(2, 1)), [['forged', 3]]],
    ['an entry added', () => writtenAnew(records().toSpliced(2, 0, recordAt(3))), [['forged', 4]]],
    ['two entries reordered', () => writtenAnew(records().with(2, recordAt(4)).with(3, recordAt(3))), [['forged', 3]]],
    ['the first entries cut off', () => writtenAnew(records().slice(2)), [['forged', 1]]],
    [
      'all of it, with codes of another key',
      () => writtenAnew(records().map(nils), (one) => forgedKeys?.sign(entryText(one))),
      [['other-key', 1]],
    ],
    [
      'its end, without codes',
      () => writtenAnew(records().map(nils), ({ number, code }) => (number < 3 ? code : undefined)),
      [['no-code', 3]],
    ],
    [
      'an entry put at the end without a code',
      () => [
        ...lines,
        writeEntry({ ...actOf('nils'), number: 7, at: 1, dataDir: 'dir-a', previous: recordAt(6).hash }),
      ],
      [['no-code', 7]],
    ],
  ])('%s', async (_what, change, expected) => {
    await replaceLog(change());
    expect((await found())[0]).toEqual(expected[0]);
  });

  test('also when all codes were left out, by whoever says from which entry on there are some', async () => {
    await replaceLog(writtenAnew(records().map(nils), () => undefined));
    expect(await verdict()).toMatchObject({ findings: [], coded: null });
    expect((await verdict(keysOf(KEY), 1)).findings).toMatchObject([{ code: 'no-code', number: 1 }]);
  });
});

/** What the command and the page say, with nothing at hand but Redis and the key. */
async function told(): Promise<[string, number][]> {
  const own = openWith(keysOf(KEY));
  const { findings } = await verifyAudit(own.audit, { known: null, ...(await runsForAudit(own)) });
  return findings.map(({ code, number }) => [code, number]);
}

describe('whoever writes all of the log anew without codes', () => {
  /** A run after the first six entries, as handing it in leaves it. */
  beforeEach(async () => {
    const target = await recordRun(ledger, { lines: [2] });
    await ledger.audit.append({ actor: 'anna', action: 'run.submitted', target, details: {} });
    await appendAll(ledger, ['fred']);
    lines = await all(ledger.audit.lines());
  });

  test('is found by the seals of the runs, which only who has the key can make', async () => {
    expect(await told()).toEqual([]);
    await replaceLog(writtenAnew(records().map(nils), () => undefined));
    expect(await told()).toEqual([['no-code', 7]]);
  });

  test('and also when it leaves out that there was a run', async () => {
    await replaceLog(writtenAnew(records().toSpliced(6, 1), () => undefined));
    expect(await told()).toEqual([['gone', 1]]);
  });

  test('and a run from before there was a key asks for no code', async () => {
    await ledger.runs.note('r1', { seal: '' });
    await replaceLog(writtenAnew(records(), () => undefined));
    expect(await told()).toEqual([]);
  });
});

test('a log from before there was a key holds, and it is told from where on there are codes', async () => {
  await replaceLog(writtenAnew(records(), () => undefined));
  await openWith(keysOf(KEY)).audit.append(actOf('fred'));
  expect(await verdict()).toMatchObject({ entries: 7, findings: [], coded: { entries: 1, from: 7 } });
});

test('an entry of a process that has no key is told', async () => {
  await openWith(undefined).audit.append(actOf('fred'));
  expect(await found()).toEqual([['no-code', 7]]);
});

test('an act that waited is signed by whoever appends it only if its writer had the key', async () => {
  const { audit } = ledger;
  const key = `${prefix}:audit-waiting`;
  const signed = await audit.waiting(actOf('fred'));
  const unsigned = await openWith(undefined).audit.waiting(actOf('gina'));
  const changed = signed.replace('fred', 'mole');
  await server.redis.rpush(key, signed, unsigned, changed, 'not an act');
  await audit.appendWaiting();
  expect(await server.redis.exists(key)).toBe(0);
  const entries = (await all(audit.lines(7))).map((line) => readEntry(line));
  expect(entries.map((entry) => [entry?.actor, entry?.code !== undefined])).toEqual([
    ['fred', true],
    ['gina', false],
    ['mole', false],
    ['payrun', false],
  ]);
  expect(await found()).toEqual([['no-code', 8]]);
});

test('after a change of the key both prove what each signed, and a key that is not here is named as such', async () => {
  const both = keysOf('n'.repeat(32), KEY);
  await openWith(both).audit.append(actOf('fred'));
  expect(await verdict(both)).toMatchObject({ findings: [], coded: { entries: 7, from: 1 } });
  expect(await found()).toEqual([['other-key', 7]]);
});

test('a process without the key proves what hashes prove', async () => {
  const { entries, findings, coded } = await verifyAudit(openWith(undefined).audit, { known: null });
  expect({ entries, findings, coded }).toEqual({ entries: 6, findings: [], coded: null });
});

test('a code that was changed by one digit is found', async () => {
  const line = lines[2] ?? '';
  await replaceLog(lines.with(2, line.slice(0, -1) + (line.endsWith('0') ? '1' : '0')));
  expect(await found()).toEqual([['forged', 3]]);
});
