import type { FileRecord } from '../record.ts';
import { amountFault, type CellFault } from '../row/cells.ts';
import type { Column } from '../template/columns.ts';
import { nameOf, type Template } from '../template/template.ts';
import { type Account, accountKey, type CreditorMap, foldCreditorKey, placeOfAccount } from './creditors.ts';
import { AMOUNT_CURRENCY, READ } from './elements.ts';

/** What a message says of one transfer and of its payment, by the paths of the elements. */
type Texts = ReadonlyMap<string, string>;

/** The columns of a message's records. */
const COLUMNS = [
  'reference',
  'beneficiaryIdentityId',
  'amount',
  'amountType',
  'sourceCurrency',
  'destinationCurrency',
  'purposeCode',
] as const satisfies readonly Column[];

/** A message has no header, so that its table is given one: in the template's names, for the template reads it. */
export function headerRecord(template: Template): FileRecord {
  return { line: 1, cells: COLUMNS.map((column) => nameOf(template, column)) };
}

const PLAIN_DECIMAL = /^[0-9]+(?:\.[0-9]+)?$/;
/** An account number stands in no report. */
const KEY_CHARACTERS_SHOWN = 4;

interface Cell {
  readonly text: string;
  readonly fault?: CellFault;
}

/**
 * A transfer as a row. `InstdAmt` is what the creditor is to get, "before deduction of charges, expressed in the currency as
 * ordered by the initiating party" (ISO 20022): a destination amount, in the destination currency. The source currency is
 * that of the debtor's account, or the template's.
 */
export function transferRecord(
  texts: Texts,
  { line, template, faults }: { line: number; template: Template; faults: readonly CellFault[] },
): FileRecord {
  const { reference, amount, purpose, ownPurpose } = READ;
  const cells: Record<(typeof COLUMNS)[number], Cell> = {
    reference: referenceCell(texts.get(reference) ?? ''),
    beneficiaryIdentityId: beneficiaryCell(texts, template.creditors),
    amount: amountCell(texts.get(amount) ?? '', template),
    amountType: { text: 'DESTINATION_AMOUNT' },
    sourceCurrency: debtorCell(texts, template),
    destinationCurrency: currencyCell(texts),
    purposeCode: { text: texts.get(purpose) ?? texts.get(ownPurpose) ?? '' },
  };
  const cellFaults = new Map<number, CellFault>();
  for (const [at, column] of COLUMNS.entries()) {
    const { fault } = cells[column];
    if (fault !== undefined) cellFaults.set(at, fault);
  }
  return { line, cells: COLUMNS.map((column) => cells[column].text), cellFaults, faults };
}

/** The standard's word for an end-to-end id that nobody gave would be the same for all such payouts. */
function referenceCell(text: string): Cell {
  if (text !== 'NOTPROVIDED') return { text };
  return { text, fault: { code: 'E_REFERENCE', facts: { found: 'is NOTPROVIDED, which says that there is none' } } };
}

/** In the marks of the template, which reads it; the message itself has a point before the decimals. */
function amountCell(text: string, { decimalMark }: Template): Cell {
  if (text === '' || PLAIN_DECIMAL.test(text)) return { text: text.replace('.', decimalMark) };
  return { text, fault: amountFault(text, '.') };
}

/** Two account numbers, or two ids, do not tell which of them counts. */
function beneficiaryCell(texts: Texts, creditors: CreditorMap | null): Cell {
  const [what, ...paths] =
    creditors?.by === 'creditorAccount'
      ? (['account number', READ.iban, READ.account] as const)
      : (['id', READ.organisation, READ.person] as const);
  const keys = paths.map((path) => texts.get(path)).filter((text) => text !== undefined);
  const [key] = keys;
  if (key === undefined || keys.length > 1) {
    const found = `is unclear, for the creditor has ${key === undefined ? `no ${what} in the message` : 'two'}`;
    const remedy = `Give the creditor one ${what} where the message is made. ${FIX_IN_A_COPY}`;
    return unknownCreditor('', { found, remedy, copyText: keys.join(' ') });
  }
  const isNamed = creditors !== null && creditors.beneficiaries !== null;
  return isNamed ? creditorCell(texts, creditors, { key, what }) : { text: key };
}

/** The identity that a template names for a creditor. */
function creditorCell(
  texts: Texts,
  { by, beneficiaries }: CreditorMap,
  { key, what }: { key: string; what: string },
): Cell {
  const account = by === 'creditorAccount' ? accountOf(texts, key) : undefined;
  const full = account === undefined ? key : accountKey(account);
  const identity = beneficiaries?.get(foldCreditorKey(full));
  if (identity !== undefined) return { text: identity };
  const found = 'is not in the template for this creditor';
  const form = full === key || account === undefined ? '' : `, as ${[...placeOfAccount(account), 'NUMBER'].join('/')}`;
  const remedy = `Add the ${what} of the creditor to pain001.beneficiaries of the template${form}. ${FIX_IN_A_COPY}`;
  return unknownCreditor(`…${key.slice(-KEY_CHARACTERS_SHOWN)}`, { found, remedy, copyText: key });
}

function accountOf(texts: Texts, number: string): Account {
  const of = (...paths: readonly string[]): string | undefined =>
    paths.map((path) => texts.get(path)).find((text) => text !== undefined);
  return {
    number,
    bic: of(READ.bankCode, READ.bankCodeOf03),
    clearing: of(READ.clearing, READ.ownClearing),
    member: of(READ.bankMember),
    branch: of(READ.branch),
    scheme: of(READ.accountScheme),
  };
}

const FIX_IN_A_COPY = 'In a marked-up copy, put the id of its identity at the payments service into the cell.';

function unknownCreditor(
  text: string,
  { found, remedy, copyText }: { found: string; remedy: string; copyText: string },
): Cell {
  const shown = copyText === '' ? {} : { copyText };
  return { text, fault: { code: 'E_BENEFICIARY', facts: { found }, remedy, ...shown } };
}

/** Banks know the currency of the debtor's account, so many messages leave it out. */
function debtorCell(texts: Texts, { fixed }: Template): Cell {
  const text = texts.get(READ.debtorCurrency) ?? '';
  if (text !== '' || fixed.has('sourceCurrency')) return { text };
  const found = "is missing: the message does not give the currency of the debtor's account";
  const remedy =
    'Name it in the template, such as "fixed": {"sourceCurrency": "EUR"}, or in the message (DbtrAcct/Ccy).';
  return { text, fault: { code: 'E_CURRENCY', facts: { found }, remedy } };
}

function currencyCell(texts: Texts): Cell {
  const text = texts.get(AMOUNT_CURRENCY) ?? '';
  const ofAccount = texts.get(READ.accountCurrency);
  if (ofAccount === undefined || ofAccount === text) return { text };
  const found = "is that of the amount, but the creditor's account is in another one";
  return { text, fault: { code: 'E_CURRENCY', facts: { found } } };
}
