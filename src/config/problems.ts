import { z } from 'zod';
import { Refusal } from '../refusal.ts';

type Issue = z.core.$ZodIssue;

const KINDS: ReadonlyMap<string, string> = new Map([
  ['string', 'a text in quotation marks'],
  ['number', 'a number'],
  ['int', 'a whole number'],
  ['boolean', 'true or false'],
  ['array', 'a list in [ ]'],
]);
const UNITS: ReadonlyMap<string, { readonly one: string; readonly many: string }> = new Map([
  ['string', { one: 'character', many: 'characters' }],
  ['array', { one: 'entry', many: 'entries' }],
]);
const FORMATS: ReadonlyMap<string, string> = new Map([
  ['email', 'must be an e-mail address'],
  ['url', 'must be an address such as https://example.com'],
]);

/** What a value of the settings' file must be, for a schema without better words of its own. */
export const wordsFor: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type':
      return typeWords(issue);
    case 'unrecognized_keys':
      return `known here are: ${keysOf(issue.inst).join(', ')}`;
    case 'invalid_value':
      return `must be one of: ${issue.values.join(', ')}`;
    case 'too_small':
      return `must ${amountWords('at least', issue.minimum, issue.origin)}`;
    case 'too_big':
      return `must ${amountWords('at most', issue.maximum, issue.origin)}`;
    case 'invalid_format':
      return FORMATS.get(issue.format);
    case 'invalid_key':
      return issue.issues.map(({ message }) => message).join('; ');
    case 'invalid_union':
    case 'invalid_element':
    case 'not_multiple_of':
    case 'custom':
      return undefined;
  }
};

function typeWords({ expected, inst, input }: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidType>): string {
  const kind = KINDS.get(expected) ?? objectWords(inst);
  return input === undefined ? `is missing; it must be ${kind}` : `must be ${kind}`;
}

function amountWords(bound: string, amount: number | bigint, origin: string): string {
  const unit = UNITS.get(origin);
  if (unit === undefined) return `be ${bound} ${amount}`;
  return `have ${bound} ${amount} ${BigInt(amount) === 1n ? unit.one : unit.many}`;
}

function objectWords(schema: unknown): string {
  const keys = keysOf(schema);
  return keys.length === 0 ? 'an object in { }' : `an object in { } with some of the keys ${keys.join(', ')}`;
}

function keysOf(schema: unknown): string[] {
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

/** Each thing that is wrong, with its place in the file, such as `webhooks[0].url`. */
export function problemTexts(issue: Issue): string[] {
  const { path, message } = issue;
  if (issue.code !== 'unrecognized_keys') return [path.length === 0 ? message : `${placeOf(path)}: ${message}`];
  return issue.keys.map((key) => `${placeOf([...path, key])}: there is no such key; ${message}`);
}

function placeOf(path: readonly PropertyKey[]): string {
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '');
}

/** All that is wrong with the settings, as one Refusal. */
export function refuseSettings(problems: readonly string[]): Refusal {
  return new Refusal(
    `${problems.length === 1 ? 'A setting is' : 'Some settings are'} wrong:\n  ${problems.join('\n  ')}`,
    'Correct the settings named above. docs/settings.md lists all settings.',
  );
}

const EDITS_MAX = 2;

/** That there is no setting of that name, and which one it is close to. */
export function noSuchSetting(name: string, known: readonly string[]): string {
  const [nearest] = [...known, ...known.map((one) => `${one}_FILE`)]
    .map((one) => ({ one, edits: editsBetween(name, one) }))
    .filter(({ edits }) => edits <= EDITS_MAX)
    .toSorted((one, other) => one.edits - other.edits);
  return `${name}: no such setting${nearest === undefined ? '' : `; did you mean ${nearest.one}?`}`;
}

/** How many letters have to be changed, put in or left out to make the one of the other (Levenshtein). */
function editsBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [line, letter] of Array.from(one).entries()) {
    const next = [line + 1];
    for (const [index, wanted] of Array.from(other).entries()) {
      const kept = (row[index] ?? 0) + (letter === wanted ? 0 : 1);
      next.push(Math.min(kept, (row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
