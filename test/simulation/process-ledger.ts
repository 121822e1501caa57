import type { Clock } from '../../src/clock.ts';
import type { Ledger, References } from '../../src/ledger/ledger.ts';
import type { PayoutMove } from '../../src/ledger/payouts/acts.ts';
import type { Payouts } from '../../src/ledger/payouts/payouts.ts';
import { QUOTES_FOUND } from '../../src/ledger/runs/runs.ts';
import { openSeals } from '../../src/ledger/seals.ts';
import type { HeadFacts } from '../../src/ledger/season/head-facts.ts';
import type { LedgerState, Season } from '../../src/ledger/season/ledger-state.ts';
import type { Recovery } from '../../src/ledger/season/recovery.ts';
import { payoutId, type Run, type RunState } from '../../src/payout.ts';
import { openAudit } from './audit.ts';
import { armPayout, deferPayout, holderOfQuote, movePayout } from './commit.ts';
import type { FakeDisk } from './disk.ts';
import type { Happening } from './happenings.ts';
import {
  type ComparedAnswer,
  compareLines,
  disprove,
  enterDir,
  haltAll,
  holdAll,
  notePeers,
  readSeason,
  releaseHalt,
} from './head.ts';
import { payoutOf, readPayout } from './read-payout.ts';
import { forgetDirs, restoreRun, writeOff } from './recovery.ts';
import { holdersBeside, standingOf } from './references.ts';
import { hasAllRows, linesIn, moveRun, noteAsked, type RunMove, runOf } from './runs.ts';
import type { SeasonHead } from './season.ts';
import type { Setting } from './setting.ts';
import { formerQuotesOf, type RowState, type Store } from './store.ts';
import type { Actor } from './world.ts';

const RUN_MOVES: Readonly<Partial<Record<RunState, Happening>>> = {
  paying: 'runs resumed',
  paused: 'runs paused',
  cancelled: 'runs cancelled',
};

/** One process's calls, each over the fake network to the fake Redis. */
interface Line {
  readonly setting: Setting;
  /** Only reads, or changes nothing that the invariants speak of. */
  readonly ask: <T>(label: string, run: (store: Store, now: number) => T) => Promise<T>;
  readonly change: <T>(label: string, run: (store: Store, now: number) => T) => Promise<T>;
  readonly maybeKeepCopy: () => void;
}

interface LedgerParts {
  readonly actor: Actor;
  readonly dataDirId: string;
  readonly disk: FakeDisk;
  readonly clock: Clock;
  /** The process was told that it may send. */
  readonly onArmed: () => void;
}

/** The ledger as a process sees it, as far as it is simulated. */
export function openProcessLedger(setting: Setting, parts: LedgerParts): { ledger: Ledger; head: SeasonHead } {
  const line = openLine(setting, parts.actor);
  const payouts = openPayouts(line, parts);
  const ledger = {
    // What is written here cannot be forged.
    seals: { ...openSeals(), judgePayout: () => 'true', judgeWord: () => 'true' },
    payouts,
    state: openHead(line),
    runs: openRuns(line),
    audit: openAudit(setting, { ...parts, ask: line.ask }),
    references: openReferences(line),
    recovery: openRecovery(line),
    approvals: {
      async sealBlockList() {},
      block: (id: string, { act }: { act: string }) =>
        line.ask('block', (store) => {
          store.auditWaiting = [...store.auditWaiting, act];
          store.blocked.add(id);
          setting.checks.stopped(`beneficiary.blocked ${id}`, store.server);
          setting.world.count('beneficiaries blocked');
          return true;
        }),
    },
    people: { read: async () => ({ users: [] }), disabled: async () => [] },
    slices: {},
  };
  return { ledger: ledger as unknown as Ledger, head: openSeasonHead(line, payouts) };
}

function openLine(setting: Setting, actor: Actor): Line {
  const { world, plan, redis, checks } = setting;
  const line: Line = {
    setting,
    ask: (label, run) => redis.call({ actor, label, kind: 'commands', run }),
    change: (label, run) =>
      line.ask(label, (store, now) => {
        line.maybeKeepCopy();
        const value = run(store, now);
        checks.conserved(store);
        return value;
      }),
    maybeKeepCopy() {
      if (setting.hasFault('redis-rollback') && world.dice.chance(plan.copiedShare)) redis.copy();
    },
  };
  return line;
}

function openPayouts(
  { setting, ask, change, maybeKeepCopy }: Line,
  { actor, dataDirId, onArmed }: LedgerParts,
): Payouts {
  const { world, redis, checks, mutation } = setting;
  const seals = openSeals();
  let highestCounter = 0;
  const sawCounter = (counter: number): void => {
    highestCounter = Math.max(highestCounter, counter);
  };
  const payouts: Payouts = {
    async read(place) {
      const { reading, counter } = await ask('read', (store, now) => {
        return { reading: readPayout(store, place, { now, seals }), counter: store.armings };
      });
      sawCounter(counter);
      return reading;
    },
    // There is one server at a time here.
    sawServer() {},
    sawCounter,
    highestCounter: () => mutation.remembered?.(highestCounter) ?? highestCounter,
    async arm(arming) {
      const askedAt = world.now();
      const saw = payouts.highestCounter();
      const run = (store: Store, now: number) => {
        maybeKeepCopy();
        const asked = mutation.beforeArm?.(store, arming, dataDirId) ?? arming;
        const answer = armPayout(store, asked, { dataDirId, sawCounter: saw, now });
        checks.armed(arming, { answer, store, askedAt });
        checks.conserved(store);
        world.say(() => `  arm ${arming.line} ${arming.quoteId.slice(0, 8)}: ${JSON.stringify(answer)}`);
        return answer;
      };
      const answer = await redis.call({ actor, label: 'arm', kind: 'arming', run });
      checks.answered(arming, answer);
      if (answer.armed) onArmed();
      if (answer.armed) sawCounter(answer.counter);
      return answer;
    },
    move: (move) =>
      change('move', (store, now) => {
        const answer = movePayout(store, mutation.beforeMove?.(store, move) ?? move, now);
        noteGivenUp(checks, move, { ...answer, server: store.server });
        if (answer.result === 'moved' && (move.values?.proposal ?? null) !== null) checks.proposed(store, move);
        if (answer.result === 'moved' && move.dropQuote === 'proven-dead') world.count('quotes proven dead');
        world.say(
          () =>
            `  move ${move.line} to ${move.to ?? '(note)'} by ${move.actor}: ${answer.result} ${answer.version} ${answer.state} ${move.reason}`,
        );
        return answer;
      }),
    knownPayments: (credentials) => ask('known payments', (store) => store.knownPayments.get(credentials) ?? []),
    holderOf: (id) => ask('holder', (store) => holderOfQuote(store, id)),
    defer: (place, { ms, quoteFailed }) =>
      change('defer', (store, now) => deferPayout(store, place, { ms, quoteFailed, now })),
  };
  return payouts;
}

function openReferences({ ask }: Line): References {
  return {
    holders: (hashes) => ask('references', (store) => hashes.map((hash) => standingOf(store, hash))),
    beside: (hash, own) => ask('reference', (store) => holdersBeside(store, hash, own)),
    sharing: (hash, own) => ask('reference', (store) => (store.references.get(hash) ?? []).filter((id) => id !== own)),
  };
}

function openHead({ setting, ask }: Line): Partial<LedgerState> {
  const { world, checks } = setting;
  return {
    read: () => ask('head', ({ halt, releaseBy }) => ({ halt, releaseBy }) as HeadFacts),
    season: () => ask('season', (store) => ({ open: store.season === store.server }) as Season),
    halt: (actor, reason, act) =>
      ask('halt', (store) => {
        if (act !== undefined) store.auditWaiting = [...store.auditWaiting, act];
        world.say(() => `  halt: ${reason}`);
        haltAll(store, { actor, reason });
        checks.stopped('ledger.halted ledger', store.server);
        world.count('halts');
      }),
    release: (by) =>
      ask('release', (store) => {
        const result = releaseHalt(store, by);
        if (result === 'released') {
          world.count('releases');
          checks.lifted('ledger.halted ledger');
        }
        return result;
      }),
    disprove: (capability) => ask('disprove', (store) => disprove(store, capability)),
    enterDir: (id, hasLogs = false) => ask('enter', (store) => enterDir(store, id, hasLogs)),
    compare: ({ server, json }) =>
      ask('compare what was paid', (store, now) => {
        const answers = JSON.parse(json) as ComparedAnswer[];
        const part = { dataDirId: '', server, season: '', last: false, lines: [], answers, peers: [], sawCounter: 0 };
        return compareLines(store, part, now);
      }),
    hold: (ms) => ask('hold', (store, now) => holdAll(store, Math.max(1, Math.ceil(ms)), now)),
  };
}

function openSeasonHead({ setting, ask, change }: Line, payouts: Payouts): SeasonHead {
  const { world } = setting;
  return {
    season: () => ask('season', (store, now) => readSeason(store, now, payouts.highestCounter())),
    enterDir: (id, hasLogs) => ask('enter', (store) => enterDir(store, id, hasLogs)),
    notePeers: (id, peers) => ask('note peers', (store) => notePeers(store, id, peers)),
    compare: (part) =>
      change('compare', (store, now) => {
        const compared = compareLines(store, { ...part, sawCounter: payouts.highestCounter() }, now);
        if (compared.restored > 0) world.count('lines restored');
        world.say(() => `  compare ${part.dataDirId}: ${JSON.stringify(compared)}`);
        return compared;
      }),
  };
}

/** A payout that people gave up, or let go again. */
function noteGivenUp(
  checks: Setting['checks'],
  move: PayoutMove,
  { result, state, server }: { result: string; state: string; server: string },
): void {
  if (result !== 'moved' || (move.to !== 'cancelled' && move.to !== 'ready')) return;
  for (const action of ['payout.cancelled', 'payout.drop-confirmed']) {
    if (state === 'cancelled') checks.stopped(`${action} ${payoutId(move)}`, server);
    else if (move.actor.includes(' and ')) checks.lifted(`${action} ${payoutId(move)}`);
  }
  // A run that is over is paid again for it.
  if (state === 'ready' && move.actor.includes(' and ')) checks.lifted(`run.paused ${move.runId}`);
}

function openRecovery({ setting, ask, change }: Line): Partial<Recovery> {
  const doubtsCancelled = setting.mutation.doubtsNoCancelledRuns !== true;
  return {
    writeOff: (dir, actor) =>
      change('write off', (store) => {
        const answer = writeOff(store, { dir, actor, doubtsCancelled });
        setting.world.say(() => `  write off ${dir} by ${actor}: ${JSON.stringify(answer)}`);
        return answer;
      }),
    forgetDirs: () => ask('forget directories', (store) => forgetDirs(store, doubtsCancelled)),
    restoreRun: (run) => ask('restore a run', (store, now) => restoreRun(store, run, now)),
    // Files are handed in once, and as they are.
    knownAs: async (id) => ({ id, isSameFile: true }),
    stopAhead: (target, action) => ask('note a stop', (store) => void store.stopsAhead.set(target, action)),
    forgetStop: (target) => ask('forget a stop', (store) => void store.stopsAhead.delete(target)),
    isStoppedAhead: async () => false,
    stopsAhead: () => ask('stops ahead', (store) => new Map(store.stopsAhead)),
  };
}

function openRuns({ setting, ask, change }: Line) {
  const { checks } = setting;
  return {
    list: () => ask('runs', ({ runs }) => [...runs.keys()]),
    live: () => ask('live runs', ({ live }) => [...live]),
    move: (runId: string, move: RunMove) =>
      change(`run to ${move.to}`, (store, now) => {
        const answer = moveRun(store, runId, { move, now });
        const happened = answer.result === 'moved' ? RUN_MOVES[move.to] : undefined;
        if (happened !== undefined) setting.world.count(happened);
        const { result, state } = answer;
        if (result === 'moved' && move.act !== undefined) store.auditWaiting = [...store.auditWaiting, move.act];
        if (result === 'moved' && state === 'paying') checks.lifted(`run.paused ${runId}`);
        if (result === 'moved' || result === 'there') checks.stopped(`run.${state} ${runId}`, store.server);
        return answer;
      }),
    read: (runId: string): Promise<Run | undefined> =>
      ask('run', (store) => {
        const run = store.runs.get(runId);
        return run === undefined ? undefined : runOf(run);
      }),
    async *linesIn(runId: string, { state }: { state: RowState }) {
      const lines = await ask('lines', (store) => linesIn(store, runId, state));
      if (lines.length > 0) yield lines;
    },
    async *rows(runId: string) {
      yield await ask('rows', (store) =>
        [...store.entries.values()]
          .filter((entry) => entry.runId === runId)
          .flatMap((entry) => payoutOf(entry, openSeals()) ?? []),
      );
    },
    noteRecorded: (runId: string, fileSha256: string, fields: Record<string, string>) =>
      ask('note that all is recorded', (store) => {
        const run = store.runs.get(runId);
        if (store.season !== store.server || run?.fields['fileSha256'] !== fileSha256) return false;
        if (run.state !== 'recording' && run.state !== 'cancelled') return true;
        if (!hasAllRows(run)) return false;
        Object.assign(run.fields, fields);
        return true;
      }),
    note: (runId: string, fields: Record<string, string>) =>
      ask('note', (store) => void Object.assign(store.runs.get(runId)?.fields ?? {}, fields)),
    noteAsked: (runId: string, quotes: number) => ask('note asked', (store) => noteAsked(store, runId, quotes)),
    quotesFound: (runId: string) =>
      ask('quotes found', (store) => new Set(store.runs.get(runId)?.fields[QUOTES_FOUND]?.split(' '))),
    quotesBeside: (runId: string, line: number) =>
      ask('quotes beside', (store) =>
        formerQuotesOf(store.runs.get(runId)).flatMap((one) =>
          one.line === line && !one.isProvenDead ? [one.quoteId] : [],
        ),
      ),
    formerQuotes: (runId: string) => ask('former quotes', (store) => formerQuotesOf(store.runs.get(runId))),
  };
}
