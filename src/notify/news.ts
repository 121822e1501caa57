import { z } from 'zod';
import type { RunEvent, RunNews } from '../ledger/outbox.ts';
import { isOver, OPEN_STATES, type Run } from '../payout.ts';
import type { Draft } from './notification.ts';
import type { PayoutAnnouncement } from './payout-news.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** How long to wait before more payouts of the same kind are announced: a run in which many fail is no flood. */
const COUNTS_AGAIN_MS = 5 * MINUTE_MS;
/** How often the payments of a run are looked at for those that are pending for long. */
const PENDING_AGAIN_MS = HOUR_MS;
/** A run that is over is looked at so often, until nothing can come of it any more. */
const OVER_AGAIN_MS = DAY_MS;

/** States of payouts that are announced. `armed` and `quoted` are on their way. */
const ANNOUNCED_STATES = ['unknown', 'held', 'returned', 'failed'] as const;

const ENDS: ReadonlySet<string> = new Set(['finished', 'cancelled', 'settled']);

const countSchema = z.object({ count: z.int(), at: z.int() });
const announcedSchema = z.object({
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

/** What was announced of a run: how many payouts of each kind and when, and whether it waits for approval. */
export type Announced = z.infer<typeof announcedSchema>;

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
  /** A payment that is under way for longer is announced. */
  readonly pendingMs: number;
  /** How often people are reminded that a run waits for approval. */
  readonly approvalReminderMs: number;
}

/** What was read of a run. `run` may be newer than `news`: the next look then finds the rest. */
export interface RunLook {
  readonly news: RunNews;
  readonly run: Run;
  /** What happened before is not announced. */
  readonly since: number;
  readonly nowMs: number;
  /** Payments that are pending for long, where they were counted. */
  readonly pendingLong?: number | undefined;
  /** What is to be told of single payouts. */
  readonly payouts?: Pick<PayoutAnnouncement, 'drafts' | 'hasMore' | 'hasMoreWithRoom'>;
}

export interface RunAnnouncement {
  readonly drafts: readonly Draft[];
  readonly announced: Announced;
  /** When to look again although nothing moves; null for never. */
  readonly againAt: number | null;
  /** Nothing can come of the run any more. */
  readonly isSettled: boolean;
}

/** What was announced of the run; for one older than the first look at news, everything that happened before. */
export function announcedOf({ news, run, since }: RunLook): Announced {
  if (news.what !== '') return announcedSchema.parse(JSON.parse(news.what));
  if (run.createdAt >= since) return NOTHING;
  const now = (state: (typeof ANNOUNCED_STATES)[number]) => ({ count: run.counts[state], at: 0 });
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
export function pendingDueAt(
  { run }: Pick<RunLook, 'run'>,
  announced: Announced,
  { pendingMs }: NewsRules,
): number | null {
  if (run.counts.accepted === 0) return null;
  return Math.max(run.createdAt + pendingMs, announced.pending.at + PENDING_AGAIN_MS);
}

/** Decides what to announce of a run, from what was announced and how it stands now. */
export function announceRun(look: RunLook, before: Announced, rules: NewsRules): RunAnnouncement {
  const announced: Announced = { ...before };
  const drafts: Draft[] = [];
  for (const event of look.news.events) {
    if (event.at >= look.since) drafts.push(...announceEvent(event, look.run, announced));
  }
  const approvalAgain = announceApproval(look, { announced, drafts, rules });
  const countsAgain = ANNOUNCED_STATES.map((state) => announceCount(look, state, { announced, drafts }));
  announcePending(look, { announced, drafts, rules });
  announceSettled(look, { announced, drafts });
  announcePayouts(look, { drafts });
  const hasMore = look.payouts?.hasMore === true;
  const isSettled = isFinal(look.run) && !look.news.isFollowed && !hasMore;
  const again = [
    approvalAgain,
    ...countsAgain,
    pendingDueAt(look, announced, rules),
    isOver(look.run) ? look.nowMs + OVER_AGAIN_MS : null,
    hasMore ? look.nowMs : null,
  ];
  return { drafts, announced, againAt: isSettled ? null : earliest(again), isSettled };
}

interface Pad {
  readonly announced: Announced;
  readonly drafts: Draft[];
}

function announceEvent({ event, at, actor, reason }: RunEvent, run: Run, announced: Announced): Draft[] {
  const drafts: Draft[] = [];
  if (!announced.accepted && event !== 'cancelled') {
    announced.accepted = true;
    drafts.push({ event: 'accepted', at, run });
  }
  if (event === 'awaiting-approval') {
    announced.approvalSince = at;
    announced.approvalAt = at;
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
function announceApproval(
  { run, nowMs }: RunLook,
  { announced, drafts, rules }: Pad & { rules: NewsRules },
): number | null {
  if (run.state !== 'awaiting-approval') {
    announced.approvalSince = null;
    return null;
  }
  if (announced.approvalSince === null) {
    announced.approvalSince = nowMs;
    announced.approvalAt = nowMs;
  }
  if (nowMs - announced.approvalAt >= rules.approvalReminderMs) {
    announced.approvalAt = nowMs;
    drafts.push({ event: 'awaiting-approval', at: nowMs, run, waitingSince: announced.approvalSince });
  }
  return announced.approvalAt + rules.approvalReminderMs;
}

/** Counts that went down make room: what comes from then on is new. */
function announceCount(
  { run, nowMs }: RunLook,
  state: (typeof ANNOUNCED_STATES)[number],
  { announced, drafts }: Pad,
): number | null {
  const count = run.counts[state];
  const known = Math.min(announced[state].count, count);
  announced[state] = { ...announced[state], count: known };
  if (count === known) return null;
  const againAt = announced[state].at + COUNTS_AGAIN_MS;
  if (nowMs < againAt) return againAt;
  announced[state] = { count, at: nowMs };
  drafts.push({ event: state, at: nowMs, run, payouts: { count, new: count - known } });
  return null;
}

function announcePending(
  { run, nowMs, pendingLong }: RunLook,
  { announced, drafts, rules }: Pad & { rules: NewsRules },
): void {
  if (pendingLong === undefined) return;
  const known = Math.min(announced.pending.count, pendingLong);
  announced.pending = { count: pendingLong, at: nowMs };
  if (pendingLong === known) return;
  const payouts = { count: pendingLong, new: pendingLong - known, olderThanDays: rules.pendingMs / DAY_MS };
  drafts.push({ event: 'pending-long', at: nowMs, run, payouts });
}

/** Single payouts come before the end of their run. */
function announcePayouts({ payouts }: RunLook, { drafts }: Pick<Pad, 'drafts'>): void {
  const end = drafts.findIndex(({ event }) => ENDS.has(event));
  drafts.splice(end < 0 ? drafts.length : end, 0, ...(payouts?.drafts ?? []));
}

/** Told once: what still comes of the run then are payments that come back. It waits for payouts that can be told before. */
function announceSettled({ run, nowMs, payouts }: RunLook, { announced, drafts }: Pad): void {
  if (announced.settled || !announced.accepted || !isFinal(run) || payouts?.hasMoreWithRoom === true) return;
  announced.settled = true;
  drafts.push({ event: 'settled', at: nowMs, run });
}

/** Nothing of the run waits for its service or for people. */
function isFinal({ state, counts }: Run): boolean {
  return isOver({ state }) && [...OPEN_STATES, 'held' as const, 'accepted' as const].every((of) => counts[of] === 0);
}

function earliest(times: readonly (number | null)[]): number | null {
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : Math.min(...known);
}
