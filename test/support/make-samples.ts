import { createHash } from 'node:crypto';

/*
 * The files in samples/. Written anew with UPDATE_SAMPLES=1 npx vitest run test/intake/samples.test.ts
 */

const COLUMNS = [
  'reference',
  'beneficiaryIdentityId',
  'originatorIdentityId',
  'amount',
  'amountType',
  'sourceCurrency',
  'destinationCurrency',
  'sourceCountry',
  'destinationCountry',
  'payoutCategory',
  'payinCategory',
  'purposeCode',
  'sourceOfCash',
] as const;
type SampleRow = Partial<Record<(typeof COLUMNS)[number], string>>;

interface Corridor {
  readonly from: string;
  readonly to: string;
  readonly sourceCountry: string;
  readonly destinationCountry: string;
  /** Units of the destination currency for one of the source currency, roughly. */
  readonly rate: number;
}

const CORRIDORS: readonly Corridor[] = [
  { from: 'USD', to: 'MXN', sourceCountry: 'US', destinationCountry: 'MX', rate: 18 },
  { from: 'USD', to: 'PHP', sourceCountry: 'US', destinationCountry: 'PH', rate: 57 },
  { from: 'EUR', to: 'INR', sourceCountry: 'DE', destinationCountry: 'IN', rate: 98 },
  { from: 'GBP', to: 'NGN', sourceCountry: 'GB', destinationCountry: 'NG', rate: 2000 },
  { from: 'USD', to: 'JPY', sourceCountry: 'US', destinationCountry: 'JP', rate: 150 },
  { from: 'EUR', to: 'BHD', sourceCountry: 'FR', destinationCountry: 'BH', rate: 0.44 },
  { from: 'JPY', to: 'KRW', sourceCountry: 'JP', destinationCountry: 'KR', rate: 9 },
  { from: 'SGD', to: 'THB', sourceCountry: 'SG', destinationCountry: 'TH', rate: 25 },
  { from: 'USD', to: 'BRL', sourceCountry: 'US', destinationCountry: 'BR', rate: 5.4 },
  { from: 'EUR', to: 'USD', sourceCountry: 'NL', destinationCountry: 'US', rate: 1.1 },
];
const DECIMALS: Readonly<Record<string, number>> = { JPY: 0, KRW: 0, BHD: 3 };
const PURPOSES = ['OTHR', 'SUPP', 'SALA', 'SCVE', 'GDDS'];
const SOURCES = ['COMP', 'SALE', 'SVGS'];
const BENEFICIARIES_PER_CORRIDOR = 24;
const ORIGINATORS = 5;

/** An id in the form of a random UUID that is always the same for the same words. */
function uuidOf(words: string): string {
  const hex = createHash('sha256').update(words).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}

/** A whole number from 0 up to a limit, always the same for the same words. */
function pick(words: string, limit: number): number {
  return createHash('sha256').update(words).digest().readUInt32BE(0) % limit;
}

/** A plausible amount: most are small, some are large. */
function amountOf(words: string, currency: string, scale: number): string {
  const magnitude = [50, 400, 2500, 12_000][pick(`${words} magnitude`, 4)] ?? 50;
  const whole = Math.max(2, Math.round((magnitude + pick(`${words} whole`, magnitude * 3)) * scale));
  const decimals = DECIMALS[currency] ?? 2;
  if (decimals === 0) return String(whole);
  return `${whole}.${String(pick(`${words} fraction`, 10 ** decimals)).padStart(decimals, '0')}`;
}

function sampleRow(file: string, number: number, { isThirdParty }: { isThirdParty: boolean }): SampleRow {
  const words = `${file} ${number}`;
  const corridor = CORRIDORS[pick(`${words} corridor`, CORRIDORS.length)] ?? CORRIDORS[0];
  if (corridor === undefined) throw new Error('there are no corridors');
  const { from, to, sourceCountry, destinationCountry, rate } = corridor;
  const beneficiary = pick(`${words} beneficiary`, BENEFICIARIES_PER_CORRIDOR);
  const isDestination = pick(`${words} type`, 4) === 0;
  const sourceScale = from === 'JPY' ? 100 : 1;
  return {
    beneficiaryIdentityId: uuidOf(`beneficiary ${to} ${beneficiary}`),
    originatorIdentityId: isThirdParty ? uuidOf(`originator ${pick(`${words} originator`, ORIGINATORS)}`) : '',
    amount: isDestination ? amountOf(words, to, rate * sourceScale) : amountOf(words, from, sourceScale),
    amountType: isDestination ? 'DESTINATION_AMOUNT' : 'SOURCE_AMOUNT',
    sourceCurrency: from,
    destinationCurrency: to,
    sourceCountry,
    destinationCountry,
    payoutCategory: 'BANK',
    payinCategory: 'PRE_FUNDING',
    purposeCode: PURPOSES[pick(`${words} purpose`, PURPOSES.length + 3)] ?? '',
    sourceOfCash: SOURCES[pick(`${words} source`, SOURCES.length + 2)] ?? '',
  };
}

function numbered(prefix: string, number: number, digits: number): string {
  return `${prefix}-2026-${String(number).padStart(digits, '0')}`;
}

function quoted(value: string): string {
  return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

function csvOf(columns: readonly (keyof SampleRow)[], rows: readonly SampleRow[]): string {
  const lines = rows.map((row) => columns.map((column) => quoted(row[column] ?? '')).join(','));
  return [columns.join(','), ...lines, ''].join('\n');
}

function payouts(): string {
  const rows = Array.from({ length: 1000 }, (_, at) => ({
    ...sampleRow('payouts', at + 1, { isThirdParty: pick(`payouts ${at} third party`, 8) === 0 }),
    reference: numbered('INV', at + 1, 4),
  }));
  return csvOf(COLUMNS, rows);
}

/** Required columns alone: each amount is a source amount. */
function small(): string {
  const rows = Array.from({ length: 10 }, (_, at) => {
    const row = sampleRow('small', at + 1, { isThirdParty: false });
    const amount = amountOf(`small ${at + 1}`, row.sourceCurrency ?? '', row.sourceCurrency === 'JPY' ? 100 : 1);
    return { ...row, amount, reference: numbered('SML', at + 1, 3) };
  });
  return csvOf(['reference', 'beneficiaryIdentityId', 'amount', 'sourceCurrency', 'destinationCurrency'], rows);
}

function thirdParty(): string {
  const rows = Array.from({ length: 20 }, (_, at) => ({
    ...sampleRow('third-party', at + 1, { isThirdParty: true }),
    reference: numbered('TPP', at + 1, 3),
  }));
  return csvOf(COLUMNS, rows);
}

/** What is wrong with each row of mistakes.csv; a row with nothing wrong says so by an empty list. */
export const MISTAKES: readonly { readonly change: SampleRow; readonly codes: readonly string[] }[] = [
  { change: {}, codes: [] },
  { change: { amount: '1,234.56' }, codes: ['E_AMOUNT'] },
  { change: { sourceCurrency: 'usd' }, codes: ['E_CURRENCY'] },
  { change: { beneficiaryIdentityId: '1.23457E+15' }, codes: ['E_SCIENTIFIC'] },
  { change: { amount: '100.005' }, codes: ['E_AMOUNT_SCALE'] },
  { change: { reference: '=HYPERLINK("http://example.com")' }, codes: ['E_FORMULA'] },
  { change: { amount: '#VALUE!' }, codes: ['E_EXCEL_ERROR'] },
  { change: { destinationCountry: 'Mexico' }, codes: ['E_COUNTRY'] },
  { change: { reference: 'ERR-2026-040' }, codes: ['E_DUP_REF'] },
  { change: { reference: 'err-2026-040' }, codes: ['E_DUP_REF'] },
  { change: { amount: '0.50' }, codes: ['E_AMOUNT_RANGE'] },
  { change: { sourceOfCash: 'comp', purposeCode: 'N/A' }, codes: ['E_PLACEHOLDER', 'E_SOURCE_OF_CASH'] },
  { change: { sourceCurrency: ' USD' }, codes: ['E_SPACE'] },
  { change: { beneficiaryIdentityId: '' }, codes: ['E_BENEFICIARY'] },
  { change: { amount: '$250.00', destinationCurrency: 'XXX' }, codes: ['E_AMOUNT', 'E_CURRENCY'] },
  { change: {}, codes: [] },
];

function mistakes(): string {
  const rows = MISTAKES.map(({ change }, at) => ({
    ...sampleRow('mistakes', at + 1, { isThirdParty: false }),
    reference: numbered('ERR', at + 1, 3),
    amount: '250.00',
    amountType: 'SOURCE_AMOUNT',
    sourceCurrency: 'USD',
    destinationCurrency: 'MXN',
    sourceCountry: 'US',
    destinationCountry: 'MX',
    ...change,
  }));
  return csvOf(COLUMNS, rows);
}

/** Name and text of each sample. */
export function makeSamples(): ReadonlyMap<string, string> {
  return new Map([
    ['payouts.csv', payouts()],
    ['small.csv', small()],
    ['third-party.csv', thirdParty()],
    ['mistakes.csv', mistakes()],
  ]);
}
