import { z } from 'zod';
import type { Run } from '../../payout.ts';
import { Problem } from '../problem.ts';
import type { WebDeps } from '../web.ts';

/** Of routes below a run. */
export const ofRun = { params: z.object({ run: z.string().max(64) }) };

/** The run that a path names. Throws a Problem (404) when there is none. */
export async function findRun({ app }: WebDeps, runId: string): Promise<Run> {
  const run = await app.ledger.runs.read(runId);
  if (run !== undefined) return run;
  throw new Problem(404, 'There is no such run.', 'The list of runs shows all of them.');
}
