import { z } from 'zod';
import { CREDITOR_KEYS } from '../pain001/creditors.ts';
import { LEFT_OUT_ELEMENTS } from '../pain001/elements.ts';
import { COLUMNS, OPTIONAL_COLUMNS } from './columns.ts';
import { DECIMAL_MARKS, DELIMITERS, THOUSANDS_MARKS } from './template.ts';

const NAME_CHARACTERS_MAX = 128;
const DESCRIPTION_CHARACTERS_MAX = 500;
const IGNORED_COLUMNS_MAX = 1000;
const ALLOWED_VALUES_MAX = 1000;
const SHEET_NAME_CHARACTERS_MAX = 31;
const REFERENCE_CHARACTERS_MAX = 36;

const columnName = z.enum(COLUMNS);
const nameInFile = z
  .string()
  .max(NAME_CHARACTERS_MAX)
  .regex(
    /^[^\s\p{C}](?:[^\p{C}]*[^\s\p{C}])?$/u,
    'must be the name of a column as it stands in the file, without blanks around it',
  )
  .describe('The name of a column as it stands in the first line of the file.');
const uuid = z
  .string()
  .regex(/^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/, 'must be the UUID of a beneficiary identity');

const paymentMessages = z
  .strictObject({
    creditorBy: z
      .enum(CREDITOR_KEYS)
      .describe(
        'How a creditor is identified: creditorAccount (CdtrAcct/Id/IBAN or Othr/Id) or creditorId (Cdtr/Id/…/Othr/Id).',
      ),
    beneficiaries: z
      .record(z.string().min(1), uuid)
      .optional()
      .describe('Beneficiary identity by account number or creditor id. Without it the creditor id is the identity.'),
    leaveOut: z
      .array(z.enum(LEFT_OUT_ELEMENTS))
      .default([])
      .describe(
        'Elements that mean something to a bank and that payrun cannot pass on. Others of the kind are refused.',
      ),
  })
  .describe('How payment messages (ISO 20022 pain.001.001.03, .08, .09, .10 and .11) are read.');

/** A template as it is written down. Strict: a misspelt name would be a rule that does not hold. */
export const templateSchema = z.strictObject({
  $schema: z.string().optional(),
  name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'must be of a-z, 0-9 and -'),
  description: z.string().max(DESCRIPTION_CHARACTERS_MAX).default(''),
  delimiter: z.enum(DELIMITERS).default(',').describe('What stands between the cells of a CSV file.'),
  decimalMark: z.enum(DECIMAL_MARKS).default('.'),
  thousandsMark: z
    .enum(THOUSANDS_MARKS)
    .optional()
    .describe('What stands between groups of three digits. Without it such a mark is refused.'),
  columns: z
    .partialRecord(columnName, nameInFile)
    .default({})
    .describe('The names that the file has for our columns, where they are others.'),
  ignore: z.array(nameInFile).max(IGNORED_COLUMNS_MAX).default([]).describe('Columns of the file that are not read.'),
  fixed: z
    .partialRecord(columnName.exclude(['reference', 'amount']), z.string().min(1))
    .default({})
    .describe('Values that each row has. A cell that says otherwise refuses the file.'),
  required: z.array(z.enum(OPTIONAL_COLUMNS)).default([]).describe('Optional columns that each row has to fill.'),
  allowed: z
    .partialRecord(
      columnName.exclude(['reference', 'amount']),
      z.array(z.string().min(1)).min(1).max(ALLOWED_VALUES_MAX),
    )
    .default({})
    .describe('The only values that a column may have.'),
  referenceCharacters: z
    .int()
    .min(1)
    .max(REFERENCE_CHARACTERS_MAX)
    .optional()
    .describe('How many characters each reference has: finds those that lost zeros at their head.'),
  payoutMax: z
    .record(z.string().regex(/^[A-Z]{3}$/, 'must be a currency'), z.string())
    .optional()
    .describe('The largest amount of a payout by currency. A currency that is not named may not occur.'),
  sheet: z
    .string()
    .min(1)
    .max(SHEET_NAME_CHARACTERS_MAX)
    .optional()
    .describe('The sheet of a workbook that is read. Without it only one sheet may have values.'),
  pain001: paymentMessages.optional(),
});

export type TemplateText = z.infer<typeof templateSchema>;
