import { CAPABILITIES } from '../../src/config/config.ts';
import type { PayoutMove } from '../../src/ledger/payouts/acts.ts';
import { addTo } from './commit.ts';
import type { Mutation } from './mutation.ts';
import type { Plan } from './plan.ts';
import { type Entry, entryId, type RowState, type Store } from './store.ts';

/** A program with one guard replaced, where the simulation composes it. */
export interface Mutant {
  readonly name: string;
  readonly mutation: Mutation;
  /** Faults on which the guard's window of milliseconds is met often enough. */
  readonly plan?: Partial<Plan>;
  /** It takes thousands of schedules to be noticed: with `SIMULATION_DEPTH=long` only. */
  readonly isSlow?: boolean;
}

const FOR_EVER = Number.POSITIVE_INFINITY;

/** Schedules in which Redis goes back in time while something is sent. */
const GOING_BACK: Partial<Plan> = {
  faults: new Set(['redis-rollback', 'jobs'] as const),
  hosts: 1,
  processesPerHost: 2,
  meddleShare: 0.03,
  slowShare: 0.25,
  takenBackShare: 0.6,
  copiedShare: 0.6,
  decideShare: 0,
};
/** Schedules in which look-ups say little until the quote has ended, and then the wrong thing once. */
const HARD_TO_FIND: Partial<Plan> = {
  faults: new Set(['looks', 'service-replies', 'service-late'] as const),
  oddLookShare: 0.7,
  quoteLifeMs: 3000,
};

/** Schedules in which people have much to decide. */
const HELD: Partial<Plan> = {
  faults: new Set(['people', 'jobs', 'service-replies', 'looks', 'redis-rollback'] as const),
  quoteLifeMs: 20_000,
  chaosMs: 20_000,
  decideShare: 0.8,
  has: new Set(CAPABILITIES),
  told: new Set(CAPABILITIES.filter((name) => name !== 'payment-visible-in-time')),
};

/** Schedules in which credentials change while it is not known what was paid under the ones before. */
const ROTATED: Partial<Plan> = {
  faults: new Set(['credentials', 'service-replies', 'network'] as const),
  showsToOwnOnly: true,
  quoteLifeMs: 3000,
  chaosMs: 20_000,
};

/** Schedules in which two files have the same references, and people let go what is held. */
const TWICE: Partial<Plan> = {
  files: 2,
  payouts: 1,
  faults: new Set(['people', 'jobs', 'redis-rollback'] as const),
  takenBackShare: 0.6,
  copiedShare: 0.6,
  decideShare: 1,
};

/** Schedules in which a gateway knows nothing any more while it is not known what was paid. */
const LIED_TO: Partial<Plan> = {
  faults: new Set(['lies', 'service-replies', 'network'] as const),
  payouts: 3,
  quoteLifeMs: 3000,
  quoteGraceMs: 1500,
  chaosMs: 20_000,
  visibleMs: 0,
};

/** Schedules in which Redis forgets what people decided. */
const DECIDED: Partial<Plan> = {
  faults: new Set(['redis-rollback', 'jobs', 'people', 'halt', 'quotes'] as const),
  chaosMs: 20_000,
  slowShare: 0,
  copiedShare: 0.3,
};

/** Schedules in which a host is lost, and with it what it sent after a copy of Redis. */
const LOST: Partial<Plan> = {
  files: 2,
  payouts: 1,
  // Each has noted the other before one is lost.
  hosts: 2,
  secondHostMs: 0,
  faults: new Set(['redis-rollback', 'jobs', 'people', 'lost-host'] as const),
  chaosMs: 20_000,
  takenBackShare: 0.6,
  copiedShare: 0.3,
  decideShare: 1,
};

/** Schedules in which the service forgets a payment. */
const FORGOTTEN: Partial<Plan> = { faults: new Set(['forgets', 'jobs'] as const), has: new Set(CAPABILITIES) };

const AHEAD_MS = 12_000;

export const MUTANTS: readonly Mutant[] = [
  { name: 'the audit log is not compared before a season opens', mutation: { missing: () => [] }, plan: DECIDED },
  {
    name: 'what people decided is not compared again when Redis changes before the season opens',
    mutation: { comparesDecisionsOnce: true },
    plan: { ...DECIDED, copiedShare: 0.6, takenBackShare: 0.6, meddleShare: 0.03 },
  },
  {
    name: 'what people stopped is told as missing, and not done again',
    mutation: { missing: (records) => records.filter(({ action }) => action === 'ledger.halted') },
    plan: DECIDED,
  },
  {
    name: 'a write-off leaves what is held as it is',
    mutation: { writeOffOn: without('held') },
    plan: { ...LOST, copiedShare: 0.6, takenBackShare: 0.9 },
  },
  {
    name: 'a write-off leaves runs as they are that were cancelled before their rows came',
    mutation: { doubtsNoCancelledRuns: true },
    plan: LOST,
  },
  {
    name: 'a write-off leaves what is ready as it is',
    mutation: { writeOffOn: without('ready') },
    plan: LOST,
  },
  {
    name: 'what the service made and does not know any more is followed for ever',
    mutation: {
      beforeMove: (_store, move) => (move.reason === 'E_PAYMENT_GONE' ? keptAsItIs(move) : move),
    },
    plan: FORGOTTEN,
  },
  {
    name: 'what the service made and does not know any more is paid again',
    mutation: {
      beforeMove(store, move) {
        const entry = store.entries.get(entryId(move.runId, move.line));
        if (move.reason !== 'E_PAYMENT_GONE' || entry === undefined || entry.version !== move.version) return move;
        force(store, entry, 'unknown');
        const run = store.runs.get(move.runId);
        if (run !== undefined) run.state = 'paying';
        store.live.add(move.runId);
        return { ...move, to: 'ready', dropQuote: 'proven-dead', dueMs: 0 };
      },
    },
    plan: FORGOTTEN,
  },
  {
    name: 'an arming does not compare the owner of the reference',
    mutation: {
      beforeArm(store, arming) {
        store.references.set(arming.referenceHash, [entryId(arming.runId, arming.line)]);
        return arming;
      },
    },
    plan: TWICE,
  },
  {
    name: 'nobody is told where the other payout with the reference stands, nor is it compared',
    mutation: {
      tellsNothing: true,
      beforeMove: (_store, { sawHolders: _holders, ...move }) => move,
    },
    plan: TWICE,
  },
  {
    name: 'a data directory that was copied keeps its id',
    mutation: { copyKeepsId: true },
    plan: {
      ...GOING_BACK,
      faults: new Set(['redis-rollback', 'jobs', 'copied-directory'] as const),
      payouts: 3,
      files: 1,
      quoteLifeMs: 20_000,
      chaosMs: 20_000,
    },
  },
  {
    name: 'a "not found" in any words counts',
    mutation: { rules: { notFoundCodes: { has: () => true } as unknown as ReadonlySet<string> } },
    plan: { ...LIED_TO, payouts: 1, files: 1, lie: 'its own words' },
  },
  {
    name: 'a "not found" counts while payments that exist are not found',
    mutation: { canary: { sings: async () => 'payment' } },
    plan: { ...LIED_TO, lie: 'the words of the service' },
  },
  {
    name: 'nobody looks whether the clock of Redis stepped back',
    mutation: { ignoresClockSteps: true },
    plan: { faults: new Set(['clock-steps', 'quotes', 'halt'] as const), chaosMs: 20_000 },
  },
  {
    name: 'of two lives the shorter counts, and the difference of the clocks does not',
    mutation: {
      // As if it had been armed earlier by as much as the service's `Date` is ahead.
      payouts: (payouts) => ({
        ...payouts,
        async read(place) {
          const reading = await payouts.read(place);
          return reading.payout?.state === 'unknown' ? { ...reading, now: reading.now + AHEAD_MS } : reading;
        },
      }),
      service: (service) => ({ ...service, clockDifferenceMs: () => 0 }),
    },
    plan: {
      faults: new Set(['service-late', 'network', 'service-replies'] as const),
      dateSkewMs: AHEAD_MS,
      serviceSkewMs: 0,
      redisSkewMs: 0,
      quoteGraceMs: 1500,
      quoteLifeMs: 20_000,
      chaosMs: 20_000,
    },
  },
  {
    name: 'the request may leave after the arm deadline',
    mutation: {
      service: (service) => ({
        ...service,
        createPayment: (body) => service.createPayment(body, { sendBefore: FOR_EVER }),
      }),
    },
  },
  {
    name: 'the clock of the arm deadline stands still while the process is stopped',
    mutation: { clock: (clock, actor) => ({ ...clock, monotonic: () => clock.monotonic() - actor.stoppedMs }) },
    plan: { faults: new Set(['stop'] as const), meddleShare: 0.03 },
  },
  {
    name: 'a request whose answer is lost is sent again',
    mutation: {
      service: (service) => ({
        ...service,
        async createPayment(body, sending) {
          const answer = await service.createPayment(body, sending);
          return answer.kind === 'lost' ? await service.createPayment(body, sending) : answer;
        },
      }),
    },
  },
  {
    name: 'the intent line is written after the request has left',
    mutation: {
      intents: (intents) => ({
        ...intents,
        append: async (line) => void intents.append(line).catch(() => {}),
      }),
    },
  },
  { name: 'the intent logs are not compared', mutation: { compared: () => [] }, plan: GOING_BACK },
  {
    name: 'the season opens before twice the arm deadline',
    mutation: { seasonWaitMs: 0 },
    plan: { ...GOING_BACK, payouts: 3 },
    isSlow: true,
  },
  {
    name: 'a closed season is not looked at when arming',
    mutation: {
      beforeArm(store, arming, dataDirId) {
        store.season = store.server;
        store.dirs.set(dataDirId, store.server);
        return arming;
      },
    },
    plan: GOING_BACK,
  },
  {
    name: 'an arming compares neither version nor state',
    mutation: {
      beforeArm(store, arming) {
        const entry = store.entries.get(entryId(arming.runId, arming.line));
        if (entry === undefined) return arming;
        if (entry.state !== 'ready' && entry.state !== 'quoted') force(store, entry, 'ready');
        return { ...arming, version: entry.version };
      },
    },
  },
  { name: 'a "not found" is believed before the quote has ended', mutation: { rules: { quoteGraceMs: -60_000 } } },
  {
    name: 'a service whose clock runs ahead is believed',
    mutation: {
      service: (service) => ({
        ...service,
        async readPayment(id) {
          const answer = await service.readPayment(id);
          return answer.kind === 'answered' ? { ...answer, date: (answer.date ?? 0) + 3_600_000 } : answer;
        },
      }),
      // Without the second guard: the time that went by since the arming.
      payouts: (payouts) => ({
        ...payouts,
        async read(place) {
          const reading = await payouts.read(place);
          return reading.payout?.state === 'unknown' ? { ...reading, now: reading.now + 3_600_000 } : reading;
        },
      }),
    },
  },
  {
    name: 'one "not found" is enough',
    mutation: {
      payouts: (payouts) => ({
        ...payouts,
        async read(place) {
          const reading = await payouts.read(place);
          const { payout } = reading;
          return payout?.state === 'unknown' ? { ...reading, payout: { ...payout, notFoundAt: 0 } } : reading;
        },
      }),
      // Without the second guard, for which a payment is mostly found before its quote counts as over.
      service: (service) => ({ ...service, clockDifferenceMs: () => 0 }),
    },
    plan: HARD_TO_FIND,
  },
  {
    name: 'a time-out goes straight to a new quote',
    mutation: { beforeMove: freed((entry, move) => entry.state === 'armed' && move.to === 'unknown') },
  },
  {
    name: 'a refused quote that has ended goes straight to a new quote',
    mutation: { beforeMove: freed((entry, move) => entry.state === 'quoted' && move.to === 'unknown') },
  },
  {
    name: 'capabilities that the service lacks are taken as given',
    mutation: { rules: { capabilities: new Set(CAPABILITIES) } },
  },
  {
    name: 'the arming counter is not compared',
    mutation: { remembered: () => 0 },
    plan: { ...GOING_BACK, processesPerHost: 1 },
  },
  {
    name: 'people may say "not paid" before the quote has ended',
    mutation: { rulesOfPeople: { quoteGraceMs: -60_000 } },
    plan: { ...HELD, files: 1, payouts: 2, decideShare: 1 },
  },
  {
    name: 'one person is enough',
    mutation: {
      payouts: (payouts) => ({
        ...payouts,
        async read(place) {
          const reading = await payouts.read(place);
          const proposal = reading.payout?.proposal;
          if (reading.payout === undefined || !proposal) return reading;
          return { ...reading, payout: { ...reading.payout, proposal: { ...proposal, by: 'somebody' } } };
        },
      }),
    },
    plan: HELD,
  },
  {
    name: 'a "not found" under other credentials counts',
    mutation: {
      payouts: (payouts) => ({
        ...payouts,
        async read(place) {
          const reading = await payouts.read(place);
          const { payout } = reading;
          return payout === undefined ? reading : { ...reading, payout: { ...payout, credentials: 'B' } };
        },
      }),
      service: (service) => ({ ...service, fingerprint: 'B' }),
    },
    plan: ROTATED,
  },
];

/** The ledger without payouts in a state, for who asks for them. */
function without(hidden: RowState): NonNullable<Mutation['writeOffOn']> {
  return (ledger) => ({
    ...ledger,
    runs: {
      ...ledger.runs,
      async *linesIn(runId, options) {
        if (options.state !== hidden) yield* ledger.runs.linesIn(runId, options);
      },
    },
  });
}

function keptAsItIs({ runId, line, actor }: PayoutMove): PayoutMove {
  return { runId, line, actor, reason: '', dueMs: 5000 };
}

/** Moves that would go to `unknown` free the payout for a new quote instead. */
function freed(isFreed: (entry: Entry, move: PayoutMove) => boolean): NonNullable<Mutation['beforeMove']> {
  return (store, move) => {
    const entry = store.entries.get(entryId(move.runId, move.line));
    if (entry === undefined || !isFreed(entry, move)) return move;
    if (move.version !== undefined && move.version !== entry.version) return move;
    entry.set({ ar: null });
    force(store, entry, 'armed');
    return { ...move, to: 'ready', dropQuote: 'not-sent' };
  };
}

function force(store: Store, entry: Entry, state: RowState): void {
  const run = store.runs.get(entry.runId);
  if (run === undefined) return;
  addTo(run, entry.record, -1);
  entry.record = { ...entry.record, state };
  addTo(run, entry.record, 1);
}
