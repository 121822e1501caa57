import { z } from 'zod';
import { parseSchedule } from '../../inbox/parse-schedule.ts';
import type { StoredSchedule } from '../../ledger/schedules.ts';
import { tableCsv } from '../../report/table-csv.ts';
import { inTurns } from '../../report/turns.ts';
import { readCron } from '../../schedules/cron.ts';
import { scheduleDocument } from '../../schedules/document.ts';
import { actText, doesWords, scheduleName, windowText } from '../../schedules/schedule.ts';
import { removeSchedule, setSchedule } from '../../schedules/set.ts';
import { openZone } from '../../zone.ts';
import { actorOf } from '../actor.ts';
import { pageOf, pageQuery, sortedBy, sortQuery } from '../lists/listed.ts';
import { sendPage } from '../parts/frame.tsx';
import { asFieldError, checkAll, readForm } from '../parts/read-form.ts';
import { stageFields, stageOptions } from '../uploads/form.ts';
import { stagesOf } from '../uploads/review.ts';
import type { Web, WebDeps } from '../web.ts';
import {
  ACT_KINDS,
  type AskedSchedule,
  type ListedSchedule,
  SCHEDULE_COLUMNS,
  SchedulesPage,
} from './schedules-page.tsx';

const LIST = '/schedules';

const SCHEDULES_PER_PAGE = 15;
const listQuery = {
  querystring: z.strictObject({
    set: z.string().max(40).default(''),
    page: pageQuery,
    sort: sortQuery(SCHEDULE_COLUMNS).default('name'),
  }),
};
const fields = z.record(z.string().max(64), z.string().max(2000));
const removeForm = z.strictObject({ name: scheduleName });
const setForm = z.strictObject({
  name: scheduleName,
  cron: z.string().min(1, 'must be given').max(200, 'must have at most 200 characters'),
  zone: z.string().min(1, 'must be given').max(64, 'must have at most 64 characters'),
  act: z.enum(ACT_KINDS, 'must be chosen'),
  dir: z.string().default(''),
  window: windowText,
  ...stageFields,
});
const stagesForm = setForm
  .pick({ stage: true, goOnIfPaid: true })
  .transform(({ stage, goOnIfPaid }) => stagesOf(stageOptions(stage, goOnIfPaid)));
const actForm = setForm.pick({ act: true, dir: true }).transform(({ act: kind, dir }, context) => {
  const act = actText.safeParse(kind === 'inbox' ? `inbox:${dir}` : kind);
  if (act.success) return act.data;
  const message = dir === '' ? 'must be given' : 'must be a folder, or an address without a password';
  context.addIssue({ code: 'custom', path: ['dir'], message });
  return z.NEVER;
});
/** To check what a schedule does apart from when it does it. */
const ANY_TIME = { cron: '0 0 * * *', zone: 'UTC', windowMs: 1 };

/** What payrun does by the clock: who may read sees it, and who may set schedules does so. */
export function addSchedulePages(web: Web, deps: WebDeps): void {
  const { app, queues } = deps;

  web.get(LIST, { config: { act: 'read' }, schema: listQuery }, async (request, reply) => {
    const schedules = await readListed(deps);
    const form = formOf(schedules.find(({ name }) => name === request.query.set));
    const { page, sort } = request.query;
    const sorted = sortedBy(schedules, sort, {
      name: ({ name }) => name,
      next: ({ document }) => document?.next[0] ?? null,
      last: ({ document }) => document?.last.planned ?? null,
    });
    const body = SchedulesPage({
      ...pageOf(sorted, page, SCHEDULES_PER_PAGE),
      sort,
      form,
      maySet: request.who?.may('schedule') === true,
    });
    return await sendPage(reply, deps, { title: 'Schedules', body });
  });

  web.get(`${LIST}.csv`, { config: { act: 'read' } }, async (_request, reply) => {
    reply.type('text/csv; charset=utf-8').header('content-disposition', 'attachment; filename="schedules.csv"');
    return schedulesCsv(await readListed(deps));
  });

  web.post(LIST, { config: { act: 'schedule', page: LIST }, schema: { body: fields } }, async (request, reply) => {
    const { cron = '', zone = '', act, dir, stage, goOnIfPaid } = request.body;
    const readStages = () => readForm(stagesForm, { stage, goOnIfPaid });
    const readAct = () => readForm(actForm, { act, dir });
    await checkAll([
      () => readForm(setForm, request.body),
      () => cron !== '' && asFieldError('cron', () => readCron(cron)),
      () => zone !== '' && asFieldError('zone', () => openZone(zone)),
      () => {
        const asked = { ...ANY_TIME, act: readAct(), stages: readStages() };
        return asFieldError(asked.act.kind === 'inbox' ? 'dir' : 'act', () => parseSchedule(asked, app.config));
      },
    ]);
    const { name, window: windowMs } = readForm(setForm, request.body);
    const schedule = await parseSchedule({ cron, zone, act: readAct(), windowMs, stages: readStages() }, app.config);
    await setSchedule(app, schedule, { name, actor: actorOf(request) });
    await queues?.scheduleTimers.set(name, schedule);
    return await reply.redirect(LIST, 303);
  });

  web.post(`${LIST}/remove`, { config: { act: 'schedule' }, schema: { body: fields } }, async (request, reply) => {
    const { name } = readForm(removeForm, request.body);
    await removeSchedule(app, { name, actor: actorOf(request) });
    await queues?.scheduleTimers.remove(name);
    return await reply.redirect(LIST, 303);
  });
}

const NEW: AskedSchedule = {
  name: '',
  cron: '',
  zone: 'UTC',
  act: 'start',
  dir: '',
  window: '1h',
  stage: '',
  goOnIfPaid: false,
};

function formOf(schedule: ListedSchedule | undefined): AskedSchedule {
  if (schedule === undefined || schedule.document === null) return NEW;
  const { name, cron, zone, do: does, windowMs, stages } = schedule.document;
  const [, kind = 'start', dir = ''] = /^(inbox|start|look-up|purge)(?::(.*))?$/s.exec(does) ?? [];
  const plan = { stage: stages?.sizes ?? '', goOnIfPaid: stages?.goesOnIfPaid === true };
  return { name, cron, zone, act: z.enum(ACT_KINDS).parse(kind), dir, window: `${windowMs / 60_000}m`, ...plan };
}

async function readListed({ app }: WebDeps): Promise<ListedSchedule[]> {
  const { now, schedules } = await app.ledger.schedules.read();
  const open = await app.ledger.schedules.open();
  const listed: ListedSchedule[] = [];
  // The next times of a rare one take long to find: others have their turn after each.
  for await (const [stored] of inTurns(schedules, 1)) {
    if (stored === undefined) continue;
    const waiting = open.filter(({ name }) => name === stored.name).length;
    listed.push({ name: stored.name, document: documentOrNull(stored, now), waiting });
  }
  return listed;
}

/** One that another payrun wrote, and that cannot be read here, keeps nobody from seeing the others. */
function documentOrNull(stored: StoredSchedule, nowMs: number): ListedSchedule['document'] {
  try {
    return scheduleDocument(stored, nowMs);
  } catch {
    return null;
  }
}

function schedulesCsv(schedules: readonly ListedSchedule[]): string {
  const header = ['name', 'does', 'cron', 'zone', 'windowMinutes', 'setBy', 'setAt', 'lastPlanned', 'lastDoneAt'];
  return tableCsv([
    [...header, 'missed', 'fault', 'next'],
    ...schedules.map(({ name, document }) => {
      if (document === null) return [name];
      const { do: does, stages, cron, zone, windowMs, setBy, setAt, last, missed, fault, next } = document;
      const cells = [
        name,
        doesWords(does, stages),
        { exact: cron },
        zone,
        windowMs / 60_000,
        setBy,
        setAt,
        last.planned,
        last.doneAt,
      ];
      return [...cells, missed, fault, next.join(' ')];
    }),
  ]);
}
