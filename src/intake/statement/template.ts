import { z } from 'zod';
import { Refusal } from '../../refusal.ts';
import { parseStrictJson } from '../strict-json.ts';
import { readTemplateText } from '../template/file.ts';
import { DECIMAL_MARKS, DELIMITERS, THOUSANDS_MARKS } from '../template/template.ts';
import { CREDIT, DEBIT } from './movement.ts';

const someName = z.string().min(1).max(128);

/** How the CSV statements of one bank look. What it does not say is as here. */
const schema = z.strictObject({
  delimiter: z.enum(DELIMITERS).default(','),
  decimalMark: z.enum(DECIMAL_MARKS).default('.'),
  thousandsMark: z.enum(THOUSANDS_MARKS).optional(),
  columns: z
    .strictObject({
      reference: someName.default('reference'),
      paymentId: someName.default('paymentId'),
      amount: someName.default('amount'),
      currency: someName.default('currency'),
      direction: someName.default('direction'),
      date: someName.default('date'),
    })
    .prefault({}),
  /** The currency of an account whose statement does not name it. */
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, 'must be a currency')
    .optional(),
  /** Without a column of the direction: whether a sign says it (below zero is a debit); else all are debits. */
  signed: z.boolean().default(false),
  /** What stands in the column of the direction. */
  debit: someName.default(DEBIT),
  credit: someName.default(CREDIT),
});
export type StatementTemplate = z.infer<typeof schema>;

/** The template of statements in a file, or the plain one. Throws a Refusal with all that is wrong with it. */
export async function readStatementTemplate(path: string | undefined): Promise<StatementTemplate> {
  return path === undefined ? PLAIN_STATEMENT : parseStatementTemplate(await readTemplateText(path), path);
}

/** How a CSV statement looks that has our own names of columns. */
export const PLAIN_STATEMENT: StatementTemplate = schema.parse({});

/** A template's text. Throws a Refusal with all that is wrong with it. */
export function parseStatementTemplate(text: string, which: string): StatementTemplate {
  const json = parseStrictJson(text);
  if (json.fault !== undefined) throw refuse(which, [json.fault]);
  const parsed = schema.safeParse(json.value);
  if (parsed.success) return parsed.data;
  throw refuse(
    which,
    parsed.error.issues.map((issue) => `${issue.path.join('.') || 'template'}: ${issue.message}`),
  );
}

function refuse(which: string, problems: readonly string[]): Refusal {
  return new Refusal(
    [`The template ${which} is invalid:`, ...problems].join('\n  '),
    'Correct it: docs/reconcile.md lists what it may say.',
  );
}
