import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { type CheckedFile, checkPayoutSource } from '../../src/intake/check-file.ts';
import { DEFAULT_LIMITS } from '../../src/intake/limits.ts';
import { readStatement } from '../../src/intake/statement/read-statement.ts';
import { readStatementTemplate } from '../../src/intake/statement/template.ts';
import { parseTemplate } from '../../src/intake/template/file.ts';
import { Refusal } from '../../src/refusal.ts';
import { camtXml } from '../intake/camt-message.ts';
import { messageXml, paymentXml, transferXml } from '../intake/payment-message.ts';
import { COLUMNS, file, line, sourceOf } from '../intake/payout-text.ts';
import { partsOf, rowXml, zipOf } from '../intake/workbook-file.ts';

/*
 * FUZZ_MINUTES (10) for all of it; FUZZ_SEED, which is printed, makes up the same files again.
 */

const PROPERTIES = 5;
const MS_A_MINUTE = 60_000;
const timeMs = (Number(process.env['FUZZ_MINUTES'] ?? 10) * MS_A_MINUTE) / PROPERTIES;
// The clock gives each run other files; the seed of a run that found something is in its output.
const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31);

const template = parseTemplate(JSON.stringify({ name: 'fuzz', pain001: { creditorBy: 'creditorId' } }));
const sheet = rowXml(1, [...COLUMNS]) + rowXml(2, line({ reference: 'INV-1' }).split(','));
const PARTS = partsOf({
  sheets: [{ before: '<cols/>', rows: sheet }],
  texts: '<si><t>x</t></si>',
  formats: ['0.00', '@'],
});
const MESSAGE = messageXml({ count: '1', payments: [paymentXml({ transfers: [transferXml()] })] });
const STATEMENT = camtXml([{ amount: '1.00', transactions: [{ reference: 'INV-1' }, { reference: 'INV-2' }] }]);
const CSV = file(line({ reference: 'INV-1' }), line({ reference: '"INV-2"' }));

/** A text in which pieces are left out, repeated, moved, or replaced by what parsers stumble over. */
function changed(text: string): fc.Arbitrary<string> {
  const hard = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.constantFrom(
      '<',
      '>',
      '&',
      '"',
      "'",
      ']]>',
      '<!--',
      '<![CDATA[',
      '<!DOCTYPE',
      '&amp;',
      '&#0;',
      '<row/>',
      '<c/>',
      '<v>',
      '</v>',
    ),
    fc.constantFrom(
      '0',
      '-1',
      '1e308',
      '1E-400',
      '9'.repeat(500),
      '16384',
      '1048577',
      'XFD1048576',
      'A0',
      '\uFEFF',
      '\u0000',
      '\r',
      '\n',
      ',',
    ),
  );
  const change = fc.tuple(fc.nat(text.length), fc.nat(60), hard, fc.integer({ min: 0, max: 2000 }));
  return fc.array(change, { minLength: 1, maxLength: 6 }).map((changes) =>
    changes.reduce((made, [at, length, put, times]) => {
      const piece = made.slice(at, at + length);
      const more = times > 1000 ? piece.repeat(times - 1000) : put;
      return made.slice(0, at) + more + made.slice(times > 500 ? at : at + length);
    }, text),
  );
}

async function check(name: string, bytes: Buffer): Promise<CheckedFile> {
  if (Array.isArray(template)) throw new Error(template.join('\n'));
  return await checkPayoutSource({ ...sourceOf(bytes), name }, { template });
}

/** Refused with a problem or read, by a reader that lived; never a fault. */
async function isSound(name: string, bytes: Buffer): Promise<void> {
  const checked = await check(name, bytes);
  expect(checked.problems.map(({ code }) => code)).not.toContain('E_UNREADABLE_FILE');
  expect(checked.fileRefused || checked.rows > 0).toBe(true);
  expect(checked.valid).toBeLessThanOrEqual(checked.rows);
}

/** What breaks it, as a report; null when the time was over first. */
async function breaking<Value>(
  made: fc.Arbitrary<Value>,
  holds: (value: Value) => Promise<void>,
): Promise<string | null> {
  const property = fc.asyncProperty(made, holds);
  const plugins = [fc.interruptAfterTimeLimit(timeMs)];
  const found = await fc.check(property, { seed, numRuns: Number.MAX_SAFE_INTEGER, plugins });
  process.stdout.write(`FUZZ_SEED=${seed}, ${found.numRuns} files\n`);
  return found.failed ? (fc.defaultReportMessage(found) ?? 'it failed') : null;
}

test('any CSV file is refused or read', async () => {
  expect(await breaking(changed(CSV), (text) => isSound('fuzz.csv', Buffer.from(text)))).toBeNull();
});

test('any row is refused, or paid as it stands', async () => {
  const cell = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('', '100', '1e2', '0x1', '1,5', 'USD', 'MXN', '=1+1'),
  );
  const cells = fc.dictionary(fc.constantFrom(...COLUMNS), cell);
  const found = await breaking(cells, async (given) => {
    const quoted = Object.entries(given).map(([column, text]) => [column, `"${text.replaceAll('"', '""')}"`] as const);
    await isSound('fuzz.csv', Buffer.from(file(line({ reference: 'INV-1' }), line(Object.fromEntries(quoted)))));
  });
  expect(found).toBeNull();
});

test('any payment message is refused or read', async () => {
  expect(await breaking(changed(MESSAGE), (text) => isSound('fuzz.xml', Buffer.from(text)))).toBeNull();
});

test('any statement is refused or read', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'payrun-fuzz-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'fuzz.xml');
  const shape = await readStatementTemplate(undefined);
  const found = await breaking(changed(STATEMENT), async (text) => {
    writeFileSync(path, text);
    const said = await readStatement(path, { template: shape, limits: DEFAULT_LIMITS }).then(
      ({ movements }) => `${movements.length} movements`,
      (error: unknown) => (error instanceof Refusal ? error.message : Promise.reject(error)),
    );
    expect(said).not.toMatch(/program that reads it|takes more than/);
  });
  expect(found).toBeNull();
});

test('any workbook is refused or read', async () => {
  const names = Object.keys(PARTS);
  const change = fc
    .constantFrom(...names)
    .chain((name) => changed(PARTS[name] ?? '').map((part) => ({ [name]: part })));
  const changes = fc.tuple(change, change);
  expect(
    await breaking(changes, ([one, other]) => isSound('fuzz.xlsx', zipOf({ ...PARTS, ...one, ...other }))),
  ).toBeNull();
});
