import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { BEFORE_FIRST, writeEntry } from '../../src/audit/entry.ts';
import { type AuditPart, readAuditPart } from '../../src/audit/verify-part.ts';
import { actOf } from './audit-rig.ts';

let folder: string;
let lines: string[];

/** Entries 1 to 5 of a log. */
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'payrun-part-'));
  lines = [];
  let previous = BEFORE_FIRST.hash;
  for (const [index, actor] of ['anna', 'ben', 'carl', 'dora', 'emil'].entries()) {
    const line = writeEntry({ ...actOf(actor), number: index + 1, at: index, dataDir: 'dir-a', previous });
    previous = line.slice(0, previous.length);
    lines.push(line);
  }
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function read(part: readonly string[]): Promise<AuditPart> {
  const path = join(folder, 'r1.audit.log');
  writeFileSync(path, part.map((line) => `${line}\n`).join(''));
  return await readAuditPart(path);
}

test('a part from any entry on holds, and has the heads from there on', async () => {
  const part = await read(lines.slice(2));
  expect(part).toMatchObject({ entries: 3, fault: undefined, head: { number: 5 } });
  expect([
    part.has(`4:${lines[3]?.slice(0, 64)}`),
    part.has(`4:${'a'.repeat(64)}`),
    part.has(`1:${'a'.repeat(64)}`),
  ]).toEqual([true, false, true]);
});

describe('what was done to a part is found', () => {
  test.each<[what: string, change: () => string[], fault: string]>([
    ['a character', () => lines.with(2, (lines[2] ?? '').replace('carl', 'karl')), 'line 3 is not what its hash says'],
    ['an entry removed', () => lines.toSpliced(2, 1), 'line 3, entry 4, does not follow entry 2'],
    ['an entry twice', () => lines.toSpliced(2, 0, lines[1] ?? ''), 'line 3, entry 2, does not follow entry 2'],
    [
      'entries reordered',
      () => lines.with(2, lines[3] ?? '').with(3, lines[2] ?? ''),
      'line 3, entry 4, does not follow entry 2',
    ],
  ])('%s', async (_what, change, fault) => {
    expect((await read(change())).fault).toBe(fault);
  });
});
