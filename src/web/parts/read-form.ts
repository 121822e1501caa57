import type { z } from 'zod';
import { Problem } from '../problem.ts';

/** The fields of a form as its schema says. Throws a Problem (422) that names the field and what is wrong with it. */
export function readForm<Schema extends z.ZodType>(schema: Schema, fields: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(fields);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `The field "${path.join('.')}" ${message}.`);
  throw new Problem(422, problems.join(' '), 'Go back to the form, correct it, and send it again.');
}
