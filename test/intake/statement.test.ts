import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { DEFAULT_LIMITS } from '../../src/intake/limits.ts';
import { readStatement } from '../../src/intake/statement/read-statement.ts';
import { PLAIN_STATEMENT, readStatementTemplate } from '../../src/intake/statement/template.ts';
import { Refusal } from '../../src/refusal.ts';
import { camtXml } from './camt-message.ts';

const folder = mkdtempSync(join(tmpdir(), 'payrun-statement-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function read(name: string, text: string, template?: object) {
  const path = join(folder, name);
  writeFileSync(path, text);
  const templatePath = join(folder, 'template.json');
  if (template !== undefined) writeFileSync(templatePath, JSON.stringify(template));
  const shape = await readStatementTemplate(template === undefined ? undefined : templatePath);
  return (await readStatement(path, { template: shape, limits: DEFAULT_LIMITS })).movements;
}

async function refusal(name: string, text: string, template?: object): Promise<string> {
  const error = await read(name, text, template).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(Refusal);
  expect(error).toMatchObject({ kind: 'fileRefused' });
  return String(error);
}

const usd = (minor: bigint) => ({ minor, currency: 'USD' });

describe('a camt message', () => {
  test.each(['camt.053.001.02', 'camt.053.001.08', 'camt.054.001.04', 'camt.054.001.13'])(
    '%s gives a movement for each transaction, and one for an entry without any',
    async (name) => {
      const xml = camtXml(
        [
          { amount: '100.50', transactions: [{ reference: 'INV-1', id: 'p-1' }] },
          {
            amount: '30.00',
            transactions: [
              { reference: 'INV-2', amount: '<Amt Ccy="USD">10.00</Amt>' },
              { reference: 'INV-3', amount: '<AmtDtls><TxAmt><Amt Ccy="USD">20.00</Amt></TxAmt></AmtDtls>' },
            ],
          },
          { amount: '7', direction: 'CRDT', status: 'BOOK' },
          { amount: '8.00', status: '<Cd>PDNG</Cd>' },
        ],
        name,
      );
      expect(await read('a.xml', xml)).toEqual([
        { line: 1, isCredit: false, amount: usd(10_050n), date: '2026-01-15', reference: 'INV-1', ids: ['p-1', 'N1'] },
        { line: 2, isCredit: false, amount: usd(1000n), date: '2026-01-15', reference: 'INV-2', ids: [] },
        { line: 3, isCredit: false, amount: usd(2000n), date: '2026-01-15', reference: 'INV-3', ids: [] },
        { line: 4, isCredit: true, amount: usd(700n), date: '2026-01-15', reference: '', ids: ['N1'] },
      ]);
    },
  );

  test('tells no amount for a transaction of several that has none of its own', async () => {
    const transactions = [{ reference: 'A' }, { reference: 'B', amount: '<Amt Ccy="USD">1.00</Amt>' }];
    const movements = await read('b.xml', camtXml([{ amount: '3.00', transactions }]));
    expect(movements.map(({ amount }) => amount)).toEqual([null, usd(100n)]);
  });

  test('of a million bytes of entries is read whole', async () => {
    const entries = Array.from({ length: 5000 }, (_, at) => ({
      amount: '1.00',
      transactions: [{ reference: `R${at}` }],
    }));
    const movements = await read('long.xml', camtXml(entries));
    expect(movements.map(({ reference }) => reference)).toEqual(entries.map((_, at) => `R${at}`));
  });

  test.each([
    ['another message', camtXml([], 'pain.001.001.09'), 'it is no camt.053'],
    ['a document type', `<!DOCTYPE a [<!ENTITY x "y">]>${camtXml([])}`, 'document type'],
    ['a message that is cut off', camtXml([{ amount: '1.00' }]).slice(0, -60), ''],
    ['an amount in a currency that there is not', camtXml([{ amount: '1.00', currency: 'XXQ' }]), 'no amount'],
    ['an endless text', camtXml([{ amount: '1'.repeat(5000) }]), 'too long'],
    ['a CSV file under its name', 'reference,amount\n', ''],
  ])('is refused for %s', async (_what, xml, found) => {
    expect(await refusal('c.xml', xml)).toContain(found);
  });
});

describe('a CSV statement', () => {
  test('has the columns of our own names, and all of its movements are debits', async () => {
    expect(await read('a.csv', 'date,reference,paymentId,amount,currency\n2026-01-15,INV-1,p-1,100.50,USD\n')).toEqual([
      { line: 2, isCredit: false, amount: usd(10_050n), date: '2026-01-15', reference: 'INV-1', ids: ['p-1'] },
    ]);
  });

  test('is read by a template: names of columns, delimiter, marks, words for the direction', async () => {
    const template = {
      delimiter: ';',
      decimalMark: ',',
      thousandsMark: '.',
      currency: 'USD',
      columns: { reference: 'Verwendung', amount: 'Betrag', direction: 'S/H', date: 'Tag' },
      debit: 'S',
      credit: 'H',
    };
    const text = 'Tag;Verwendung;Betrag;S/H\n15.01.;INV-1;1.100,50;S\n16.01.;INV-1;1.100,50;H\n';
    expect((await read('b.csv', text, template)).map(({ isCredit, amount }) => [isCredit, amount])).toEqual([
      [false, usd(110_050n)],
      [true, usd(110_050n)],
    ]);
  });

  test('tells by the sign what came in, where its template says so', async () => {
    const text = 'reference,amount,currency\nA,-5.00,USD\nB,5.00,USD\n';
    expect((await read('c.csv', text, { signed: true })).map(({ isCredit }) => isCredit)).toEqual([false, true]);
    expect(await refusal('c.csv', text)).toContain('line 2');
  });

  test.each([
    ['no column of amounts', 'reference,currency\nA,USD\n', 'it has no column amount'],
    ['nothing to match by', 'amount,currency\n1.00,USD\n', 'it has neither a column reference nor paymentId'],
    ['an amount that is none', 'reference,amount,currency\nA,"1,5",USD\n', 'line 2 has "1,5 USD"'],
    ['a cell too few', 'reference,amount,currency\nA,1.00\n', 'line 2 has 2 cells'],
    ['a direction that is none', 'reference,amount,currency,direction\nA,1.00,USD,X\n', 'line 2 has "X"'],
    ['a damaged quote', 'reference,amount,currency\n"A,1.00,USD\n', ''],
  ])('is refused for %s', async (_what, text, found) => {
    expect(await refusal('d.csv', text)).toContain(found);
  });
});

describe('texts that would fill the memory', () => {
  test('are refused where one of them is far too long, or all are together', async () => {
    const header = 'reference,paymentId,amount,currency';
    const long = `${header}\n${'R'.repeat(1025)},,1.00,USD`;
    expect(await refusal('bank.csv', long)).toContain('line 2 has a text that is far too long');
    const padded = `${header}\nR${' '.repeat(1024)},,1.00,USD`;
    expect(await refusal('bank.csv', padded)).toContain('line 2 has a text that is far too long');
    const many = [header, ...Array.from({ length: 4 }, () => `${'R'.repeat(1000)},,1.00,USD`)].join('\n');
    const path = join(folder, 'many.csv');
    writeFileSync(path, many);
    const reading = readStatement(path, { template: PLAIN_STATEMENT, limits: { ...DEFAULT_LIMITS, rowsMax: 10 } });
    await expect(reading).rejects.toThrow('its texts are far too long');
  });
});
