import { constants, open } from 'node:fs/promises';
import { z } from 'zod';
import { type Money, moneyOfDecimal } from '../money.ts';
import { codeOf } from '../refusal.ts';
import type { ControlTotals } from './control-totals.ts';
import { type Problem, problemOf } from './problems/problems.ts';
import { escapeUnseen } from './problems/shown-value.ts';
import { parseStrictJson } from './strict-json.ts';

const MANIFEST_BYTES_MAX = 64 * 1024;
const ROWS_MAX = 1_000_000_000;

const schema = z.strictObject({
  rows: z.int().min(0).max(ROWS_MAX).optional(),
  totals: z.record(z.string(), z.string()).optional(),
  sha256: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hexadecimal digits')
    .optional(),
});

/** The manifest that may lie beside a payout file, under the file's own name and this ending. */
export function manifestPathOf(path: string): string {
  return `${path}.manifest.json`;
}

/** The control totals of the manifest; undefined when there is none, a problem when it is of no use. */
export async function readManifest(path: string): Promise<ControlTotals | Problem | undefined> {
  let text: string;
  try {
    text = await readSmallFile(manifestPathOf(path));
  } catch (error) {
    // Beside a file with the longest name that there can be, no manifest can lie.
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENAMETOOLONG') return undefined;
    return manifestProblem(
      error instanceof RangeError ? error.message : `it cannot be read (${codeOf(error) ?? 'reason unknown'})`,
    );
  }
  return parseManifest(text);
}

/** Without O_NONBLOCK the opening of a named pipe would wait for a writer. */
async function readSmallFile(path: string): Promise<string> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new RangeError('it is no regular file');
    if (stats.size > MANIFEST_BYTES_MAX) throw new RangeError(`it has more than ${MANIFEST_BYTES_MAX} bytes`);
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}

/** A manifest's text: strict, so that a misspelt name is no total that nobody checks. */
export function parseManifest(text: string): ControlTotals | Problem {
  const json = parseStrictJson(text);
  if (json.fault !== undefined) return manifestProblem(json.fault);
  const parsed = schema.safeParse(json.value);
  if (!parsed.success) return manifestProblem(faultIn(parsed.error));
  const { rows, totals = {}, sha256 } = parsed.data;
  const money: Money[] = [];
  for (const [currency, amount] of Object.entries(totals)) {
    const total = moneyOfDecimal(amount, currency);
    if (total === undefined)
      return manifestProblem(`totals.${currency}: "${amount}" is not an amount of a known currency`);
    money.push(total);
  }
  return { rows: rows ?? null, totals: money, sha256: sha256?.toLowerCase() ?? null };
}

function faultIn({ issues: [issue] }: z.ZodError): string {
  if (issue === undefined) return 'it is no manifest';
  return issue.path.length === 0 ? issue.message : `${issue.path.join('.')}: ${issue.message}`;
}

const SHOWN_CHARACTERS_MAX = 200;

function manifestProblem(found: string): Problem {
  return problemOf('E_MANIFEST', { facts: { found: escapeUnseen(found).slice(0, SHOWN_CHARACTERS_MAX) } });
}
