import type { z } from 'zod';
import { Problem } from '../problem.ts';

/** Fields by the names that forms send, and what stands beside them on the pages. */
export const LABELS: ReadonlyMap<string, string> = new Map([
  ['template', 'Template'],
  ['expectRows', 'Expected rows'],
  ['expectTotals', 'Expected totals'],
  ['skipInvalid', 'Skip invalid rows'],
  ['start', 'Start'],
  ['at', 'Start time'],
  ['zone', 'Time zone'],
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
]);

/** The fields of a form as its schema says. Throws a Problem (422) that names the field as its page does, and what is wrong. */
export function readForm<Schema extends z.ZodType>(schema: Schema, fields: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(fields);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(problemWords);
  throw new Problem(422, problems.join(' '), 'Go back to the form, correct it, and send it again.');
}

function problemWords({ code, path, message }: z.core.$ZodIssue): string {
  if (code === 'unrecognized_keys') return 'The form has a field that is not known here.';
  return `The field "${labelOf(path.join('.'))}" ${code === 'invalid_type' ? 'must be given' : message}.`;
}

/** What a page calls a field. */
export function labelOf(name: string): string {
  return LABELS.get(name) ?? name;
}
