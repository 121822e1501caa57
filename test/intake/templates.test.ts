import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CheckedFile, checkPayoutFile } from '../../src/intake/check-file.ts';
import { readPayoutFile } from '../../src/intake/read-file.ts';
import { parseTemplate, readTemplate } from '../../src/intake/template/file.ts';
import { openAmountReader, PLAIN_TEMPLATE, type Template } from '../../src/intake/template/template.ts';
import { makeTemplateSamples } from '../support/make-template-samples.ts';
import { check, collect, HEADER, line, UUID, UUID_2 } from './payout-text.ts';

const folder = join(import.meta.dirname, '../../samples');
const samples = makeTemplateSamples();
if (process.env['UPDATE_SAMPLES'] === '1') {
  for (const [name, text] of samples) writeFileSync(join(folder, name), text);
}

function template(text: object): Template {
  const parsed = parseTemplate(JSON.stringify({ name: 'test', ...text }));
  if (Array.isArray(parsed)) throw new Error(parsed.join('\n'));
  return parsed;
}

const codesOf = (checked: CheckedFile): string[] => checked.problems.map(({ code }) => code);
const first = line({ reference: 'INV-1' });
const plainFile = (...rows: string[]): string => [HEADER, ...rows, ''].join('\n');

describe('the sample templates', () => {
  test.each([...samples.keys()])('%s is what the generator makes', (name) => {
    expect(readFileSync(join(folder, name), 'utf8')).toBe(samples.get(name));
  });

  test.each([
    { name: 'semicolon', rows: 4, totals: [{ currency: 'EUR', minor: 5_225_056n }] },
    {
      name: 'erp-export',
      rows: 3,
      totals: [
        { currency: 'EUR', minor: 8550n },
        { currency: 'USD', minor: 6_520_010n },
      ],
    },
    {
      name: 'payment-message',
      extension: 'xml',
      rows: 3,
      totals: [
        { currency: 'EUR', minor: 41_039n },
        { currency: 'GBP', minor: 125_000n },
      ],
    },
  ])('$name reads its file', async ({ name, extension = 'csv', rows, totals }) => {
    const path = join(folder, `${name}.${extension}`);
    const checked = await checkPayoutFile(path, {
      template: await readTemplate(join(folder, `templates/${name}.json`)),
    });
    expect(checked).toMatchObject({ rows, valid: rows, problems: [], warnings: [], totals, fileRefused: false });
    const payouts = (await collect(readPayoutFile(path, checked))).filter((row) => 'reference' in row);
    expect(payouts).toHaveLength(rows);
    expect(new Set(payouts.map(({ sourceCountry, payoutCategory }) => `${sourceCountry} ${payoutCategory}`)).size).toBe(
      1,
    );
  });

  test.each([
    ['excel-de', '1.234,56'],
    ['excel-fr', '1 234,56'],
  ])('%s reads what its Excel saves', async (name, amount) => {
    const text = [HEADER, line({ reference: 'INV-1', amount: 'AMOUNT' }), '']
      .join('\n')
      .replaceAll(',', ';')
      .replace('AMOUNT', amount);
    const checked = await check(text, { template: await readTemplate(join(folder, `templates/${name}.json`)) });
    expect(checked).toMatchObject({ valid: 1, problems: [], totals: [{ minor: 123_456n }] });
  });

  test.each(['semicolon.csv', 'erp-export.csv', 'payment-message.xml'])(
    '%s is refused without its template',
    async (file) => {
      expect((await checkPayoutFile(join(folder, file))).fileRefused).toBe(true);
    },
  );
});

describe('a template', () => {
  const names = template({ columns: { reference: 'Ref. no.', amount: 'Sum' } });
  const renamed = plainFile(first).replace('reference', 'Ref. no.').replace('amount,', 'Sum,');

  test('gives columns other names, and a problem is told by the name in the file', async () => {
    expect(codesOf(await check(renamed, { template: names }))).toEqual([]);
    const { problems } = await check(renamed.replace('100.00', '1,5').replace(',1,5,', ',"1,5",'), { template: names });
    expect(problems).toMatchObject([{ code: 'E_AMOUNT', column: 'Sum', value: '1,5' }]);
    const missing = await check(plainFile(first), { template: names });
    expect(missing.problems.map(({ message }) => message).join(' ')).toMatch(
      /write Ref\. no\. exactly so, not reference.*the column Sum is missing/,
    );
    expect(missing.problems[0]?.remedy).toContain('Required: Ref. no., beneficiaryIdentityId, Sum,');
  });

  test('#31 #32 names the delimiter; every other is refused', async () => {
    for (const delimiter of [';', '\t', '|']) {
      const text = plainFile(first).replaceAll(',', delimiter);
      const own = template({ delimiter });
      expect(codesOf(await check(text, { template: own }))).toEqual([]);
      expect(codesOf(await check(`sep=${delimiter}\n${text}`, { template: own }))).toEqual([]);
      expect(codesOf(await check(`sep=,\n${text}`, { template: own }))).toEqual(['E_DELIMITER']);
      const { problems } = await check(plainFile(first), { template: own });
      expect(problems).toMatchObject([
        { code: 'E_DELIMITER', message: expect.stringContaining('separated by commas') },
      ]);
    }
    const quoted = plainFile(
      line({ reference: 'INV-1', payoutCategory: '"a;""b"', amount: '100' }).replaceAll(',', ';'),
    );
    const checked = await check(quoted.replace(HEADER, HEADER.replaceAll(',', ';')), {
      template: template({ delimiter: ';' }),
    });
    expect(checked).toMatchObject({ valid: 1, problems: [] });
  });

  test('ignores columns by their names, and refuses others that are not known', async () => {
    const wide = `${HEADER},Memo,Clerk\n${first},=cmd|x,\u202E\n`;
    expect(codesOf(await check(wide, { template: template({ ignore: ['Memo', 'Clerk'] }) }))).toEqual([]);
    expect(codesOf(await check(wide, { template: template({ ignore: ['Memo'] }) }))).toEqual(['E_HEADER']);
    const twice = `${HEADER},Memo,Memo\n${first},a,b\n`;
    expect(codesOf(await check(twice, { template: template({ ignore: ['Memo'] }) }))).toEqual(['E_HEADER_DUP']);
  });

  test('a row with as many cells as columns are read, but fewer than the file has, is no whole row', async () => {
    const wide = `${HEADER},Memo\n${first},x\n${line({ reference: 'INV-2' })}\n`;
    const checked = await check(wide, { template: template({ ignore: ['Memo'] }) });
    expect(codesOf(checked)).toEqual(['E_COLUMNS']);
    expect(checked).toMatchObject({ rows: 2, valid: 1 });
    // Its first cell would be a reference if the row were taken for a whole one.
    const shifted = `Memo,${HEADER}\nx,${first}\n${first}\n`;
    expect(codesOf(await check(shifted, { template: template({ ignore: ['Memo'] }) }))).toEqual(['E_COLUMNS']);
  });

  test('#72 fixes a value for all rows, and a cell that says otherwise refuses the file', async () => {
    const fixed = template({ fixed: { sourceCurrency: 'USD', originatorIdentityId: UUID_2, sourceCountry: 'US' } });
    const rows = [
      first,
      line({ reference: 'INV-2', sourceCurrency: '' }),
      line({ reference: 'INV-3', originatorIdentityId: UUID_2 }),
    ];
    expect(codesOf(await check(plainFile(...rows), { template: fixed }))).toEqual([]);
    const mixed = await check(plainFile(first, line({ reference: 'INV-2', sourceCurrency: 'EUR' })), {
      template: fixed,
    });
    expect(mixed).toMatchObject({
      fileRefused: true,
      problems: [{ code: 'E_FIXED', line: 3, column: 'sourceCurrency' }],
    });
  });

  test('#75 requires optional columns: a file without one is refused, and so is a row', async () => {
    const demanding = template({ required: ['originatorIdentityId'] });
    expect(codesOf(await check(plainFile(first), { template: demanding }))).toEqual(['E_ORIGINATOR']);
    expect(
      codesOf(
        await check(`${HEADER.replace(',originatorIdentityId', '')}\n${first.replace('MXN,,', 'MXN,')}\n`, {
          template: demanding,
        }),
      ),
    ).toEqual(['E_HEADER']);
    const both = template({ required: ['originatorIdentityId'], fixed: { originatorIdentityId: UUID } });
    expect(codesOf(await check(plainFile(first), { template: both }))).toEqual([]);
  });

  test('#72 #74 allows some values of a column only', async () => {
    const some = template({ allowed: { destinationCurrency: ['MXN'], purposeCode: ['SUPP'] } });
    expect(codesOf(await check(plainFile(first), { template: some }))).toEqual([]);
    const { problems } = await check(
      plainFile(line({ reference: 'INV-1', destinationCurrency: 'EUR', purposeCode: 'GIFT' })),
      {
        template: some,
      },
    );
    expect(problems.map(({ code, column }) => [code, column])).toEqual([
      ['E_NOT_ALLOWED', 'destinationCurrency'],
      ['E_NOT_ALLOWED', 'purposeCode'],
    ]);
  });

  test('#53 finds references that lost zeros at their head', async () => {
    const ten = template({ referenceCharacters: 10 });
    expect(codesOf(await check(plainFile(line({ reference: '0051000017' })), { template: ten }))).toEqual([]);
    const { problems } = await check(plainFile(line({ reference: '51000017' })), { template: ten });
    expect(problems).toMatchObject([{ code: 'E_REFERENCE', remedy: expect.stringContaining('all its 10 characters') }]);
    expect(problems[0]?.remedy).not.toContain('A-Z');
  });

  test('#69 limits the amount of a payout by currency, to the cent, and a currency without a limit does not occur', async () => {
    const limited = template({ payoutMax: { USD: '100.00', JPY: '5000' } });
    const rows = [
      line({ reference: 'INV-1', amount: '100.00' }),
      line({ reference: 'INV-2', amount: '100.01' }),
      line({ reference: 'INV-3', amount: '5001', sourceCurrency: 'JPY' }),
      line({ reference: 'INV-4', amount: '2', sourceCurrency: 'EUR' }),
    ];
    const checked = await check(plainFile(...rows), { template: limited });
    expect(checked.problems.map(({ code, line: at, message }) => [code, at, message])).toEqual([
      ['E_LIMIT', 3, 'The amount may not be paid: the limit of the template for one payout is 100.00 USD.'],
      ['E_LIMIT', 4, 'The amount may not be paid: the limit of the template for one payout is 5000 JPY.'],
      ['E_LIMIT', 5, 'The amount may not be paid: the template has no limit for EUR.'],
    ]);
    expect(checked.totals.map(({ currency }) => currency)).toEqual(['EUR', 'JPY', 'USD']);
  });
});

const read = (marks: object) => openAmountReader({ ...PLAIN_TEMPLATE, ...marks });

describe('amounts by a template', () => {
  test.each<[object, readonly [string, string | undefined][]]>([
    [
      { decimalMark: ',' },
      [
        ['1234,56', '1234.56'],
        ['1234', '1234'],
        ['1234.56', undefined],
        ['1.234,56', undefined],
        ['1234,', undefined],
        [',5', undefined],
        ['1,2,3', undefined],
        ['-5,00', undefined],
      ],
    ],
    [
      { decimalMark: ',', thousandsMark: '.' },
      [
        ['1.234,56', '1234.56'],
        ['1.234', '1234'],
        ['1.234.567', '1234567'],
        ['1234,56', '1234.56'],
        ['12.34', undefined],
        ['1.2345', undefined],
        ['.234', undefined],
        ['1234.567', undefined],
      ],
    ],
    [
      { decimalMark: '.', thousandsMark: ',' },
      [
        ['1,234.56', '1234.56'],
        ['1,23', undefined],
      ],
    ],
    [
      { decimalMark: ',', thousandsMark: ' ' },
      [
        ['1 234,56', '1234.56'],
        ['1\u00A0234\u202F567,5', '1234567.5'],
        ['1  234', undefined],
      ],
    ],
    [{ decimalMark: '.', thousandsMark: "'" }, [["1'234.56", '1234.56']]],
  ])('%o', (marks, texts) => {
    expect(texts.map(([text]) => [text, read(marks)(text)])).toEqual(texts);
  });

  test('are what was written with the same marks, or nothing', () => {
    const marks = fc.constantFrom<readonly [string, string]>(
      [',', '.'],
      ['.', ','],
      [',', ' '],
      ['.', "'"],
      [',', "'"],
    );
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: 10n ** 12n }),
        fc.integer({ min: 0, max: 999 }),
        marks,
        (whole, part, [decimalMark, thousandsMark]) => {
          const grouped = String(whole).replace(/\B(?=(?:[0-9]{3})+$)/g, thousandsMark);
          const fraction = String(part).padStart(3, '0');
          expect(read({ decimalMark, thousandsMark })(`${grouped}${decimalMark}${fraction}`)).toBe(
            `${whole}.${fraction}`,
          );
        },
      ),
    );
  });

  test('are told with an example in the marks of the template', async () => {
    const text = plainFile(line({ reference: 'INV-1', amount: '100.00' })).replaceAll(',', ';');
    const { problems } = await check(text, { template: template({ delimiter: ';', decimalMark: ',' }) });
    expect(problems).toMatchObject([{ code: 'E_AMOUNT', remedy: expect.stringContaining('1234,56') }]);
  });
});

describe('a template is refused', () => {
  test.each<[string, object | string, string]>([
    ['that is no JSON', '{', 'template: '],
    ['without a name', { name: '' }, 'name: '],
    ['with a word that there is not', { colums: {} }, 'colums'],
    ['with a column that there is not', { columns: { memo: 'Memo' } }, 'columns'],
    ['with a delimiter that no file has', { delimiter: ':' }, 'delimiter: '],
    ['whose thousands mark is its decimal mark', { decimalMark: ',', thousandsMark: ',' }, 'thousandsMark: '],
    ['with one name for two columns', { columns: { reference: 'x', amount: 'x' } }, 'columns.amount: '],
    ['with the name of another column', { columns: { amountType: 'amount' } }, 'columns.amountType: '],
    ['that ignores a column that it reads', { ignore: ['amount'] }, 'columns.amount: '],
    ['with the name of a mark', { columns: { reference: 'payrunProblems' } }, 'columns.reference: '],
    ['with a fixed value that no row may have', { fixed: { sourceCurrency: 'usd' } }, 'fixed.sourceCurrency: '],
    ['with a fixed reference', { fixed: { reference: 'A' } }, 'fixed'],
    [
      'with a fixed value that it does not allow',
      { fixed: { purposeCode: 'A' }, allowed: { purposeCode: ['B'] } },
      'fixed.purposeCode: ',
    ],
    [
      'that allows what no row may have',
      { allowed: { destinationCountry: ['Mexico'] } },
      'allowed.destinationCountry: ',
    ],
    ['with a limit that is no amount', { payoutMax: { USD: '1,000' } }, 'payoutMax.USD: '],
    ['with a limit as a number', { payoutMax: { USD: 1000 } }, 'payoutMax.USD: '],
    ['with a limit in no currency', { payoutMax: { XXX: '1' } }, 'payoutMax.XXX: '],
    ['with accounts of nobody', { pain001: { creditorBy: 'creditorAccount' } }, 'pain001.beneficiaries: '],
    [
      'with an account twice',
      { pain001: { creditorBy: 'creditorAccount', beneficiaries: { 'DE89 3704': UUID, de893704: UUID_2 } } },
      'pain001.beneficiaries: …3704',
    ],
    [
      'with a creditor who is no identity',
      { pain001: { creditorBy: 'creditorId', beneficiaries: { a: 'b' } } },
      'pain001.beneficiaries.a: ',
    ],
    [
      'that leaves out what changes a payment',
      { pain001: { creditorBy: 'creditorId', leaveOut: ['ChqInstr'] } },
      'pain001.leaveOut.0: ',
    ],
  ])('%s', (_what, text, problem) => {
    const parsed = parseTemplate(typeof text === 'string' ? text : JSON.stringify({ name: 'test', ...text }));
    expect(parsed).toSatisfy(Array.isArray);
    expect(parsed).toContainEqual(expect.stringContaining(problem));
  });

  test('of any size without being read whole', async () => {
    const own = mkdtempSync(join(tmpdir(), 'payrun-template-'));
    const path = join(own, 'template.json');
    writeFileSync(path, '{');
    truncateSync(path, 10_000_000_000);
    await expect(readTemplate(path)).rejects.toMatchObject({ message: expect.stringContaining('it has more than') });
    rmSync(own, { recursive: true });
  });

  test('by its file with all that is wrong, or because there is no file', async () => {
    const path = join(import.meta.dirname, 'templates.test.ts');
    await expect(readTemplate(path)).rejects.toMatchObject({ name: 'Refusal', kind: 'usage' });
    await expect(readTemplate(`${path}.none`)).rejects.toMatchObject({
      name: 'Refusal',
      message: expect.stringContaining('There is no template'),
    });
  });
});
