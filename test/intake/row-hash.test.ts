import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hashReference, openReferenceHashes } from '../../src/intake/row/reference-hash.ts';
import { type DuplicateLines, foldReference, openReferenceTable } from '../../src/intake/row/references.ts';
import { check, file, HEADER, line, UUID } from './payout-text.ts';

describe('the hash of the content', () => {
  const rowText = fc.record({
    reference: fc.integer({ min: 1, max: 9999 }).map((number) => `INV-${number}`),
    amount: fc.constantFrom('1', '2.50', '100000', 'x', '1.234'),
    purposeCode: fc.constantFrom('', 'OTHR', '!'),
  });

  test('#82 is the same in another order of rows, with other line ends or a byte order mark, where the bytes differ', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(rowText, { minLength: 2, maxLength: 8, selector: ({ reference }) => reference }),
        fc.boolean(),
        fc.boolean(),
        async (rows, hasMark, hasReturns) => {
          const lines = rows.map((cells) => line(cells));
          const same = file(...lines.toReversed()).replaceAll('\n', hasReturns ? '\r\n' : '\n');
          // One after the other, by the same reader: a second one is a process to start.
          const one = await check(file(...lines));
          const other = await check(`${hasMark ? '\uFEFF' : ''}${same}`);
          expect(other.contentHash).toBe(one.contentHash);
          expect(other.totals).toEqual(one.totals);
          expect(other.sha256).not.toBe(one.sha256);
        },
      ),
      { numRuns: 60 },
    );
  });

  test('is the same in another order of columns and however an amount or an id is written', async () => {
    const one = await check(file(line({ reference: 'INV-1' }), line({ reference: 'INV-2', amount: 'x' })));
    const text = file(
      line({ reference: 'INV-1', amount: '100', beneficiaryIdentityId: UUID.toUpperCase() }),
      line({ reference: 'INV-2', amount: 'x' }),
    );
    const turned = text
      .split('\n')
      .map((each) => each.split(',').toReversed().join(','))
      .join('\n');
    expect((await check(turned)).contentHash).toBe(one.contentHash);
  });

  test('is another one with a row more, a row less, a row twice or another value', async () => {
    const [first, second] = [line({ reference: 'INV-1' }), line({ reference: 'INV-2' })];
    const texts = [
      file(first),
      file(second),
      file(first, second),
      file(first, first),
      file(first, first, first),
      file(first.replace('100.00', '100.01')),
      file(first.replace('100.00', 'x')),
      file(first.replace('100.00', 'y')),
      `${HEADER}\n`,
    ];
    const hashes = new Set<string>();
    for (const text of texts) hashes.add((await check(text)).contentHash);
    expect(hashes.size).toBe(texts.length);
  });

  test('sha256 is that of the bytes, also of a file that is refused', async () => {
    for (const text of [file(line({ reference: 'INV-1' })), 'no header\nx\n', `${HEADER}\n"`]) {
      expect((await check(text)).sha256).toBe(createHash('sha256').update(text).digest('hex'));
    }
  });
});

/** References of a file whose first row stands on line 2, as the two readings of it find them. */
async function duplicatesAmong(references: readonly string[]): Promise<DuplicateLines> {
  const hashes = openReferenceHashes();
  for (const reference of references) hashes.add(reference);
  const table = openReferenceTable(await hashes.repeated());
  for (const [at, reference] of references.entries()) table.add(reference, at + 2);
  return await table.duplicates();
}

describe('repeated references', () => {
  test('are found among many, each with another line that has the same', async () => {
    const { lines, others } = await duplicatesAmong(
      Array.from({ length: 20_000 }, (_, at) => `INV-${(at + 1) % 19_990}`),
    );
    const firsts = Array.from({ length: 10 }, (_, at) => at + 2);
    expect([...lines]).toEqual([...firsts, ...firsts.map((first) => first + 19_990)]);
    for (const [at, own] of lines.entries()) expect(Math.abs((others[at] ?? 0) - own)).toBe(19_990);
  });

  test('are all found where every reference repeats, and each names the first line or is it', async () => {
    const references = Array.from({ length: 9_000 }, (_, at) => `INV-${at % 3_000}${'.'.repeat(at % 2)}`);
    const { lines, others } = await duplicatesAmong(references);
    expect([...lines]).toEqual(references.map((_, at) => at + 2));
    expect([...others]).toEqual(references.map((_, at) => (at < 3_000 ? at + 3_002 : (at % 3_000) + 2)));
  });

  test('are found however far apart they stand in a large file', async () => {
    const references = Array.from({ length: 200_000 }, (_, at) => `INV-${at % 199_990}`);
    const { lines, others } = await duplicatesAmong(references);
    expect(lines).toHaveLength(20);
    expect([...others].toSorted((left, right) => left - right)).toEqual([...lines]);
    for (const [at, own] of lines.entries()) expect(Math.abs((others[at] ?? 0) - own)).toBe(199_990);
  });

  test('are compared piece by piece: others have their turn between', async () => {
    const hashes = openReferenceHashes();
    for (let at = 0; at < 300_000; at++) hashes.add(`INV-${at}`);
    const seen = { turns: 0, isOver: false };
    const others = (async () => {
      for (; !seen.isOver; seen.turns++) await setImmediate();
    })();
    expect(await hashes.repeated()).toHaveLength(0);
    seen.isOver = true;
    await others;
    // Sorted, merged three times, compared; a piece has 65,536 of them.
    expect(seen.turns).toBeGreaterThan(20);
  });

  test('are none where only the hashes are the same', async () => {
    // Found by a search: the first 8 bytes of their SHA-256 are the same.
    const [one, other] = ['cf7b980871efa1a6', 'a3b92e0893260f33'];
    expect(hashReference(one)).toBe(hashReference(other));
    expect([...(await duplicatesAmong([one, other])).lines]).toEqual([]);
    expect(await check(file(line({ reference: one }), line({ reference: other })))).toMatchObject({
      valid: 2,
      problemsTotal: 0,
    });

    const { lines, others } = await duplicatesAmong([one, other, 'INV-1', other, one, other.toUpperCase()]);
    expect([...lines]).toEqual([2, 3, 5, 6, 7]);
    expect([...others]).toEqual([6, 5, 3, 2, 3]);
  });

  test('are what a comparison of each with each finds, whatever the references', async () => {
    const reference = fc.constantFrom('a', 'A', 'a.', 'b', 'B ', ' b', 'c', 'C\u200D', 'Ｃ', 'd', '');
    await fc.assert(
      fc.asyncProperty(fc.array(reference, { maxLength: 12 }), async (references) => {
        const folded = references.map(foldReference);
        const expected = folded.flatMap((own, at) => {
          const other = folded.findIndex((each, index) => each === own && index !== at);
          return other < 0 ? [] : [[at + 2, other + 2]];
        });
        const { lines, others } = await duplicatesAmong(references);
        expect([...lines].map((each, at) => [each, others[at]])).toEqual(expected);
      }),
    );
  });

  test('fold to the same text only by what people overlook', () => {
    for (const same of ['inv-1', 'I N V-1', 'INV-1...', 'ＩＮＶ-１', 'INV\u200D-1', ' INV-1\u00A0']) {
      expect(foldReference(same)).toBe(foldReference('INV-1'));
    }
    expect(foldReference('Cafe\u0301')).toBe(foldReference('CAFÉ'));
    for (const other of ['INV-2', 'INV_1', 'INV1', '.INV-1', 'INV-1-'])
      expect(foldReference(other)).not.toBe(foldReference('INV-1'));
  });
});
