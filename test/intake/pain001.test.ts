import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CheckedFile, checkPayoutSource } from '../../src/intake/check-file.ts';
import { LEFT_OUT_ELEMENTS } from '../../src/intake/pain001/elements.ts';
import { readCheckedRows } from '../../src/intake/row/rows.ts';
import { parseTemplate } from '../../src/intake/template/file.ts';
import type { Template } from '../../src/intake/template/template.ts';
import { messageXml, paymentXml, transferXml } from './payment-message.ts';
import { collect, sourceOf, UUID, UUID_2 } from './payout-text.ts';

const IBAN = 'DE89370400440532013000';
const OTHER_IBAN = 'GB29NWBK60161331926819';

function templateOf(pain001: object, more: object = {}): Template {
  const parsed = parseTemplate(JSON.stringify({ name: 'test', pain001, ...more }));
  if (Array.isArray(parsed)) throw new Error(parsed.join('\n'));
  return parsed;
}

const byAccount = {
  creditorBy: 'creditorAccount',
  beneficiaries: { 'DE89 3704 0044 0532 0130 00': UUID, [OTHER_IBAN]: UUID_2 },
};
const template = templateOf(byAccount);

function checkMessage(text: string | Buffer, own: Template = template, pieceBytes = 4096): Promise<CheckedFile> {
  return checkPayoutSource({ ...sourceOf(text, pieceBytes), name: 'test.xml' }, { template: own });
}

const one = (transfer: string, more: Partial<Parameters<typeof messageXml>[0]> = {}): string =>
  messageXml({ count: '1', payments: [paymentXml({ transfers: [transfer] })], ...more });
function fromDebtor(debtorCurrency: string): string {
  return messageXml({
    count: '1',
    payments: [paymentXml({ debtorCurrency, transfers: [transferXml({ amount: '12.34' })] })],
  });
}

const codesOf = ({ problems }: CheckedFile): [string, number | null, string | null][] =>
  problems.map(({ code, line, column }) => [code, line, column]);

function clearing(system: string, member: string): string {
  return `<ClrSysMmbId><ClrSysId><Cd>${system}</Cd></ClrSysId><MmbId>${member}</MmbId></ClrSysMmbId>`;
}

function atBank(bank: string, number: string): string {
  const account = `<Othr><Id>${number}</Id></Othr>`;
  return transferXml({ account }).replace('<BICFI>DEUTDEFF</BICFI>', bank);
}

describe('a payment message', () => {
  const text = messageXml({
    count: '3',
    sum: '307.5',
    payments: [
      paymentXml({
        head: '<NbOfTxs>2</NbOfTxs><CtrlSum>300.00</CtrlSum>',
        transfers: [
          transferXml({ reference: 'INV-1' }),
          transferXml({ reference: 'INV-2', amount: '200', iban: OTHER_IBAN, more: '<Purp><Cd>SUPP</Cd></Purp>' }),
        ],
      }),
      paymentXml({
        debtorCurrency: 'USD',
        transfers: [transferXml({ reference: 'INV-3', amount: '7.5', accountCurrency: 'MXN' })],
      }),
    ],
  });

  test('is one row for each transfer: what the creditor is to get, out of the currency of the debtor', async () => {
    const checked = await checkMessage(text);
    expect(checked).toMatchObject({
      rows: 3,
      valid: 3,
      problems: [],
      fileRefused: false,
      totals: [{ currency: 'MXN', minor: 30_750n }],
    });
    const rows = await collect(readCheckedRows(sourceOf(text).chunks(), checked.reading));
    expect(rows.map(({ row }) => row)).toMatchObject([
      {
        line: 2,
        reference: 'INV-1',
        beneficiaryIdentityId: UUID,
        amountType: 'DESTINATION_AMOUNT',
        sourceCurrency: 'EUR',
        destinationCurrency: 'MXN',
        purposeCode: null,
      },
      { line: 3, reference: 'INV-2', beneficiaryIdentityId: UUID_2, amount: { minor: 20_000n }, purposeCode: 'SUPP' },
      { line: 4, reference: 'INV-3', sourceCurrency: 'USD', amount: { minor: 750n, currency: 'MXN' } },
    ]);
  });

  test('is read alike however it is cut into pieces, on one line or on many, with a byte order mark or without', async () => {
    const whole = await checkMessage(text);
    for (const pieceBytes of [1, 7, 64]) expect(await checkMessage(text, template, pieceBytes)).toEqual(whole);
    const oneLine = await checkMessage(text.replaceAll(/>\s+</g, '><'));
    expect(oneLine.contentHash).toBe(whole.contentHash);
    expect((await checkMessage(`\uFEFF${text}`)).contentHash).toBe(whole.contentHash);
    const prefixed = text.replaceAll(/<(\/?)([A-Z])/g, '<$1p:$2').replace('xmlns=', 'xmlns:p=');
    expect((await checkMessage(prefixed)).contentHash).toBe(whole.contentHash);
  });

  test.each<[string, object, string, string]>([
    ['its IBAN', byAccount, transferXml(), UUID],
    ['its IBAN as it is printed', byAccount, transferXml({ iban: 'de89 3704 0044 0532 0130 00' }), UUID],
    [
      'another account number, at its bank',
      { creditorBy: 'creditorAccount', beneficiaries: { 'COBADEFF/0123-45': UUID, 'DEUTDEFF/0123-45': UUID_2 } },
      transferXml({ account: '<Othr><Id>0123-45</Id><SchmeNm><Cd>BBAN</Cd></SchmeNm></Othr>' }),
      UUID_2,
    ],
    [
      'a number of a country’s own kind',
      { creditorBy: 'creditorAccount', beneficiaries: { 'DEUTDEFF/PGNR/1': UUID, 'DEUTDEFF/BGNR/1': UUID_2 } },
      transferXml({ account: '<Othr><Id>1</Id><SchmeNm><Prtry>BGNR</Prtry></SchmeNm></Othr>' }),
      UUID_2,
    ],
    [
      'a number at a bank of one of two clearing systems',
      { creditorBy: 'creditorAccount', beneficiaries: { 'GBDSC:12/1': UUID, 'AUBSB:12/1': UUID_2 } },
      atBank(clearing('AUBSB', '12'), '1'),
      UUID_2,
    ],
    [
      'a number at one of two branches of a bank',
      { creditorBy: 'creditorAccount', beneficiaries: { 'ROYCCAT2+CACPA:1/1': UUID, 'ROYCCAT2+CACPA:2/1': UUID_2 } },
      atBank(`<BICFI>ROYCCAT2</BICFI>${clearing('CACPA', '2')}`, '1'),
      UUID_2,
    ],
    [
      'a number with a slash, beside the same digits at another bank',
      { creditorBy: 'creditorAccount', beneficiaries: { 'GBDSC:12/3/1': UUID, 'GBDSC:12/3%2F1': UUID_2 } },
      atBank(clearing('GBDSC', '12'), '3/1'),
      UUID_2,
    ],
    [
      'an IBAN that stands where other numbers stand',
      byAccount,
      transferXml({ account: '<Othr><Id>DE89 3704 0044 0532 0130 00</Id></Othr>' }),
      UUID,
    ],
    [
      'an id of its own',
      { creditorBy: 'creditorId', beneficiaries: { 'V-70001': UUID } },
      transferXml({ id: '<OrgId><LEI>x</LEI><Othr><Id>v-70001</Id><Issr>us</Issr></Othr></OrgId>' }),
      UUID,
    ],
    [
      'its identity at the service',
      { creditorBy: 'creditorId' },
      transferXml({ id: `<PrvtId><Othr><Id>${UUID_2.toUpperCase()}</Id></Othr></PrvtId>` }),
      UUID_2,
    ],
  ])('tells a creditor by %s', async (_by, ...[pain001, transfer, identity]) => {
    const own = templateOf(pain001);
    const checked = await checkMessage(one(transfer), own);
    expect(codesOf(checked)).toEqual([]);
    const rows = await collect(readCheckedRows(sourceOf(one(transfer)).chunks(), checked.reading));
    expect(rows[0]?.row?.beneficiaryIdentityId).toBe(identity);
  });

  test.each<[string, object, string, string]>([
    [
      'an account that the template does not know',
      byAccount,
      transferXml({ iban: 'FR7630006000011234567890189' }),
      'E_BENEFICIARY',
    ],
    [
      'a number that the template knows at another bank',
      { creditorBy: 'creditorAccount', beneficiaries: { 'COBADEFF/0123-45': UUID, '0123-45': UUID_2 } },
      transferXml({ account: '<Othr><Id>0123-45</Id></Othr>' }),
      'E_BENEFICIARY',
    ],
    ['no id where ids count', { creditorBy: 'creditorId' }, transferXml(), 'E_BENEFICIARY'],
    [
      'an id that is no identity',
      { creditorBy: 'creditorId' },
      transferXml({ id: '<OrgId><Othr><Id>V-1</Id></Othr></OrgId>' }),
      'E_BENEFICIARY',
    ],
    [
      'an account of two numbers',
      byAccount,
      transferXml({ account: `<IBAN>${IBAN}</IBAN><Othr><Id>1</Id></Othr>` }),
      'E_BENEFICIARY',
    ],
    ['no reference', byAccount, transferXml({ reference: 'NOTPROVIDED' }), 'E_REFERENCE'],
    ['an empty reference', byAccount, transferXml({ reference: '' }), 'E_REFERENCE'],
    ['an amount with a comma', byAccount, transferXml({ amount: '1,50' }), 'E_AMOUNT'],
    ['an amount with too many digits', byAccount, transferXml({ amount: '1.505' }), 'E_AMOUNT_SCALE'],
    ['an amount without a currency', byAccount, transferXml({ currency: '' }), 'E_CURRENCY'],
    ['an account in another currency', byAccount, transferXml({ accountCurrency: 'USD' }), 'E_CURRENCY'],
    ['a cheque', byAccount, transferXml({ more: '<ChqInstr><ChqTp>CCHQ</ChqTp></ChqInstr>' }), 'E_ELEMENT'],
    [
      'an agreed rate',
      byAccount,
      transferXml({ more: '<XchgRateInf><XchgRate>1.1</XchgRate></XchgRateInf>' }),
      'E_ELEMENT',
    ],
    ['an ultimate creditor', byAccount, transferXml({ more: '<UltmtCdtr><Nm>x</Nm></UltmtCdtr>' }), 'E_ELEMENT'],
    ['an ultimate debtor', byAccount, transferXml({ more: '<UltmtDbtr><Nm>x</Nm></UltmtDbtr>' }), 'E_ELEMENT'],
    ['regulatory reporting', byAccount, transferXml({ more: '<RgltryRptg/>' }), 'E_ELEMENT'],
    [
      'remittance information that the template does not leave out',
      byAccount,
      transferXml({ more: '<RmtInf><Ustrd>x</Ustrd></RmtInf>' }),
      'E_ELEMENT',
    ],
    ['two purposes', byAccount, transferXml({ more: '<Purp><Cd>SUPP</Cd><Cd>SALA</Cd></Purp>' }), 'E_ELEMENT'],
    ['an element that there is not', byAccount, transferXml({ more: '<Memo>x</Memo>' }), 'E_ELEMENT'],
  ])('with %s has that transfer refused', async (_what, ...[pain001, transfer, code]) => {
    const checked = await checkMessage(one(transfer), templateOf(pain001));
    expect(codesOf(checked).map(([told, at]) => [told, at])).toEqual([[code, 2]]);
    expect(checked).toMatchObject({ rows: 1, valid: 0, fileRefused: false });
    expect(JSON.stringify(checked.problems)).not.toContain(IBAN.slice(0, 12));
  });

  test('an equivalent amount is refused, and no amount is read', async () => {
    const eqvt = transferXml().replace(
      /<Amt>.*<\/Amt>/,
      '<Amt><EqvtAmt><Amt Ccy="EUR">5</Amt><CcyOfTrf>MXN</CcyOfTrf></EqvtAmt></Amt>',
    );
    const checked = await checkMessage(one(eqvt));
    expect(new Set(codesOf(checked).map(([code]) => code))).toEqual(new Set(['E_ELEMENT', 'E_AMOUNT', 'E_CURRENCY']));
    expect(checked).toMatchObject({ valid: 0, totals: [] });
  });

  test('takes the source currency of the template where the debtor has none, and no other', async () => {
    const own = templateOf(byAccount, {
      fixed: { sourceCurrency: 'EUR' },
      decimalMark: ',',
      columns: { amount: 'Betrag' },
    });
    expect(await checkMessage(fromDebtor(''), own)).toMatchObject({ problems: [], totals: [{ minor: 1234n }] });
    expect(codesOf(await checkMessage(fromDebtor('USD'), own))).toEqual([['E_FIXED', 2, 'sourceCurrency']]);
    // The marks of the template are for tables; a comma in the message is none of the standard's.
    const comma = fromDebtor('EUR').replace('12.34', '12,34');
    expect(codesOf(await checkMessage(comma, own))).toEqual([['E_AMOUNT', 2, 'Betrag']]);
    const without = await checkMessage(fromDebtor(''));
    expect(codesOf(without)).toEqual([['E_CURRENCY', 2, 'sourceCurrency']]);
    expect(without.problems[0]).toMatchObject({
      message: "The currency is missing: the message does not give the currency of the debtor's account.",
      remedy: 'Name it in the template, such as "fixed": {"sourceCurrency": "EUR"}, or in the message (DbtrAcct/Ccy).',
    });
  });

  test('lets a template leave out what only a bank can do, each by its name', async () => {
    const head =
      '<BtchBookg>true</BtchBookg><PmtTpInf><SvcLvl><Cd>SEPA</Cd></SvcLvl></PmtTpInf><ReqdExctnDt><Dt>2026-04-01</Dt></ReqdExctnDt><ChrgBr>SLEV</ChrgBr>';
    const transfer = transferXml({ more: '<RmtInf><Ustrd>x</Ustrd></RmtInf>' });
    const message = messageXml({ count: '1', payments: [paymentXml({ head, transfers: [transfer] })] });
    expect(codesOf(await checkMessage(message, templateOf({ ...byAccount, leaveOut: LEFT_OUT_ELEMENTS })))).toEqual([]);
    for (const name of ['BtchBookg', 'PmtTpInf', 'ReqdExctnDt', 'ChrgBr', 'RmtInf']) {
      const leaveOut = LEFT_OUT_ELEMENTS.filter((other) => other !== name);
      const { problems } = await checkMessage(message, templateOf({ ...byAccount, leaveOut }));
      expect(problems).toMatchObject([{ code: 'E_ELEMENT', message: expect.stringContaining(name) }]);
    }
  });
});

describe('the control sums of a message', () => {
  const two = [transferXml(), transferXml({ reference: 'INV-2', amount: '0.75', currency: 'USD' })];
  const message = (count: string, sum?: string, head = ''): string =>
    messageXml({ count, ...(sum === undefined ? {} : { sum }), payments: [paymentXml({ head, transfers: two })] });

  test.each<[string, string]>([
    ['the number of transfers', message('3')],
    ['a number of transfers that is none', message('two')],
    ['the sum', message('2', '100.76')],
    ['a sum that is none', message('2', '1e2')],
    ['the number of a payment', message('2', '100.75', '<NbOfTxs>1</NbOfTxs>')],
    ['the sum of a payment', message('2', '100.75', '<CtrlSum>100</CtrlSum>')],
  ])('refuse it when they differ in %s', async (_what, text) => {
    const checked = await checkMessage(text);
    expect(checked.problems).toMatchObject([{ code: 'E_TOTALS' }, { code: 'E_AMOUNT_RANGE' }]);
    expect(checked.fileRefused).toBe(true);
  });

  test('add up all amounts whatever their currencies, exactly', async () => {
    for (const sum of ['100.75', '100.750', '00100.75']) {
      expect(codesOf(await checkMessage(message('2', sum, '<NbOfTxs>2</NbOfTxs>'))).map(([code]) => code)).toEqual([
        'E_AMOUNT_RANGE',
      ]);
    }
    const many = Array.from({ length: 300 }, (_, at) => transferXml({ reference: `R-${at}`, amount: '99999999.99' }));
    const sum = '29999999997.00';
    expect(
      codesOf(await checkMessage(messageXml({ count: '300', sum, payments: [paymentXml({ transfers: many })] }))),
    ).toEqual([]);
  });

  test('have to say the number of transfers', async () => {
    const { problems } = await checkMessage(message(''));
    expect(problems.map(({ code }) => code)).toContain('E_MESSAGE');
  });
});

describe('the ids of a message, by which a status report answers', () => {
  const sound = messageXml({
    count: '2',
    payments: [
      paymentXml({ transfers: [transferXml({ reference: 'INV-1' })] }),
      paymentXml({ transfers: [transferXml({ reference: 'INV-2' })] }).replace('>p<', '>q<'),
    ],
  });
  const most = 'ä'.repeat(35);

  test.each<[string, string, string]>([
    ['no MsgId', sound.replace('<MsgId>m</MsgId>', ''), 'MsgId is missing'],
    ['an empty MsgId', sound.replace('>m<', '><'), 'MsgId is empty'],
    ['a MsgId with blanks around it', sound.replace('>m<', '> m<'), 'MsgId has blanks around it'],
    ['a MsgId that is too long', sound.replace('>m<', `>${most}m<`), 'MsgId has more than 35 characters'],
    ['no PmtInfId', sound.replace('<PmtInfId>q</PmtInfId>', ''), 'PmtInfId of PmtInf 2 is missing'],
    ['an empty PmtInfId', sound.replace('>q<', '> <'), 'PmtInfId of PmtInf 2 is empty'],
    ['a PmtInfId with blanks around it', sound.replace('>q<', '>q\n<'), 'PmtInfId of PmtInf 2 has blanks'],
    ['a PmtInfId that is too long', sound.replace('>q<', `>${most}q<`), 'PmtInfId of PmtInf 2 has more than 35'],
    ['an InstrId that is too long', sound.replace('>i<', `>${most}i<`), 'InstrId has more than 35 characters'],
  ])('refuse it as a whole with %s', async (_what, text, message) => {
    const { problems, fileRefused } = await checkMessage(text);
    expect(problems).toMatchObject([{ code: 'E_MESSAGE', message: expect.stringContaining(message) }]);
    expect(problems[0]?.remedy).toContain('1 to 35 characters');
    expect(fileRefused).toBe(true);
  });

  test('say in which transfer an InstrId is too long', async () => {
    const { problems } = await checkMessage(sound.replace(/>i<(?![\s\S]*>i<)/, `>${most}i<`));
    expect(problems).toMatchObject([{ code: 'E_MESSAGE', line: 3 }]);
  });

  test('refuse it when one of them stands there twice', async () => {
    for (const id of ['<MsgId>m</MsgId>', '<PmtInfId>q</PmtInfId>']) {
      expect(await checkMessage(sound.replace(id, id + id))).toMatchObject({
        problems: [{ code: 'E_ELEMENT', message: expect.stringContaining('twice') }],
        fileRefused: true,
      });
    }
  });

  test('may have 35 characters of any script', async () => {
    const longest = sound.replaceAll('>i<', `>${most}<`).replace('>m<', `>${most}<`).replace('>q<', `>${most}<`);
    expect(codesOf(await checkMessage(longest))).toEqual([]);
  });
});

describe('a message is refused as a whole', () => {
  const sound = one(transferXml());

  test.each<[string, string | Buffer, string]>([
    ['of another version', sound.replace('001.09', '001.02'), 'E_MESSAGE'],
    ['of another kind', sound.replaceAll('CstmrCdtTrfInitn', 'CstmrDrctDbtInitn'), 'E_MESSAGE'],
    ['with an element of another namespace', sound.replace('<Amt>', '<Amt xmlns="urn:x">'), 'E_MESSAGE'],
    ['that is cut off', sound.slice(0, -30), 'E_MESSAGE'],
    ['that is no XML', 'reference,amount\n', 'E_MESSAGE'],
    ['that is empty', '', 'E_MESSAGE'],
    ['with a document type', sound.replace('<Document', '<!DOCTYPE Document><Document'), 'E_MESSAGE'],
    [
      'with entities of its own',
      sound.replace('<Document', '<!DOCTYPE d [<!ENTITY a "9">]><Document').replace('100.00', '&a;'),
      'E_MESSAGE',
    ],
    ['with an entity that nobody declared', sound.replace('100.00', '&nbsp;1'), 'E_MESSAGE'],
    ['with text between elements', sound.replace('<Amt>', 'x<Amt>'), 'E_MESSAGE'],
    ['in another encoding', sound.replace('UTF-8', 'ISO-8859-1'), 'E_MESSAGE'],
    ['that is not UTF-8', Buffer.from(sound, 'latin1'), 'E_ENCODING'],
    ['in UTF-16', Buffer.from(`\uFEFF${sound}`, 'utf16le'), 'E_ENCODING'],
    ['that is an archive', Buffer.from('PK\u0003\u0004xxxxxxxx'), 'E_TYPE'],
    ['by cheque', sound.replace('>TRF<', '>CHK<'), 'E_ELEMENT'],
    [
      'with a day on which it is to be carried out',
      sound.replace('<Dbtr>', '<ReqdExctnDt><Dt>2030-01-01</Dt></ReqdExctnDt><Dbtr>'),
      'E_ELEMENT',
    ],
    [
      'with data of somebody else',
      sound.replace('</CstmrCdtTrfInitn>', '<SplmtryData/></CstmrCdtTrfInitn>'),
      'E_ELEMENT',
    ],
    ['with a debtor behind its transfers', sound.replace('</PmtInf>', '<UltmtDbtr/></PmtInf>'), 'E_MESSAGE'],
    ['with two currencies of the debtor', sound.replace('<Ccy>EUR</Ccy>', '<Ccy>EUR</Ccy><Ccy>USD</Ccy>'), 'E_ELEMENT'],
    ['with an attribute twice', sound.replace('Ccy="MXN"', 'Ccy="MXN" Ccy="USD"'), 'E_MESSAGE'],
    ['with a text without end', sound.replace('INV-1', 'x'.repeat(5000)), 'E_MESSAGE'],
  ])('%s', async (_what, text, code) => {
    const checked = await checkMessage(text);
    expect(checked.fileRefused).toBe(true);
    expect(codesOf(checked).map(([told]) => told)).toContain(code);
  });

  test('without transfers, or without a template that knows its creditors', async () => {
    expect(codesOf(await checkMessage(messageXml({ count: '0', payments: [] })))).toEqual([['E_NO_ROWS', null, null]]);
    const plain = await checkPayoutSource({ ...sourceOf(sound), name: 'test.xml' });
    expect(plain).toMatchObject({ problems: [{ code: 'E_MESSAGE' }], rows: 0, fileRefused: true });
  });

  test('whatever is cut out of it or put into it, it is refused or says the same', async () => {
    const whole = await checkMessage(sound);
    await fc.assert(
      fc.asyncProperty(fc.nat(sound.length), fc.nat(40), fc.string({ maxLength: 3 }), async (at, length, put) => {
        const checked = await checkMessage(sound.slice(0, at) + put + sound.slice(at + length));
        expect(checked.problems.length > 0 || checked.rows === whole.rows).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});
