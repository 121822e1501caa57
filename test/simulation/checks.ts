import type { AuditRecord } from '../../src/audit/entry.ts';
import type { ArmAnswer, Arming, PayoutMove } from '../../src/ledger/payouts/acts.ts';
import { amountOf } from '../../src/ledger/payouts/record.ts';
import { mayMove } from '../../src/moves.ts';
import type { PayoutState } from '../../src/payout.ts';
import { type BookedPayment, hasComeToNothing } from './book.ts';
import type { FakeDisk } from './disk.ts';
import type { Plan } from './plan.ts';
import type { FakeService } from './service.ts';
import { type Entry, entryId, NO_COUNTS, PAID, ROW_STATES, type RowState, type RunEntry, type Store } from './store.ts';
import type { World } from './world.ts';

const WAIT_MS_MAX = 600_000;

const SENT_STATES: readonly RowState[] = ['armed', 'quoted', 'unknown'];

/** An arming as it was carried out, whatever a Redis that went back in time remembers of it. */
interface Armed {
  readonly runId: string;
  readonly internalId: string;
  readonly quoteId: string;
  readonly owner: string;
  /** When the process wrote the command. */
  readonly askedAt: number;
  readonly counter: number;
  isAnswered: boolean;
  isSent: boolean;
}

/**
 * The invariants of the safety rule (architecture.md), looked at after every step that could break one. They are kept here by what really
 * happened, not by what any ledger says.
 */
export interface Checks {
  armed(arming: Arming, how: { answer: ArmAnswer; store: Store; askedAt: number }): void;
  /** The process was told that it is armed. */
  answered(arming: Arming, answer: ArmAnswer): void;
  /** The first byte of a payment request leaves. */
  leaves(body: string, from: { owner: string; disk: FakeDisk; service: FakeService }): void;
  made(payment: BookedPayment, service: FakeService): void;
  moved(entry: Entry, from: RowState, how: { actor: string; service: FakeService }): void;
  /** A person has proposed how to settle a payout. */
  proposed(store: Store, move: PayoutMove): void;
  /** What people decided took effect on a server, or was ended: known by its action and target on the audit log. */
  stopped(decision: string, server: string): void;
  lifted(decision: string): void;
  /** A data directory has a copy of an entry of the audit log that stands on this server. */
  copied(record: AuditRecord, by: { dataDirId: string; server: string }): void;
  /** Its copies are gone. */
  lost(dataDirId: string): void;
  /** The run for which a quote was armed last. */
  runOf(quoteId: string): string | undefined;
  /** Nothing that is ready waits for longer than the program ever lets it, however clocks are set. */
  waits(store: Store, now: number): void;
  /** Conservation (architecture.md, rule 10), after a script has run. */
  conserved(store: Store): void;
}

export function openChecks(world: World, plan: Plan, referenceOf: ReadonlyMap<number, string>): Checks {
  const armings: Armed[] = [];
  /** Decisions that hold: where each took effect last, and which data directories know it. */
  const stops = new Map<string, { server: string; readonly dirs: Set<string> }>();
  /** Who proposed something for a payout, and how many moves it had then. */
  const proposals: { readonly id: string; readonly by: string; readonly moves: number }[] = [];

  /** People move a payout only as two, and only as long as nothing else has (architecture.md, rule 9). */
  function checkPeople(entry: Entry, { actor, service }: { actor: string; service: FakeService }): void {
    if (!actor.includes(' and ')) return;
    // Redis may have gone back under their hands, or they wrote off a host: that is not theirs to propose for a payout.
    if (entry.state === 'held' || entry.state === 'unknown') return;
    const [first, second] = actor.split(' and ');
    const id = entryId(entry.runId, entry.line);
    // A payment that was found is a fact, whatever came in between (rule 7); `moved` looks for it in the service's book.
    const isFact = PAID.includes(entry.state);
    const isProposed = proposals.some(({ id: of, by, moves }) => {
      return of === id && by === first && by !== second && (isFact || moves === entry.steps - 1);
    });
    if (!isProposed) world.fail('two people', `${id} became ${entry.state} by ${actor}, and nobody else proposed it`);
    const quote = entry.quote ?? '';
    // A payment that failed, or came back, pays nobody.
    if (entry.state === 'rejected' && !isDead(quote, service) && !isFree(quote, service))
      world.fail('not paid', `${id} is said to be unpaid while its quote may still be paid`);
  }

  /** Nothing is armed that people stopped, as long as a data directory that was compared has their decision. */
  function checkDecisions({ runId, line }: Arming, { entries, dirs, server }: Store): void {
    // A Redis that goes back under its own name is noticed by its armings alone.
    if (world.counts.has('rollbacks under the same name')) return;
    const id = entryId(runId, line);
    const decisions = [
      'ledger.halted ledger',
      `run.paused ${runId}`,
      `run.cancelled ${runId}`,
      `beneficiary.blocked ${entries.get(id)?.get('ben')}`,
      `payout.cancelled ${id}`,
      `payout.drop-confirmed ${id}`,
    ];
    for (const decision of decisions) {
      const known = [...(stops.get(decision)?.dirs ?? [])].find((dir) => dirs.get(dir) === server);
      if (known !== undefined) world.fail('forgotten', `${id} is armed, and ${known} knows of ${decision}`);
    }
  }

  function isDead(quoteId: string, service: FakeService): boolean {
    const quote = service.quotes.get(quoteId);
    if (quote === undefined) return true;
    if (service.book.some((payment) => payment.quoteId === quoteId)) return false;
    return quote.expiresAt !== null && service.now() > quote.expiresAt && plan.has.has('expired-quote-refused');
  }

  function runOf(quoteId: string): string | undefined {
    return armings.findLast((armed) => armed.quoteId === quoteId)?.runId;
  }

  return {
    armed(arming, { answer, store, askedAt }) {
      if (!answer.armed) return;
      world.count('armings');
      if ((store.entries.get(entryId(arming.runId, arming.line))?.number('ar') ?? 0) > 1) world.count('re-armings');
      if (store.season !== store.server) world.fail('A1', 'armed in a closed season');
      checkDecisions(arming, store);
      const internalId = referenceOf.get(arming.line) ?? '';
      const { runId, quoteId, owner } = arming;
      const { counter } = answer;
      armings.push({ runId, internalId, quoteId, owner, askedAt, counter, isAnswered: false, isSent: false });
    },
    answered(arming, answer) {
      if (!answer.armed) return;
      const found = armings.findLast(({ owner, counter, quoteId }) => {
        return owner === arming.owner && counter === answer.counter && quoteId === arming.quoteId;
      });
      if (found !== undefined) found.isAnswered = true;
    },
    leaves(body, { owner, disk, service }) {
      world.count('requests');
      const { quoteId, internalId } = JSON.parse(body) as { quoteId: string; internalId: string };
      const arming = armings.findLast((armed) => armed.owner === owner && armed.quoteId === quoteId && !armed.isSent);
      if (arming?.isAnswered !== true || arming.internalId !== internalId) {
        world.fail('A1', `${owner} sends ${internalId} without having armed it`);
        return;
      }
      arming.isSent = true;
      const line = disk.lines.find(
        ({ line: { armingCounter, quoteId: id } }) => armingCounter === arming.counter && id === quoteId,
      );
      if (line?.isSynced !== true) world.fail('A1', `${owner} sends ${internalId} without a synced intent line`);
      if (world.now() - arming.askedAt >= plan.armDeadlineMs)
        world.fail('deadline', `${owner} sends ${internalId} after its arm deadline`);
      const other = armings.find((armed) => {
        return (
          armed.internalId === internalId &&
          armed.quoteId !== quoteId &&
          armed.isSent &&
          !isDead(armed.quoteId, service) &&
          !(armed.runId !== arming.runId && isFree(armed.quoteId, service))
        );
      });
      if (other !== undefined)
        world.fail('one live quote', `${internalId} is sent while ${other.quoteId} may still be paid`);
    },
    made(payment, service) {
      const runId = runOf(payment.quoteId);
      const payments = service.book.filter(({ internalId, quoteId }) => {
        return internalId === payment.internalId && !(runOf(quoteId) !== runId && isFree(quoteId, service));
      });
      if (payments.length > 1) world.fail('paid twice', `${payment.internalId} has ${payments.length} payments`);
    },
    proposed(store, { runId, line, actor }) {
      const id = entryId(runId, line);
      proposals.push({ id, by: actor, moves: store.entries.get(id)?.steps ?? 0 });
    },
    moved(entry, from, { actor, service }) {
      checkPeople(entry, { actor, service });
      if (actor !== 'season') checkMove(world, entry, from);
      if (!PAID.includes(entry.state)) return;
      const paymentId = entry.get('pid') ?? entry.quote;
      const internalId = referenceOf.get(entry.line);
      // Two people may overrule what payrun shows them: that the payment is of another payout.
      const isOverruled = from === 'held' && actor.includes(' and ');
      const isIts = (payment: BookedPayment): boolean => isOverruled || payment.internalId === internalId;
      if (!service.book.some((payment) => payment.paymentId === paymentId && isIts(payment)))
        world.fail('accepted', `${internalId} is ${entry.state} without a payment of the service`);
    },
    stopped(decision, server) {
      const there = stops.get(decision);
      if (there === undefined) stops.set(decision, { server, dirs: new Set() });
      else there.server = server;
    },
    lifted(decision) {
      stops.delete(decision);
    },
    copied({ action, target }, { dataDirId, server }) {
      const stop = stops.get(`${action} ${target}`);
      if (stop?.server === server) stop.dirs.add(dataDirId);
    },
    runOf,
    lost(dataDirId) {
      for (const { dirs } of stops.values()) dirs.delete(dataDirId);
    },
    waits({ runs, waitUntil }, now) {
      const latest = Math.max(waitUntil, ...[...runs.values()].flatMap(({ slices }) => [...slices.values()]));
      if (latest - now > WAIT_MS_MAX) world.fail('waits', `something waits for ${latest - now} ms`);
    },
    conserved(store) {
      for (const run of store.runs.values()) checkRun(world, run, store);
    },
  };
}

/** Whether its payment came to nothing, and another run may pay the reference. */
function isFree(quoteId: string, service: FakeService): boolean {
  const payment = service.book.find((paid) => paid.quoteId === quoteId);
  return payment !== undefined && hasComeToNothing(payment, service.now());
}

/** A move has been made: the table of src/payout.ts is asked whether it had it. What it dropped shows by what is gone. */
function checkMove(world: World, entry: Entry, from: RowState): void {
  if (from === 'refused' || entry.state === 'refused') return;
  const to: PayoutState = entry.state;
  const sent = entry.quote !== null;
  const breach = to === 'held' && entry.get('rc') === 'E_BREACH';
  const drops =
    from === 'armed' && to === 'ready' ? 'not-sent' : from === 'unknown' && !sent ? 'proven-dead' : undefined;
  const asked = { from, to, sent, breach };
  if (!mayMove(drops === undefined ? asked : { from, to, sent, breach, dropQuote: drops }))
    world.fail('A7', `${entryId(entry.runId, entry.line)} went from ${from} to ${to}`);
  if (SENT_STATES.includes(to) && !sent)
    world.fail('A7', `${entryId(entry.runId, entry.line)} is ${to} without a quote`);
  if (entry.steps > entry.version) world.fail('A5', 'a move did not raise the version');
}

function checkRun(world: World, run: RunEntry, store: Store): void {
  const counts = { ...NO_COUNTS };
  let minor = 0n;
  for (const { runId, state, record } of store.entries.values()) {
    if (runId !== run.id) continue;
    counts[state]++;
    minor += BigInt(amountOf(record.values)?.minor ?? 0);
  }
  for (const state of ROW_STATES) {
    if (run.counts[state] !== counts[state])
      world.fail('A6', `${run.id} counts ${run.counts[state]} payouts as ${state}`);
  }
  let counted = 0n;
  for (const amount of run.amounts.values()) counted += amount;
  if (counted !== minor) world.fail('A6', `${run.id} counts ${counted} instead of ${minor}`);
}
