import { writeEntry } from '../../audit/entry.ts';
import { type MissedDecisions, type MissedStop, missedDecisions, STOPPING, type Stopping } from '../../audit/missed.ts';
import type { Clock } from '../../clock.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { BlockListFault } from '../../ledger/script.ts';
import type { Log } from '../../log.ts';
import { type PayoutState, payoutId, placeOfId } from '../../payout.ts';
import { revokeKey } from '../../people/keys.ts';
import { disableUser } from '../../people/users.ts';
import { Refusal } from '../../refusal.ts';
import { blockBeneficiary } from '../block.ts';
import { type Control, cancelRun, haltAll, pauseRun } from '../decide/control.ts';

const ACTOR = 'payrun';

interface MissedDeps {
  readonly ledger: Ledger;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
}

/**
 * Compares this directory's copies of the audit log with Redis, before a season may open. A Redis that forgot what people
 * decided is halted with what is missing, and every run that goes on is paused. What only stops is done again at once, and
 * files that were handed in are known again: nobody can tell whether anything of them was sent before their rows are there
 * (architecture.md, rule 4). What was said once is not said again, on the server that it was said of: a Redis that went back once
 * more meanwhile is compared anew. False where something has to be done again later.
 */
export async function redoMissedDecisions(deps: MissedDeps, server: string): Promise<boolean> {
  const { audit } = deps.ledger;
  const missing = await audit.missing();
  const ahead = await deps.ledger.recovery.stopsAhead();
  const missed = missedDecisions(missing, [...ahead.keys()]);
  const left = missed === undefined ? [] : await stopAndRedo(deps, missed, { server, ahead });
  const noted = [...missing.former, ...missing.ours].filter(({ hash }) => !left.includes(hash));
  await audit.noteMissing(noted, server);
  return left.length === 0;
}

/** The hashes of those that could not be done again yet. */
async function stopAndRedo(
  deps: MissedDeps,
  missed: MissedDecisions,
  { server, ahead }: { server: string; ahead: ReadonlyMap<string, string> },
): Promise<readonly string[]> {
  const { ledger, log } = deps;
  log.error('Redis went back in time: what people decided is missing', { reason: missed.text });
  for (const { number, action, target } of missed.all) {
    log.error('a decision is missing in Redis', { reason: `${number} ${action} ${target}` });
  }
  const reason = `Redis went back in time; ${missed.text}`;
  const fault = await haltAll({ ledger }, { actor: ACTOR, reason });
  if (fault !== undefined) log.error('the halt is not on the audit log', { error: fault });
  // They may have armed what this Redis forgot: they compare, or are given up once more.
  for (const dataDirId of missed.givenUp) await ledger.state.enterDir(dataDirId, true);
  await restoreRuns(ledger, missed);
  await restorePaid(ledger, missed, server);
  for (const runId of await ledger.runs.live()) {
    const control = { actor: ACTOR, reason: 'Redis went back in time' };
    if (await goesOn(ledger, runId)) await doAgain(deps, { action: 'run.paused', target: runId, control });
  }
  for (const { target } of missed.proposed) await voidProposal(deps, target);
  return await redoStops(deps, [...missed.stops, ...stopsAhead(ahead)]);
}

async function restoreRuns({ recovery }: Ledger, { submitted }: MissedDecisions): Promise<void> {
  for (const entry of submitted) {
    const { target, details, action, at: seenAt } = entry;
    const { fileSha256 = '', contentHash = '', key = '' } = details;
    const handedIn = action === 'run.submitted' ? { onRecord: writeEntry(entry), key } : {};
    await recovery.restoreRun({ id: target, fileSha256, contentHash, seenAt, ...handedIn });
  }
}

/** The hashes of those that could not be done again yet. */
async function redoStops(deps: MissedDeps, stops: readonly AnyStop[]): Promise<readonly string[]> {
  const { ledger } = deps;
  const left: string[] = [];
  for (const { action, target, details, hash } of stops) {
    const control = { actor: ACTOR, reason: `again: ${details['reason'] ?? ''}` };
    const known = await inKnownRun(ledger, { action, target });
    if (known === undefined) await ledger.recovery.stopAhead(target, action);
    else if (await beginsLater(ledger, known)) await ledger.recovery.stopAhead(known.target, action);
    else if (await doAgain(deps, { ...known, control })) await ledger.recovery.forgetStop(target);
    else if (hash !== '') left.push(hash);
  }
  return left;
}

/** Whether it pauses a run that has yet to begin: that begins paused. */
async function beginsLater(
  { runs }: Ledger,
  { action, target }: { action: Stopping; target: string },
): Promise<boolean> {
  if (action !== 'run.paused') return false;
  const state = (await runs.read(target))?.state;
  return state === 'recording' || state === 'awaiting-approval';
}

/** Without a hash where no entry of this directory's copies has it. */
type AnyStop = Pick<MissedStop, 'action' | 'target' | 'details' | 'hash'>;

/** What people stopped before it was known again, as another directory had it. */
function stopsAhead(ahead: ReadonlyMap<string, string>): readonly AnyStop[] {
  return [...ahead].flatMap(([target, noted]) => {
    const action = STOPPING.find((one) => one === noted);
    return action === undefined ? [] : [{ action, target, details: {}, hash: '' }];
  });
}

/**
 * What people stopped in a run that is known as another one, of the same content, stops that one. Where the rows came in another
 * file, nobody can tell which of them it was: the run is cancelled. Undefined where this Redis does not know the run (yet).
 */
async function inKnownRun(
  { recovery, runs }: Ledger,
  { action, target }: { action: Stopping; target: string },
): Promise<{ action: Stopping; target: string } | undefined> {
  const isOfPayout = action.startsWith('payout.');
  if (!isOfPayout && !action.startsWith('run.')) return { action, target };
  const { id, isSameFile } = await recovery.knownAs(isOfPayout ? placeOfId(target).runId : target);
  if ((await runs.read(id)) === undefined) return undefined;
  if (!isOfPayout) return { action, target: id };
  const { line } = placeOfId(target);
  return isSameFile ? { action, target: payoutId({ runId: id, line }) } : { action: 'run.cancelled', target: id };
}

/** What Redis has of a proposal is an earlier one: whoever made it wanted something else since. */
async function voidProposal({ ledger }: MissedDeps, target: string): Promise<void> {
  const place = placeOfId(target);
  const { payout } = await ledger.payouts.read(place);
  if (payout === undefined || payout.seals.proposal === null) return;
  const { version } = payout;
  await ledger.payouts.move({
    ...place,
    version,
    actor: ACTOR,
    reason: '',
    values: { proposal: null },
    dueMs: 'as-it-is',
  });
}

/** What people settled as paid is as if the service had said yes: its quote is never proven dead. */
async function restorePaid({ state, payouts }: Ledger, { paid }: MissedDecisions, server: string): Promise<void> {
  if (paid.length === 0) return;
  const { hashReference } = await import('../../intake/row/reference-hash.ts');
  const answers = await Promise.all(
    paid.map(async ({ target, details }) => {
      const { payout } = await payouts.read(placeOfId(target));
      // It is news to a ledger that went back, whatever that knew of the quote before.
      const news =
        payout === undefined ? {} : { h: hashReference(payout.row.reference), o: payout.settledAt ?? undefined };
      return { y: details['quote'], p: details['payment'] ?? '', n: true, ...news };
    }),
  );
  await state.compare({ dataDirId: '', server, last: false, json: JSON.stringify(answers), peers: [] });
}

const MAY_BE_SENT: readonly PayoutState[] = ['ready', 'armed', 'quoted', 'unknown', 'held'];

const pause: Stop = ({ ledger }, runId, control) => pauseRun({ ledger, wake: async () => {} }, runId, control);

/**
 * In a closed season nobody knows whether it was sent: people give it up once more. One that was not sent is held, now or once
 * that is known; one whose row is not there yet, when it comes. What others had proposed for it does not hold.
 */
const holdAgain: Stop = async ({ ledger, log }, target, { actor }) => {
  const place = placeOfId(target);
  const { runId, line } = place;
  const { payout } = await ledger.payouts.read(place);
  if (payout === undefined) {
    await ledger.runs.note(runId, { [`gaveUp:${line}`]: '1' });
    return;
  }
  if (!MAY_BE_SENT.includes(payout.state)) {
    log.warn('it was not given up again', { reason: `${target} is ${payout.state}` });
    return;
  }
  const reason = 'E_GIVEN_UP';
  await ledger.payouts.move({ ...place, actor, reason, values: { givenUp: true, proposal: null }, dueMs: 'as-it-is' });
  const values = { reasonCode: reason, reason: 'it was given up, and Redis forgot that' };
  await ledger.payouts.move({ ...place, from: 'ready', to: 'held', actor, reason, values });
};

/** Of one who was only proposed, the proposal is withdrawn. */
const endUser: Stop = (deps, target, { actor }) => disableUser(deps, { name: target.replace('user ', ''), actor });
const endKey: Stop = (deps, target, { actor }) => revokeKey(deps, { name: target.replace('key ', ''), actor });

type Stop = (deps: MissedDeps, target: string, control: Control) => Promise<unknown>;

/** How each act that only stops is done again, by its action on the audit log. */
const STOPS: Readonly<Record<Stopping, Stop>> = {
  'beneficiary.blocked': (deps, target, control) => blockBeneficiary(deps, target, control),
  'run.cancelled': ({ ledger }, target, control) => cancelRun({ ledger, wake: async () => {} }, target, control),
  'run.paused': pause,
  'user.disabled': endUser,
  'user.add-withdrawn': endUser,
  'key.revoked': endKey,
  'key.create-withdrawn': endKey,
  'capability.disproved': ({ ledger }, target, { reason }) => ledger.state.disprove(target, reason),
  'payout.cancelled': holdAgain,
  'payout.drop-confirmed': holdAgain,
  'payout.not-paid-confirmed': holdAgain,
};

/**
 * False where it has to be done later: payrun adds nothing to a list that something else changed. What this Redis never had, or
 * what is over, has nothing to stop.
 */
async function doAgain(
  deps: MissedDeps,
  { action, target, control }: { action: Stopping; target: string; control: Control },
): Promise<boolean> {
  try {
    await STOPS[action](deps, target, control);
    return true;
  } catch (error) {
    const isListFault = error instanceof BlockListFault || (error instanceof Refusal && error.kind === 'unavailable');
    if (!isListFault && !(error instanceof Refusal)) throw error;
    deps.log.warn('it was not done again', { reason: `${action} ${target}: ${error.message}` });
    return !isListFault;
  }
}

/** Whether it is being paid, or will be at its time. */
async function goesOn(ledger: Ledger, runId: string): Promise<boolean> {
  const run = await ledger.runs.read(runId);
  return run !== undefined && (run.state === 'paying' || (run.state === 'paused' && run.startAt !== null));
}
