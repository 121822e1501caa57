import { createHash } from 'node:crypto';
import { isAnyBehind, isSamePerson } from '../../access/same-person.ts';
import type { AuditAct } from '../../audit/entry.ts';
import { rfc3339 } from '../../clock.ts';
import { isSameReference } from '../../intake/row/references.ts';
import type { PayoutMove } from '../../ledger/payouts/acts.ts';
import type { PayoutValues } from '../../ledger/payouts/values.ts';
import type { Seals } from '../../ledger/seals.ts';
import { FIRST_TRACK_MS, LOOK_DAILY_MS } from '../../pay/due.ts';
import { acceptPayment, NO_REASON, noteAnswer, paymentValues, placeOf } from '../../pay/facts.ts';
import { finalState } from '../../pay/track/payment-end.ts';
import { type Decision, type Payout, type Proposal, payoutId } from '../../payout.ts';
import { Refusal, withSteps } from '../../refusal.ts';
import type { PaymentReply } from '../../service/replies.ts';
import { rowsFinding } from '../safety/seals.ts';
import { refuseFinding } from '../safety/shown-seals.ts';
import { decidableFrom, WHY_NOT_YET, whyNotDecided } from './decision.ts';
import { type EvidenceDeps, type Findings, isForgotten, lookUpForPeople, type PaymentFound } from './evidence.ts';
import { whyNotAllowed } from './lift.ts';

const DIGEST_CHARACTERS = 32;

export interface DecideDeps extends EvidenceDeps {
  /** Data directories that have yet to say what they sent. */
  readonly ensureSeason: () => Promise<readonly string[]>;
  readonly wake: (runId: string) => Promise<void>;
}

/** What a person wants to be done with a payout. */
export interface Asked {
  readonly decision: Decision;
  /** The payment, for `paid`; empty for the others. */
  readonly paymentId: string;
  readonly by: string;
  readonly reason: string;
  /**
   * Where something speaks against it: `read` confirms it all the same, a digest only where nothing else speaks against it than when
   * it was shown, `alone` leaves the payout out; unless given it is shown first.
   */
  readonly caveats?: 'read' | 'alone' | { readonly digest: string } | undefined;
}

export interface Decided {
  /** `proposed`: another person has to confirm it. `to-read`: that person confirms it again once they have read the evidence. */
  readonly result: 'proposed' | 'to-read' | 'done';
  /** What speaks for and against it, in words for people. */
  readonly evidence: readonly string[];
  /** Of what speaks against it, where that is to be read: whoever confirms it gives it back. */
  readonly digest?: string;
}

/**
 * Lets people settle a payout: the first proposes, another one confirms, with a fresh look-up at both; any move of the
 * payout in between voids the proposal (architecture.md, rule 9). Throws a Refusal when it cannot be decided, or the service
 * says otherwise: a payment that is found is written down at once, for a fact beats a doubt.
 */
export async function decidePayout(deps: DecideDeps, payout: Payout, asked: Asked): Promise<Decided> {
  const why = await whyNotNow(deps, payout, asked);
  if (why !== undefined) throw refuse(payout, why);
  await requireTrueRow(deps, payout, asked);
  const findings = await lookUpForPeople(deps, payout, asked);
  requireNoContradiction(payout, asked, findings);
  const evidence = [...findings.words, ...findings.caveats];
  const hasCaveats = findings.caveats.length > 0;
  if (hasCaveats && asked.caveats === 'alone')
    throw refuse(payout, `it has to be settled alone: ${evidence.join('; ')}`);
  const proposal = await standingProposal(deps, payout);
  const { seen = '', holders } = findings;
  if (proposal === null || !isOf(proposal, { ...asked, seen })) {
    await propose(deps, payout, { ...asked, seen });
    return { result: 'proposed', evidence };
  }
  if (isSamePerson(proposal.by, asked.by)) throw refuseSamePerson(payout, proposal.by);
  const digest = digestOf(findings);
  if (hasCaveats && !isRead(asked, digest)) return { result: 'to-read', evidence, digest };
  await carryOut(deps, payout, { ...asked, proposedBy: proposal.by, found: findings.payment, holders });
  return { result: 'done', evidence };
}

function digestOf({ caveats }: Findings): string {
  return createHash('sha256').update(caveats.join('\n')).digest('hex').slice(0, DIGEST_CHARACTERS);
}

function isRead({ caveats }: Asked, digest: string): boolean {
  return caveats === 'read' || (typeof caveats === 'object' && caveats.digest === digest);
}

async function whyNotNow(
  { ledger, ensureSeason }: DecideDeps,
  payout: Payout,
  asked: Asked,
): Promise<string | undefined> {
  // What another host sent may not be known yet; and an end that frees a reference takes an open season.
  const { open } = await ledger.state.season();
  if (!open && (await ensureSeason()).length > 0) return WHY_NOT_YET;
  return whyNotDecided(payout, asked.decision) ?? (await whyNotAllowed(ledger, payout, asked));
}

/** Null also for one of somebody whose account was disabled since. */
async function standingProposal({ ledger }: DecideDeps, { proposal }: Payout): Promise<Proposal | null> {
  return proposal === null || isAnyBehind(await ledger.people.disabled(), proposal.by) ? null : proposal;
}

/** What people let go is what payrun recorded. A proposal that is not true counts as none. */
async function requireTrueRow(deps: DecideDeps, payout: Payout, { decision }: Asked): Promise<void> {
  if (decision !== 'allow') return;
  const alone = { ...payout, proposal: null, seals: { ...payout.seals, proposal: null } };
  await refuseFinding(deps, rowsFinding(deps, { id: payout.runId }, [alone]));
}

function isOf(proposal: Proposal, asked: Asked & { seen: string }): boolean {
  return proposal.decision === asked.decision && proposal.paymentId === asked.paymentId && proposal.seen === asked.seen;
}

function requireNoContradiction(payout: Payout, { decision }: Asked, findings: Findings): void {
  if (findings.contradiction !== undefined) throw refuse(payout, findings.contradiction);
  const from = decidableFrom(payout, decision, findings);
  if (from !== undefined && findings.date <= from) {
    throw refuse(
      payout,
      `it could still be paid: this can be decided from ${rfc3339(from)} on, by the service's clock`,
    );
  }
}

async function propose(deps: DecideDeps, payout: Payout, asked: Asked & { seen: string }): Promise<void> {
  const { decision, paymentId, by, reason, seen } = asked;
  const { now } = await deps.ledger.payouts.read(placeOf(payout));
  const proposal = { decision, by, at: now, paymentId, reason, seen };
  await moveOrRefuse(deps, payout, {
    actor: by,
    reason,
    dueMs: 'as-it-is',
    values: { proposal: { proposal, seal: deps.ledger.seals.proposal(payout, proposal) } },
    act: actOf(payout, { ...asked, action: `payout.${decision}-proposed` }),
  });
}

interface Agreed extends Asked {
  readonly proposedBy: string;
  readonly found: PaymentFound | undefined;
  readonly holders: Findings['holders'];
}

async function carryOut(deps: DecideDeps, payout: Payout, agreed: Agreed): Promise<void> {
  const { decision, by, proposedBy, reason, holders } = agreed;
  const act = actOf(payout, { ...agreed, action: `payout.${decision}-confirmed` });
  const people = { actor: `${proposedBy} and ${by}`, reason, act };
  switch (decision) {
    case 'allow':
      await moveOrRefuse(deps, payout, {
        ...people,
        to: 'ready',
        dueMs: 0,
        ...(holders === undefined ? {} : { sawHolders: holders }),
        values: { ...NO_REASON, quoteFailures: null, ...liftedValues(deps.ledger.seals, payout) },
      });
      await deps.wake(payout.runId);
      break;
    case 'drop':
      await moveOrRefuse(deps, payout, { ...people, to: 'cancelled' });
      break;
    case 'not-paid':
      // It is looked up once more a day later, in case both of them were wrong.
      await moveOrRefuse(deps, payout, {
        ...people,
        ...notPaidMove(payout),
        ...knownYes(payout),
        values: { reasonCode: 'E_NOT_PAID', reason, rejectionConfirmed: true },
      });
      break;
    case 'paid':
      await settlePaid(deps, payout, { ...agreed, act });
  }
}

/** What the record keeps of people's word that a limit or the bound on its cost does not count for a payout. */
function liftedValues(seals: Seals, payout: Payout): PayoutValues {
  const place = placeOf(payout);
  if (payout.reasonCode === 'E_LIMIT') return { beyondLimits: seals.beyondLimits(place) };
  if (payout.reasonCode === 'E_COST_DRIFT') return { costLimit: { limit: null, seal: seals.costLimit(place, null) } };
  return {};
}

/** What the service said of a payment that it made is known: a comparison of logs tells of it no more. */
function knownYes({ quoteId, history }: Payout): Pick<PayoutMove, 'foundQuoteId'> {
  const wasMade = history.some(({ to }) => to === 'accepted');
  return wasMade && quoteId !== null ? { foundQuoteId: quoteId } : {};
}

/** A rejection that nothing could confirm is confirmed by people, and one that was never sent is given up. */
function notPaidMove({ state, quoteId }: Payout): Pick<PayoutMove, 'to' | 'dueMs'> {
  if (state === 'rejected') return { dueMs: LOOK_DAILY_MS };
  return quoteId === null ? { to: 'cancelled' } : { to: 'rejected', dueMs: LOOK_DAILY_MS };
}

/** What the service forgot is over by the word of two people, and so is what it shows otherwise than we asked for once it is completed; else it is followed. */
async function settlePaid(deps: DecideDeps, payout: Payout, agreed: Agreed & { act: AuditAct }): Promise<void> {
  const { found, paymentId, proposedBy, by, reason, act } = agreed;
  const { quoteId } = payout;
  const people = { actor: `${proposedBy} and ${by}`, reason, act };
  if (quoteId === null || (found === undefined && !isForgotten(payout, paymentId)))
    throw refuse(payout, 'the payment was not found');
  if (found === undefined) {
    await moveOrRefuse(deps, payout, { ...people, to: 'completed' });
    return;
  }
  // A payment of its own quote may turn up beside it.
  const leavesQuote = found.payment.paymentId !== quoteId;
  if (found.isAsShown === true) {
    const isOver = finalState(found.payment.paymentState) === 'completed';
    const end = isOver ? ({ to: 'completed' } as const) : ({ to: 'accepted', dueMs: FIRST_TRACK_MS } as const);
    await moveOrRefuse(deps, payout, { ...people, ...end, leavesQuote, values: paymentValues(found.payment, payout) });
    await noteAnswer(found.pay, payout, { quoteId, paymentId: found.payment.paymentId, isNamed: true });
    return;
  }
  const accepted = await acceptPayment({ ...found.pay, owner: people.actor }, payout, {
    quoteId,
    payment: found.payment,
    exchange: found.exchange,
    // One of a quote that was armed too is known, and says nothing new of the service.
    isOurs: !found.isOfFormerQuote && isOfReference(found.payment, payout),
    leavesQuote,
    isAgreed: true,
    act: await deps.ledger.audit.waiting(act),
  });
  if (accepted === 'changed') throw refuse(payout, 'it has just changed');
  await deps.ledger.audit.appendWaiting();
}

function isOfReference({ internalId }: PaymentReply, { row }: Payout): boolean {
  return internalId !== null && isSameReference(internalId, row.reference);
}

/** Moves the very payout that the people saw, and puts that on the audit log, or says that it changed meanwhile. */
async function moveOrRefuse(
  { ledger }: DecideDeps,
  payout: Payout,
  move: Omit<PayoutMove, 'runId' | 'line' | 'version' | 'act'> & { act: AuditAct },
): Promise<void> {
  // A Redis that went back may give the same version to another state.
  const { version, state: from } = payout;
  const act = await ledger.audit.waiting(move.act);
  const { result, state } = await ledger.payouts.move({ ...placeOf(payout), version, from, ...move, act });
  if (result === 'moved') {
    await ledger.audit.appendWaiting();
    return;
  }
  if (result === 'season') throw refuse(payout, WHY_NOT_YET);
  if (result === 'forbidden' && move.to === 'ready') {
    const isAwaiting = (await ledger.runs.read(payout.runId))?.state === 'awaiting-approval';
    throw refuse(payout, isAwaiting ? 'its run waits for approval' : 'its run was cancelled');
  }
  throw refuse(payout, `it has just changed (it is ${state} now)`);
}

function actOf(payout: Payout, { action, by, reason, paymentId }: Asked & { action: string }): AuditAct {
  const details = {
    reason,
    before: payout.state,
    ...(paymentId === '' ? {} : { payment: paymentId }),
    ...(payout.quoteId === null ? {} : { quote: payout.quoteId }),
  };
  return { actor: by, action, target: payoutId(payout), details };
}

function refuse(payout: Payout, why: string): Refusal {
  return new Refusal(
    `The payout of ${payout.row.reference} cannot be settled like this: ${why}.`,
    withSteps`See ${{ to: 'see-payout', run: payout.runId, reference: payout.row.reference }} for everything that is known of it.`,
  );
}

function refuseSamePerson(payout: Payout, name: string): Refusal {
  return new Refusal(
    `${name} has proposed this for the payout of ${payout.row.reference}.`,
    withSteps`Another person has to check and to ${{ to: 'do-the-same' }} with their own name.`,
  );
}
