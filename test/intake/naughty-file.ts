import { COLUMNS, type Column, REQUIRED_COLUMNS } from '../../src/intake/template/columns.ts';
import { messageXml, paymentXml, transferXml } from './payment-message.ts';
import { UUID, UUID_2 } from './payout-text.ts';
import { rowXml, workbookOf } from './workbook-file.ts';

/** Each row of a file has the same columns. */
export type RowCells = Readonly<Partial<Record<Column, string>>>;

/** A payout file and the line of each of its rows. */
export interface Written {
  readonly bytes: Buffer;
  readonly lines: readonly number[];
}

interface FileFormat {
  readonly fileName: string;
  /** Those that the format has. */
  readonly columns: readonly Column[];
  readonly write: (rows: readonly RowCells[]) => Written;
}

const SOUND = {
  reference: '',
  beneficiaryIdentityId: UUID,
  amount: '100.00',
  sourceCurrency: 'USD',
  destinationCurrency: 'MXN',
  originatorIdentityId: UUID_2,
  amountType: 'DESTINATION_AMOUNT',
  sourceCountry: 'US',
  destinationCountry: 'MX',
  payoutCategory: 'BANK',
  payinCategory: 'PRE_FUNDING',
  purposeCode: 'OTHR',
  sourceOfCash: 'COMP',
} as const satisfies Record<Column, string>;

/** A row without problems, with the columns that are required and this one. */
export function soundCells(reference: string, column: Column): RowCells {
  const named = [...REQUIRED_COLUMNS, column].map((name) => [name, SOUND[name]] as const);
  return { ...Object.fromEntries(named), reference };
}

const headerOf = (rows: readonly RowCells[]): string[] => Object.keys(rows[0] ?? {});
const cellsOf = (row: RowCells): string[] => Object.values(row);

/** Each cell in quotes, as RFC 4180 has it. */
function writeCsv(rows: readonly RowCells[]): Written {
  let line = 2;
  const lines: number[] = [];
  const texts = rows.map((row) => {
    const text = cellsOf(row)
      .map((cell) => `"${cell.replaceAll('"', '""')}"`)
      .join(',');
    lines.push(line);
    line += text.split('\n').length;
    return `${text}\n`;
  });
  return { bytes: Buffer.from(`${headerOf(rows).join(',')}\n${texts.join('')}`), lines };
}

/** Each cell by its number in the table of texts, as spreadsheets write it. */
function writeWorkbook(rows: readonly RowCells[]): Written {
  const texts: string[] = [];
  const written = [headerOf(rows), ...rows.map(cellsOf)].map((cells, at) => {
    const numbered = cells.map((cell) => (cell === '' ? '' : `<c t="s"><v>${texts.push(cell) - 1}</v></c>`));
    return rowXml(at + 1, numbered);
  });
  const entries = texts.map((text) => `<si><t xml:space="preserve">${escaped(sheetText(text))}</t></si>`);
  const bytes = workbookOf({ sheets: [{ rows: written.join('') }], texts: entries.join('') });
  return { bytes, lines: rows.map((_, at) => at + 2) };
}

/** ISO/IEC 29500-1, 22.9.2.19: what XML cannot hold, and what would look like it, by its number. */
function sheetText(text: string): string {
  return text.replaceAll(/_(?=x[0-9A-Fa-f]{4}_)|[^\P{Cc}\t\n]/gu, (character) => {
    const hex = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
    return `_x${hex}_`;
  });
}

/** Each row as a payment of its own, for the currency that is debited is the payment's. */
function writeMessage(rows: readonly RowCells[]): Written {
  const payments = rows.map((row) => {
    const cell = (column: Column): string => escaped(row[column] ?? SOUND[column]);
    const transfer = transferXml({
      reference: cell('reference'),
      amount: cell('amount'),
      currency: cell('destinationCurrency'),
      id: `<OrgId><Othr><Id>${cell('beneficiaryIdentityId')}</Id></Othr></OrgId>`,
      more: `<Purp><Prtry>${cell('purposeCode')}</Prtry></Purp>`,
    });
    return paymentXml({ debtorCurrency: cell('sourceCurrency'), transfers: [transfer] });
  });
  return {
    bytes: Buffer.from(messageXml({ count: String(rows.length), payments })),
    lines: rows.map((_, at) => at + 2),
  };
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

export const FORMATS: Readonly<Record<string, FileFormat>> = {
  'a quoted cell of CSV': { fileName: 'naughty.csv', columns: COLUMNS, write: writeCsv },
  'a text cell of a workbook': { fileName: 'naughty.xlsx', columns: COLUMNS, write: writeWorkbook },
  'a text of a payment message': {
    fileName: 'naughty.xml',
    columns: ['reference', 'beneficiaryIdentityId', 'amount', 'sourceCurrency', 'destinationCurrency', 'purposeCode'],
    write: writeMessage,
  },
};
