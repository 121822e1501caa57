import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { checkPayoutFile } from '../../src/intake/check-file.ts';
import type { ControlTotals } from '../../src/intake/control-totals.ts';
import { parseManifest } from '../../src/intake/manifest.ts';
import { PLAIN_TEMPLATE } from '../../src/intake/template/template.ts';
import { check, file, HEADER, line } from './payout-text.ts';

const folder = mkdtempSync(join(tmpdir(), 'payrun-totals-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const rows = [
  line({ reference: 'INV-1', amount: '100.00' }),
  line({ reference: 'INV-2', amount: '1000' }),
  line({ reference: 'INV-3', amount: '7', sourceCurrency: 'JPY' }),
];
const content = file(...rows);
const usd = { currency: 'USD', minor: 110_000n };
const jpy = { currency: 'JPY', minor: 7n };
const NOTHING: ControlTotals = { rows: null, totals: [], sha256: null };

async function told(text: string, expected: Partial<ControlTotals>): Promise<(string | undefined)[]> {
  const checked = await check(text, { expected: { ...NOTHING, ...expected } });
  expect(checked.fileRefused).toBe(checked.problems.length > 0);
  return checked.problems.map(({ code, message }) => `${code} ${message}`);
}

describe('#26 control totals', () => {
  test('that fit change nothing', async () => {
    expect(await told(content, { rows: 3, totals: [jpy, usd] })).toEqual([]);
    expect(await told(content, { totals: [usd, jpy] })).toEqual([]);
    expect(await told(content, { rows: 3 })).toEqual([]);
  });

  test.each<[string, Partial<ControlTotals>, string]>([
    ['rows', { rows: 4 }, 'E_TOTALS The control totals do not match: the file has 3 rows where 4 were expected.'],
    [
      'a total',
      { totals: [{ ...usd, minor: 110_001n }, jpy] },
      'E_TOTALS The control totals do not match: the file has 1100.00 USD where 1100.01 USD was expected.',
    ],
    [
      'a currency that is not in the file',
      { totals: [usd, jpy, { currency: 'EUR', minor: 1n }] },
      'E_TOTALS The control totals do not match: the file has 0.00 EUR where 0.01 EUR was expected.',
    ],
    [
      'a currency without a total',
      { totals: [usd] },
      'E_TOTALS The control totals do not match: the file has 7 JPY, and no total for it was expected.',
    ],
  ])('refuse the file when they differ in %s, with both figures', async (_what, expected, message) => {
    expect(await told(content, expected)).toEqual([message]);
  });

  test('are told one by one', async () => {
    const codes = await told(content, { rows: 1, totals: [{ ...usd, minor: 1n }], sha256: '0'.repeat(64) });
    expect(codes.map((text) => text?.split(' ')[0])).toEqual(['E_TOTALS', 'E_TOTALS', 'E_TOTALS', 'E_CHECKSUM']);
  });

  test('count refused rows, and say how many amounts could not be read', async () => {
    const text = file(...rows, line({ reference: '', amount: '5' }), line({ reference: 'INV-5', amount: 'x' }));
    const checked = await check(text, { expected: { ...NOTHING, rows: 5, totals: [usd, jpy] } });
    expect(checked.problems.map(({ code, message }) => [code, message.includes('not counting 1 row')])).toContainEqual([
      'E_TOTALS',
      true,
    ]);
    expect(await told(content, { rows: 3, totals: [{ ...usd, minor: usd.minor }, jpy] })).toEqual([]);
  });

  test('#25 find a file that was cut exactly at the end of a row', async () => {
    const cut = file(...rows.slice(0, 2));
    expect(await told(cut, {})).toEqual([]);
    expect(await told(cut, { totals: [usd, jpy] })).toHaveLength(1);
    expect(await told(cut, { rows: 3 })).toHaveLength(1);
  });

  /** The columns and each row with the amount as the last. */
  const amountLast = content
    .trimEnd()
    .split('\n')
    .map((row) => row.split(','))
    .map(([reference, beneficiary, amount, ...others]) => [reference, beneficiary, ...others, amount].join(','))
    .join('\n');

  test('#23 vouch for a last line without a line end where it ends with the amount', async () => {
    expect(await told(amountLast, { totals: [usd, jpy] })).toEqual([]);
    expect(await told(amountLast, { rows: 3 })).toEqual([expect.stringContaining('E_TRUNCATED')]);
    expect(await told(amountLast, {})).toEqual([expect.stringContaining('E_TRUNCATED')]);
    const cut = await told(amountLast.replace('JPY', 'USD').slice(0, -1).concat('1'), { totals: [usd, jpy] });
    expect(cut.map((text) => text?.split(' ')[0])).toEqual(['E_TOTALS', 'E_TOTALS']);
  });

  test('#23 do not vouch for a last cell that they do not count, whatever rows and totals fit', async () => {
    const full = file(
      line({ reference: 'INV-1', purposeCode: 'SALA' }),
      line({ reference: 'INV-2', purposeCode: 'SALA' }),
    );
    const open = full.replaceAll('SALA,', 'SALA').replace(',sourceOfCash', '').trimEnd();
    const totals = [{ currency: 'USD', minor: 20_000n }];
    expect(await told(`${open}\n`, { rows: 2, totals })).toEqual([]);
    for (const text of [open, open.slice(0, -2), open.slice(0, -4)]) {
      expect(await told(text, { rows: 2, totals })).toEqual([expect.stringContaining('E_TRUNCATED')]);
    }
  });

  test('#23 vouch for a last line whose last cell is not read', async () => {
    const template = { ...PLAIN_TEMPLATE, ignored: new Set(['memo']) };
    const text = `${HEADER},memo\n${line({ reference: 'INV-1' })},thank y`;
    const expected = { ...NOTHING, totals: [{ currency: 'USD', minor: 10_000n }] };
    expect((await check(text, { template, expected })).problems).toEqual([]);
    expect((await check(text, { template })).problems).toMatchObject([{ code: 'E_TRUNCATED', line: 2 }]);
  });

  test('#23 vouch for a last line without a line end by a SHA-256, but a number of rows does not', async () => {
    const open = content.slice(0, -1);
    expect(await told(open, { sha256: createHash('sha256').update(open).digest('hex') })).toEqual([]);
    expect(await told(open, { rows: 3 })).toEqual([expect.stringContaining('E_TRUNCATED')]);
    expect(await told(open, {})).toEqual([expect.stringContaining('E_TRUNCATED')]);
  });

  test('are told first, whatever else is wrong', async () => {
    const bad = Array.from({ length: 1500 }, (_, at) => line({ reference: `INV-${at}`, purposeCode: '?' }));
    const checked = await check(file(...bad, ...bad), { expected: { ...NOTHING, rows: 1 } });
    expect(checked.problems[0]).toMatchObject({ code: 'E_TOTALS', line: null });
    expect(checked.problems).toHaveLength(1000);
    expect(checked.problemsTotal).toBe(6001);
  });

  test('do not say anything of a file that was not read to its end', async () => {
    const checked = await check(content, { limits: { rowsMax: 1 }, expected: { ...NOTHING, rows: 3 } });
    expect(checked.problems.map(({ code }) => code)).toEqual(['E_TOO_MANY_ROWS']);
  });
});

describe('a manifest beside the file', () => {
  async function codesWith(name: string, manifest: string, text = content): Promise<string[]> {
    const path = join(folder, name);
    writeFileSync(path, text);
    writeFileSync(`${path}.manifest.json`, manifest);
    return (await checkPayoutFile(path)).problems.map(({ code }) => code);
  }
  const sha256 = createHash('sha256').update(content).digest('hex');
  const sound = { rows: 3, totals: { USD: '1100.00', JPY: '7' }, sha256 };

  test('is compared by itself, and besides the totals that are given', async () => {
    expect(await codesWith('fits.csv', JSON.stringify(sound))).toEqual([]);
    expect(await codesWith('sha.csv', JSON.stringify({ sha256: sha256.toUpperCase() }))).toEqual([]);
    expect(await codesWith('rows.csv', JSON.stringify({ ...sound, rows: 2 }))).toEqual(['E_TOTALS']);
    expect(await codesWith('bytes.csv', JSON.stringify(sound), `\uFEFF${content}`)).toEqual(['E_CHECKSUM']);
    const checked = await checkPayoutFile(join(folder, 'fits.csv'), { expected: { ...NOTHING, rows: 9 } });
    expect(checked.problems).toMatchObject([{ code: 'E_TOTALS' }]);
  });

  test('vouches for a last line without a line end', async () => {
    const open = content.slice(0, -1);
    const digest = createHash('sha256').update(open).digest('hex');
    expect(await codesWith('open.csv', JSON.stringify({ sha256: digest }), open)).toEqual([]);
    expect(await codesWith('open2.csv', JSON.stringify({ rows: 3 }), open)).toEqual(['E_TRUNCATED']);
    expect(await codesWith('open3.csv', JSON.stringify({ rows: 3, totals: sound.totals }), open)).toEqual([
      'E_TRUNCATED',
    ]);
  });

  test.each(['{"totals":{}}', '{"totals":{},"rows":3}', '{}'])(
    'that has no totals vouches for nothing: %s',
    async (manifest) => {
      expect(await codesWith('none.csv', manifest)).toEqual([]);
      expect(await codesWith('none-open.csv', manifest, content.slice(0, -1))).toEqual(['E_TRUNCATED']);
    },
  );

  test.each([
    ['is no JSON', '{'],
    ['is no object', '[]'],
    ['has a name that there is not', JSON.stringify({ ...sound, row: 3 })],
    ['counts rows in words', JSON.stringify({ rows: '3' })],
    ['has a total as a number', JSON.stringify({ totals: { USD: 1100 } })],
    ['has a total in no currency', JSON.stringify({ totals: { usd: '1100' } })],
    ['has a total with too many digits', JSON.stringify({ totals: { JPY: '7.5' } })],
    ['has a short SHA-256', JSON.stringify({ sha256: 'abc' })],
    ['says its rows twice', '{"rows":2,"rows":3}'],
    ['says a total twice', '{"totals":{"USD":"1.00","USD":"1100.00","JPY":"7"}}'],
    ['says a name twice in other letters', '{"rows":2,"totals":{"USD":"1100.00","JPY":"7"},"ro\\u0077s":3}'],
    ['has a total in a currency with an odd name', '{"totals":{"__proto__":"99999"}}'],
    ['is far too large', ' '.repeat(70_000)],
  ])('refuses the file when it %s', async (name, manifest) => {
    expect(await codesWith(`${name}.csv`, manifest)).toEqual(['E_MANIFEST']);
  });

  test('refuses the file when it cannot be read, and keeps its own words to itself', async () => {
    const path = join(folder, 'folder.csv');
    writeFileSync(path, content);
    mkdirSync(`${path}.manifest.json`);
    expect((await checkPayoutFile(path)).problems).toMatchObject([{ code: 'E_MANIFEST' }]);
    const problem = parseManifest(JSON.stringify({ totals: { [`\u001B[2J${'x'.repeat(900)}`]: '1' } }));
    expect('message' in problem && problem.message.length < 300 && !problem.message.includes('\u001B')).toBe(true);
  });
});
