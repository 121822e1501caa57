import { z } from 'zod';
import type { RunStages } from '../payout.ts';

/*
 * A run may be released in stages: the first rows of its file are paid and settled, then the rest waits until somebody has
 * looked at them. A plan says how: `10,100,rest` or `1%,rest`.
 */

const STAGES_MAX = 10;
const SIZE = /^(?:[1-9][0-9]{0,6}|(?:0\.[1-9]|[1-9][0-9]?(?:\.[0-9])?)%)$/;
const TENTHS = 1000;

/** The sizes of stages: numbers of rows or shares of the file, the last one `rest`. */
export const stageSizes = z
  .string()
  .transform((text) => text.replaceAll(/\s/g, '').toLowerCase())
  .refine(areSizes, `must be such as 10,100,rest or 1%,rest: at most ${STAGES_MAX} stages, the last one "rest"`);

/** Which stage a person saw, counted from 1. */
export const stageNumber = z
  .string()
  .regex(/^(?:[1-9]|10)$/, `must be a number from 1 to ${STAGES_MAX}`)
  .transform((text) => Number.parseInt(text, 10));

function areSizes(text: string): boolean {
  const sizes = text.split(',');
  const last = sizes.pop();
  return last === 'rest' && sizes.length > 0 && sizes.length < STAGES_MAX && sizes.every((size) => SIZE.test(size));
}

/** The rows of a file up to the end of each stage. Stages for which no row is left are left out. */
export function stageRows(sizes: string, rows: number): number[] {
  const ends: number[] = [];
  let end = 0;
  for (const size of sizes.split(',')) {
    end = Math.min(rows, size === 'rest' ? rows : end + rowsOf(size, rows));
    ends.push(end);
    if (end === rows) break;
  }
  return ends;
}

/** A share is rounded up to whole rows. */
function rowsOf(size: string, rows: number): number {
  if (!size.endsWith('%')) return Number.parseInt(size, 10);
  const [whole = '', tenth = '0'] = size.slice(0, -1).split('.');
  return Math.ceil((rows * Number.parseInt(whole + tenth, 10)) / TENTHS);
}

/** The last line of which anything may be paid by now. */
export function releasedTo({ stages }: { readonly stages: RunStages | null }): number {
  const isLast = stages === null || stages.at >= stages.ends.length - 1;
  return isLast ? Number.POSITIVE_INFINITY : (stages.ends[stages.at]?.line ?? 0);
}

/** Such as `stage 1 of 3, to row 10 of 1000`. */
export function stageText({ at, ends }: RunStages): string {
  return `stage ${at + 1} of ${ends.length}, to row ${ends[at]?.rows} of ${ends.at(-1)?.rows}`;
}

/** All stages of a run, and what comes between them, for people who are to decide about it. */
export function stagesText({ ends, goesOnIfPaid }: RunStages): string {
  const sizes = ends.map(({ rows }, index) => String(rows - (ends[index - 1]?.rows ?? 0)));
  const next = goesOnIfPaid
    ? 'when every payout before was paid, else when a person resumes it'
    : 'when a person resumes it';
  return `${sizes[0]} rows first; then ${sizes.slice(1).join(', then ')}, each ${next}`;
}
