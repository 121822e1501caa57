import type { z } from 'zod';
import { Refusal } from '../refusal.ts';

export { personName, reasonText } from '../access/words.ts';

/** `--sandbox` of a command that may be the first on the ledger of the simulated service. */
export const SANDBOX = 'for the simulated service; makes its ledger where there is none';
/** `--new-ledger` of a command that goes on where a ledger is, and may be the first on it when it is told to. */
export const NEW_LEDGER = 'make the ledger where there is none: for the first start';

/** A command's options as its schema says; a Refusal (exit 2) that names what is wrong. */
export function parseOptions<Schema extends z.ZodType>(schema: Schema, options: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(options);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `${flagOf(String(path[0]))} ${message}`);
  throw new Refusal(problems.join('\n'), 'See --help for what the command takes.');
}

/** The option of a name such as `olderThan`. */
export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
