import { CAPABILITIES } from '../../src/config/config.ts';
import { QUOTES_PER_PAYOUT_MAX } from '../../src/payout.ts';
import { type BookedPayment, hasComeToNothing } from './book.ts';
import type { Plan } from './plan.ts';
import { isSeasonClosed } from './season.ts';
import type { Setting } from './setting.ts';
import { type Entry, entryId, OPEN, PAID, type Store } from './store.ts';

/** On top of what a quote's life and the proof of its death take: back-off of quotes, waits, look-ups that became rare. */
const SETTLE_MS_MAX = 240_000;
/** Look-ups of a payout become that rare. */
const LOOK_UP_MS_MAX = 30_000;
const CONFIRMED_MS_MAX = 60_000;

/** Clocks of processes differ by that much at most from the world's, and the difference is seen and waited for. */
const PROCESS_SKEW_MS_MAX = 60_000;

/** What all steps of clocks add up to. */
const STEPS_MS_MAX = 2 * 4_200_000;

/** How long it may take after the last fault until every payout is settled. */
export function settleMsMaxOf(plan: Plan): number {
  // Every quote of a payout may have to be proven dead; a quote whose life is not known is waited for by either clock.
  const stepMs = plan.faults.has('clock-steps') ? STEPS_MS_MAX : 0;
  const skewMs = 2 * (stepMs + Math.abs(plan.serviceSkewMs) + Math.abs(plan.redisSkewMs) + PROCESS_SKEW_MS_MAX);
  const proofMs = (plan.quoteLifeMs ?? 0) + plan.quoteGraceMs + plan.notFoundGapMs + LOOK_UP_MS_MAX + skewMs;
  return SETTLE_MS_MAX + QUOTES_PER_PAYOUT_MAX * proofMs;
}

/** Whether every payout has come to where it stays. `calmMs`: for how long no fault has happened; 0 while they do. */
export function isSettled({ plan, redis, service }: Setting, calmMs: number): boolean {
  const store = redis.store();
  if (store.entries.size < plan.files * plan.payouts || service.underWay() > 0 || isSeasonClosed(store)) return false;
  // A look-up that said nothing is made again only a day later; nobody waits for that here.
  const isLate = calmMs > CONFIRMED_MS_MAX;
  // Where the service shows no payment that it has to know under these credentials, an unknown one is held only a day later.
  const known = [...store.entries.values()].filter(({ state }) => state === 'accepted' || state === 'completed');
  const waitsADay = (entry: Entry): boolean => {
    const own = known.filter((one) => one.get('cf') === entry.get('cf'));
    return entry.state === 'unknown' && own.length > 0 && own.every(({ quote }) => service.isForgotten(quote));
  };
  for (const entry of store.entries.values()) {
    if (!entry.hasRow) return false;
    if (OPEN.includes(entry.state) && !waitsADay(entry)) return false;
    if (entry.state === 'accepted' && service.isForgotten(entry.quote)) return false;
    if (!isLate && isUnconfirmed(entry, plan)) return false;
  }
  return true;
}

/** A rejection that a look-up has yet to confirm and that can be confirmed. */
function isUnconfirmed(entry: Entry, { told }: Plan): boolean {
  const canBe = entry.get('x') !== undefined && told.size === CAPABILITIES.length && entry.get('z2') === undefined;
  return entry.state === 'rejected' && entry.quote !== null && entry.get('ok') === undefined && canBe;
}

/** Every request has been delivered or dropped: what the ledger says is held against the service's book. */
export function judgeAll(setting: Setting): void {
  const { world, redis } = setting;
  const { entries, halt } = redis.store();
  for (const entry of entries.values()) judge(setting, entry);
  // A Redis that went back in time may take its own payment for one of a quote that was left behind, until the season opens.
  const isExplained =
    halt === null ||
    halt.startsWith('the data directory') ||
    halt === 'a person' ||
    world.counts.has('rollbacks') ||
    world.counts.has('hosts back') ||
    halt.startsWith('Redis went back');
  if (!isExplained) world.fail('breach', halt);
}

function judge({ world, service, files, redis, checks }: Setting, entry: Entry): void {
  const { line, state, quote } = entry;
  const reference = files[0]?.rows.find((row) => row.line === line)?.fields['ref'] ?? '';
  const payments = service.book.filter(({ internalId }) => internalId === reference);
  world.count(`ended ${state}`);
  if (PAID.includes(state) && payments.length === 0) world.fail('accepted', `${reference} was never paid`);
  const isSaidUnpaid =
    state === 'cancelled' || state === 'ready' || (state === 'rejected' && entry.get('ok') !== undefined);
  const store = redis.store();
  const own = payments.filter((payment) => {
    const runId = checks.runOf(payment.quoteId) ?? '';
    return !(runId !== entry.runId && store.runs.has(runId)) && !isOfAnother(store, entry, payment);
  });
  const isPaid = own.some((payment) => !hasComeToNothing(payment, service.now()));
  if (isSaidUnpaid && isPaid) world.fail('lost', `${reference} is ${state} and is paid`);
  if (state !== 'held') return;
  if (own.length > 0 && quote === null && entry.get('rc') !== 'E_DIR_LOST')
    world.fail('lost', `${reference} is held as never sent and is paid`);
  if (entry.get('rc') === undefined) world.fail('reason', `${reference} is held without a reason`);
  if (entry.get('rc') === 'E_BREACH' && !world.counts.has('rollbacks') && !world.counts.has('hosts back'))
    world.fail('breach', `${reference}: ${entry.get('rs')}`);
}

/** Whether a payment is known to be that of another payout with the reference. */
function isOfAnother({ entries, quotes }: Store, entry: Entry, { quoteId, paymentId }: BookedPayment): boolean {
  return [...entries.values()].some((other) => {
    if (other === entry || other.line !== entry.line) return false;
    const isNamed = other.quote === quoteId || other.get('pid') === paymentId;
    return isNamed || quotes.get(quoteId) === entryId(other.runId, other.line);
  });
}
