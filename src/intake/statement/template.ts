import { z } from 'zod';
import { EXIT, Refusal } from '../../refusal.ts';
import { parseStrictJson } from '../strict-json.ts';
import { readTemplateText } from '../template/file.ts';
import { DECIMAL_MARKS, DELIMITERS, THOUSANDS_MARKS } from '../template/template.ts';
import { CREDIT, DEBIT } from './movement.ts';

const name = z.string().min(1).max(128);

/** How the CSV statements of one bank look. What it does not say is as here. */
const schema = z.strictObject({
  delimiter: z.enum(DELIMITERS).default(','),
  decimalMark: z.enum(DECIMAL_MARKS).default('.'),
  thousandsMark: z.enum(THOUSANDS_MARKS).optional(),
  columns: z
    .strictObject({
      reference: name.default('reference'),
      paymentId: name.default('paymentId'),
      amount: name.default('amount'),
      currency: name.default('currency'),
      direction: name.default('direction'),
      date: name.default('date'),
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
  debit: name.default(DEBIT),
  credit: name.default(CREDIT),
});
export type StatementTemplate = z.infer<typeof schema>;

/** The template of statements in a file, or the plain one. Throws a Refusal (exit 2) with all that is wrong with it. */
export async function readStatementTemplate(path: string | undefined): Promise<StatementTemplate> {
  return path === undefined ? PLAIN_STATEMENT : parseStatementTemplate(await readTemplateText(path), path);
}

/** How a CSV statement looks that has our own names of columns. */
export const PLAIN_STATEMENT: StatementTemplate = schema.parse({});

/** A template's text. Throws a Refusal (exit 2) with all that is wrong with it. */
export function parseStatementTemplate(text: string, name: string): StatementTemplate {
  const json = parseStrictJson(text);
  if (json.fault !== undefined) throw refuse(name, [json.fault]);
  const parsed = schema.safeParse(json.value);
  if (parsed.success) return parsed.data;
  throw refuse(
    name,
    parsed.error.issues.map((issue) => `${issue.path.join('.') || 'template'}: ${issue.message}`),
  );
}

function refuse(name: string, problems: readonly string[]): Refusal {
  return new Refusal([`The template ${name} is of no use:`, ...problems].join('\n  '), {
    exitCode: EXIT.usage,
    remedy: 'Correct it: docs/reconcile.md tells what it may say.',
  });
}
