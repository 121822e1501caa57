/** The columns of a payout file by their exact names, in the order in which problems and hashes take them. */
export const REQUIRED_COLUMNS = [
  'reference',
  'beneficiaryIdentityId',
  'amount',
  'sourceCurrency',
  'destinationCurrency',
] as const;

export const OPTIONAL_COLUMNS = [
  'originatorIdentityId',
  'amountType',
  'sourceCountry',
  'destinationCountry',
  'payoutCategory',
  'payinCategory',
  'purposeCode',
  'sourceOfCash',
] as const;

export const COLUMNS = [...REQUIRED_COLUMNS, ...OPTIONAL_COLUMNS] as const;
export type Column = (typeof COLUMNS)[number];

const BY_NAME: ReadonlyMap<string, Column> = new Map(COLUMNS.map((column) => [column, column]));

/** The column of exactly this name; a Map, so that `__proto__` and `constructor` are names like any other. */
export function columnOf(name: string): Column | undefined {
  return BY_NAME.get(name);
}

const REQUIRED: ReadonlySet<Column> = new Set(REQUIRED_COLUMNS);

export function isRequired(column: Column): boolean {
  return REQUIRED.has(column);
}

/**
 * The columns that a marked-up copy adds: the codes of a row's problems, and how to fix them. A file that brings them
 * back under these names is taken, and they are not read.
 */
export const MARK_COLUMNS = ['payrunProblems', 'payrunRemedies'] as const;

const MARKS: ReadonlySet<string> = new Set(MARK_COLUMNS);

export function isMark(name: string): boolean {
  return MARKS.has(name);
}
