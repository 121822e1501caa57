import { isAnyBehind, isSamePerson } from '../../access/same-person.ts';
import type { Clock } from '../../clock.ts';
import { APPROVAL_HOLDS_MS, type ApprovalRules } from '../../config/approval.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { SealVerdict } from '../../ledger/seals.ts';
import type { Approval, Run } from '../../payout.ts';
import { Refusal, withSteps } from '../../refusal.ts';
import { handedInAs } from '../hand-in/handed-in.ts';
import { type StartRules, waitingFor } from '../hand-in/start.ts';
import { readRun } from '../read-run.ts';
import { sealFinding } from '../safety/seals.ts';
import { approvalDigest, approvalsNeededFor } from './approval.ts';
import { haltAll } from './control.ts';

export interface ApproveDeps {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly config: {
    readonly approval: ApprovalRules | null;
    readonly limits: { readonly name: string } | null;
  } & StartRules;
  readonly wake: (runId: string) => Promise<void>;
}

type StandingDeps = Pick<ApproveDeps, 'config' | 'clock'> & { readonly ledger: Pick<Ledger, 'seals'> };

export interface ApproveAsked {
  readonly actor: string;
  /** The beginning of the file's SHA-256 as the person saw it: what is approved is named. */
  readonly sha256: string;
  /** The digest that stood beside it: limits and rules that were changed since then were not seen. */
  readonly digest?: string | undefined;
}

/** How far a run is approved as it is now. */
export interface ApprovalStanding {
  /** People who must approve it. */
  readonly needed: number;
  /** Of what is approved, in hexadecimal. */
  readonly digest: string;
  /** All that were given; one that is for something else than the run is now, or too old, does not hold. */
  readonly given: readonly (Approval & {
    readonly holds: boolean;
    readonly until: number;
    /** Whether its seal says so; a false one was not written by payrun. */
    readonly verdict: SealVerdict;
    /** Whether their account was disabled since. */
    readonly isDisabled: boolean;
  })[];
}

export interface Approved {
  readonly run: Run;
  /** People that are still needed; 0 when the run goes on. */
  readonly missing: number;
}

const TRIES_MAX = 5;

/**
 * Lets another person than the one who handed the file in approve the run as it is: this file, these rows, totals and limits
 * (docs/security.md). With the last approval that is needed it is paid, at its time. Throws a Refusal for a run that
 * waits for nobody, for the person who handed it in, for one who has approved it, and when the file is not the one meant.
 * A run that was approved and not let go, because something ended in between, goes on when any of them approves it again.
 */
export async function approveRun(deps: ApproveDeps, runId: string, asked: ApproveAsked): Promise<Approved> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const run = await readRun(deps, runId);
    const disabled = await deps.ledger.people.disabled();
    const standing = requireApprovable(run, asked, approvalStanding(deps, run, disabled));
    await requireTrueSeals(deps, run);
    if (hasApproved(standing, asked.actor)) return await goOn(deps, run, { ...asked, standing });
    const { needed, digest } = standing;
    const without = standing.given.filter(({ isDisabled }) => isDisabled).map(({ by }) => by);
    const holdsMs = holdsMsOf(deps.config);
    const entry = { by: asked.actor, digest, seen: run.approvals, void: without, needed, holdsMs };
    const { result, count } = await deps.ledger.approvals.approve(runId, entry);
    if (result === 'forbidden') throw refuse(run, `it is ${run.state}`);
    if (result === 'changed') continue;
    await writeAudit(deps, run, { ...asked, digest, count: `${count} of ${needed}` });
    if (result === 'approved') await letGo(deps, run, asked.actor);
    return { run: await readRun(deps, runId), missing: Math.max(0, needed - count) };
  }
  throw refuse({ id: runId }, 'others are approving it at this moment');
}

/**
 * How far a run is approved: by whom, and whether that still holds. One that waits needs one person at least, for the rules
 * may have been taken away since it began to wait.
 */
export function approvalStanding(
  { config, clock, ledger: { seals } }: StandingDeps,
  run: Run,
  disabled: readonly string[],
): ApprovalStanding {
  const needed = Math.max(approvalsNeededFor(config.approval, run), run.state === 'awaiting-approval' ? 1 : 0);
  const digest = digestOf({ config }, run);
  const given = run.approvals.map((one) => {
    const until = one.at + holdsMsOf(config);
    const verdict = seals.judgeApproval(run.id, one);
    const isDisabled = isAnyBehind(disabled, one.by);
    const isOurs = verdict === 'true' && one.digest === digest;
    return { ...one, until, verdict, isDisabled, holds: isOurs && !isDisabled && until > clock.now() };
  });
  return { needed, digest, given };
}

function holdsMsOf({ approval }: ApproveDeps['config']): number {
  return approval?.holdsMs ?? APPROVAL_HOLDS_MS;
}

/** Throws a Refusal where this person cannot approve the run now. */
function requireApprovable(
  run: Run,
  { actor, sha256, digest }: ApproveAsked,
  standing: ApprovalStanding,
): ApprovalStanding {
  if (run.state !== 'awaiting-approval' && run.state !== 'paused') throw refuse(run, `it is ${run.state}`);
  if (standing.needed === 0) throw refuse(run, 'runs of its totals need no approval');
  if (!run.fileSha256.startsWith(sha256.toLowerCase())) throw refuse(run, `its file has the SHA-256 ${run.fileSha256}`);
  if (digest !== undefined && digest !== standing.digest)
    throw refuse(run, 'the limits or the rules of approval have changed since it was shown');
  const handedIn = handedInAs(actor, run);
  if (handedIn !== undefined) throw refuse(run, `${handedIn} handed it in; another person approves it`);
  if (hasApproved(standing, actor) && !isCutShort(run, standing)) throw refuse(run, `${actor} has approved it`);
  return standing;
}

/** Whether a person's word for the run holds. */
export function hasApproved({ given }: ApprovalStanding, person: string): boolean {
  return given.some(({ by, holds }) => holds && isSamePerson(by, person));
}

/** Whether a run still waits that enough people have approved: something ended whoever was letting it go. */
export function isCutShort({ state }: Pick<Run, 'state'>, { given, needed }: ApprovalStanding): boolean {
  return state === 'awaiting-approval' && given.filter(({ holds }) => holds).length >= needed;
}

/** Halts everything and throws a Refusal where the run, its rows or its approvals are not as payrun wrote them. */
async function requireTrueSeals(deps: ApproveDeps, run: Run): Promise<void> {
  const finding = await sealFinding(deps, run);
  if (finding === undefined) return;
  if (finding.verdict === 'false') await haltAll(deps, { actor: 'payrun', reason: finding.reason });
  throw refuse(run, finding.reason);
}

/** Does what was to follow the last approval; its entry on the audit log may be missing as well. */
async function goOn(
  deps: ApproveDeps,
  run: Run,
  { standing: { needed, digest }, ...asked }: ApproveAsked & { standing: ApprovalStanding },
): Promise<Approved> {
  await writeAudit(deps, run, { ...asked, digest, count: `${needed} of ${needed}` });
  await letGo(deps, run, asked.actor);
  return { run: await readRun(deps, run.id), missing: 0 };
}

function digestOf({ config }: Pick<ApproveDeps, 'config'>, run: Run): string {
  return approvalDigest(run, { limits: config.limits?.name, rules: config.approval?.name });
}

async function letGo(deps: ApproveDeps, run: Run, actor: string): Promise<void> {
  if (run.state === 'awaiting-approval') {
    // A time that it was given stands; a cut-off may have come while it waited.
    const start = run.startAt === null ? waitingFor(deps, run) : undefined;
    const move = { from: 'awaiting-approval', to: 'paying', actor, reason: 'approved', start } as const;
    const { result } = await deps.ledger.runs.move(run.id, move);
    if (result === 'season') throw refuse(run, 'Redis was restarted; approve it again once a worker has run');
  }
  await deps.wake(run.id);
}

async function writeAudit(
  { ledger }: ApproveDeps,
  run: Run,
  { actor, digest, count }: ApproveAsked & { digest: string; count: string },
): Promise<void> {
  const details = { fileSha256: run.fileSha256, rows: String(run.rows), digest, approvals: count };
  await ledger.audit.append({ actor, action: 'run.approved', target: run.id, details });
}

function refuse({ id }: Pick<Run, 'id'>, why: string): Refusal {
  return new Refusal(
    `Run ${id} cannot be approved like this: ${why}.`,
    withSteps`${{ to: 'see-run', run: id }} shows its file, totals and approvals.`,
  );
}
