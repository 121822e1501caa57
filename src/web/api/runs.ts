import { z } from 'zod';
import { rfc3339 } from '../../clock.ts';
import { OUTCOMES, type Outcome, outcomeOf, PAYOUT_STATES, RUN_STATES, type Run } from '../../payout.ts';
import { approvalStanding } from '../../runs/approve.ts';
import { documentOf } from '../../runs/document.ts';
import { storyOf } from '../../runs/story.ts';
import { Problem } from '../problem.ts';
import { findRun } from '../runs/find-run.ts';
import type { Web, WebDeps } from '../web.ts';
import { count, rowDocument, runDocument, storyDocument, time } from './documents.ts';
import { ofPayout, ofRun, page } from './places.ts';
import { sendRows } from './row-stream.ts';

const RUNS_PER_PAGE = 50;
const ROWS_PER_PAGE = 100;

const details = z.object({
  runId: z.string(),
  submittedAt: time,
  submittedBy: z.string(),
  pauseReason: z.string().nullable(),
  /** When a paused run goes on by itself; `schedule` is the next schedule that starts runs. */
  startsAt: z.union([time, z.literal('schedule')]).nullable(),
  endedAt: time.nullable(),
  purgedAt: time.nullable(),
  approval: z.object({
    needed: count,
    /** Of what is approved: this file, these rows, totals, limits and rules. */
    digest: z.string(),
    given: z.array(z.object({ by: z.string(), at: time, until: time, holds: z.boolean() })),
  }),
});

const events = z.array(z.object({ at: time, event: z.string(), actor: z.string(), reason: z.string() }));
const text = z.string();

/** What there is to see of runs and their payouts. */
export function addRunOperations(api: Web, deps: WebDeps): void {
  const { app } = deps;
  const read = { act: 'read' } as const;

  const search = z.strictObject({ state: z.enum(RUN_STATES).optional(), text: text.max(200).optional(), page });
  const runs = { summary: 'The runs, the newest first', querystring: search, response: { 200: z.array(runDocument) } };
  api.get('/runs', { config: read, schema: runs }, async ({ query }, reply) => {
    const { page: number, ...wanted } = query;
    const ids = await app.ledger.runs.find(wanted);
    reply.header('x-total-count', ids.length);
    const from = (number - 1) * RUNS_PER_PAGE;
    const found = await Promise.all(ids.slice(from, from + RUNS_PER_PAGE).map((id) => app.ledger.runs.read(id)));
    return await Promise.all(found.filter((run) => run !== undefined).map((run) => documentOf(app, run)));
  });

  const one = { summary: 'A run', params: ofRun, response: { 200: runDocument } };
  api.get('/runs/:run', { config: read, schema: one }, async ({ params }) => {
    return await documentOf(app, await findRun(deps, params.run));
  });

  const more = {
    summary: 'Who handed a run in, who approved it, why it waits',
    params: ofRun,
    response: { 200: details },
  };
  api.get('/runs/:run/details', { config: read, schema: more }, async ({ params }) => {
    return detailsOf(deps, await findRun(deps, params.run));
  });

  const history = { summary: 'What became of a run', params: ofRun, response: { 200: events } };
  api.get('/runs/:run/events', { config: read, schema: history }, async ({ params }) => {
    const { id } = await findRun(deps, params.run);
    return (await app.ledger.runs.events(id)).map((event) => ({ ...event, at: rfc3339(event.at) }));
  });

  const story = { summary: "A payout's whole story", params: ofPayout, response: { 200: storyDocument } };
  api.get('/runs/:run/payouts/:line', { config: read, schema: story }, async ({ params }) => {
    const { id } = await findRun(deps, params.run);
    const row = await app.ledger.runs.row(id, params.line);
    if (row === undefined) throw new Problem(404, `The run has no row on line ${params.line}.`, 'See its payouts.');
    return await storyOf(app.ledger, id, row);
  });

  addRows(api, deps);
}

/** The rows of a run as they are read: all of them, however many, or a page of them. */
function addRows(api: Web, deps: WebDeps): void {
  const { runs } = deps.app.ledger;
  const querystring = z.strictObject({
    outcome: z.enum(OUTCOMES).optional(),
    page: page.unwrap().optional(),
    format: z.enum(['json', 'ndjson']).default('json'),
  });
  const response = {
    200: {
      description: `The rows in file order; all of them, or page by page of ${ROWS_PER_PAGE}`,
      content: {
        'application/json': { schema: z.array(rowDocument) },
        'application/x-ndjson': { schema: text.describe('A row in each line') },
      },
    },
  };
  const schema = { summary: 'The rows of a run', params: ofRun, querystring, response };
  api.get('/runs/:run/payouts', { config: { act: 'read' }, schema }, async ({ params, query }, reply) => {
    const run = await findRun(deps, params.run);
    const states = statesOf(query.outcome);
    const skip = query.page === undefined ? 0 : (query.page - 1) * ROWS_PER_PAGE;
    const most = ROWS_PER_PAGE;
    const rows =
      query.page === undefined ? runs.rows(run.id, states) : [await runs.page(run.id, { states, skip, most })];
    reply.header(
      'x-total-count',
      states.reduce((sum, state) => sum + run.counts[state], 0),
    );
    return sendRows(reply, rows, query.format);
  });
}

function statesOf(outcome: Outcome | undefined): (keyof Run['counts'])[] {
  const all = [...PAYOUT_STATES, 'refused'] as const;
  return all.filter((state) => outcome === undefined || outcomeOf(state) === outcome);
}

function detailsOf({ app }: WebDeps, run: Run): z.infer<typeof details> {
  const { needed, digest, given } = approvalStanding(app, run);
  const { startAt } = run;
  return {
    runId: run.id,
    submittedAt: rfc3339(run.createdAt),
    submittedBy: run.createdBy,
    pauseReason: run.pauseReason,
    startsAt: typeof startAt === 'number' ? rfc3339(startAt) : startAt,
    endedAt: timeOrNull(run.finishedAt),
    purgedAt: timeOrNull(run.purgedAt),
    approval: {
      needed,
      digest,
      given: given.map(({ by, at, until, holds }) => ({ by, at: rfc3339(at), until: rfc3339(until), holds })),
    },
  };
}

function timeOrNull(at: number | null): string | null {
  return at === null ? null : rfc3339(at);
}
