import { z } from 'zod';
import { stageSizes } from '../../../config/stages.ts';
import { parseSchedule } from '../../../inbox/parse-schedule.ts';
import { inTurns } from '../../../report/turns.ts';
import { type ScheduleDocument, scheduleDocument } from '../../../schedules/document.ts';
import { actText, scheduleName, windowText } from '../../../schedules/schedule.ts';
import { removeSchedule, setSchedule } from '../../../schedules/set.ts';
import { actorOf } from '../../actor.ts';
import { Problem } from '../../problem.ts';
import { stageOptions } from '../../uploads/form.ts';
import { stagesOf } from '../../uploads/review.ts';
import type { Web, WebDeps } from '../../web.ts';
import { count, documentNames, time } from '../documents.ts';

const text = z.string();

const schedule: z.ZodType<ScheduleDocument> = z.object({
  name: text,
  do: text,
  stages: z
    .object({ sizes: text, goesOnIfPaid: z.boolean() })
    .nullable()
    .describe('In which the files of an inbox are paid; null where the settings say so, or nothing is read'),
  cron: text,
  zone: text,
  words: text,
  windowMs: count,
  setBy: text,
  setAt: time,
  last: z.object({ planned: time.nullable(), doneAt: time.nullable() }),
  missed: time.nullable(),
  fault: text.nullable(),
  next: z.array(time),
});

documentNames.add(schedule, { id: 'Schedule' });

const named = z.strictObject({ name: scheduleName });
const asked = z.strictObject({
  cron: text.max(200).describe('Minute, hour, day of the month, month and day of the week'),
  zone: text.max(64).describe('Such as Europe/Berlin'),
  do: text.max(1100).pipe(actText).describe('inbox:DIR, start, look-up or purge'),
  stage: stageSizes.optional().describe('To read an inbox: its files are paid in these stages, such as 10,100,rest'),
  goOnIfPaid: z.boolean().default(false).describe('With stage: go on by itself after a stage in which all was paid'),
  window: text
    .max(20)
    .pipe(windowText)
    .default(60 * 60_000)
    .describe('So long after its time it is still done: 1m to 7d'),
});

/** What payrun does by the clock. */
export function addScheduleOperations(api: Web, deps: WebDeps): void {
  const { app, queues } = deps;
  const read = { act: 'read' } as const;
  const write = { act: 'schedule' } as const;

  const readAll = async (): Promise<ScheduleDocument[]> => {
    const { now, schedules } = await app.ledger.schedules.read();
    const documents: ScheduleDocument[] = [];
    for await (const piece of inTurns(schedules, 1)) documents.push(...piece.map((one) => scheduleDocument(one, now)));
    return documents;
  };
  const requireOne = async (name: string): Promise<ScheduleDocument> => {
    const found = (await readAll()).find((one) => one.name === name);
    if (found !== undefined) return found;
    throw new Problem(404, `There is no schedule ${name}.`, 'The list of schedules shows those that there are.');
  };

  const all = { summary: 'The schedules', response: { 200: z.array(schedule) } };
  api.get('/schedules', { config: read, schema: all }, readAll);

  const set = { summary: 'Set a schedule', params: named, body: asked, response: { 200: schedule } };
  api.put('/schedules/:name', { config: write, schema: set }, async ({ params: { name }, body, who }) => {
    const { cron, zone, do: act, window: windowMs, stage = '', goOnIfPaid } = body;
    const stages = stagesOf(stageOptions(stage, goOnIfPaid));
    const wanted = await parseSchedule({ cron, zone, act, windowMs, stages }, app.config);
    await setSchedule(app, wanted, { name, actor: actorOf({ who }) });
    await queues?.scheduleTimers.set(name, wanted);
    return await requireOne(name);
  });

  const remove = { summary: 'Remove a schedule', params: named, response: { 204: z.null().describe('It is gone') } };
  api.delete('/schedules/:name', { config: write, schema: remove }, async ({ params, who }, reply) => {
    const { name } = await requireOne(params.name);
    await removeSchedule(app, { name, actor: actorOf({ who }) });
    await queues?.scheduleTimers.remove(name);
    return await reply.status(204).send(null);
  });
}
