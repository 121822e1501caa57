import { z } from 'zod';
import { Refusal } from '../../refusal.ts';
import { Problem } from '../problem.ts';

/** Fields by the names that forms send, and what stands beside them on the pages. */
export const LABELS: ReadonlyMap<string, string> = new Map([
  ['text', 'Search all runs'],
  ['template', 'Template'],
  ['expectRows', 'Expected rows'],
  ['expectTotals', 'Expected totals'],
  ['skipInvalid', 'Skip invalid rows'],
  ['start', 'Start'],
  ['at', 'Start time'],
  ['zone', 'Time zone'],
  ['stage', 'Stages'],
  ['goOnIfPaid', 'Go on by itself if all was paid'],
  ['maxCostDrift', 'Largest drift of costs, in basis points'],
  ['again', 'Pay these rows again'],
  ['reason', 'Reason'],
  ['decision', 'What becomes of it?'],
  ['paymentId', 'Payment id, if it was paid'],
  ['id', 'Identity id'],
  ['name', 'Name'],
  ['role', 'Role'],
  ['days', 'Days that it holds'],
  ['head', 'Head from a report (optional)'],
  ['newPassword', 'New password'],
  ['repeated', 'New password, once more'],
  ['password', 'Password'],
  ['typed', 'Code'],
  ['cron', 'Cron'],
  ['act', 'What it does'],
  ['dir', 'Inbox'],
  ['window', 'Window'],
  ['runs', 'Runs'],
  ['format', 'Show'],
  ['olderThan', 'Only if it ended at least so long ago'],
]);

const CORRECT = 'Correct it and send it again.';
/** What a form may have beside its own fields: the token of its session, which one it is of several, a second factor's code. */
const OF_ALL = new Set(['csrf', 'form', 'code']);
const nothing = z.strictObject({});

/**
 * The fields of a form as its schema says. Throws a Problem (422) that names the fields as their page does, and what is wrong
 * with each.
 */
export function readForm<Schema extends z.ZodType>(schema: Schema, fields: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(ownFields(fields));
  if (parsed.success) return parsed.data;
  throw problemOfForm(parsed.error);
}

/** For a form that has no fields of its own. Throws a Problem (422) for any. */
export function readNoFields(fields: unknown): void {
  readForm(nothing, fields);
}

/** The Problem (422) of a form whose fields are not as they should be. */
function problemOfForm({ issues }: z.ZodError): Problem {
  const wrong = issues.map((issue) => ({ name: issue.path.join('.'), words: issueWords(issue) }));
  const told = wrong.map(({ name, words }) => sentenceOf(name === '' ? '' : `The field "${labelOf(name)}"`, words));
  // Of several things the first one is told beside the field.
  const ofFields = wrong.filter(({ name }) => name !== '').toReversed();
  const fields = Object.fromEntries(ofFields.map(({ name, words }) => [name, sentenceOf('It', words)]));
  return new Problem(422, told.join(' '), CORRECT, fields);
}

/** What is wrong begins with `must`, or tells itself. */
function sentenceOf(subject: string, words: string): string {
  if (words.startsWith('must ')) return `${subject} ${words}`;
  return subject === '' || subject === 'It' ? words : `${subject}: ${words}`;
}

/**
 * Does what may be refused because of one field of a form. Such a Refusal becomes a Problem (422) that names it; one that
 * says that something cannot be reached stays as it is.
 */
export async function asFieldError<T>(field: string, act: () => T | Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof Refusal) || error.kind === 'unavailable') throw error;
    throw new Problem(422, error.message, error.remedy, { [field]: error.message });
  }
}

/** Makes checks of one form that do not depend on one another: all Problems that they throw become one. */
export async function checkAll(checks: readonly (() => unknown)[]): Promise<void> {
  const problems: Problem[] = [];
  for (const check of checks) {
    try {
      await check();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      problems.push(error);
    }
  }
  const told = (part: 'message' | 'remedy'): string => [...new Set(problems.map((one) => one[part]))].join(' ');
  const fields = Object.fromEntries(problems.flatMap((one) => Object.entries(one.fields)));
  if (problems.length > 0) throw new Problem(422, told('message'), told('remedy'), fields);
}

function ownFields(fields: unknown): unknown {
  if (typeof fields !== 'object' || fields === null) return fields;
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !OF_ALL.has(name)));
}

function issueWords({ code, message }: z.core.$ZodIssue): string {
  if (code === 'unrecognized_keys') return 'The form has a field that is not known here.';
  return `${code === 'invalid_type' ? 'must be given' : message}.`;
}

/** What a page calls a field. */
export function labelOf(name: string): string {
  return LABELS.get(name) ?? name;
}
