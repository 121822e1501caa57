import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import * as fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { type CheckedFile, checkPayoutFile, type IntakeOptions } from '../../src/intake/check-file.ts';
import { writeMarkedUpCopy } from '../../src/intake/problems/marked-up.ts';
import { MARK_COLUMNS } from '../../src/intake/template/columns.ts';
import { parseTemplate, readTemplate } from '../../src/intake/template/file.ts';
import { messageXml, paymentXml, transferXml } from './payment-message.ts';
import { file, HEADER, line, UUID } from './payout-text.ts';
import { rowXml, workbookOf } from './workbook-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'payrun-marked-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const samples = join(import.meta.dirname, '../../samples');

let files = 0;
function put(text: string): string {
  const path = join(folder, `file-${files++}.csv`);
  writeFileSync(path, text);
  return path;
}

interface Copied {
  readonly checked: CheckedFile;
  readonly target: string;
  readonly isWritten: boolean;
  readonly rows: string[][];
}

async function copy(path: string, options: IntakeOptions = {}): Promise<Copied> {
  const checked = await checkPayoutFile(path, options);
  const target = join(folder, `copy-${files++}.csv`);
  const isWritten = await writeMarkedUpCopy(path, checked, target);
  const delimiter = options.template?.delimiter ?? ',';
  const rows = isWritten ? parse(readFileSync(target), { bom: true, delimiter, relax_column_count: true }) : [];
  return { checked, target, isWritten, rows };
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""').replaceAll('\0', '')}"`;
}

function written(rows: readonly (readonly string[])[], delimiter = ','): string {
  return rows.map((cells) => `${cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(delimiter)}\n`).join('');
}

/** What is told of the rows; a formula comes back as a text that begins with an apostrophe. */
function kept({ checked }: Copied): (string | number | null)[][] {
  const formulas = new Set(['E_FORMULA', 'E_QUOTE_CHAR']);
  return checked.problems.filter(({ code }) => !formulas.has(code)).map(({ code, line: at }) => [code, at]);
}

/** What a person would do with the copy of samples/mistakes.csv: put a sound value wherever a code stands. */
const SOUND: Readonly<Record<string, string>> = {
  beneficiaryIdentityId: UUID,
  amount: '250.00',
  sourceCurrency: 'USD',
  destinationCurrency: 'MXN',
  destinationCountry: 'MX',
  purposeCode: '',
  sourceOfCash: 'COMP',
};

describe('the marked-up copy', () => {
  test('of the sample with mistakes has the codes of each row and how to mend them, and is accepted once corrected', async () => {
    const { checked, rows } = await copy(join(samples, 'mistakes.csv'));
    const [header = [], ...body] = rows;
    expect(header.slice(-2)).toEqual([...MARK_COLUMNS]);
    expect(body).toHaveLength(checked.rows);
    for (const [at, cells] of body.entries()) {
      const codes = checked.problems.filter((problem) => problem.line === at + 2).map(({ code }) => code);
      expect(cells.at(-2)).toBe(codes.join(' '));
      expect(cells.at(-1) === '').toBe(codes.length === 0);
    }
    const corrected = body.map((cells, at) =>
      cells.map((cell, place) => {
        const column = header[place] ?? '';
        if (cells.at(-2) === '') return cell;
        return column === 'reference' ? `ERR-${at}` : (SOUND[column] ?? cell);
      }),
    );
    const again = await checkPayoutFile(put(written([header, ...corrected])));
    expect(again).toMatchObject({ rows: body.length, valid: body.length, problems: [], fileRefused: false });
  });

  test('handed in as it is says the same again, and its own copy has the two columns once', async () => {
    const first = await copy(join(samples, 'mistakes.csv'));
    const second = await copy(first.target);
    expect(kept(second)).toEqual(kept(first));
    expect(second.rows[0]).toEqual(first.rows[0]);
  });

  test('of a sound file has the same content', async () => {
    for (const [name, template] of [
      ['small.csv', undefined],
      ['semicolon.csv', 'semicolon'],
      ['erp-export.csv', 'erp-export'],
    ] as const) {
      const options =
        template === undefined ? {} : { template: await readTemplate(join(samples, `templates/${template}.json`)) };
      const { checked, target, rows } = await copy(join(samples, name), options);
      expect(rows.slice(1).every((cells) => cells.slice(-2).join('') === '')).toBe(true);
      const again = await checkPayoutFile(target, options);
      expect(again.contentHash).toBe(checked.contentHash);
      expect(again).toMatchObject({ valid: checked.valid, problems: [] });
    }
  });

  test('marks each row of a repeated reference, blank lines, and lines with too few or too many cells', async () => {
    const text = file(
      line({ reference: 'INV-1' }),
      'INV-2,x',
      `${line({ reference: 'INV-3' })},more`,
      '',
      line({ reference: 'inv-1' }),
    );
    const { rows, isWritten } = await copy(put(text));
    expect(isWritten).toBe(true);
    expect(rows.slice(1).map((cells) => [cells[0], cells.at(-2)])).toEqual([
      ['INV-1', 'E_DUP_REF'],
      ['INV-2', 'E_COLUMNS'],
      ['INV-3', 'E_COLUMNS'],
      ['', 'E_BLANK_ROW'],
      ['inv-1', 'E_DUP_REF'],
    ]);
    expect(rows[2]).toHaveLength(HEADER.split(',').length + 2);
  });

  test('marks every row, also those behind the first thousand problems', async () => {
    const { rows } = await copy(
      put(file(...Array.from({ length: 2500 }, (_, at) => line({ reference: `R-${at}`, amount: 'x' })))),
    );
    expect(rows.slice(1).filter((cells) => cells.at(-2) === 'E_AMOUNT')).toHaveLength(2500);
  });

  test('keeps columns that are not read, and has nothing in it that a spreadsheet would run', async () => {
    const parsed = parseTemplate(JSON.stringify({ name: 't', ignore: ['Memo'] }));
    if (Array.isArray(parsed)) throw new Error(parsed.join());
    const text = `${HEADER},Memo\n${line({ reference: '@SUM(A1)' })},+49 30 1234\n${line({ reference: 'INV-2' })},"two\nlines"\n`;
    const { rows } = await copy(put(text), { template: parsed });
    expect(rows.map((cells) => cells.at(-3))).toEqual(['Memo', "'+49 30 1234", 'two\nlines']);
    expect(rows[1]?.[0]).toBe("'@SUM(A1)");
    const semicolons = parseTemplate(JSON.stringify({ name: 't', ignore: ['Memo'], delimiter: ';' }));
    if (Array.isArray(semicolons)) throw new Error(semicolons.join());
    const cut = `${HEADER},Memo\n${line({ reference: 'INV-1' })},x;=1+1\n`
      .replaceAll(',', ';')
      .replace('x;=1+1', '"x; =1+1"');
    expect((await copy(put(cut), { template: semicolons })).rows[1]?.at(-3)).toBe("x;' =1+1");
  });

  test('neither changes a cell that intake accepts nor makes one of those that it refuses sound', async () => {
    const cell = fc.oneof(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
      fc
        .tuple(
          fc.constantFrom('', 'x;', 'x; '),
          fc.constantFrom('=', '+', '-', '@', '﹦', '＝', "'", ' ', '\u200B', '\t'),
          fc.string({ maxLength: 5 }),
        )
        .map((parts) => parts.join('')),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(cell, { minLength: 1, maxLength: 20 }), async (cells) => {
        const rows = cells.map((payoutCategory, at) =>
          line({ reference: `R-${at}`, payoutCategory: quoted(payoutCategory) }),
        );
        const { checked, target, isWritten } = await copy(put(file(...rows)));
        if (!isWritten) return;
        const again = await checkPayoutFile(target);
        expect(again.valid).toBe(checked.valid);
        expect(again.validTotals).toEqual(checked.validTotals);
        const isSame = again.contentHash === checked.contentHash;
        expect(isSame || checked.valid < checked.rows).toBe(true);
        rmSync(target);
      }),
      { numRuns: 60 },
    );
  });

  test('of a workbook is CSV, with its numbers as they are and nothing that it refuses looking sound', async () => {
    const names = HEADER.split(',');
    const cells = line({ reference: 'INV-1' }).split(',');
    const amounts = [
      '<c><v>12.5</v></c>',
      '<c><f>1</f><v>100</v></c>',
      '<c s="1"><v>45306</v></c>',
      '<c><v>0.1234567890123456</v></c>',
      '<c s="2"><v>100.49</v></c>',
      '<c s="3"><v>100</v></c>',
    ];
    const rows = amounts.map((amount, at) => rowXml(at + 2, cells.with(0, `R-${at}`).with(2, amount)));
    const path = join(folder, 'book.xlsx');
    writeFileSync(
      path,
      workbookOf({ sheets: [{ rows: rowXml(1, names) + rows.join('') }], formats: [14, '0', '0 [$€-407]'] }),
    );
    const { rows: copied, target } = await copy(path);
    expect(copied.slice(1).map((row) => [row[2], row.at(-2)])).toEqual([
      ['12.5', ''],
      ['#E_FORMULA!', 'E_FORMULA'],
      ['#E_DATE!', 'E_DATE'],
      ['#E_PRECISION!', 'E_PRECISION'],
      ['#E_NUMBER_FORMAT!', 'E_NUMBER_FORMAT'],
      ['#E_NUMBER_FORMAT!', 'E_NUMBER_FORMAT'],
    ]);
    expect(await checkPayoutFile(target)).toMatchObject({ rows: 6, valid: 1 });
  });

  test('of a payment message is CSV in our columns, which the same template reads', async () => {
    const beneficiaries = { DE89370400440532013000: UUID };
    const text = {
      name: 't',
      pain001: { creditorBy: 'creditorAccount', beneficiaries },
      fixed: { purposeCode: 'SUPP' },
    };
    const template = parseTemplate(JSON.stringify(text));
    if (Array.isArray(template)) throw new Error(template.join());
    const transfers = [
      transferXml(),
      transferXml({ reference: 'INV-2', iban: 'GB29NWBK60161331926819' }),
      transferXml({ reference: 'NOTPROVIDED' }),
    ];
    const path = join(folder, 'message.xml');
    writeFileSync(path, messageXml({ count: '3', payments: [paymentXml({ transfers })] }));
    const { rows, checked, target } = await copy(path, { template });
    expect(rows.slice(1).map((cells) => cells.at(-2))).toEqual(['', 'E_BENEFICIARY', 'E_REFERENCE']);
    expect(rows[2]?.[1]).toBe('#E_BENEFICIARY! GB29NWBK60161331926819');
    expect(rows[2]?.at(-1)).toContain('pain001.beneficiaries of the template');
    expect(rows[2]?.at(-1)).not.toContain('line of totals');
    expect(JSON.stringify(checked.problems)).not.toContain('GB29');
    expect(checked).toMatchObject({ rows: 3, valid: 1 });
    expect(await checkPayoutFile(target, { template })).toMatchObject({
      rows: 3,
      valid: 1,
      validTotals: checked.validTotals,
    });
  });

  test('of a payment message never makes an identity of the id of a creditor that the template does not know', async () => {
    const template = parseTemplate(
      JSON.stringify({ name: 't', pain001: { creditorBy: 'creditorId', beneficiaries: { 'V-1': UUID } } }),
    );
    if (Array.isArray(template)) throw new Error(template.join());
    const transfer = transferXml({ id: `<OrgId><Othr><Id>${UUID}</Id></Othr></OrgId>` });
    const path = join(folder, 'unknown.xml');
    writeFileSync(path, messageXml({ count: '1', payments: [paymentXml({ transfers: [transfer] })] }));
    const { rows, target } = await copy(path, { template });
    expect(rows[1]?.[1]).toBe(`#E_BENEFICIARY! ${UUID}`);
    expect(await checkPayoutFile(target, { template })).toMatchObject({ rows: 1, valid: 0 });
  });

  test('is for its owner alone', async () => {
    const { target } = await copy(join(samples, 'small.csv'));
    expect(statSync(target).mode & 0o777).toBe(0o600);
  });
});

describe('no marked-up copy is written', () => {
  const ok = line({ reference: 'INV-1' });
  test.each<[string, string, IntakeOptions?]>([
    ['of a file whose last line may be cut off', file(ok).slice(0, -1)],
    ['of a file whose totals do not fit', file(ok), { expected: { rows: 2, totals: [], sha256: null } }],
    ['of a file whose quotes do not fit', file(ok, 'a"b')],
    ['of a file with another header', `x,y\n${ok}\n`],
    ['of a file with too many rows', file(ok, ok), { limits: { rowsMax: 1 } }],
    ['of an empty file', ''],
    ['of a file with no rows', `${HEADER}\n`],
  ])('%s', async (_what, text, options) => {
    const { isWritten, target } = await copy(put(text), options);
    expect(isWritten).toBe(false);
    expect(existsSync(target)).toBe(false);
  });

  test('over a file that is there, least of all over the payout file itself', async () => {
    const path = put(file(ok));
    const checked = await checkPayoutFile(path);
    await expect(writeMarkedUpCopy(path, checked, path)).rejects.toMatchObject({
      name: 'Refusal',
      kind: 'usage',
    });
    expect(readFileSync(path, 'utf8')).toBe(file(ok));
    await expect(writeMarkedUpCopy(path, checked, join(folder, 'no/where.csv'))).rejects.toMatchObject({
      kind: 'usage',
    });
  });

  test('of a payment message with a transfer that asks for what stands in no column', async () => {
    const template = parseTemplate(JSON.stringify({ name: 't', pain001: { creditorBy: 'creditorId' } }));
    if (Array.isArray(template)) throw new Error(template.join());
    const transfer = transferXml({ id: `<OrgId><Othr><Id>${UUID}</Id></Othr></OrgId>`, more: '<ChqInstr/>' });
    const path = join(folder, 'cheque.xml');
    writeFileSync(path, messageXml({ count: '1', payments: [paymentXml({ transfers: [transfer] })] }));
    const { isWritten, checked } = await copy(path, { template });
    expect(checked.problems).toMatchObject([{ code: 'E_ELEMENT', line: 2 }]);
    expect(isWritten).toBe(false);
  });

  test('of a file that changed since it was checked', async () => {
    const path = put(file(ok));
    const checked = await checkPayoutFile(path);
    writeFileSync(path, file(line({ reference: 'INV-2' })));
    const target = join(folder, 'changed.csv');
    await expect(writeMarkedUpCopy(path, checked, target)).rejects.toMatchObject({ kind: 'fileRefused' });
    expect(existsSync(target)).toBe(false);
  });
});
