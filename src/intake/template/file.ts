import { createReadStream } from 'node:fs';
import { type Money, moneyOfDecimal } from '../../money.ts';
import { codeOf, Refusal, withSteps } from '../../refusal.ts';
import { type CreditorMap, foldCreditorKey } from '../pain001/creditors.ts';
import { escapeUnseen } from '../problems/shown-value.ts';
import { cellFault } from '../row/cells.ts';
import { parseStrictJson } from '../strict-json.ts';
import { COLUMNS, type Column, isMark } from './columns.ts';
import { type TemplateText, templateSchema } from './schema.ts';
import { nameOf, type Template } from './template.ts';

const TEMPLATE_CHARACTERS_MAX = 16 * 1024 * 1024;
/** So many bytes hold more characters than a template may have, whatever they are. */
const TEMPLATE_BYTES_READ_MAX = 4 * TEMPLATE_CHARACTERS_MAX;

/** What is wrong with a template, as a sentence that begins with where it is. */
export type TemplateProblem = string;

/** The template of a file. Throws a Refusal with all that is wrong with it. */
export async function readTemplate(path: string): Promise<Template> {
  const parsed = parseTemplate(await readTemplateText(path));
  if (!Array.isArray(parsed)) return parsed;
  throw new Refusal(
    [`Invalid template ${path}:`, ...parsed].join('\n  '),
    withSteps`Correct it, and try it with ${{ to: 'check-template' }}.`,
  );
}

/** The text of a template's file; of one that is too large no more than shows that. Throws a Refusal when it cannot be read. */
export async function readTemplateText(path: string): Promise<string> {
  try {
    let text = '';
    for await (const piece of createReadStream(path, { encoding: 'utf8', end: TEMPLATE_BYTES_READ_MAX })) {
      text += String(piece);
    }
    return text;
  } catch (cause) {
    const code = codeOf(cause) ?? 'reason unknown';
    throw new Refusal(
      code === 'ENOENT' ? `There is no template ${path}.` : `The template ${path} cannot be read (${code}).`,
      'Check the path and the rights of the file.',
      { cause },
    );
  }
}

/** A template's text (docs/templates.md), or everything that is wrong with it. */
export function parseTemplate(text: string): Template | TemplateProblem[] {
  if (text.length > TEMPLATE_CHARACTERS_MAX) return [`it has more than ${TEMPLATE_CHARACTERS_MAX} characters`];
  const json = parseStrictJson(text);
  if (json.fault !== undefined) return [escapeUnseen(`template: ${json.fault}`)];
  const parsed = templateSchema.safeParse(json.value);
  if (!parsed.success) {
    return parsed.error.issues.map(({ path, message }) => escapeUnseen(`${path.join('.') || 'template'}: ${message}`));
  }
  const problems: TemplateProblem[] = [];
  const template = templateOf(parsed.data, problems);
  problems.push(...clashes(template), ...unsoundValues(template));
  return problems.length > 0 ? problems.map(escapeUnseen) : template;
}

function templateOf(text: TemplateText, problems: TemplateProblem[]): Template {
  return {
    name: text.name,
    description: text.description,
    delimiter: text.delimiter,
    decimalMark: text.decimalMark,
    thousandsMark: text.thousandsMark ?? null,
    names: byColumn(text.columns),
    ignored: new Set(text.ignore),
    fixed: byColumn(text.fixed),
    required: new Set(text.required),
    allowed: new Map([...byColumn(text.allowed)].map(([column, values]) => [column, new Set(values)])),
    referenceCharacters: text.referenceCharacters ?? null,
    payoutMax: text.payoutMax === undefined ? null : limitsOf(text.payoutMax, problems),
    sheet: text.sheet ?? null,
    creditors: text.pain001 === undefined ? null : creditorsOf(text.pain001, problems),
  };
}

function byColumn<Value>(record: Readonly<Partial<Record<Column, Value>>>): Map<Column, Value> {
  return new Map(
    COLUMNS.flatMap((column) => {
      const value = record[column];
      return value === undefined ? [] : [[column, value] as const];
    }),
  );
}

function limitsOf(texts: Readonly<Record<string, string>>, problems: TemplateProblem[]): Map<string, Money> {
  const limits = new Map<string, Money>();
  for (const [currency, text] of Object.entries(texts)) {
    const limit = moneyOfDecimal(text, currency);
    if (limit === undefined) problems.push(`payoutMax.${currency}: "${text}" is not an amount of a known currency`);
    else limits.set(currency, limit);
  }
  return limits;
}

function creditorsOf(text: NonNullable<TemplateText['pain001']>, problems: TemplateProblem[]): CreditorMap {
  const { creditorBy, beneficiaries, leaveOut } = text;
  const leftOut = new Set<string>(leaveOut);
  if (beneficiaries === undefined) {
    if (creditorBy === 'creditorAccount')
      problems.push('pain001.beneficiaries: an account number is not an identity; name them');
    return { by: creditorBy, beneficiaries: null, leftOut };
  }
  const byKey = new Map<string, string>();
  for (const [key, identity] of Object.entries(beneficiaries)) {
    const folded = foldCreditorKey(key);
    if (byKey.has(folded)) problems.push(`pain001.beneficiaries: …${folded.slice(-4)} is there twice`);
    byKey.set(folded, identity);
  }
  return { by: creditorBy, beneficiaries: byKey, leftOut };
}

/** What the template says twice, or against itself. */
function clashes(template: Template): TemplateProblem[] {
  const { decimalMark, thousandsMark, ignored } = template;
  const problems = decimalMark === thousandsMark ? ['thousandsMark: it is the decimal mark too'] : [];
  const seen = new Set(ignored);
  for (const column of COLUMNS) {
    const name = nameOf(template, column);
    if (seen.has(name)) problems.push(`columns.${column}: another column, or one to ignore, has the name ${name} too`);
    else if (isMark(name)) problems.push(`columns.${column}: ${name} is the name of a column of marked-up copies`);
    seen.add(name);
  }
  return problems;
}

/** Values that no row could have. */
function unsoundValues({ fixed, allowed }: Template): TemplateProblem[] {
  const problems: TemplateProblem[] = [];
  for (const [column, value] of fixed) {
    if (!isSound(column, value)) problems.push(`fixed.${column}: "${value}" is not a value of this column`);
    if (allowed.get(column)?.has(value) === false) problems.push(`fixed.${column}: it is not among the allowed values`);
  }
  for (const [column, values] of allowed) {
    for (const value of values) {
      if (!isSound(column, value)) problems.push(`allowed.${column}: "${value}" is not a value of this column`);
    }
  }
  return problems;
}

function isSound(column: Column, value: string): boolean {
  return column === 'amount' || cellFault(column, value) === undefined;
}
