import { z } from 'zod';

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
