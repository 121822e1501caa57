import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { checkPayoutSource } from '../../src/intake/check-file.ts';
import { PLAIN_TEMPLATE } from '../../src/intake/template/template.ts';
import { OUTCOMES, PAYOUT_STATES, type Run } from '../../src/payout.ts';
import { summaryJson } from '../../src/report/document.ts';
import { openNotedStatuses } from '../../src/report/pain002/noted-statuses.ts';
import { NOT_PROVIDED, originalOf } from '../../src/report/pain002/original.ts';
import { reportPain002 } from '../../src/report/pain002/report-pain002.ts';
import type { ReportSource } from '../../src/report/source.ts';
import { summarise } from '../../src/report/summary.ts';
import { messageXml, paymentXml, transferXml } from '../intake/payment-message.ts';
import { sourceOf as payoutSource } from '../intake/payout-text.ts';
import { type Element, elementsAt, parseXml, schemaFaults, textsAt } from './pain002-schema.ts';
import { payment, payout, type Row, refused, runOf, sourceOf, textOf, usd, uuid } from './rows.ts';

const folder = mkdtempSync(join(tmpdir(), 'payrun-pain002-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const GROUP = 'CstmrPmtStsRpt/OrgnlGrpInfAndSts';
const PAYMENT = 'CstmrPmtStsRpt/OrgnlPmtInfAndSts';
const TRANSACTION = `${PAYMENT}/TxInfAndSts`;

interface Told {
  readonly change?: Partial<ReportSource>;
  readonly original?: string;
  /** The rows when they are read again. */
  readonly later?: readonly Row[];
  /** Of the status report. */
  readonly version?: string;
}

/** The message as it is written and, first of all, held against the schema. */
async function messageOf(
  rows: readonly Row[],
  { change = {}, original, later = rows, version }: Told = {},
): Promise<Element> {
  const statuses = openNotedStatuses();
  const counted = sourceOf(rows, change);
  const summary = await summarise({ ...counted, rows: statuses.noting(counted.rows) });
  const source = sourceOf(later, { run: runOf(rows), ...change });
  const { ties } = summary;
  const report = { statuses, ties, original: await originalOf(source.run, original) };
  const message = parseXml(await textOf(reportPain002(source, report)), version);
  expect(schemaFaults(message)).toEqual([]);
  return message;
}

const yen = { minor: 1000n, currency: 'JPY' };
const fils = { minor: 1_234_567n, currency: 'BHD' };

/** A row of each state, in several currencies. */
const ROWS: readonly Row[] = [
  payment(2, 'completed'),
  payment(3, 'accepted', {}),
  payout(4, { state: 'ready' }, yen),
  payout(5, { state: 'armed' }),
  payout(6, { state: 'quoted' }),
  payout(7, { state: 'unknown' }, fils),
  payout(8, { state: 'held', reasonCode: 'H_LIMIT', reason: 'above the limit' }),
  payout(9, { state: 'rejected', reasonCode: 'USR_011', reason: 'no such beneficiary' }),
  payout(10, { state: 'rejected', quoteId: uuid(10), rejectionConfirmed: true }, yen),
  payout(11, { state: 'rejected', quoteId: uuid(11) }),
  payment(12, 'failed'),
  payment(13, 'returned'),
  payout(14, { state: 'cancelled' }),
  refused(15, { amount: usd(500n) }),
  refused(16),
];

describe('a pain.002', () => {
  test('keeps to the published schema, whatever state a row is in, and without any rows', async () => {
    expect(textsAt(await messageOf(ROWS), `${TRANSACTION}/TxSts`)).toHaveLength(ROWS.length);
    expect(elementsAt(await messageOf([]), PAYMENT)).toEqual([]);
  });

  test('names its run, the file and itself', async () => {
    const message = await messageOf(ROWS);
    expect(textsAt(message, 'CstmrPmtStsRpt/GrpHdr/MsgId')).toEqual([`r7k2m9-${Date.UTC(2026, 0, 15, 11, 0)}`]);
    expect(textsAt(message, 'CstmrPmtStsRpt/GrpHdr/CreDtTm')).toEqual(['2026-01-15T11:00:00.000Z']);
    expect(textsAt(message, `${GROUP}/StsRsnInf/AddtlInf`)).toEqual([
      'sandbox: no money moved',
      'run r7k2m9, finished',
      'file payouts.csv',
      `SHA-256 ${'ab'.repeat(32)}`,
      'service sandbox, test',
    ]);
  });

  test.each<[outcome: string, status: string, row: Row]>([
    ['paid', 'ACSC', payment(2, 'completed')],
    ['pending', 'ACSP', payment(2, 'accepted')],
    ['waiting', 'PDNG', payout(2, { state: 'ready' })],
    ['unknown', 'PDNG', payout(2, { state: 'armed' })],
    ['unknown', 'PDNG', payout(2, { state: 'quoted' })],
    ['unknown', 'PDNG', payout(2, { state: 'unknown' })],
    ['held', 'PDNG', payout(2, { state: 'held' })],
    ['rejected', 'RJCT', payout(2, { state: 'rejected' })],
    ['rejected', 'RJCT', payout(2, { state: 'rejected', quoteId: uuid(2), rejectionConfirmed: true })],
    ['failed', 'RJCT', payment(2, 'failed')],
    ['returned', 'RJCT', payment(2, 'returned')],
    ['cancelled', 'RJCT', payout(2, { state: 'cancelled' })],
    ['refused', 'RJCT', refused(2)],
  ])('tells the outcome %s as %s', async (outcome, status, row) => {
    const message = await messageOf([row]);
    expect(textsAt(message, `${TRANSACTION}/TxSts`)).toEqual([status]);
    expect(textsAt(message, `${TRANSACTION}/StsRsnInf/AddtlInf`)[0]).toBe(`outcome ${outcome}`);
    expect(textsAt(message, `${GROUP}/GrpSts`)).toEqual([status]);
  });

  test('never calls a payment rejected that was sent and may still be found', async () => {
    const message = await messageOf([payout(2, { state: 'rejected', quoteId: uuid(2) })]);
    expect(textsAt(message, `${TRANSACTION}/TxSts`)).toEqual(['PDNG']);
  });

  test.each<[string, readonly Row[], string]>([
    ['all paid', [payment(2, 'completed'), payment(3, 'completed')], 'ACSC'],
    ['some still pending', [payment(2, 'completed'), payment(3, 'accepted')], 'ACSP'],
    ['some paid, others rejected', [payment(2, 'completed'), payment(3, 'failed')], 'PART'],
    ['some pending, others unknown', [payment(2, 'accepted'), payout(3, { state: 'unknown' })], 'PART'],
    ['none accepted, some waiting', [payment(2, 'failed'), payout(3)], 'PDNG'],
    ['none accepted and nothing to come', [payment(2, 'returned'), refused(3)], 'RJCT'],
  ])('tells the state of the whole file: %s', async (_what, rows, status) => {
    expect(textsAt(await messageOf(rows), `${GROUP}/GrpSts`)).toEqual([status]);
  });

  test('has the reference, a code and the words of the service, and the exact amount', async () => {
    const message = await messageOf([
      payout(2, { state: 'rejected', reasonCode: 'USR_011', reason: 'no <such> "beneficiary" & more' }, fils),
      payment(3, 'completed', {}),
    ]);
    expect(textsAt(message, `${TRANSACTION}/StsId`)).toEqual(['r7k2m9-2', 'r7k2m9-3']);
    expect(textsAt(message, `${TRANSACTION}/OrgnlEndToEndId`)).toEqual(['INV-2', 'INV-3']);
    expect(textsAt(message, `${TRANSACTION}/StsRsnInf/Rsn/Prtry`)).toEqual(['USR_011', 'paid']);
    expect(textsAt(message, `${TRANSACTION}/StsRsnInf/AddtlInf`)).toEqual([
      'outcome rejected',
      'no <such> "beneficiary" & more',
      'outcome paid',
      `payment ${uuid(3)}`,
    ]);
    const amounts = elementsAt(message, `${TRANSACTION}/OrgnlTxRef/Amt/InstdAmt`);
    expect(amounts.map(({ text, attributes }) => `${text} ${attributes['Ccy'] ?? ''}`)).toEqual([
      '1234.567 BHD',
      '100.50 USD',
    ]);
  });

  test('puts a reference that is too long for an id, or no text of XML, among the remarks', async () => {
    const long = 'A'.repeat(36);
    const message = await messageOf([
      { ...payout(2), row: { ...payout(2).row, reference: long } },
      refused(3, { cells: { reference: 'IN\u0000V\uFFFF\uD800' } }),
      refused(4, { cells: { reference: '' } }),
      refused(5, { cells: { reference: ' INV-5' } }),
    ]);
    expect(textsAt(message, `${TRANSACTION}/OrgnlEndToEndId`)).toEqual([]);
    expect(
      textsAt(message, `${TRANSACTION}/StsRsnInf/AddtlInf`).filter((text) => text.startsWith('reference')),
    ).toEqual([`reference ${long}`, 'reference IN\\u0000V\uFFFD\\ud800', 'reference  INV-5']);
  });

  test('is sound XML within the lengths of the schema for any text at all', { timeout: 180_000 }, async () => {
    const text = fc.string({ unit: 'binary', maxLength: 300 });
    await fc.assert(
      fc.asyncProperty(text, text, text, async (reference, reasonCode, reason) => {
        const rows = [payout(2, { state: 'held', reasonCode, reason }), refused(3, { cells: { reference } })];
        const message = await messageOf(rows, {
          change: { run: runOf(rows, { fileName: reason }), service: reasonCode },
        });
        expect(textsAt(message, `${TRANSACTION}/TxSts`)).toEqual(['PDNG', 'RJCT']);
      }),
      { numRuns: 50 },
    );
  });

  test("ties with the report's JSON: counts, money and control sums", async () => {
    const message = await messageOf(ROWS);
    const json = summaryJson(await summarise(sourceOf(ROWS)));
    expect(textsAt(message, `${GROUP}/OrgnlNbOfTxs`)).toEqual([String(json.file.rows)]);
    const outcomes = textsAt(message, `${TRANSACTION}/StsRsnInf/AddtlInf`).filter((text) => text.startsWith('outcome'));
    for (const outcome of OUTCOMES) {
      expect(outcomes.filter((text) => text === `outcome ${outcome}`)).toHaveLength(json.outcomes[outcome]);
    }
    for (const { currency, file } of json.totals) {
      const own = elementsAt(message, `${TRANSACTION}/OrgnlTxRef/Amt/InstdAmt`).filter(
        ({ attributes }) => attributes['Ccy'] === currency,
      );
      expect(thousandths(own.map(({ text }) => text))).toBe(thousandths([file]));
    }
    const whole = thousandths(textsAt(message, `${GROUP}/OrgnlCtrlSum`));
    expect(whole).toBe(thousandths(json.totals.map(({ file }) => file)));
    expect(whole).toBe(thousandths(textsAt(message, `${GROUP}/NbOfTxsPerSts/DtldCtrlSum`)));
    const statuses = textsAt(message, `${TRANSACTION}/TxSts`);
    const counts = elementsAt(message, `${GROUP}/NbOfTxsPerSts`).map((one) => [
      textsAt(one, 'DtldSts')[0],
      textsAt(one, 'DtldNbOfTxs')[0],
    ]);
    expect(counts).toEqual(
      ['ACSC', 'ACSP', 'PDNG', 'RJCT'].map((status) => [
        status,
        String(statuses.filter((one) => one === status).length),
      ]),
    );
  });

  test('keeps control sums exact where a floating-point number would not', async () => {
    const amounts = Array.from({ length: 20 }, () => ({ minor: 9_999_999_999n, currency: 'BHD' }));
    const message = await messageOf([
      ...amounts.map((amount, index) => payout(index + 2, { state: 'completed' }, amount)),
      payout(30, {}, usd(1n)),
    ]);
    expect(textsAt(message, `${GROUP}/OrgnlCtrlSum`)).toEqual(['199999999.99']);
    expect(textsAt(message, `${GROUP}/NbOfTxsPerSts/DtldCtrlSum`)).toEqual(['199999999.98', '0.01']);
  });

  test('is of one moment, though rows move while it is written', async () => {
    const before = [payment(2, 'accepted'), payment(3, 'completed')];
    const later = [payment(2, 'failed', { reason: 'no such account' }), payment(3, 'completed')];
    const message = await messageOf(before, { later });
    expect(textsAt(message, `${TRANSACTION}/TxSts`)).toEqual(['ACSP', 'ACSC']);
    expect(textsAt(message, `${GROUP}/GrpSts`)).toEqual(['ACSP']);
    expect(textsAt(message, `${TRANSACTION}/StsRsnInf/AddtlInf`).join()).not.toContain('no such account');
  });

  test('is not ended when rows are missing that were counted', async () => {
    await expect(messageOf(ROWS, { later: ROWS.slice(0, 4) })).rejects.toThrow('had 15 rows and now has 4');
  });

  test('says when it must not be trusted', async () => {
    const message = await messageOf([payout(2)], { change: { run: runOf([payout(2), payout(3)]) } });
    expect(textsAt(message, `${GROUP}/StsRsnInf/AddtlInf`)[0]).toBe('THIS REPORT DOES NOT TIE: do not book from it');
  });

  test.each(PAYOUT_STATES)('has a status for a payout that is %s', async (state) => {
    expect(textsAt(await messageOf([payment(2, state)]), `${TRANSACTION}/TxSts`)).toHaveLength(1);
  });
});

describe('what a pain.002 answers', () => {
  const transfers = [2, 3, 4].map((line) =>
    transferXml({ reference: `INV-${line}` }).replace('>i<', `>instr &amp; ${line}<`),
  );
  const xml = messageXml({
    count: '3',
    payments: [
      paymentXml({ transfers: transfers.slice(0, 2) }).replace('>p<', '>batch-1<'),
      paymentXml({ transfers: transfers.slice(2) })
        .replace('>p<', '>b\u00E4tch-2<')
        .replace('>instr &amp; 4<', '/><x><')
        .replace('<InstrId/><x></InstrId>', ''),
    ],
  }).replace('<MsgId>m</MsgId>', '<MsgId>ERP-2026-0001</MsgId>');
  const path = join(folder, 'message.xml');
  writeFileSync(path, xml);
  const rows = [payment(2, 'completed'), refused(3), payment(4, 'completed')];
  const run = (change: Partial<Run>): { run: Run } => ({ run: runOf(rows, change) });
  const ofMessage = run({ fileName: 'message.xml', fileSha256: createHash('sha256').update(xml).digest('hex') });

  test.each([
    ['payouts.csv', 'payout file (CSV)'],
    ['Payouts.XLSX', 'payout file (XLSX)'],
  ])("is a payout file, by its run's id: %s", async (fileName, messageName) => {
    const message = await messageOf(rows, { change: run({ fileName }) });
    expect(textsAt(message, `${GROUP}/OrgnlMsgId`)).toEqual(['r7k2m9']);
    expect(textsAt(message, `${GROUP}/OrgnlMsgNmId`)).toEqual([messageName]);
    expect(textsAt(message, `${PAYMENT}/OrgnlPmtInfId`)).toEqual(['r7k2m9']);
  });

  test('is a payment message by the ids that it has, where it is named', async () => {
    const message = await messageOf(rows, { change: ofMessage, original: path });
    expect(textsAt(message, `${GROUP}/OrgnlMsgId`)).toEqual(['ERP-2026-0001']);
    expect(textsAt(message, `${GROUP}/OrgnlMsgNmId`)).toEqual(['pain.001.001.09']);
    const payments = elementsAt(message, PAYMENT).map((one) => [
      textsAt(one, 'OrgnlPmtInfId'),
      textsAt(one, 'TxInfAndSts/OrgnlEndToEndId'),
      textsAt(one, 'TxInfAndSts/OrgnlInstrId'),
    ]);
    expect(payments).toEqual([
      [['batch-1'], ['INV-2', 'INV-3'], ['instr & 2', 'instr & 3']],
      [['b\u00E4tch-2'], ['INV-4'], []],
    ]);
  });

  test.each([
    ['pain.001.001.03', 'pain.002.001.03'],
    ['pain.001.003.03', 'pain.002.001.03'],
    ['pain.001.001.03.ch.02', 'pain.002.001.03'],
    ['pain.001.001.08', 'pain.002.001.08'],
    ['pain.001.001.10', 'pain.002.001.11'],
    ['pain.001.001.11', 'pain.002.001.12'],
  ])('%s is answered by %s', async (version, answer) => {
    const its = join(folder, `${version}.xml`);
    const text = xml.replace(namespaceOf('pain.001.001.09'), namespaceOf(version));
    writeFileSync(its, text);
    const fileSha256 = createHash('sha256').update(text).digest('hex');
    const change = run({ fileName: 'message.xml', fileSha256 });
    const message = await messageOf(rows, { change, original: its, version: answer });
    expect(textsAt(message, `${GROUP}/OrgnlMsgNmId`)).toEqual([version]);
  });

  test('never answers a PmtInf without an id under the id of the one before it', async () => {
    const nameless = xml.replace('<PmtInfId>b\u00E4tch-2</PmtInfId>', '');
    expect(nameless).not.toBe(xml);
    const its = join(folder, 'nameless.xml');
    writeFileSync(its, nameless);
    const fileSha256 = createHash('sha256').update(nameless).digest('hex');
    const message = await messageOf(rows, { change: run({ fileName: 'message.xml', fileSha256 }), original: its });
    expect(textsAt(message, `${PAYMENT}/OrgnlPmtInfId`)).toEqual(['batch-1', NOT_PROVIDED]);
  });

  test('is a payment message without ids, where it is not named', async () => {
    const message = await messageOf(rows, { change: ofMessage });
    expect(textsAt(message, `${GROUP}/OrgnlMsgId`)).toEqual([NOT_PROVIDED]);
    expect(textsAt(message, `${PAYMENT}/OrgnlPmtInfId`)).toEqual([NOT_PROVIDED]);
  });

  test.each([
    ['pain.001.001.03', 'pain.002.001.03'],
    ['pain.001.001.03.ch.02', 'pain.002.001.03'],
    ['pain.001.001.09', 'pain.002.001.10'],
    ['pain.001.001.11', 'pain.002.001.12'],
  ])('that is not named is of the version %s that intake found, and answered by %s', async (name, answer) => {
    const text = messageXml({
      namespace: namespaceOf(name),
      count: '1',
      payments: [paymentXml({ transfers: [transferXml()] })],
    });
    const creditors = { by: 'creditorAccount', beneficiaries: null, leftOut: new Set<string>() } as const;
    const source = { ...payoutSource(text, 512), name: 'message.xml' };
    const { columns } = await checkPayoutSource(source, { template: { ...PLAIN_TEMPLATE, creditors } });
    const change = run({ fileName: 'message.xml', columns });
    const message = await messageOf(rows, { change, version: answer });
    expect(textsAt(message, `${GROUP}/OrgnlMsgNmId`)).toEqual([name]);
  });

  test('claims no version where none was kept', async () => {
    expect(textsAt(await messageOf(rows, { change: ofMessage }), `${GROUP}/OrgnlMsgNmId`)).toEqual(['pain.001']);
  });

  test('is refused when another file is named, when none is there, and for a run that came from none', async () => {
    const other = join(folder, 'other.xml');
    writeFileSync(other, `${xml}\n`);
    await expect(originalOf(ofMessage.run, other)).rejects.toMatchObject({ name: 'Refusal', kind: 'usage' });
    await expect(originalOf(ofMessage.run, join(folder, 'none.xml'))).rejects.toMatchObject({ kind: 'fileRefused' });
    await expect(originalOf(run({}).run, path)).rejects.toMatchObject({ name: 'Refusal', kind: 'usage' });
  });
});

/** Decimals added up, in thousandths. */
function namespaceOf(name: string): string {
  if (name === 'pain.001.001.03.ch.02') return `http://www.six-interbank-clearing.com/de/${name}.xsd`;
  return `urn:iso:std:iso:20022:tech:xsd:${name}`;
}

function thousandths(decimals: readonly string[]): bigint {
  return decimals.reduce((sum, decimal) => {
    const [whole = '', fraction = ''] = decimal.split('.');
    return sum + BigInt(whole + fraction.padEnd(3, '0'));
  }, 0n);
}
