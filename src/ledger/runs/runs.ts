import type { Redis } from 'ioredis';
import type { Money } from '../../money.ts';
import { formatAmount } from '../../money.ts';
import type { Run, RunStages, RunStart, RunState, StagePlan } from '../../payout.ts';
import type { LedgerKeys } from '../keys.ts';
import { openRows, type RowSeals, type Rows } from '../rows.ts';
import { LedgerFault, runScript, script, textsOf } from '../script.ts';
import { CLAIM_RUN, NOTE_RECORDED, TAKE_FILE } from '../scripts/hand-in.ts';
import { END_STAGE, LEAVE_RUN, MOVE_RUN, NOTE_ASKED, NOTE_PACE, PUT_OFF_START, TAKE_WATCH } from '../scripts/runs.ts';
import { type FoundRuns, openRunSearch, type RunSearch } from './find-runs.ts';
import { openRecording, type RecordResult, type RowRecord } from './recording.ts';
import { planFields, readRun } from './run-record.ts';

/** What a run is claimed with. */
export interface RunClaim {
  readonly id: string;
  readonly fileName: string;
  readonly fileSha256: string;
  readonly contentHash: string;
  readonly rows: number;
  readonly fileTotals: readonly Money[];
  readonly createdBy: string;
  /** Who put its file into an inbox, '' where nobody is named; left out for a file that came another way. */
  readonly dropper?: string | undefined;
  /** Names this one handing in, where its sender keeps such a name. */
  readonly submissionKey?: string | undefined;
  readonly stages?: StagePlan | undefined;
  /** When it is to start, where that was said. */
  readonly startAt?: RunStart | undefined;
  readonly maxCostDriftBp?: bigint | undefined;
  /** Make a new run of the content of one that is over and of which nothing was paid. */
  readonly again?: boolean | undefined;
}

export interface RunEvent {
  readonly at: number;
  readonly event: string;
  readonly actor: string;
  readonly reason: string;
}

export interface RunMove {
  readonly to: RunState;
  readonly actor: string;
  readonly reason: string;
  /** The state that the run must have; `waiting` is that of a paused one with a time to start at. */
  readonly from?: RunState | 'waiting';
  /** What waits for its entry on the audit log then. */
  readonly act?: string;
  /** Until when it waits, where it was not paid yet. */
  readonly start?: { readonly at: RunStart; readonly reason: string } | undefined;
  /** Another file takes its rows over. */
  readonly isTakenOver?: boolean;
  /** The stage that the run must be in, and whether it is over. */
  readonly stage?: Pick<RunStages, 'at' | 'isOver'> | undefined;
  /** How many pauses the run must have had; `stage`: as many as at the end of its stage. */
  readonly pausesSeen?: number | 'stage' | undefined;
}

export interface RunMoveAnswer {
  readonly result:
    | 'moved'
    | 'there'
    | 'forbidden'
    | 'missing'
    | 'open'
    | 'halted'
    | 'season'
    | 'incomplete'
    | 'unapproved';
  readonly state: string;
}

export interface Runs extends Rows {
  claim(claim: RunClaim): Promise<{ id: string; result: ClaimResult }>;
  record(runId: string, rows: readonly RowRecord[], rememberMs: number): Promise<RecordResult>;
  move(runId: string, move: RunMove): Promise<RunMoveAnswer>;
  read(runId: string): Promise<Run | undefined>;
  /** Ids, the newest first. */
  list(): Promise<string[]>;
  find(search: RunSearch): Promise<FoundRuns>;
  /** Ids of the runs that the sweeper walks. */
  live(): Promise<string[]>;
  events(runId: string): Promise<RunEvent[]>;
  /**
   * Notes that all rows of the run were recorded, with what is known of them; false in a closed season, or where another file stands
   * for it by now.
   */
  noteRecorded(runId: string, fileSha256: string, fields: Readonly<Record<string, string>>): Promise<boolean>;
  /** Lets another file of the same rows stand for the one of a run that is not recorded yet; false where it is. */
  takeFile(runId: string, file: { sha256: string; name: string }): Promise<boolean>;
  /** Bookkeeping fields of the run hash. */
  note(runId: string, fields: Readonly<Record<string, string>>): Promise<void>;
  /** Notes how many of its rows have been taken by now. */
  notePace(runId: string, taken: number): Promise<void>;
  /** Puts off the start of a run that waits for it; false when it does not wait any more. */
  putOffStart(runId: string, start: { at: RunStart; reason: string }): Promise<boolean>;
  /** Ends a stage of a run: it pauses, or goes on with the next one. False when it is not over, or does not go on. */
  endStage(runId: string, end: { at: number; goesOn: boolean; reason: string }): Promise<boolean>;
  /** Takes a run that is over and reported out of the sweeper's walk; one that is being paid again stays. */
  leave(runId: string): Promise<void>;
  /** Runs whose payments are to be looked at for returns; each again a day later, until `forMs` after its end. */
  takeWatch(forMs: number, now: number): Promise<string[]>;
  /** Quotes that its payouts left behind. */
  formerQuotes(runId: string): Promise<FormerQuote[]>;
  /** Those that were told as paid. */
  quotesFound(runId: string): Promise<ReadonlySet<string>>;
  /** Notes that so many quotes which its payouts left behind were asked for; false where there are more by now. */
  noteAsked(runId: string, quotes: number): Promise<boolean>;
  /** Those of one payout of which no proof is known that they are dead. */
  quotesBeside(runId: string, line: number): Promise<string[]>;
}

export interface FormerQuote {
  readonly line: number;
  readonly quoteId: string;
  /** Else it was armed too, as intent logs told, or another payment settled its payout: it may have been paid. */
  readonly isProvenDead: boolean;
}

/** Field of a run: the quotes that were found to be paid, with blanks between them. */
export const QUOTES_FOUND = 'quotesFound';

const CLAIM_RESULTS = ['new', 'known', 'taken', 'season', 'busy'] as const;
type ClaimResult = (typeof CLAIM_RESULTS)[number];

/** The runs of the ledger. */
export function openRuns(redis: Redis, keys: LedgerKeys, seals: RowSeals): Runs {
  const scripts = runScripts();
  const { prefix } = keys;

  return {
    async claim(claim) {
      const args = [
        claim.fileSha256,
        claim.contentHash,
        claim.id,
        JSON.stringify(claimFields(claim)),
        claim.again === true ? '1' : '',
      ];
      const [id = '', result] = textsOf(await runScript(redis, scripts.claim, { prefix, args }));
      return { id, result: CLAIM_RESULTS.find((one) => one === result) ?? 'taken' };
    },
    record: openRecording(redis, keys),
    async move(runId, move) {
      const args = [runId, ...moveArguments(move)];
      const [word, state = ''] = textsOf(await runScript(redis, scripts.move, { prefix, args }));
      const result = RUN_MOVE_RESULTS.find((known) => known === word);
      if (result === undefined) throw new LedgerFault('the run script gave an unknown answer');
      return { result, state };
    },
    async read(runId) {
      const [fields, dead] = await Promise.all([redis.hgetall(keys.run(runId)), redis.llen(keys.dead(runId))]);
      return fields['state'] === undefined ? undefined : readRun(runId, new Map(Object.entries(fields)), dead);
    },
    list: () => redis.zrevrange(keys.runs, 0, -1),
    find: openRunSearch(redis, keys),
    live: () => redis.smembers(keys.live),
    async events(runId) {
      const entries = await redis.xrange(keys.events(runId), '-', '+');
      return entries.map(([id, flat]) => readEvent(id, flat));
    },
    ...openRows(redis, keys, seals),
    noteRecorded: async (runId, fileSha256, fields) =>
      (await runScript(redis, scripts.recorded, {
        prefix,
        args: [runId, fileSha256, ...Object.entries(fields).flat()],
      })) === 1,
    takeFile: async (runId, { sha256, name }) =>
      (await runScript(redis, scripts.takeFile, { prefix, args: [runId, sha256, name] })) === 1,
    async note(runId, fields) {
      await redis.hset(keys.run(runId), fields);
    },
    async notePace(runId, taken) {
      await runScript(redis, scripts.pace, { prefix, args: [runId, taken] });
    },
    putOffStart: async (runId, { at, reason }) =>
      (await runScript(redis, scripts.putOff, { prefix, args: [runId, at, reason] })) === 1,
    endStage: async (runId, { at, goesOn, reason }) =>
      (await runScript(redis, scripts.endStage, { prefix, args: [runId, at, goesOn ? '1' : '', reason] })) === 1,
    async leave(runId) {
      await runScript(redis, scripts.leave, { prefix, args: [runId] });
    },
    async takeWatch(forMs, now) {
      return textsOf(await runScript(redis, scripts.watch, { prefix, args: [forMs, now] }));
    },
    ...openFormerQuotes(redis, keys),
    noteAsked: async (runId, quotes) =>
      (await runScript(redis, scripts.asked, { prefix, args: [runId, quotes] })) === 1,
  };
}

function openFormerQuotes(redis: Redis, keys: LedgerKeys): Pick<Runs, 'formerQuotes' | 'quotesBeside' | 'quotesFound'> {
  return {
    async quotesBeside(runId, line) {
      const beside = (await redis.lrange(keys.beside(runId), 0, -1)).map((entry) => readFormerQuote(entry, false));
      return beside.flatMap((one) => (one.line === line ? [one.quoteId] : []));
    },
    async quotesFound(runId) {
      return new Set((await redis.hget(keys.run(runId), QUOTES_FOUND))?.split(' '));
    },
    async formerQuotes(runId) {
      const lists = [keys.dead(runId), keys.beside(runId)];
      const [dead = [], beside = []] = await Promise.all(lists.map((key) => redis.lrange(key, 0, -1)));
      return [
        ...dead.map((entry) => readFormerQuote(entry, true)),
        ...beside.map((entry) => readFormerQuote(entry, false)),
      ];
    },
  };
}

function readFormerQuote(entry: string, isProvenDead: boolean): FormerQuote {
  const [line = '', quoteId = ''] = entry.split(' ');
  return { line: Number.parseInt(line, 10), quoteId, isProvenDead };
}

function runScripts() {
  return {
    claim: script(CLAIM_RUN),
    recorded: script(NOTE_RECORDED),
    asked: script(NOTE_ASKED),
    takeFile: script(TAKE_FILE),
    move: script(MOVE_RUN),
    pace: script(NOTE_PACE),
    putOff: script(PUT_OFF_START),
    endStage: script(END_STAGE),
    watch: script(TAKE_WATCH),
    leave: script(LEAVE_RUN),
  };
}

const RUN_MOVE_RESULTS: readonly RunMoveAnswer['result'][] = [
  'moved',
  'there',
  'forbidden',
  'missing',
  'open',
  'halted',
  'season',
  'incomplete',
  'unapproved',
];

function readEvent(id: string, flat: readonly string[]): RunEvent {
  const fields = new Map<string, string>();
  for (let index = 0; index < flat.length; index += 2) fields.set(flat[index] ?? '', flat[index + 1] ?? '');
  return {
    at: Number.parseInt(id, 10),
    event: fields.get('event') ?? '',
    actor: fields.get('actor') ?? '',
    reason: fields.get('reason') ?? '',
  };
}

function moveArguments({
  to,
  actor,
  reason,
  from,
  act,
  start,
  isTakenOver,
  stage,
  pausesSeen,
}: RunMove): (string | number)[] {
  const stageText = stage === undefined ? '' : `${stage.at}${stage.isOver ? ' over' : ''}`;
  const wait = [start?.at ?? '', start?.reason ?? ''];
  return [
    to,
    actor,
    reason,
    from ?? '',
    act ?? '',
    ...wait,
    isTakenOver === true ? '1' : '',
    stageText,
    pausesSeen ?? '',
  ];
}

function claimFields(claim: RunClaim): Record<string, string> {
  return {
    fileName: claim.fileName,
    fileSha256: claim.fileSha256,
    contentHash: claim.contentHash,
    rows: String(claim.rows),
    fileTotals: claim.fileTotals.map((money) => `${money.currency} ${formatAmount(money)}`).join(','),
    createdBy: claim.createdBy,
    ...(claim.dropper === undefined ? {} : { dropper: claim.dropper }),
    ...planFields(claim.stages ?? null),
    ...(claim.startAt === undefined ? {} : { askedStart: String(claim.startAt) }),
    ...(claim.maxCostDriftBp === undefined ? {} : { maxCostDriftBp: String(claim.maxCostDriftBp) }),
    ...(claim.submissionKey === undefined ? {} : { submissionKey: claim.submissionKey }),
  };
}
