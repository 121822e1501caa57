import { z } from 'zod';
import { templateSchema } from '../../src/intake/template/schema.ts';
import { messageXml, paymentXml, transferXml } from '../intake/payment-message.ts';

/*
 * samples/templates/template.schema.json and the payout files that the templates beside it read.
 * Written anew with UPDATE_SAMPLES=1 npx vitest run test/intake/templates.test.ts
 */

const BENEFICIARIES = [
  '0d3f6a1e-58c4-4f0e-9d52-7a1b0c9e4f21',
  '5b7c2e90-1f34-4a6d-8e0b-c2d4f6a81937',
  'a94e1d07-6b2c-4c58-b3f1-0e7d9a2c5b64',
];

const EURO_ROWS = [
  ['RE-2026-0001', BENEFICIARIES[0], '1.234,56', 'MXN', 'MX', 'SUPP'],
  ['RE-2026-0002', BENEFICIARIES[1], '17,00', 'INR', 'IN', 'SCVE'],
  ['RE-2026-0003', BENEFICIARIES[2], '50.000,00', 'PHP', 'PH', 'SUPP'],
  ['RE-2026-0004', BENEFICIARIES[0], '999', 'MXN', 'MX', 'GDDS'],
];

function semicolonFile(): string {
  const header = ['Belegnummer', 'Empfänger-ID', 'Betrag', 'Zielwährung', 'Zielland', 'Zweck'];
  return [header, ...EURO_ROWS].map((cells) => `${cells.join(';')}\n`).join('');
}

const ERP_COLUMNS = [
  'COMPANY_CODE',
  'FISCAL_YEAR',
  'DOC_NO',
  'POSTING_DATE',
  'VENDOR_NAME',
  'VENDOR_ACCOUNT',
  'VENDOR_IDENTITY',
  'VENDOR_COUNTRY',
  'COST_CENTRE',
  'GL_ACCOUNT',
  'TAX_CODE',
  'TAX_AMOUNT',
  'GROSS_AMOUNT',
  'NET_AMOUNT',
  'LOCAL_CURRENCY',
  'PAYMENT_CURRENCY',
  'PAYMENT_TERMS',
  'DUE_DATE',
  'CLERK',
  'PURPOSE',
  'TEXT',
] as const;
type ErpRow = Partial<Record<(typeof ERP_COLUMNS)[number], string | undefined>>;

const ERP_ROWS: readonly ErpRow[] = [
  {
    DOC_NO: '0051000017',
    VENDOR_IDENTITY: BENEFICIARIES[0],
    VENDOR_COUNTRY: 'MX',
    NET_AMOUNT: '1200.00',
    LOCAL_CURRENCY: 'USD',
    PAYMENT_CURRENCY: 'MXN',
    PURPOSE: 'SUPP',
    TAX_AMOUNT: '-192.00',
  },
  {
    DOC_NO: '0051000018',
    VENDOR_IDENTITY: BENEFICIARIES[1],
    VENDOR_COUNTRY: 'IN',
    NET_AMOUNT: '85.50',
    LOCAL_CURRENCY: 'EUR',
    PAYMENT_CURRENCY: 'INR',
    PURPOSE: 'SCVE',
    TAX_AMOUNT: '0.00',
  },
  {
    DOC_NO: '0051000021',
    VENDOR_IDENTITY: BENEFICIARIES[2],
    VENDOR_COUNTRY: 'PH',
    NET_AMOUNT: '64000.10',
    LOCAL_CURRENCY: 'USD',
    PAYMENT_CURRENCY: 'PHP',
    PURPOSE: 'GDDS',
    TAX_AMOUNT: '0.00',
  },
];

const ERP_COMMON: ErpRow = {
  COMPANY_CODE: '1000',
  FISCAL_YEAR: '2026',
  POSTING_DATE: '2026-03-31',
  VENDOR_NAME: 'Muster, Example & Sons',
  VENDOR_ACCOUNT: '70001234',
  COST_CENTRE: '4711',
  GL_ACCOUNT: '160000',
  TAX_CODE: 'V1',
  GROSS_AMOUNT: '1392.00',
  PAYMENT_TERMS: '14 days, 2%',
  DUE_DATE: '2026-04-14',
  CLERK: 'M. Example',
  TEXT: 'Invoice "March"',
};

function quoted(cell: string): string {
  return /[",]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

function erpFile(): string {
  const rows = ERP_ROWS.map((row) => ERP_COLUMNS.map((column) => quoted({ ...ERP_COMMON, ...row }[column] ?? '')));
  return [ERP_COLUMNS, ...rows].map((cells) => `${cells.join(',')}\r\n`).join('');
}

function paymentMessage(): string {
  const more = '<Purp><Cd>SUPP</Cd></Purp><RmtInf><Ustrd>Invoice of March</Ustrd></RmtInf>';
  const transfers = [
    transferXml({
      reference: 'PM-2026-0001',
      amount: '1250.00',
      currency: 'GBP',
      iban: 'GB29NWBK60161331926819',
      more,
    }),
    transferXml({ reference: 'PM-2026-0002', amount: '310.40', currency: 'EUR', more }),
    transferXml({ reference: 'PM-2026-0003', amount: '99.99', currency: 'EUR', accountCurrency: 'EUR' }),
  ];
  const head = '<NbOfTxs>3</NbOfTxs><CtrlSum>1660.39</CtrlSum><ReqdExctnDt><Dt>2026-03-31</Dt></ReqdExctnDt>';
  return messageXml({ count: '3', sum: '1660.39', payments: [paymentXml({ head, transfers })] });
}

/** The JSON schema (draft 2020-12) of templates. */
function schemaFile(): string {
  const schema = z.toJSONSchema(templateSchema, { io: 'input' });
  return `${JSON.stringify({ title: 'A template of payout files for payrun', ...schema }, null, 2)}\n`;
}

/** Path in samples/ and text of each file. */
export function makeTemplateSamples(): ReadonlyMap<string, string> {
  return new Map([
    ['templates/template.schema.json', schemaFile()],
    ['semicolon.csv', semicolonFile()],
    ['erp-export.csv', erpFile()],
    ['payment-message.xml', paymentMessage()],
  ]);
}
