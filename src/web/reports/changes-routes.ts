import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Run } from '../../payout.ts';
import { Refusal } from '../../refusal.ts';
import { type Change, changesCsv } from '../../report/changes.ts';
import { reportChanges } from '../../runs/after/report-changes.ts';
import { sendDownload } from '../download.ts';
import { sendPage } from '../parts/frame.tsx';
import { Problem } from '../problem.ts';
import { findRun, ofRun } from '../run/find-run.ts';
import type { Web, WebDeps } from '../web.ts';
import { CHANGES_SHOWN_MAX, ChangesPage } from './changes-page.tsx';
import { noteDownload } from './downloads.ts';

/** The version to begin with, as an address has it. */
export const sinceGiven = z.coerce.number('must be a number').int().min(1).default(1);

const sinceVersion = { ...ofRun, querystring: z.strictObject({ since: sinceGiven }) };

/** What changed between two versions of a run's report, as a page and as CSV. */
export function addChangesRoutes(web: Web, deps: WebDeps): void {
  const noted = { config: { act: 'read' }, exposeHeadRoute: false, schema: sinceVersion } as const;

  web.get('/runs/:run/changes', noted, async (request, reply) => {
    const run = await findRun(deps, request.params.run);
    const { since } = request.query;
    const { version, changes } = await takeChanges(deps, request, { run, since });
    const shown: Change[] = [];
    for await (const change of changes) {
      shown.push(change);
      if (shown.length > CHANGES_SHOWN_MAX) break;
    }
    const title = `What changed from v${since} to v${version}`;
    return await sendPage(reply, deps, { title, body: ChangesPage({ run, since, version, changes: shown }) });
  });

  web.get('/runs/:run/changes.csv', noted, async (request, reply) => {
    const run = await findRun(deps, request.params.run);
    const { since } = request.query;
    const { version, changes } = await takeChanges(deps, request, { run, since });
    return sendDownload(reply, {
      name: changesName(run, { since, version }),
      ending: 'csv',
      content: changesCsv(changes),
    });
  });
}

/** What a list of changes is called, without its ending. */
export function changesName({ id }: Pick<Run, 'id'>, { since, version }: { since: number; version: number }): string {
  return `${id}.v${since}-v${version}.changes`;
}

/** The changes since a version, which are noted as taken. Throws a Problem (404) for a version that is not there as it was written. */
export async function takeChanges(
  deps: WebDeps,
  request: Pick<FastifyRequest, 'who'>,
  { run, since }: { readonly run: Run; readonly since: number },
): ReturnType<typeof reportChanges> {
  const found = await changesFor(deps, run, since);
  await noteDownload(deps, request, { runId: run.id, what: `changes v${since} to v${found.version}` });
  return found;
}

async function changesFor({ app }: WebDeps, run: Run, since: number): ReturnType<typeof reportChanges> {
  try {
    return await reportChanges(app.config.reportDir, run, since);
  } catch (error) {
    if (error instanceof Refusal) throw new Problem(404, error.message, error.remedy);
    throw error;
  }
}
