/** A field of a cron: its values, and the names that stand for them. */
interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** In the order of their values, the first for `min`. */
  readonly words: readonly string[];
  /** What it may be beside lists, ranges and steps. */
  readonly special?: RegExp;
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

const FIELDS: readonly Field[] = [
  { name: 'minute', min: 0, max: 59, words: [] },
  { name: 'hour', min: 0, max: 23, words: [] },
  { name: 'day of the month', min: 1, max: 31, words: [], special: /^L$/ },
  { name: 'month', min: 1, max: 12, words: MONTHS },
  {
    name: 'day of the week',
    min: 0,
    max: 7,
    words: DAYS,
    special: /^(?:[0-7]|SUN|MON|TUE|WED|THU|FRI|SAT)#[1-5]$|^[0-7]L$/,
  },
];

const CHARACTERS_MAX = 200;

/**
 * What is wrong with a cron in capitals, or undefined. Its forms are those of crontab(5): `*`, a number or a name, a
 * range, a list of them, a step over `*` or a range; besides, `L` as the last day of the month, `5L` the last Friday of it
 * and `1#2` its second Monday. crontab's rule for a day of the month together with a day of the week (either of them) is
 * not what people read, so both together are refused, as are seconds, `@daily`, `?`, `W` and `H`.
 */
export function checkFields(cron: string): string | undefined {
  if (cron.length > CHARACTERS_MAX) return `it has more than ${CHARACTERS_MAX} characters`;
  const texts = cron.split(' ');
  if (texts.length !== FIELDS.length) return `it has ${texts.length} fields in place of five`;
  for (const [index, field] of FIELDS.entries()) {
    const problem = checkField(field, texts[index] ?? '');
    if (problem !== undefined) return problem;
  }
  if (texts[2] === '*' || texts[4] === '*') return undefined;
  return 'it names both days of the month and days of the week; set a schedule for each';
}

function checkField(field: Field, text: string): string | undefined {
  if (field.special?.test(text) === true) return undefined;
  for (const part of text.split(',')) {
    const problem = checkPart(field, part);
    if (problem !== undefined) return `its ${field.name} "${text}" ${problem}`;
  }
  return undefined;
}

const PART = /^(\*|[0-9]{1,2}|[A-Z]{3})(?:-([0-9]{1,2}|[A-Z]{3}))?(?:\/([0-9]{1,2}))?$/;

function checkPart(field: Field, part: string): string | undefined {
  const [, first = '', last, step] = PART.exec(part) ?? [];
  if (first === '') return 'is not understood';
  const problem =
    first === '*' ? (last === undefined ? undefined : 'is not understood') : checkRange(field, first, last);
  if (problem !== undefined || step === undefined) return problem;
  if (first !== '*' && last === undefined) return 'has a step, which needs * or a range before it';
  const stepOf = Number.parseInt(step, 10);
  return stepOf >= 1 && stepOf <= field.max ? undefined : `has a step that must be from 1 to ${field.max}`;
}

function checkRange({ min, max, words }: Field, first: string, last = first): string | undefined {
  const [from = Number.NaN, to = Number.NaN] = [first, last].map((text) =>
    words.includes(text) ? words.indexOf(text) + min : /^[0-9]+$/.test(text) ? Number.parseInt(text, 10) : Number.NaN,
  );
  if (!(from >= min && from <= max && to >= min && to <= max)) return `must be from ${min} to ${max}`;
  return to < from ? 'has a range that ends before it begins' : undefined;
}
