import { z } from 'zod';
import { endingDocument, endingOf } from '../../../../jobs/cut-offs.ts';
import { rfc3339, timeOrNull } from '../../../clock.ts';
import type { Run } from '../../../payout.ts';
import { approvalStanding } from '../../../runs/decide/approve.ts';
import { documentOf } from '../../../runs/document.ts';
import { requireTrueFacts, requireTrueRows } from '../../../runs/safety/shown-seals.ts';
import { scheduleChangesOf } from '../../../runs/schedule-changes.ts';
import { storyOf } from '../../../runs/story.ts';
import { Problem } from '../../problem.ts';
import { findRun } from '../../run/find-run.ts';
import { runsQuery } from '../../runs/wanted.ts';
import type { Web, WebDeps } from '../../web.ts';
import { count, runDocument, storyDocument, time } from '../documents.ts';
import { ofPayout, ofRun, page } from '../places.ts';

const RUNS_PER_PAGE = 50;

const details = z.object({
  runId: z.string(),
  submittedAt: time,
  submittedBy: z.string(),
  droppedBy: z
    .string()
    .nullable()
    .describe('Who put its file into an inbox, empty where nobody is named; null for a file that came another way'),
  pauseReason: z.string().nullable(),
  /** When a paused run goes on by itself; `schedule` is the next schedule that starts runs. */
  startsAt: z.union([time, z.literal('schedule')]).nullable(),
  stages: z
    .object({
      ends: z
        .array(z.object({ rows: count, line: count }))
        .describe('Rows to the end of each, and the line of the last'),
      now: count.describe('The one that was released last; the first is 1'),
      isOver: z.boolean().describe('It is over, and the run waits until somebody resumes it'),
      goesOnIfPaid: z.boolean(),
    })
    .nullable()
    .describe('The stages in which it is paid; null where it is paid as a whole'),
  ending: z
    .object({
      at: time,
      perSecond: z.number(),
      isMeasured: z.boolean().describe('By what was measured lately; else by the rate that all runs share'),
      missed: z
        .string()
        .nullable()
        .describe('The cut-off that it will miss, and by how much; null where it misses none'),
    })
    .nullable()
    .describe('When its last row will have been sent; null where nothing waits, or no rate is known'),
  endedAt: time.nullable(),
  purgedAt: time.nullable(),
  approval: z.object({
    needed: count,
    /** Of what is approved: this file, these rows, totals, limits and rules. */
    digest: z.string(),
    given: z.array(z.object({ by: z.string(), at: time, until: time, holds: z.boolean() })),
    scheduleChanges: z
      .array(
        z.object({
          what: z.enum(['schedule', 'inbox', 'unseen']),
          at: time,
          by: z.string(),
          name: z.string(),
          isSet: z.boolean(),
          does: z.string(),
        }),
      )
      .describe(
        'Schedules that were set or removed, and inboxes that were watched under other settings, since a day before its file came by an inbox, while it waits',
      ),
  }),
});

const events = z.array(z.object({ at: time, event: z.string(), actor: z.string(), reason: z.string() }));

/** What there is to see of runs and their payouts. */
export function addRunOperations(api: Web, deps: WebDeps): void {
  const { app } = deps;
  const read = { act: 'read' } as const;

  const search = z.strictObject({ ...runsQuery, page });
  const runs = { summary: 'The runs, the newest first', querystring: search, response: { 200: z.array(runDocument) } };
  api.get('/runs', { config: read, schema: runs }, async ({ query }, reply) => {
    const { page: number, ...wanted } = query;
    const place = { skip: (number - 1) * RUNS_PER_PAGE, most: RUNS_PER_PAGE };
    const { ids, total } = await deps.findRuns(wanted, place);
    reply.header('x-total-count', total);
    const found = await Promise.all(ids.map((id) => app.ledger.runs.read(id)));
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
    const run = await findRun(deps, params.run);
    await requireTrueFacts(app, run);
    return await detailsOf(deps, run);
  });

  const history = { summary: 'What became of a run', params: ofRun, response: { 200: events } };
  api.get('/runs/:run/events', { config: read, schema: history }, async ({ params }) => {
    const { id } = await findRun(deps, params.run);
    return (await app.ledger.runs.events(id)).map((event) => ({ ...event, at: rfc3339(event.at) }));
  });

  const story = { summary: "A payout's whole story", params: ofPayout, response: { 200: storyDocument } };
  api.get('/runs/:run/payouts/:line', { config: read, schema: story }, async ({ params }) => {
    const run = await findRun(deps, params.run);
    const row = await app.ledger.runs.row(run.id, params.line);
    if (row === undefined) throw new Problem(404, `The run has no row on line ${params.line}.`, 'See its payouts.');
    await requireTrueRows(app, run, [row]);
    return await storyOf(app.ledger, run.id, row);
  });
}

function stagesOf({ stages }: Run): z.infer<typeof details>['stages'] {
  if (stages === null) return null;
  const { ends, at, isOver, goesOnIfPaid } = stages;
  return { ends: [...ends], now: at + 1, isOver, goesOnIfPaid };
}

async function detailsOf({ app }: WebDeps, run: Run): Promise<z.infer<typeof details>> {
  const [changes, ending] = await Promise.all([scheduleChangesOf(app.ledger, run), endingOf(app, run)]);
  const { needed, digest, given } = approvalStanding(app, run, await app.ledger.people.disabled());
  const { startAt } = run;
  return {
    runId: run.id,
    submittedAt: rfc3339(run.createdAt),
    submittedBy: run.createdBy,
    droppedBy: run.dropper,
    pauseReason: run.pauseReason,
    startsAt: typeof startAt === 'number' ? rfc3339(startAt) : startAt,
    stages: stagesOf(run),
    ending: endingDocument(ending),
    endedAt: timeOrNull(run.finishedAt),
    purgedAt: timeOrNull(run.purgedAt),
    approval: {
      needed,
      digest,
      given: given.map(({ by, at, until, holds }) => ({ by, at: rfc3339(at), until: rfc3339(until), holds })),
      scheduleChanges: changes.map((change) => ({ ...change, at: rfc3339(change.at) })),
    },
  };
}
