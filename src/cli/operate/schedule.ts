import { z } from 'zod';
import { readConfig } from '../../config/config.ts';
import { parseSchedule } from '../../inbox/parse-schedule.ts';
import type { StoredSchedule } from '../../ledger/schedules.ts';
import { Refusal } from '../../refusal.ts';
import { cronWords, nextTimes } from '../../schedules/cron.ts';
import { scheduleDocument, TIMES_SHOWN } from '../../schedules/document.ts';
import {
  actText,
  actWords,
  doesWords,
  readSchedule,
  type Schedule,
  scheduleName,
  stagesOfAct,
  windowText,
} from '../../schedules/schedule.ts';
import { removeSchedule, setSchedule } from '../../schedules/set.ts';
import { openZone, timeIn } from '../../zone.ts';
import { columns } from '../columns.ts';
import { command } from '../command.ts';
import { ledgerCommand } from '../ledger-command.ts';
import { actorOf, withLedger } from '../open.ts';
import { personName, SANDBOX } from '../options.ts';
import { print, printJson, say } from '../print.ts';
import { stagePlanOf, stageSettings } from '../run/submit-options.ts';

const CHANGES = { purpose: 'change' } as const;

const listCommand = ledgerCommand(
  'list',
  {
    about: 'list the schedules: the next time, the last one done, the last one missed',
    options: { json: 'print an array as JSON' },
    examples: ['payrun schedule list --json'],
  },
  async ({ ledger }, { json }) => {
    const { now, schedules } = await ledger.schedules.read();
    const open = await ledger.schedules.open();
    const waiting = (name: string): number => open.filter((one) => one.name === name).length;
    const cells = schedules.map((stored) => listCells(stored, waiting(stored.name)));
    if (json) printJson(schedules.map((stored) => scheduleDocument(stored, now)));
    else if (schedules.length === 0) say('There are no schedules yet.');
    else print(columns([['name', 'does', 'when', 'done last', 'missed last', 'next', ''], ...cells]));
  },
);

const setCommand = command(
  'set',
  {
    about: 'set a schedule; it replaces one with the same name',
    takes: { '<name>': 'its name: letters, digits, _ and -' },
    options: {
      cron: ['<cron>', 'minute, hour, day of the month, month and day of the week', z.string()],
      zone: ['<zone>', 'its time zone, such as Europe/Berlin', z.string()],
      do: ['<act>', 'inbox:DIR, start, look-up or purge', actText],
      window: ['<duration>', 'how long after its time it is still done, from 1m to 7d', windowText, '1h'],
      ...stageSettings,
      as: ['<name>', 'who sets it', personName.optional()],
      sandbox: SANDBOX,
      json: 'print the schedule as JSON',
    },
    examples: [
      'payrun schedule set morning --cron "30 6 * * 1-5" --zone Europe/Berlin --do inbox:/srv/payouts',
      'payrun schedule set careful --cron "0 7 * * 1" --zone UTC --do inbox:/srv/payouts --stage 10,rest',
      'payrun schedule set clean --cron "0 3 1 * *" --zone UTC --do purge --window 1d --as anna',
    ],
  },
  async ({ name: text, cron, zone, do: act, window: windowMs, as, sandbox, json, ...staged }) => {
    const name = requireName(text);
    const schedule = await parseSchedule({ cron, zone, act, windowMs, stages: stagePlanOf(staged) }, readConfig());
    return await withLedger(
      async (app): Promise<undefined> => {
        const result = await setSchedule(app, schedule, { name, actor: actorOf(as) });
        await app.jobs.scheduleTimers.set(name, schedule);
        const { now, schedules } = await app.ledger.schedules.read();
        const stored = schedules.find((one) => one.name === name);
        if (stored === undefined) return;
        if (json) printJson(scheduleDocument(stored, now));
        else print(setText(stored, schedule));
        if (result === 'there') say('It was set before; nothing has changed.');
      },
      { ...CHANGES, sandbox, tellsPlace: !json },
    );
  },
);

const removeCommand = ledgerCommand(
  'remove',
  {
    ...CHANGES,
    about: 'remove a schedule; what it planned and has not done is not done',
    takes: { '<name>': 'its name' },
    options: { as: ['<name>', 'who removes it', personName.optional()], json: 'print its name as JSON' },
    examples: ['payrun schedule remove morning --as anna'],
  },
  async (app, { name, as, json }) => {
    await removeSchedule(app, { name, actor: actorOf(as) });
    await app.jobs.scheduleTimers.remove(name);
    if (json) printJson({ name });
    else print(`schedule ${name} is removed`);
  },
);

/** `payrun schedule`: what payrun does by the clock. */
export const scheduleCommand = command('schedule', {
  help: 'Workers do it. If none runs at the time, it is done later, while its window is open.',
  examples: [
    'payrun schedule list',
    'payrun schedule set morning --cron "30 6 * * 1-5" --zone Europe/Berlin --do start',
  ],
  parts: [listCommand, setCommand, removeCommand],
});

function requireName(text: string): string {
  const { data, error } = scheduleName.safeParse(text);
  if (data !== undefined) return data;
  throw new Refusal(
    `${JSON.stringify(text)} is not a name for a schedule: it ${error.issues[0]?.message ?? ''}.`,
    'Give another name, such as morning or read-inbox.',
  );
}

function listCells(stored: StoredSchedule, open: number): string[] {
  const { cron, zone: zoneName, act } = readSchedule(stored);
  const zone = openZone(zoneName);
  const time = (atMs: number | null): string => (atMs === null ? '-' : timeIn(zone, atMs).replace(` ${zone.name}`, ''));
  const notes = [...(open > 0 ? [`${open} to be done`] : []), ...(stored.fault === null ? [] : [stored.fault])];
  return [
    stored.name,
    doesWords(actWords(act), stagesOfAct(act)),
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
    ['does', doesWords(actWords(act), stagesOfAct(act))],
    ['when', `${cronWords(cron)} (${cron}, ${zone.name})`],
    ['window', `${windowMs / 60_000} minutes`],
    ...times.map((timeMs, index) => [index === 0 ? 'next' : '', timeIn(zone, timeMs)]),
  ]);
}
