import type { Ledger } from '../../ledger/ledger.ts';
import type { Log } from '../../log.ts';
import { OPEN_STATES, type Payout, payoutId, type Run } from '../../payout.ts';
import { Refusal, withSteps } from '../../refusal.ts';
import { readRun } from '../read-run.ts';
import { cancelReady } from './cancel-ready.ts';

/*
 * What people do to a payout, a run or a beneficiary, and a halt, waits in Redis for its audit entry from the moment that it takes
 * effect; whoever appends next writes that entry. Repeating an act makes another entry. A command whose entry cannot be written
 * fails; only a halt does not.
 */

export interface ControlDeps {
  readonly ledger: Ledger;
  readonly wake: (runId: string) => Promise<void>;
}

export interface Control {
  readonly actor: string;
  readonly reason: string;
}

export interface Resumption extends Control {
  /** The stage, counted from 1, that is over as whoever resumes the run saw it; left out: the one that is over now. */
  readonly stage?: number | undefined;
  /** How many pauses of the run they saw; left out: as many as there are now. */
  readonly pauses?: number | undefined;
}

/** Stops a run from arming anything more, until it is resumed. What was sent is still looked up. A further reason stands beside the first. */
export async function pauseRun(deps: ControlDeps, runId: string, control: Control): Promise<Run> {
  return await moveRun(deps, runId, { to: 'paused', ...control });
}

/** Lets a paused run go on. Refused while everything is halted, and where another stage is over than the one that was seen. */
export async function resumeRun(deps: ControlDeps, runId: string, control: Resumption): Promise<Run> {
  const run = await moveRun(deps, runId, { to: 'paying', ...control });
  await deps.wake(runId);
  return run;
}

/**
 * Cancels a run: what was never sent is cancelled; what may have been sent is looked up until it is known, and cancelled
 * once it is proven that it can never be paid.
 */
export async function cancelRun(deps: ControlDeps, runId: string, control: Control): Promise<Run> {
  await moveRun(deps, runId, { to: 'cancelled', ...control });
  await cancelReady(deps.ledger, runId, control.actor);
  return await readRun(deps, runId);
}

/** Cancels a run that waits for approval; one that was approved meanwhile goes on. */
export async function sendBackRun(deps: ControlDeps, runId: string, control: Control): Promise<Run> {
  await moveRun(deps, runId, { from: 'awaiting-approval', to: 'cancelled', ...control });
  await cancelReady(deps.ledger, runId, control.actor);
  return await readRun(deps, runId);
}

async function moveRun(
  deps: ControlDeps,
  runId: string,
  {
    stage: stageSeen,
    pauses,
    ...move
  }: Resumption & { to: 'paused' | 'paying' | 'cancelled'; from?: 'awaiting-approval' },
): Promise<Run> {
  const before = await readRun(deps, runId);
  if (move.to === 'paying') requireResumable(before, { stage: stageSeen, pauses });
  const { runs, audit } = deps.ledger;
  const { actor, reason } = move;
  const entry = { actor, action: `run.${WORDS[move.to]}`, target: runId, details: { reason } };
  // Who resumes a run releases the next stage after the one that they saw, and none after that, and undoes no later pause.
  const seen = move.to === 'paying' ? seenOf(before, { stage: stageSeen, pauses }) : {};
  const { result, state } = await runs.move(runId, { ...move, ...seen, act: await audit.waiting(entry) });
  if (result === 'moved') await audit.appendWaiting();
  else if (result === 'there') await audit.append(entry);
  else throw await refusalOf(deps, runId, { result, state, to: move.to });
  return await readRun(deps, runId);
}

/** Whoever names the stage saw its end, and no pause after that. */
function seenOf({ stages, pauses: now }: Run, { stage, pauses }: Pick<Resumption, 'stage' | 'pauses'>) {
  const isAtEnd = stage !== undefined && pauses === undefined && stages?.isOver === true;
  return { stage: stages ?? undefined, pausesSeen: isAtEnd ? ('stage' as const) : now };
}

function requireResumable(run: Run, { stage, pauses }: Pick<Resumption, 'stage' | 'pauses'>): void {
  if (run.state !== 'paused' && run.state !== 'paying') throw refuseMove(run.id, run.state, 'paying');
  if (stage !== undefined && stage - 1 !== run.stages?.at) throw refuseChanged(run);
  if (pauses !== undefined && run.state === 'paused' && pauses !== run.pauses) throw refuseChanged(run);
}

async function refusalOf(
  deps: ControlDeps,
  runId: string,
  { result, state, to }: { result: string; state: string; to: keyof typeof WORDS },
): Promise<Refusal> {
  if (result === 'halted')
    return new Refusal('Everything is halted.', withSteps`Two people release the halt first: ${{ to: 'release' }}.`);
  const hasChanged = result === 'forbidden' && to === 'paying' && state === 'paused';
  return hasChanged ? refuseChanged(await readRun(deps, runId)) : refuseMove(runId, state, to);
}

const WORDS = { paused: 'paused', paying: 'resumed', cancelled: 'cancelled' } as const;

/** Somebody released another stage, or paused it again. */
function refuseChanged({ id, state, stages, pauseReason }: Run): Refusal {
  const at =
    stages === null
      ? ''
      : ` Its stage ${stages.at + 1} of ${stages.ends.length} is ${stages.isOver ? 'over' : 'being paid'} now.`;
  return new Refusal(
    `Run ${id} has changed since you looked: it is ${state}${pauseReason === null ? '' : ` (${pauseReason})`}.${at}`,
    withSteps`Look at it, then decide again: ${{ to: 'see-run', run: id }}.`,
  );
}

function refuseMove(runId: string, from: string, to: keyof typeof WORDS): Refusal {
  return new Refusal(
    `Run ${runId} is ${from}; it cannot be ${WORDS[to]}.`,
    from === 'recording'
      ? withSteps`Some of its rows are not recorded: hand the same file in again (${{ to: 'see-runs' }} shows its SHA-256).`
      : withSteps`See ${{ to: 'see-run', run: runId }}.`,
  );
}

/** Cancels one payout of a run that waits; a held one is dropped by two people (architecture.md). */
export async function cancelPayout(
  deps: ControlDeps & { readonly ensureSeason: () => Promise<unknown> },
  payout: Payout,
  control: Control,
): Promise<void> {
  if (!isCancellable(payout)) throw refuseCancel(payout, payout.state);
  const { runId, line, version } = payout;
  const { actor, reason } = control;
  const { payouts, audit } = deps.ledger;
  const entry = { actor, action: 'payout.cancelled', target: payoutId(payout), details: { reason } };
  if (!(await deps.ledger.state.season()).open) await deps.ensureSeason();
  const act = await audit.waiting(entry);
  const { result, state } = await payouts.move({ runId, line, to: 'cancelled', version, actor, reason, act });
  if (result === 'moved') {
    await audit.appendWaiting();
    return;
  }
  if (result === 'season') {
    throw new Refusal(
      'Redis was restarted, and not every host has compared what it sent.',
      'Cancel it once the workers run.',
      { kind: 'unavailable' },
    );
  }
  throw refuseCancel(payout, state);
}

/** Whether one person may cancel the payout. */
export function isCancellable({ state }: Payout): boolean {
  return state === 'ready';
}

function refuseCancel({ runId: run, row: { reference } }: Payout, state: string): Refusal {
  return new Refusal(
    `The payout of ${reference} is ${state}; one person can only cancel one that is waiting.`,
    state === 'held'
      ? withSteps`If it was never sent, ${{ to: 'drop', run, reference }} gives it up; another person confirms.`
      : withSteps`See ${{ to: 'see-payout', run, reference }}; if it has just changed, try again.`,
  );
}

/** Stops everything. Gives the fault that kept the halt out of the audit log, if there was one: it never fails for that. */
export async function haltAll({ ledger }: Pick<ControlDeps, 'ledger'>, { actor, reason }: Control): Promise<unknown> {
  const entry = { actor, action: 'ledger.halted', target: 'ledger', details: { reason } };
  const act = await ledger.audit.waiting(entry).catch(() => undefined);
  await ledger.state.halt(actor, reason, act);
  const written = act === undefined ? ledger.audit.append(entry) : ledger.audit.appendWaiting();
  return await written.then(
    () => undefined,
    (fault: unknown) => fault,
  );
}

/**
 * Notes that the service lacks a capability; true when that is news. It stands on the audit log, whose copies outlive a Redis
 * that goes back in time.
 */
export async function disproveCapability(
  { ledger, log }: Pick<ControlDeps, 'ledger'> & { readonly log: Log },
  capability: string,
  evidence: string,
): Promise<boolean> {
  if (!(await ledger.state.disprove(capability, evidence))) return false;
  const entry = {
    actor: 'payrun',
    action: 'capability.disproved',
    target: capability,
    details: { reason: evidence },
  };
  await ledger.audit.append(entry).catch((error: unknown) => {
    log.error('that a capability is lacking is not on the audit log', { error });
  });
  return true;
}

/** The payouts of a run that carry a reference; undefined when there is none. */
export async function findPayout(ledger: Ledger, runId: string, reference: string): Promise<Payout | undefined> {
  for await (const batch of ledger.runs.rows(runId)) {
    for (const row of batch) if ('row' in row && row.row.reference === reference) return row;
  }
  return undefined;
}

/** Whether nothing of the run is open any more: it is finished, or cancelled with nothing left to learn. */
export function hasEnded(run: Run): boolean {
  if (run.state === 'finished') return true;
  return run.state === 'cancelled' && OPEN_STATES.every((state) => run.counts[state] === 0);
}
