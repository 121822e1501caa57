import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { type AuditEntry, BEFORE_FIRST, headText, readEntry, writeEntry } from '../../src/audit/entry.ts';

const ENTRY: AuditEntry = {
  number: 1,
  at: 1_769_860_800_000,
  actor: 'Zoë "z"\n',
  action: 'run.paused',
  target: '20260131-k3f9xq',
  details: { reason: 'half a pair \ud83d', before: 'a', '10': 'x', '9': 'y' },
  dataDir: 'dir-a',
  previous: BEFORE_FIRST.hash,
};

function forged(text: string): string {
  return `${createHash('sha256').update(text).digest('hex')} ${text}`;
}

test('an entry is one line that gives it back, with its hash', () => {
  const line = writeEntry(ENTRY);
  expect(line).not.toContain('\n');
  expect(readEntry(line)).toEqual({ ...ENTRY, hash: line.slice(0, 64) });
});

test('the hash is SHA-256 of what stands behind it, as sha256sum gives it', () => {
  const line = writeEntry({ ...ENTRY, actor: 'anna', details: { to: 'b', from: 'a' } });
  expect(line.slice(65)).toBe(
    `{"number":1,"at":1769860800000,"actor":"anna","action":"run.paused","target":"20260131-k3f9xq",` +
      `"details":{"from":"a","to":"b"},"dataDir":"dir-a","previous":"${'0'.repeat(64)}"}`,
  );
  expect(line).toBe(forged(line.slice(65)));
});

test('two entries with the same details in another order are one text', () => {
  expect(writeEntry({ ...ENTRY, details: { b: '2', a: '1' } })).toBe(
    writeEntry({ ...ENTRY, details: { a: '1', b: '2' } }),
  );
});

test('no character of a line can be another one', () => {
  const line = writeEntry(ENTRY);
  for (const index of Array.from(line, (_character, at) => at)) {
    const other = line[index] === '0' ? '1' : '0';
    expect(readEntry(line.slice(0, index) + other + line.slice(index + 1))).toBeUndefined();
  }
});

test.each([
  ['fields in another order', '{"at":1,"number":1'],
  ['a blank more', '{ "number":1'],
  ['a field twice', '{"number":2,"number":1'],
  ['a field that no entry has', '{"extra":"","number":1'],
])('a text with %s is no entry, whatever its hash', (_what, begin) => {
  const text = writeEntry(ENTRY).slice(65);
  expect(readEntry(forged(text))).toBeDefined();
  expect(readEntry(forged(text.replace('{"number":1', begin)))).toBeUndefined();
});

test.each(['', 'torn', forged('null'), forged('{'), `${writeEntry(ENTRY)}\n`, writeEntry(ENTRY).slice(0, -9)])(
  'a line that nobody wrote whole is no entry: %j',
  (line) => {
    expect(readEntry(line)).toBeUndefined();
  },
);

test('a head is a number and a hash, and an empty log has none', () => {
  expect(headText({ number: 12, hash: 'ab' })).toBe('12:ab');
  expect(headText(BEFORE_FIRST)).toBeNull();
});
