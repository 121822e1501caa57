import { finished } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { readStatement, type Statement } from '../../intake/statement/read-statement.ts';
import { PLAIN_STATEMENT, parseStatementTemplate } from '../../intake/statement/template.ts';
import type { Match } from '../../report/statement/match.ts';
import { readRun } from '../../runs/read-run.ts';
import { noteReconciled, type Reconciliation, reconcileRuns } from '../../runs/reconcile.ts';
import { shownCount } from '../parts/figures.ts';
import { asFieldError } from '../parts/read-form.ts';
import { Problem } from '../problem.ts';
import { removeUpload, type Upload, uploadPath } from '../uploads/upload.ts';
import type { WebDeps } from '../web.ts';

const RUNS_MAX = 100;
const TEMPLATE_CHARACTERS_MAX = 4000;
/** All of a statement is in memory, here beside everything else that the server does. */
const MOVEMENTS_MAX = 200_000;
/** Each of them is in memory until its answer has ended, which a slow reader puts off. */
const STATEMENTS_PER_PERSON_MAX = 2;
/** The rows of all runs are read three times. */
const ROWS_MAX = 1_000_000;

/** Runs by their ids, with commas or blanks between them. */
export const runsText = z
  .string()
  .transform((text) => [...new Set(text.split(/[\s,]+/).filter(Boolean))])
  .refine((ids) => ids.length > 0, 'must name a run')
  .refine((ids) => ids.length <= RUNS_MAX, `must name at most ${RUNS_MAX} runs`);
/** How a CSV statement looks, as JSON (docs/reconcile.md); '' for one with our own names of columns. */
export const templateGiven = z
  .string()
  .trim()
  .max(TEMPLATE_CHARACTERS_MAX, `must have at most ${TEMPLATE_CHARACTERS_MAX} characters`)
  .default('');

export interface StatementWanted {
  readonly runs: readonly string[];
  readonly template: string;
}

interface Incoming extends StatementWanted {
  readonly upload: Upload;
  /** As the audit log names them. */
  readonly actor: string;
}

/** Counts a person's statement until its answer has ended. Throws a Problem (429) for one too many. */
export function openStatementLimit(): (person: string, reply: FastifyReply) => void {
  const open = new Map<string, number>();
  return (person, { raw }) => {
    const before = open.get(person) ?? 0;
    if (before >= STATEMENTS_PER_PERSON_MAX)
      throw new Problem(429, `You are reconciling ${before} statements already.`, 'Wait for one of them to end.');
    open.set(person, before + 1);
    finished(raw, () => {
      const left = (open.get(person) ?? 1) - 1;
      if (left > 0) open.set(person, left);
      else open.delete(person);
    });
  };
}

/**
 * Reads the statement of an upload, which is removed then, and matches it with the payments of runs. Once all lines are
 * taken, the result is noted with each of the runs. Throws a Problem for a run that is not there and a template that is
 * none, and a Refusal for a statement that cannot be used.
 */
export async function matchUpload(
  { app }: Pick<WebDeps, 'app'>,
  { upload, runs, template, actor }: Incoming,
): Promise<Reconciliation & { readonly statement: Statement }> {
  try {
    await requireRuns(app, runs);
    const statement = await readStatement(uploadPath(app, upload.id, 'file'), {
      name: upload.name,
      template: await asFieldError('template', () => templateOf(template)),
      limits: { ...app.config.files, rowsMax: Math.min(app.config.files.rowsMax, MOVEMENTS_MAX) },
    });
    const { lines, counts } = await reconcileRuns(app, runs, statement);
    const noted = () => noteReconciled(app, runs, { statement, counts, actor });
    return { statement, counts, lines: followed(lines, noted) };
  } finally {
    await removeUpload(app, upload.id);
  }
}

async function requireRuns(app: WebDeps['app'], runIds: readonly string[]): Promise<void> {
  let rows = 0;
  for (const id of runIds) rows += (await asFieldError('runs', () => readRun(app, id))).rows;
  if (rows <= ROWS_MAX) return;
  throw new Problem(
    400,
    `These runs have ${shownCount(rows)} rows together; the most is ${shownCount(ROWS_MAX)}.`,
    'Name fewer runs. Whoever runs payrun can reconcile all of them by its command.',
  );
}

function templateOf(text: string) {
  return text === '' ? PLAIN_STATEMENT : parseStatementTemplate(text, 'of the statement');
}

async function* followed(
  lines: AsyncIterable<readonly Match[]>,
  then: () => Promise<void>,
): AsyncGenerator<readonly Match[], void> {
  yield* lines;
  await then();
}
