import { z } from 'zod';
import type { Payout, RefusedRow } from '../../payout.ts';
import { isRefused } from '../../report/row.ts';
import { requireTrueRows } from '../../runs/safety/shown-seals.ts';
import { Problem } from '../problem.ts';
import { findRun } from '../run/find-run.ts';
import type { WebDeps } from '../web.ts';

/** The path of one row. */
export const ofRow = {
  params: z.strictObject({
    run: z.string().max(64),
    line: z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER),
  }),
};

export interface RowPlace {
  readonly run: string;
  readonly line: number;
}

/** The row that a path names. Throws a Problem (404) when there is none, and what `requireTrueRows` throws. */
export async function findRow(deps: WebDeps, { run: runId, line }: RowPlace): Promise<Payout | RefusedRow> {
  const run = await findRun(deps, runId);
  const row = await deps.app.ledger.runs.row(run.id, line);
  if (row !== undefined) {
    await requireTrueRows(deps.app, run, [row]);
    return row;
  }
  throw new Problem(404, `Run ${run.id} has no row on line ${line}.`, 'The payouts of the run are listed on its page.');
}

/** The same for a row that is a payout. */
export async function findPayout(deps: WebDeps, place: RowPlace): Promise<Payout> {
  const row = await findRow(deps, place);
  if (!isRefused(row)) return row;
  throw new Problem(409, `The row on line ${row.line} was refused and is no payout.`, 'There is nothing to decide.');
}

/** Where a row is shown. */
export function hrefOfRow({ run, line }: RowPlace): string {
  return `/runs/${encodeURIComponent(run)}/payouts/${line}`;
}
