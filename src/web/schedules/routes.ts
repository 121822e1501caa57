import { z } from 'zod';
import type { StoredSchedule } from '../../ledger/schedules.ts';
import { Refusal } from '../../refusal.ts';
import { tableCsv } from '../../report/table-csv.ts';
import { readAsked } from '../../schedules/asked.ts';
import { scheduleDocument } from '../../schedules/document.ts';
import { actText, scheduleName, windowText } from '../../schedules/schedule.ts';
import { removeSchedule, setSchedule } from '../../schedules/set.ts';
import { actorOf } from '../actor.ts';
import { sendPage } from '../parts/frame.tsx';
import { readForm } from '../parts/read-form.ts';
import type { Web, WebDeps } from '../web.ts';
import { type AskedSchedule, type ListedSchedule, SchedulesPage } from './schedules-page.tsx';

const LIST = '/schedules';

const listQuery = { querystring: z.strictObject({ set: z.string().max(40).default('') }) };
const fields = z.record(z.string().max(64), z.string().max(2000));
const removeForm = z.strictObject({ csrf: z.string(), name: scheduleName });
/** As it was typed, so that the page can show it again. */
const askedForm = z.strictObject({
  name: z.string().trim().default(''),
  cron: z.string().trim().default(''),
  zone: z.string().trim().default(''),
  act: z.enum(['inbox', 'start', 'look-up', 'purge']).default('start'),
  dir: z.string().trim().default(''),
  window: z.string().trim().default(''),
});
const asked = z.strictObject({
  name: scheduleName,
  cron: z.string().min(1, 'must be given').max(200, 'must have at most 200 characters'),
  zone: z.string().min(1, 'must be given').max(64, 'must have at most 64 characters'),
  act: actText,
  window: windowText,
});

/** What payrun does by the clock: who may read sees it, and who may set schedules does so as `payrun schedule`. */
export function addSchedulePages(web: Web, deps: WebDeps): void {
  const { app, queues } = deps;

  web.get(LIST, { config: { act: 'read' }, schema: listQuery }, async (request, reply) => {
    const schedules = await readListed(deps);
    const form = formOf(schedules.find(({ name }) => name === request.query.set));
    const body = SchedulesPage({ schedules, form, problem: null, maySet: request.who?.may('schedule') === true });
    return await sendPage(reply, deps, { title: 'Schedules', body });
  });

  web.get(`${LIST}.csv`, { config: { act: 'read' } }, async (_request, reply) => {
    reply.type('text/csv; charset=utf-8').header('content-disposition', 'attachment; filename="schedules.csv"');
    return schedulesCsv(await readListed(deps));
  });

  web.post(LIST, { config: { act: 'schedule' }, schema: { body: fields } }, async (request, reply) => {
    const { csrf: _csrf, ...typed } = request.body;
    const form = readForm(askedForm, typed);
    try {
      const { name, ...wanted } = readAskedForm(form);
      const schedule = await readAsked({ ...wanted, windowMs: wanted.window }, app.config);
      await setSchedule(app, schedule, { name, actor: actorOf(request) });
      await queues?.wakers.set(name, schedule);
    } catch (error) {
      if (!(error instanceof Refusal) && !(error instanceof z.ZodError)) throw error;
      const body = SchedulesPage({
        schedules: await readListed(deps),
        form,
        problem: problemText(error),
        maySet: true,
      });
      return await sendPage(reply.status(422), deps, { title: 'Schedules', body });
    }
    return await reply.redirect(LIST, 303);
  });

  web.post(`${LIST}/remove`, { config: { act: 'schedule' }, schema: { body: fields } }, async (request, reply) => {
    const { name } = readForm(removeForm, request.body);
    await removeSchedule(app, { name, actor: actorOf(request) });
    await queues?.wakers.remove(name);
    return await reply.redirect(LIST, 303);
  });
}

/** What was typed, checked; throws a ZodError that names the fields. */
function readAskedForm({ act, dir, ...form }: AskedSchedule): z.infer<typeof asked> {
  return asked.parse({ ...form, act: act === 'inbox' ? `inbox:${dir}` : act });
}

const FIELD_NAMES: Readonly<Record<string, string>> = {
  name: 'The name',
  cron: 'The cron',
  zone: 'The time zone',
  act: 'What it does',
  window: 'The window',
};

function problemText(error: Refusal | z.ZodError): { readonly message: string; readonly remedy: string } {
  if (error instanceof Refusal) return { message: error.message, remedy: error.remedy };
  const texts = error.issues.map(({ path, message }) => `${FIELD_NAMES[String(path[0])] ?? 'A field'} ${message}.`);
  return { message: texts.join(' '), remedy: 'Correct it below and send it again.' };
}

const NEW: AskedSchedule = { name: '', cron: '', zone: 'UTC', act: 'start', dir: '', window: '1h' };

function formOf(schedule: ListedSchedule | undefined): AskedSchedule {
  if (schedule === undefined || schedule.document === null) return NEW;
  const { name, cron, zone, do: does, windowMs } = schedule.document;
  const [, kind = 'start', dir = ''] = /^(inbox|start|look-up|purge)(?::(.*))?$/s.exec(does) ?? [];
  const act = askedForm.shape.act.parse(kind);
  return { name, cron, zone, act, dir, window: `${windowMs / 60_000}m` };
}

async function readListed({ app }: WebDeps): Promise<ListedSchedule[]> {
  const { now, schedules } = await app.ledger.schedules.read();
  const open = await app.ledger.schedules.open();
  return schedules.map((stored) => ({
    name: stored.name,
    document: documentOrNull(stored, now),
    waiting: open.filter(({ name }) => name === stored.name).length,
  }));
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
      const { do: does, cron, zone, windowMs, setBy, setAt, last, missed, fault, next } = document;
      const cells = [name, does, { exact: cron }, zone, windowMs / 60_000, setBy, setAt, last.planned, last.doneAt];
      return [...cells, missed, fault, next.join(' ')];
    }),
  ]);
}
