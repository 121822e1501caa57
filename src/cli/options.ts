import { z } from 'zod';
import { EXIT, Refusal } from '../refusal.ts';

const NAME_CHARACTERS_MAX = 64;
const REASON_CHARACTERS_MAX = 200;

/** Who acts, or why, as histories keep it: in one line, without the sign that divides a history's fields. */
function words(charactersMax: number): z.ZodType<string, string> {
  return z
    .string()
    .trim()
    .min(1, 'must not be empty')
    .max(charactersMax, `must have at most ${charactersMax} characters`)
    .regex(/^[^|\p{C}\p{Zl}\p{Zp}]*$/u, 'must have no line ends, control characters or |');
}

export const personName = words(NAME_CHARACTERS_MAX);
export const reasonText = words(REASON_CHARACTERS_MAX);

/** A command's options as its schema says; a Refusal (exit 2) that names what is wrong. */
export function parseOptions<Schema extends z.ZodType>(schema: Schema, options: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(options);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `${flagOf(path.join('.'))} ${message}`);
  throw new Refusal(problems.join('\n'), { exitCode: EXIT.usage, remedy: 'See --help for what the command takes.' });
}

function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
