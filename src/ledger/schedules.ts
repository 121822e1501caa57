import type { Redis } from 'ioredis';
import type { LedgerKeys } from './keys.ts';
import { openLookSooner } from './payouts/look-sooner.ts';
import { integerOf, LedgerFault, listOf, runScript, script, textOf, textsOf } from './script.ts';
import {
  END_TICK,
  READ_SCHEDULES,
  RECORD_TICKS,
  REMOVE_SCHEDULE,
  SET_SCHEDULE,
  TAKE_TICKS,
} from './scripts/schedules.ts';
import type { Seals } from './seals.ts';

/** More would be a slip; each costs the sweeper a look. */
export const SCHEDULES_MAX = 100;

/** How long a tick is left alone after it was given out. */
const GIVEN_OUT_MS = 10_000;
const TICKS_PER_TAKE = 100;

/** A planned time of a schedule that was recorded as due. Together they are its unique key. */
export interface Tick {
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly planned: number;
}

/** A schedule and what became of its ticks. Times are milliseconds since 1970. */
export interface StoredSchedule {
  readonly name: string;
  /** What it does and when, as its writer wrote it (src/schedules/schedule.ts). */
  readonly definition: string;
  readonly setBy: string;
  readonly setAt: number;
  /** The earliest planned time that is not recorded yet. */
  readonly next: number;
  /** How many planned times were recorded as due. */
  readonly ticks: number;
  readonly lastPlanned: number | null;
  readonly lastDoneAt: number | null;
  readonly missedPlanned: number | null;
  /** Why it could not be done when it was tried last; null once it was. */
  readonly fault: string | null;
}

/** Planned times that have come: those to be done, and those whose window has passed. */
export interface PlannedTicks extends Pick<StoredSchedule, 'name' | 'definition'> {
  /** The earliest time that the caller saw as not recorded, and the one after those that it records. */
  readonly seen: number;
  readonly next: number;
  readonly due: readonly number[];
  /** The last of those whose window has passed. */
  readonly missed: number | null;
}

/** What became of a tick: done, missed because its window passed, or failed and to be done again. */
export type TickEnd = { readonly as: 'done' | 'missed' } | { readonly as: 'failed'; readonly fault: string };

export interface Schedules {
  /** `there`: the very same is set and goes on as it is; `full`: there are `SCHEDULES_MAX` others. */
  set(schedule: Pick<StoredSchedule, 'name' | 'definition' | 'next' | 'setBy'>): Promise<'set' | 'there' | 'full'>;
  /** Forgets a schedule and its ticks; false when there is none. */
  remove(name: string): Promise<boolean>;
  /** All of them by name, and Redis's time. One whose seal is not true is left out; a false one halts everything. */
  read(): Promise<{ now: number; schedules: StoredSchedule[] }>;
  /** Records planned times as due; false when somebody else recorded them, or the schedule is another by now. */
  record(ticks: PlannedTicks): Promise<boolean>;
  /** Ticks that want to be done, put off for a while so that nobody else takes them. */
  take(): Promise<Tick[]>;
  /** The ticks that are not done yet. */
  open(): Promise<Tick[]>;
  isOpen(tick: Tick): Promise<boolean>;
  /** Ends a tick, or notes why it could not be done; false when it was ended before. */
  end(tick: Tick, end: TickEnd): Promise<boolean>;
  /** Makes payouts whose payment may exist, and that are to be looked up later, due now; tells how many. */
  lookNow(): Promise<number>;
}

interface Sealing {
  readonly seals: Pick<Seals, 'schedule' | 'judgeSchedule'>;
  readonly halt: (reason: string) => Promise<void>;
}

/** The schedules of the ledger, and their ticks. It stores planned times, and knows nothing of cron. */
export function openSchedules(redis: Redis, keys: LedgerKeys, { seals, halt }: Sealing): Schedules {
  const { prefix } = keys;
  const scripts = scheduleScripts();
  const lookSooner = openLookSooner(redis, keys);
  const run = async (name: keyof typeof scripts, ...args: (string | number)[]): Promise<unknown> =>
    await runScript(redis, scripts[name], { prefix, args });

  async function readAll(): Promise<{ now: number; schedules: (StoredSchedule & { readonly seal: string })[] }> {
    const [now, flat] = listOf(await run('read'));
    const schedules = listOf(flat).map(readStored);
    return { now: integerOf(now), schedules: schedules.toSorted((one, other) => (one.name < other.name ? -1 : 1)) };
  }

  return {
    async set({ name, definition, next, setBy }) {
      const former = (await readAll()).schedules.find((one) => one.name === name);
      // One that something else changed is set anew, also to the very same.
      const known = former !== undefined && seals.judgeSchedule(former.seal, former) === 'true' ? former.seal : '-';
      const seal = seals.schedule({ name, definition, setBy });
      const answer = await run('set', name, definition, next, setBy, SCHEDULES_MAX, seal, known);
      return answer === 'there' || answer === 'full' ? answer : 'set';
    },
    async remove(name) {
      return integerOf(await run('remove', name)) === 1;
    },
    async read() {
      const { now, schedules } = await readAll();
      const judged = schedules.map((schedule) => ({ schedule, verdict: seals.judgeSchedule(schedule.seal, schedule) }));
      const changed = judged.find(({ verdict }) => verdict === 'false');
      if (changed !== undefined) {
        await halt(`the schedule ${changed.schedule.name} was changed in Redis by something else than payrun`);
      }
      return { now, schedules: judged.flatMap(({ schedule, verdict }) => (verdict === 'true' ? [schedule] : [])) };
    },
    async record({ name, definition, seen, next, due, missed }) {
      const args = [name, definition, seen, next, missed ?? '', ...due];
      return integerOf(await run('record', ...args)) === 1;
    },
    async take() {
      return textsOf(await run('take', TICKS_PER_TAKE, GIVEN_OUT_MS)).map(readTick);
    },
    async open() {
      return (await redis.zrange(keys.ticks, 0, -1)).map(readTick);
    },
    async isOpen(tick) {
      return (await redis.zscore(keys.ticks, tickText(tick))) !== null;
    },
    async end({ name, planned }, end) {
      return integerOf(await run('end', name, planned, end.as, end.as === 'failed' ? end.fault : '')) === 1;
    },
    lookNow: () => lookSooner(({ state }) => state === 'unknown' || state === 'held'),
  };
}

function scheduleScripts() {
  return {
    set: script(SET_SCHEDULE),
    remove: script(REMOVE_SCHEDULE),
    read: script(READ_SCHEDULES),
    record: script(RECORD_TICKS),
    take: script(TAKE_TICKS),
    end: script(END_TICK),
  };
}

function tickText({ name, planned }: Tick): string {
  return `${name} ${planned}`;
}

function readTick(text: string): Tick {
  const [name = '', planned = ''] = text.split(' ');
  return { name, planned: integerOf(planned) };
}

function readStored(reply: unknown): StoredSchedule & { readonly seal: string } {
  const [name, definition, ...flat] = textsOf(reply);
  const fields = new Map<string, string>();
  for (let index = 0; index < flat.length; index += 2) fields.set(flat[index] ?? '', flat[index + 1] ?? '');
  const time = (field: string): number | null => (fields.has(field) ? integerOf(fields.get(field)) : null);
  const next = time('next');
  if (next === null) throw new LedgerFault(`schedule ${textOf(name)} has no next time`);
  return {
    name: textOf(name),
    definition: textOf(definition),
    setBy: fields.get('setBy') ?? '',
    seal: fields.get('seal') ?? '',
    setAt: time('setAt') ?? 0,
    next,
    ticks: time('ticks') ?? 0,
    lastPlanned: time('lastPlanned'),
    lastDoneAt: time('lastDoneAt'),
    missedPlanned: time('missedPlanned'),
    fault: fields.get('fault') ?? null,
  };
}
