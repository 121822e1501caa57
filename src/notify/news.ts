import { z } from 'zod';
import type { RunNews, ToldEvent } from '../ledger/outbox.ts';
import { OPEN_STATES, type Run } from '../payout.ts';
import type { Draft } from './notification.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** More payouts of a kind are told of so long after the last ones: a run in which many fail is no flood. */
const COUNTS_AGAIN_MS = 5 * MINUTE_MS;
/** How often the payments of a run are looked at for those that are pending for long. */
const PENDING_AGAIN_MS = HOUR_MS;
/** A run that is over is looked at so often, until nothing can come of it any more. */
const OVER_AGAIN_MS = DAY_MS;

/** States of payouts of which people are told. `armed` and `quoted` are on their way. */
const TOLD_STATES = ['unknown', 'held', 'returned', 'failed'] as const;

const countSchema = z.object({ count: z.int(), at: z.int() });
const toldSchema = z.object({
  accepted: z.boolean(),
  settled: z.boolean().default(false),
  approvalSince: z.int().nullable(),
  approvalAt: z.int(),
  unknown: countSchema,
  held: countSchema,
  returned: countSchema,
  failed: countSchema,
  pending: countSchema,
});

/** What was told of a run: how many payouts of each kind and when, and whether it waits for approval. */
export type Announced = z.infer<typeof toldSchema>;

const NEVER = { count: 0, at: 0 };
const NOTHING: Announced = {
  accepted: false,
  settled: false,
  approvalSince: null,
  approvalAt: 0,
  unknown: NEVER,
  held: NEVER,
  returned: NEVER,
  failed: NEVER,
  pending: NEVER,
};

export interface NewsRules {
  /** A payment that is under way for longer is told of. */
  readonly pendingMs: number;
  /** How often people are told that a run waits for approval. */
  readonly approvalReminderMs: number;
}

/** What was read of a run. `run` may be newer than `news`: the next look then finds the rest. */
export interface RunLook {
  readonly news: RunNews;
  readonly run: Run;
  /** What happened before is not told. */
  readonly since: number;
  readonly nowMs: number;
  /** Payments that are pending for long, where they were counted. */
  readonly pendingLong?: number | undefined;
}

export interface RunTelling {
  readonly drafts: readonly Draft[];
  readonly told: Announced;
  /** When to look again although nothing moves; null for never. */
  readonly againAt: number | null;
  /** Nothing can come of the run any more. */
  readonly isSettled: boolean;
}

/** What was told of the run; for one that is older than all telling, everything that happened before. */
export function announcedOf({ news, run, since }: RunLook): Announced {
  if (news.what !== '') return toldSchema.parse(JSON.parse(news.what));
  if (run.createdAt >= since) return NOTHING;
  const now = (state: (typeof TOLD_STATES)[number]) => ({ count: run.counts[state], at: 0 });
  return {
    ...NOTHING,
    accepted: true,
    settled: isFinal(run),
    unknown: now('unknown'),
    held: now('held'),
    returned: now('returned'),
    failed: now('failed'),
  };
}

/** When the run's payments are to be looked at for those that are pending for long; null while it has none. */
export function pendingDueAt({ run }: Pick<RunLook, 'run'>, told: Announced, { pendingMs }: NewsRules): number | null {
  if (run.counts.accepted === 0) return null;
  return Math.max(run.createdAt + pendingMs, told.pending.at + PENDING_AGAIN_MS);
}

/** Decides what is to be told of a run, from what was told and how it stands now. */
export function announceRun(look: RunLook, before: Announced, rules: NewsRules): RunTelling {
  const told: Announced = { ...before };
  const drafts: Draft[] = [];
  for (const event of look.news.events) {
    if (event.at >= look.since) drafts.push(...tellEvent(event, look.run, told));
  }
  const approvalAgain = tellApproval(look, { told, drafts, rules });
  const countsAgain = TOLD_STATES.map((state) => tellCount(look, state, { told, drafts }));
  tellPending(look, { told, drafts, rules });
  tellSettled(look, { told, drafts });
  const isSettled = isFinal(look.run) && !look.news.isFollowed;
  const again = [
    approvalAgain,
    ...countsAgain,
    pendingDueAt(look, told, rules),
    isOver(look.run) ? look.nowMs + OVER_AGAIN_MS : null,
  ];
  return { drafts, told, againAt: isSettled ? null : earliest(again), isSettled };
}

interface Pad {
  readonly told: Announced;
  readonly drafts: Draft[];
}

function tellEvent({ event, at, actor, reason }: ToldEvent, run: Run, told: Announced): Draft[] {
  const drafts: Draft[] = [];
  if (!told.accepted && event !== 'cancelled') {
    told.accepted = true;
    drafts.push({ event: 'accepted', at, run });
  }
  if (event === 'awaiting-approval') {
    told.approvalSince = at;
    told.approvalAt = at;
    drafts.push({ event, at, run, waitingSince: at });
  }
  if (event === 'paused') drafts.push({ event, at, run, reason: saidReason(actor, reason) });
  if (event === 'finished' || event === 'cancelled') drafts.push({ event, at, run });
  return drafts;
}

/** Reasons of ours begin with a code of ours, if any. What the service says stays out: nobody knows what is in it. */
function saidReason(actor: string, reason: string): string {
  const [, code] = /^([A-Z][A-Z0-9_-]*): /.exec(reason) ?? [];
  if (actor !== 'payrun' || code === undefined || code.startsWith('E_')) return reason;
  return `the service refused: ${code}`;
}

/** A run of an earlier time waits since it is first looked at. */
function tellApproval({ run, nowMs }: RunLook, { told, drafts, rules }: Pad & { rules: NewsRules }): number | null {
  if (run.state !== 'awaiting-approval') {
    told.approvalSince = null;
    return null;
  }
  if (told.approvalSince === null) {
    told.approvalSince = nowMs;
    told.approvalAt = nowMs;
  }
  if (nowMs - told.approvalAt >= rules.approvalReminderMs) {
    told.approvalAt = nowMs;
    drafts.push({ event: 'awaiting-approval', at: nowMs, run, waitingSince: told.approvalSince });
  }
  return told.approvalAt + rules.approvalReminderMs;
}

/** Counts that went down make room: what comes from then on is new. */
function tellCount({ run, nowMs }: RunLook, state: (typeof TOLD_STATES)[number], { told, drafts }: Pad): number | null {
  const count = run.counts[state];
  const known = Math.min(told[state].count, count);
  told[state] = { ...told[state], count: known };
  if (count === known) return null;
  const againAt = told[state].at + COUNTS_AGAIN_MS;
  if (nowMs < againAt) return againAt;
  told[state] = { count, at: nowMs };
  drafts.push({ event: state, at: nowMs, run, payouts: { count, new: count - known } });
  return null;
}

function tellPending({ run, nowMs, pendingLong }: RunLook, { told, drafts, rules }: Pad & { rules: NewsRules }): void {
  if (pendingLong === undefined) return;
  const known = Math.min(told.pending.count, pendingLong);
  told.pending = { count: pendingLong, at: nowMs };
  if (pendingLong === known) return;
  const payouts = { count: pendingLong, new: pendingLong - known, olderThanDays: rules.pendingMs / DAY_MS };
  drafts.push({ event: 'pending-long', at: nowMs, run, payouts });
}

/** Told once: what still comes of the run then are payments that come back. */
function tellSettled({ run, nowMs }: RunLook, { told, drafts }: Pad): void {
  if (told.settled || !told.accepted || !isFinal(run)) return;
  told.settled = true;
  drafts.push({ event: 'settled', at: nowMs, run });
}

function isOver({ state }: Pick<Run, 'state'>): boolean {
  return state === 'finished' || state === 'cancelled';
}

/** Nothing of the run waits for its service or for people. */
function isFinal({ state, counts }: Run): boolean {
  return isOver({ state }) && [...OPEN_STATES, 'held' as const, 'accepted' as const].every((of) => counts[of] === 0);
}

function earliest(times: readonly (number | null)[]): number | null {
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : Math.min(...known);
}
