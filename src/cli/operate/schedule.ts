import { Command } from 'commander';
import { z } from 'zod';
import type { App } from '../../app.ts';
import { readConfig } from '../../config/config.ts';
import type { StoredSchedule } from '../../ledger/schedules.ts';
import { EXIT, type ExitCode, Refusal } from '../../refusal.ts';
import { readAsked } from '../../schedules/asked.ts';
import { cronWords, nextTimes } from '../../schedules/cron.ts';
import { scheduleDocument, TIMES_SHOWN } from '../../schedules/document.ts';
import { actText, actWords, readSchedule, type Schedule, scheduleName, windowText } from '../../schedules/schedule.ts';
import { removeSchedule, setSchedule } from '../../schedules/set.ts';
import { openZone, timeIn } from '../../schedules/zone.ts';
import { columns } from '../columns.ts';
import { type AppCommand, actorOf, withLedger } from '../open.ts';
import { parseOptions, personName, sandboxOption } from '../options.ts';
import { print, printJson, say } from '../print.ts';

const listSchema = z.object({ json: z.boolean() });
const removeSchema = z.object({ as: personName.optional(), json: z.boolean() });
const setSchema = removeSchema.extend({
  cron: z.string(),
  zone: z.string(),
  do: actText,
  window: windowText,
  sandbox: z.boolean(),
});

const CHANGES = { purpose: 'change', tellsPlace: true } as const;

/** `payrun schedule`: what payrun does by the clock. */
export function scheduleCommand(end: (code: ExitCode) => void): Command {
  return new Command('schedule')
    .addHelpText(
      'after',
      '\nWorkers do it. If none runs at the time, it is done later, while its window is open.' +
        '\n\nExamples:\n  payrun schedule list\n  payrun schedule set morning --cron "30 6 * * 1-5" --zone Europe/Berlin --do start',
    )
    .addCommand(listSchedules(end))
    .addCommand(setOne(end))
    .addCommand(removeOne(end));
}

function listSchedules(end: (code: ExitCode) => void): Command {
  return new Command('list')
    .description('list the schedules: the next time, the last one done, the last one missed')
    .option('--json', 'print an array as JSON', false)
    .addHelpText('after', '\nExample:\n  payrun schedule list --json')
    .action(async (raw: unknown) => {
      const { json } = parseOptions(listSchema, raw);
      end(await withLedger((app) => list(app, json)));
    });
}

function setOne(end: (code: ExitCode) => void): Command {
  return new Command('set')
    .description('set a schedule; it replaces one with the same name')
    .argument('<name>', 'its name: letters, digits, _ and -')
    .requiredOption('--cron <cron>', 'minute, hour, day of the month, month and day of the week')
    .requiredOption('--zone <zone>', 'its time zone, such as Europe/Berlin')
    .requiredOption('--do <act>', 'inbox:DIR, start, look-up or purge')
    .option('--window <duration>', 'how long after its time it is still done, from 1m to 7d', '1h')
    .option('--as <name>', 'who sets it')
    .addOption(sandboxOption())
    .option('--json', 'print the schedule as JSON', false)
    .addHelpText(
      'after',
      '\nExamples:\n  payrun schedule set morning --cron "30 6 * * 1-5" --zone Europe/Berlin --do inbox:/srv/payouts' +
        '\n  payrun schedule set clean --cron "0 3 1 * *" --zone UTC --do purge --window 1d --as anna',
    )
    .action(async (name: string, raw: unknown) => {
      end(await set(requireName(name), parseOptions(setSchema, raw)));
    });
}

function removeOne(end: (code: ExitCode) => void): Command {
  return new Command('remove')
    .description('remove a schedule; what it planned and has not done is not done')
    .argument('<name>', 'its name')
    .option('--as <name>', 'who removes it')
    .option('--json', 'print its name as JSON', false)
    .addHelpText('after', '\nExample:\n  payrun schedule remove morning --as anna')
    .action(async (name: string, raw: unknown) => {
      const { json, ...options } = parseOptions(removeSchema, raw);
      end(
        await withLedger(async (app) => {
          await removeSchedule(app, { name, actor: actorOf(options.as) });
          await app.jobs.scheduleTimers.remove(name);
          if (json) printJson({ name });
          else print(`schedule ${name} is removed`);
          return EXIT.ok;
        }, CHANGES),
      );
    });
}

async function set(name: string, { window, json, sandbox, ...options }: z.infer<typeof setSchema>): Promise<ExitCode> {
  const { cron, zone, do: act } = options;
  const schedule = await readAsked({ cron, zone, act, windowMs: window }, readConfig());
  const command: AppCommand = async (app) => {
    const result = await setSchedule(app, schedule, { name, actor: actorOf(options.as) });
    await app.jobs.scheduleTimers.set(name, schedule);
    const { now, schedules } = await app.ledger.schedules.read();
    const stored = schedules.find((one) => one.name === name);
    if (stored === undefined) return EXIT.ok;
    if (json) printJson(scheduleDocument(stored, now));
    else print(setText(stored, schedule));
    if (result === 'there') say('It was set before; nothing has changed.');
    return EXIT.ok;
  };
  return await withLedger(command, { ...CHANGES, sandbox });
}

function requireName(text: string): string {
  const { data, error } = scheduleName.safeParse(text);
  if (data !== undefined) return data;
  throw new Refusal(`${JSON.stringify(text)} is not a name for a schedule: it ${error.issues[0]?.message ?? ''}.`, {
    exitCode: EXIT.usage,
    remedy: 'Give another name, such as morning or read-inbox.',
  });
}

async function list({ ledger }: Pick<App, 'ledger'>, json: boolean): Promise<ExitCode> {
  const { now, schedules } = await ledger.schedules.read();
  const open = await ledger.schedules.open();
  if (json) printJson(schedules.map((stored) => scheduleDocument(stored, now)));
  else if (schedules.length === 0) say('There are no schedules yet.');
  else {
    const rows = schedules.map((stored) => listCells(stored, open.filter(({ name }) => name === stored.name).length));
    print(columns([['name', 'does', 'when', 'done last', 'missed last', 'next', ''], ...rows]));
  }
  return EXIT.ok;
}

function listCells(stored: StoredSchedule, open: number): string[] {
  const { cron, zone: zoneName, act } = readSchedule(stored);
  const zone = openZone(zoneName);
  const time = (atMs: number | null): string => (atMs === null ? '-' : timeIn(zone, atMs).replace(` ${zone.name}`, ''));
  const notes = [...(open > 0 ? [`${open} to be done`] : []), ...(stored.fault === null ? [] : [stored.fault])];
  return [
    stored.name,
    actWords(act),
    `${cronWords(cron)} (${zone.name})`,
    time(stored.lastPlanned),
    time(stored.missedPlanned),
    time(stored.next),
    notes.join('; '),
  ];
}

function setText(stored: StoredSchedule, { cron, zone: zoneName, act, windowMs }: Schedule): string {
  const zone = openZone(zoneName);
  const times = [stored.next, ...nextTimes(cron, zone, { afterMs: stored.next, count: TIMES_SHOWN - 1 })];
  return columns([
    ['schedule', stored.name],
    ['does', actWords(act)],
    ['when', `${cronWords(cron)} (${cron}, ${zone.name})`],
    ['window', `${windowMs / 60_000} minutes`],
    ...times.map((timeMs, index) => [index === 0 ? 'next' : '', timeIn(zone, timeMs)]),
  ]);
}
