import {
  allow,
  cancelRun,
  handIn,
  mayEnd,
  move,
  other,
  PAYOUTS,
  put,
  type Redis,
  setRun,
  type Which,
} from './ledger.ts';
import type { Rules } from './rules.ts';
import { append, giveUp, type Host, mayBothBePaid } from './season.ts';
import { type Act, type Left, payments, spend, type Truth, type World } from './state.ts';

/*
 * What people do. They are honest, do as docs/operation.md says, and know no more than they are told: an entry of the audit
 * log that Redis forgot is known to them once its loss was told.
 */

/** Whether they know of a decision of theirs that still stands. */
function isKnown({ redis }: World, decision: number): boolean {
  return decision > 0 && (redis.told.includes(decision) || redis.audit.some(({ hash }) => hash === decision));
}

interface Decision {
  /** As the audit log names it. */
  readonly act: string;
  readonly kind: keyof Left;
  /** What it does in Redis. */
  readonly redis: Redis;
  readonly stands?: (hash: number) => Partial<Truth>;
}

/** What goes to the audit log, from each host that is left. */
function decide(world: World, { act, kind, redis, stands }: Decision): Act[] {
  return world.hosts.flatMap((host, index) => {
    if (host.isLost || host.id === '') return [];
    const hash = world.truth.decided + 1;
    const appended = append(redis, host, { act, hash });
    const hosts = world.hosts.with(index, appended.host);
    const truth = { ...world.truth, ...stands?.(hash), decided: hash };
    return [[`${act} at host ${host.id}`, spend({ ...world, redis: appended.redis, hosts, truth }, kind)] as const];
  });
}

export function decisions(world: World, rules: Rules): Act[] {
  const { redis, left, truth } = world;
  const acts: Act[] = [];
  const halts = { ...redis, isHalted: true };
  const blocks = { ...redis, isBlocked: true };
  if (left.halts > 0 && !redis.isHalted)
    acts.push(...decide(world, { act: 'halt', kind: 'halts', redis: halts, stands: (halted) => ({ halted }) }));
  if (left.settings > 0 && truth.servers > 1)
    acts.push(...decide(world, { act: 'change a setting', kind: 'settings', redis }));
  if (left.blocks > 0 && !redis.isBlocked)
    acts.push(...decide(world, { act: 'block', kind: 'blocks', redis: blocks, stands: (blocked) => ({ blocked }) }));
  if (redis.isHalted && redis.season === redis.server && mayRelease(world)) {
    const halted = isKnown(world, truth.halted) ? 0 : truth.halted;
    acts.push(['two people release', { ...world, redis: { ...redis, isHalted: false }, truth: { ...truth, halted } }]);
  }
  for (const which of PAYOUTS)
    acts.push(...handingIn(world, which), ...stopping(world, which, rules), ...allowing(world, which, rules));
  for (const id of Object.keys(redis.dirs)) acts.push(...givingUp(world, id, rules));
  return acts;
}

/** What they know to be stopped is stopped before they release (operation.md, step 5 before 7). */
function mayRelease(world: World): boolean {
  const { redis, truth } = world;
  if (isKnown(world, truth.blocked) && !redis.isBlocked) return false;
  return PAYOUTS.every((which) => {
    const isStopped = redis.runs[which] === 'cancelled' || redis.runs[which] === 'absent';
    return !isKnown(world, truth.cancelled[which]) || isStopped;
  });
}

function handingIn(world: World, which: Which): Act[] {
  const { redis, truth } = world;
  const run = redis.runs[which];
  if (which >= world.left.files) return [];
  if ((run !== 'absent' && run !== 'stub') || redis.season !== redis.server || !mayHandIn(world, which)) return [];
  const wasHandedIn = put(truth.wasHandedIn, which, true);
  const handed = { ...world, redis: handIn(redis, which), truth: { ...truth, wasHandedIn } };
  return [[`file ${which + 1} is handed in${truth.wasHandedIn[which] ? ' again' : ''}`, handed]];
}

/** After a directory was given up: files are compared with the service by hand where one of them is unknown here (operation.md, "What cannot be promised"). */
function mayHandIn(world: World, which: Which): boolean {
  const { redis, truth } = world;
  if (isKnown(world, truth.cancelled[which])) return false;
  const isUnknown = PAYOUTS.some((one) => truth.wasHandedIn[one] && redis.runs[one] === 'absent');
  return redis.runs[which] === 'stub' || !truth.hasGivenUp || !isUnknown || payments(world) === 0;
}

function stopping(world: World, which: Which, rules: Rules): Act[] {
  const { redis, left, truth } = world;
  const run = redis.runs[which];
  const { state, quote, why } = redis.payouts[which];
  const acts: Act[] = [];
  if (run === 'paused' && !redis.isHalted && !isKnown(world, truth.cancelled[which]))
    acts.push([`run ${which + 1} is resumed`, { ...world, redis: setRun(redis, which, 'paying') }]);
  if (left.cancels > 0 && run !== 'absent' && run !== 'cancelled') {
    const stands = (hash: number): Partial<Truth> => ({ cancelled: put(truth.cancelled, which, hash) });
    acts.push(
      ...decide(world, {
        act: `cancel run ${which + 1}`,
        kind: 'cancels',
        redis: cancelRun(redis, which, rules),
        stands,
      }),
    );
  }
  const dropped = move(redis, which, { state: 'cancelled' });
  if (left.drops > 0 && state === 'held' && quote === 0 && why !== 'lost' && mayEnd(redis, rules))
    acts.push(...decide(world, { act: `drop payout ${which + 1}`, kind: 'drops', redis: dropped }));
  return acts;
}

/**
 * Nobody gives up a directory that a host has; the first host may be lost before. When it was lost does not matter, for
 * nobody has to do anything here.
 */
function givingUp(world: World, id: string, rules: Rules): Act[] {
  const { redis, hosts, left, truth } = world;
  const [first] = hosts;
  const isFirst = first?.id === id && !first.isLost;
  const isThere = hosts.some((host) => host.id === id && !host.isLost);
  const hasCompared = redis.dirs[id] === redis.server && redis.season !== redis.server;
  if (left.losses === 0 || hasCompared || (isThere && !(isFirst && mayBeLost(world, first)))) return [];
  const given = {
    ...world,
    redis: giveUp(redis, id, rules),
    hosts: isFirst ? hosts.with(0, { ...first, isLost: true }) : hosts,
    confirming: null,
    truth: { ...truth, hasGivenUp: true },
  };
  return [[`${isFirst ? `host ${id} is lost, and ` : ''}two people give up ${id}`, spend(given, 'losses')]];
}

/** Decisions of which no directory has a copy are not promised. */
function mayBeLost({ hosts }: World, host: Host): boolean {
  const others = hosts.filter((each) => each.id !== host.id && !each.isLost);
  const isElsewhere = (hash: number): boolean => others.some(({ copies }) => copies.some((copy) => copy.hash === hash));
  return others.length > 0 && host.copies.every(({ hash }) => isElsewhere(hash));
}

/**
 * One proposes to allow a payout, and is told where the other one stands; when another person confirms it, that is looked at
 * again, and the payout is let go a moment later.
 */
function allowing(world: World, which: Which, rules: Rules): Act[] {
  const { redis, confirming } = world;
  const payout = redis.payouts[which];
  if (payout.state !== 'held' || payout.quote !== 0) return [];
  const acts: Act[] = [];
  if (payout.proposal === 'made')
    acts.push([`ben confirms it: payout ${other(which) + 1} is looked at`, { ...world, confirming: which }]);
  else if (world.left.allowings > 0 && mayAllow(world, which, rules)) {
    const payouts = put(redis.payouts, which, { ...payout, proposal: 'made' as const });
    const proposed = { ...world, confirming: null, redis: { ...redis, payouts } };
    acts.push([`anna proposes to allow payout ${which + 1}`, spend(proposed, 'allowings')]);
  }
  const isChanged = payout.proposal === 'none' || (rules.allowingComparesOther && payout.proposal === 'stale');
  const isOver = redis.runs[which] === 'cancelled' || redis.runs[which] === 'stub';
  if (confirming === which && !isChanged && !isOver)
    acts.push([`payout ${which + 1} is allowed`, { ...world, confirming: null, redis: allow(redis, which, rules) }]);
  return acts;
}

/** Of what a lost host may have sent they ask the service first. */
function mayAllow(world: World, which: Which, rules: Rules): boolean {
  if (world.redis.payouts[which].why === 'lost' && payments(world) > 0) return false;
  return !rules.allowingTakesReference || !mayBothBePaid(world.redis, which);
}
