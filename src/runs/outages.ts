import { statfs } from 'node:fs/promises';
import { type Clock, rfc3339 } from '../clock.ts';
import { SANDBOX_NAME } from '../config/config.ts';
import { durationText } from '../duration.ts';
import type { IntentRoom } from '../ledger/intents/room.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { NotedOutage } from '../ledger/outages.ts';
import type { Run } from '../payout.ts';
import { faultWords } from '../service/answer.ts';
import type { Answering, Away, OperationAlone } from '../service/answering.ts';
import { type Work, workOf, workWords } from './progress.ts';
import { dirsText, type WaitedDir, waitedFor, waitedForRemedy, waitedForWords } from './waited-for.ts';

const LOOK_EVERY_MS = 1000;
const WORK_EVERY_MS = 2000;
const REDIS_SILENT_MS_MIN = 2500;
/** After a restart of Redis each worker compares its intent logs, and needs no help with that. */
const COMPARED_MS_MAX = 10_000;
/** How often an outage that goes on is told again. */
const TOLD_AGAIN_MS = 60_000;
/** With less, the next file that grows may be the one that cannot. */
const FREE_BYTES_MIN = 256 * 1024;
const SECOND_MS = 1000;

/** Something that payrun waits for, and which it was seen to do without since a time in milliseconds since 1970. */
export interface Outage extends Omit<NotedOutage, 'what'> {
  readonly what: NotedOutage['what'] | 'redis' | 'season';
  /** Data directories that have yet to compare their intent logs. */
  readonly dirs?: readonly WaitedDir[];
}

export interface OutageDeps {
  readonly clock: Clock;
  readonly ledger: Pick<Ledger, 'outages'> & { readonly state: Pick<Ledger['state'], 'season' | 'dirPlaces'> };
  readonly dataDirId: string;
  readonly serviceName: string;
  readonly place: string;
  readonly config: { readonly dataDir: string; readonly redisUrl?: string | undefined };
  readonly answering: Pick<Answering, 'away' | 'hasAnswered'>;
  readonly intentRoom: Pick<IntentRoom, 'folder' | 'fault' | 'isThere'>;
  /** Free bytes of the disk of a folder; for tests. */
  readonly freeBytes?: (folder: string) => Promise<number>;
}

export interface OutageWatching {
  readonly stop: AbortSignal;
  readonly say: (line: string) => void;
  /** How far the work is, as a sentence; empty where there is nothing to say of it. */
  readonly progress?: (() => string) | undefined;
  /** Told at each look what is away. */
  readonly setAway?: (what: readonly Outage['what'][]) => void;
  /** As in `waitedForRemedy`. */
  readonly writeOff?: string | undefined;
  /** What whoever has commands looks at where the service never answered. */
  readonly neverAnswered?: string | undefined;
  /** How long Redis is waited for, where that has an end. */
  readonly redisWaitMs?: number | undefined;
}

/**
 * Says within seconds what does not answer, and when it does again, until it is stopped; others read in the ledger what this
 * process sees. It only looks: nothing that is paid depends on it.
 */
export async function watchOutages(
  deps: OutageDeps,
  { stop, say, progress = () => '', setAway = () => {}, redisWaitMs, writeOff, neverAnswered = '' }: OutageWatching,
): Promise<void> {
  const { clock, ledger, config } = deps;
  const look = openRedisLook(deps);
  const disk = openDiskLook(deps);
  const told = new Map<Outage['what'], { outage: Outage; at: number; isWhole: boolean }>();
  let hasNoted = false;

  /** The private Redis and the sandbox lie on the disk of the data directory. */
  const liesOnIt = ({ what }: Outage): boolean =>
    (what === 'redis' && config.redisUrl === undefined) || (what === 'service' && deps.serviceName === SANDBOX_NAME);

  function tell(seen: readonly Outage[]): void {
    for (const outage of seen) {
      const before = told.get(outage.what);
      const work = progress();
      // How far the work is may be known only later.
      const isRecent = before !== undefined && clock.monotonic() - before.at < TOLD_AGAIN_MS;
      if (isRecent && (before.isWhole || work === '')) continue;
      told.set(outage.what, { outage, at: clock.monotonic(), isWhole: work !== '' });
      say(sentences(outageWords(outage, clock.now()), work, goesOn(outage, { redisWaitMs, writeOff }), hint(outage)));
    }
    for (const [what, { outage }] of told) {
      if (seen.some((one) => one.what === what)) continue;
      // On a full disk it answers until its next write.
      if (liesOnIt(outage) && told.has('disk')) continue;
      told.delete(what);
      say(backText(outage, clock.now()));
    }
  }

  const hint = ({ what }: Outage): string => (what === 'service' && !deps.answering.hasAnswered() ? neverAnswered : '');

  function note(seen: readonly Outage[]): void {
    const noted = seen.flatMap(({ what, ...one }) => (what === 'service' || what === 'disk' ? [{ what, ...one }] : []));
    if (noted.length === 0 && !hasNoted) return;
    hasNoted = noted.length > 0;
    // Who looks on learns it a second later.
    (hasNoted ? ledger.outages.note(noted) : ledger.outages.forget()).catch(() => {});
  }

  while (!stop.aborted) {
    const redis = look.outage();
    const all = [serviceOutage(deps), redis, await disk(), look.comparison()].filter((one) => one !== undefined);
    if (stop.aborted) return;
    const seen = all.some(({ what }) => what === 'disk') ? all.filter((one) => !liesOnIt(one)) : all;
    setAway(seen.map(({ what }) => what));
    tell(seen);
    if (redis === undefined) note(seen);
    await clock.sleep(LOOK_EVERY_MS, stop);
  }
}

const GOES_ON = 'payrun keeps trying and goes on by itself.';

function backText(outage: Outage, now: number): string {
  const after = `after ${secondsSince(outage.since, now)} s`;
  if (outage.what === 'season') return `Nothing waits for ${outage.name} any more, ${after}.`;
  return `${outage.name} ${backWords(outage)} ${after}.`;
}

function backWords({ what, fault }: Outage): string {
  if (what !== 'disk') return 'answers again';
  return fault === IS_FULL ? 'has room again' : 'can be written again';
}

function goesOn(
  { what, dirs }: Outage,
  { redisWaitMs, writeOff }: Pick<OutageWatching, 'redisWaitMs' | 'writeOff'>,
): string {
  if (dirs !== undefined) return waitedForRemedy(dirs, writeOff);
  if (what !== 'redis' || redisWaitMs === undefined) return GOES_ON;
  return `payrun waits ${durationText(redisWaitMs)} at most and goes on by itself.`;
}

/** An outage in one sentence. */
function outageWords({ name, since, fault = 'has not answered', dirs }: Outage, now: number): string {
  const seconds = secondsSince(since, now);
  const sinceText = ` since ${rfc3339(since)}${seconds === 0 ? '' : ` (${seconds} s)`}`;
  return dirs === undefined ? `${name} ${fault}${sinceText}.` : waitedForWords(dirs, sinceText);
}

interface LookDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly ledger: Pick<Ledger, 'outages' | 'runs' | 'state'>;
  readonly jobs: { workers(): Promise<readonly unknown[]> };
  readonly dataDirId: string;
}

/** Of what waits while no worker is running; one that was killed counts as living for 10 seconds. */
export const NO_WORKER = 'No worker is running: nothing is sent.';

/** What workers see to be away now, and what keeps a run from being paid, each in a few sentences, for who only looks. */
export async function outagesNoted(
  { ledger, jobs, clock, dataDirId }: LookDeps,
  { run, writeOff }: { run?: Run; writeOff?: string } = {},
): Promise<string[]> {
  const noted = await ledger.outages.read();
  const mayPay = run === undefined || run.state === 'paying';
  const dirs = mayPay ? await waitedFor(ledger, dataDirId) : [];
  const isUnmanned = mayPay && (await jobs.workers()).length === 0;
  if (noted.length === 0 && dirs.length === 0 && !isUnmanned) return [];
  const todo = run === undefined ? await readWork(ledger) : workOf([run]);
  const work = workWords(todo);
  const waits = dirs.length === 0 ? [] : [sentences(waitedForWords(dirs), work, waitedForRemedy(dirs, writeOff))];
  const unmanned = isUnmanned ? unmannedWords(todo, run === undefined ? '' : work) : [];
  return [...noted.map((outage) => outageText(outage, { now: clock.now(), work })), ...waits, ...unmanned];
}

function unmannedWords({ waiting, inDoubt }: Work, work: string): string[] {
  return waiting + inDoubt > 0 ? [sentences(NO_WORKER, work)] : [];
}

/** The same for programs. */
export async function outagesDocument({ ledger }: Pick<LookDeps, 'ledger'>) {
  return (await ledger.outages.read()).map(({ what, name, since, fault = 'has not answered' }) => {
    return { what, name, since: rfc3339(since), fault };
  });
}

/** An outage, how far the work is, and how it goes on. */
export function outageText(outage: Outage, { now, work }: { now: number; work: string }): string {
  return sentences(outageWords(outage, now), work, GOES_ON);
}

function sentences(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join(' ');
}

/** How far all runs are that are being paid. */
export async function readWork({ runs }: Pick<Ledger, 'runs'>): Promise<Work> {
  const live = await Promise.all((await runs.live()).map((id) => runs.read(id)));
  return workOf(live.flatMap((run) => (run?.state === 'paying' ? [run] : [])));
}

/** The same as a sentence, as it was known last: whoever is told that Redis is away can ask it no more. */
export function openWorkWords({ ledger, clock }: { ledger: Pick<Ledger, 'runs'>; clock: Clock }, stop: AbortSignal) {
  let words = '';
  const readOn = async (): Promise<void> => {
    while (!stop.aborted) {
      words = await readWork(ledger).then(workWords, () => words);
      await clock.sleep(WORK_EVERY_MS, stop);
    }
  };
  void readOn();
  return (): string => words;
}

function secondsSince(since: number, now: number): number {
  return Math.max(0, Math.round((now - since) / SECOND_MS));
}

/** That the service does not answer, as this process sees it. */
export function serviceOutage({
  answering,
  serviceName,
}: Pick<OutageDeps, 'answering' | 'serviceName'>): Outage | undefined {
  const away = answering.away();
  if (away === null) return undefined;
  return { what: 'service', name: `The payments service (${serviceName})`, since: away.since, ...faultOf(away) };
}

const REQUESTS: Readonly<Record<OperationAlone, string>> = {
  payment: 'payment request',
  quote: 'quote request',
  'look-up': 'look-up of a payment',
};

function faultOf({ operation, fault }: Away): { fault?: string } {
  const why = fault === null ? '' : ` (${faultWords(fault)})`;
  if (operation !== null) return { fault: `has answered no ${REQUESTS[operation]}${why}` };
  if (fault === null) return {};
  return { fault: fault.startsWith('HTTP') ? `has been answering ${fault}` : `has not answered${why}` };
}

/** Asks Redis again and again, one question at a time: whether it answers, and whom payments wait for since it was restarted. */
function openRedisLook({ clock, ledger, place, dataDirId }: OutageDeps) {
  let askedAt: number | undefined;
  let failingSince: number | undefined;
  let dirs: readonly WaitedDir[] = [];
  let dirsSince = 0;

  async function ask(at: number): Promise<void> {
    askedAt = at;
    try {
      const missing = await waitedFor(ledger, dataDirId);
      if (dirs.length === 0) dirsSince = at;
      dirs = missing;
      failingSince = undefined;
    } catch {
      failingSince ??= at;
    }
    askedAt = undefined;
  }

  return {
    outage(): Outage | undefined {
      const now = clock.now();
      if (askedAt === undefined) void ask(now);
      const since = failingSince ?? askedAt;
      if (since === undefined || now - since < REDIS_SILENT_MS_MIN) return undefined;
      return { what: 'redis', name: `Redis of the ledger (${place})`, since };
    },
    comparison(): Outage | undefined {
      if (dirs.length === 0 || clock.now() - dirsSince < COMPARED_MS_MAX) return undefined;
      return { what: 'season', name: dirsText(dirs), since: dirsSince, dirs };
    },
  };
}

const IS_FULL = 'has been full';
const FULL_CODES: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT', undefined]);

function diskFault(code: string | undefined): string {
  if (FULL_CODES.has(code)) return IS_FULL;
  return code === 'EROFS' ? 'has been read-only' : `could not be written (${code})`;
}

/** What the intent log could not write to comes first: then nothing is sent. */
function openDiskLook({ clock, config: { dataDir }, freeBytes = freeBytesOf, intentRoom }: OutageDeps) {
  let since: number | undefined;
  return async (): Promise<Outage | undefined> => {
    // Where no payout asks, nobody else would see that it has room again.
    await intentRoom.isThere();
    const lost = intentRoom.fault();
    if (lost !== undefined) {
      const fault = diskFault(lost.code);
      return { what: 'disk', name: `The disk of ${intentRoom.folder}`, since: lost.since, fault };
    }
    const free = await freeBytes(dataDir).catch(() => undefined);
    since = free === undefined || free >= FREE_BYTES_MIN ? undefined : (since ?? clock.now());
    return since === undefined ? undefined : { what: 'disk', name: `The disk of ${dataDir}`, since, fault: IS_FULL };
  };
}

async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
