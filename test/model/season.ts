import { cancelRun, type Entry, move, other, PAYOUTS, pauseAll, type Redis, setRun, type Which } from './ledger.ts';
import type { Rules } from './rules.ts';

/* How a season opens again: copies of the audit log and intent logs are compared, directories are given up (architecture.md, rule 4). */

/** A line of an intent log. */
export interface Line {
  readonly payout: Which;
  readonly quote: number;
  readonly counter: number;
}

/** A host with its data directory. */
export interface Host {
  /** '' before the directory was first used under an id of its own. */
  readonly id: string;
  readonly isLost: boolean;
  readonly lines: readonly Line[];
  /** Its copies of the audit log. */
  readonly copies: readonly Entry[];
  /** The directories that it has noted. */
  readonly peers: string;
}

/** Entries of the directory's copies that this Redis does not have and whose loss was not told. */
function missingIn(redis: Redis, { copies }: Host, rules: Rules): readonly Entry[] {
  const stands = ({ place, hash }: Entry): boolean => redis.audit[place - 1]?.hash === hash;
  const sorted = copies.toSorted((one, two) => one.place - two.place);
  const gone = rules.everyEntryIsCompared
    ? sorted.filter((entry) => !stands(entry))
    : sorted.slice(sorted.findLastIndex(stands) + 1);
  const back = redis.audit.filter(({ hash }) => redis.putBack.includes(hash));
  return [...back, ...gone].filter(({ hash }) => !redis.told.includes(hash));
}

/** What people decided and Redis forgot is told, and what only stops is done again. */
export function redoMissed(redis: Redis, host: Host, rules: Rules): Redis {
  const missing = rules.decisionsAreCompared ? missingIn(redis, host, rules) : [];
  if (missing.length === 0) return redis;
  let redone = pauseAll({ ...redis, isHalted: true, told: [...redis.told, ...missing.map(({ hash }) => hash)] });
  if (missing.some(({ act }) => act === 'block')) redone = { ...redone, isBlocked: true };
  for (const which of PAYOUTS) {
    const isThere = redone.runs[which] !== 'absent';
    if (isThere && missing.some(({ act }) => act === `cancel run ${which + 1}`))
      redone = cancelRun(redone, which, rules);
  }
  return redone;
}

export type Compared = { readonly kind: 'compared'; readonly redis: Redis } | { readonly kind: 'unnoted' };

/** COMPARE_LINES, for all lines of a directory at once. */
export function compare(redis: Redis, { id, lines, peers }: Host): Compared {
  const wasMissing = redis.season === redis.server && redis.dirs[id] !== redis.server;
  let compared = redis;
  for (const line of lines) compared = restore(compared, line, wasMissing);
  if (compared !== redis) compared = pauseAll({ ...compared, isHalted: true });
  compared = { ...compared, armings: Math.max(compared.armings, ...lines.map(({ counter }) => counter)) };
  compared = notePeers(compared, id, peers);
  if (strangersOf(compared, id).length > 0) return { kind: 'unnoted' };
  compared = { ...compared, dirs: { ...compared.dirs, [id]: compared.server } };
  const isOpen = Object.values(compared.dirs).every((server) => server === compared.server);
  return { kind: 'compared', redis: isOpen ? { ...compared, season: compared.server } : compared };
}

function notePeers(redis: Redis, id: string, peers: string): Redis {
  const dirs = { ...redis.dirs };
  for (const peer of peers) if (!redis.forgotten.includes(peer)) dirs[peer] ??= 0;
  return { ...redis, dirs, peers: { ...redis.peers, [id]: peers } };
}

function strangersOf({ dirs, peers, givenUp, server }: Redis, own: string): string[] {
  return Object.entries(dirs).flatMap(([id, compared]) => {
    const isKnown = peers[id]?.includes(own) === true && peers[own]?.includes(id) === true;
    const isGivenUp = givenUp.includes(id) && compared !== server;
    return id === own || compared === 0 || isGivenUp || isKnown ? [] : [id];
  });
}

function restore(redis: Redis, line: Line, wasMissing: boolean): Redis {
  const { payout: which, quote, counter } = line;
  const there = redis.payouts[which];
  const isKnown = wasMissing ? redis.quotes[quote] === which : there.state !== 'absent' && there.counter >= counter;
  if (isKnown) return redis;
  const quotes = { ...redis.quotes, [quote]: redis.quotes[quote] ?? which };
  if (wasMissing && there.quote !== 0 && there.quote !== quote) {
    const held = { state: 'held', why: 'breach', counter: Math.max(counter, there.counter) } as const;
    return move({ ...redis, quotes }, which, { ...held });
  }
  const known = redis.runs[which] === 'absent' ? setRun(redis, which, 'stub') : redis;
  const claimed = claimReference({ ...known, quotes }, line);
  if (there.state === 'held' && there.why === 'lost') return move(claimed, which, { why: 'lost', quote, counter });
  return move(claimed, which, { state: 'unknown', quote, counter });
}

/** Of two payouts with one reference the one that was armed later has it. */
function claimReference(redis: Redis, { payout: which, counter }: Line): Redis {
  const { holder } = redis;
  if (holder === null || holder === which) return { ...redis, holder: which };
  const isLater = redis.payouts[holder].counter > counter;
  const loser = isLater ? which : holder;
  const { why } = redis.payouts[loser];
  return move(isLater ? redis : { ...redis, holder: which }, loser, { takesReference: true, why });
}

/** Two people give a directory up; what it may have sent is in doubt once nobody else is missing. */
export function giveUp(redis: Redis, id: string, rules: Rules): Redis {
  const given = redis.givenUp.includes(id) ? redis : { ...redis, givenUp: redis.givenUp + id };
  if (given.season === given.server) return forget(given);
  const isMissing = ([dir, server]: [string, number]): boolean =>
    server !== given.server && !given.givenUp.includes(dir);
  if (Object.entries(given.dirs).some(isMissing)) return given;
  const doubted = PAYOUTS.reduce((now, which) => doubt(now, which, rules), pauseAll({ ...given, isHalted: true }));
  const left = forget(doubted);
  return Object.keys(left.dirs).length === 0 ? left : { ...left, season: left.server };
}

function forget(redis: Redis): Redis {
  const isLeft = ([id, server]: [string, number]): boolean => !redis.givenUp.includes(id) || server === redis.server;
  const dirs = Object.fromEntries(Object.entries(redis.dirs).filter(isLeft));
  return { ...redis, dirs, givenUp: '', forgotten: redis.forgotten + redis.givenUp };
}

function doubt(redis: Redis, which: Which, rules: Rules): Redis {
  const { state, quote, why, proposal } = redis.payouts[which];
  const lost = { state: 'held', why: 'lost' } as const;
  if (state === 'unknown' || state === 'ready') return move(redis, which, lost);
  if (state !== 'held' || quote !== 0 || why === 'lost' || !rules.writeOffDoubtsHeld) return redis;
  return rules.doubtVoidsProposal ? move(redis, which, lost) : move(redis, which, { ...lost, proposal });
}

/** Every live host notes who is there, as a worker does at each sweep. */
export function noteAll(redis: Redis, hosts: readonly Host[]): { redis: Redis; hosts: readonly Host[] } {
  let noted = redis;
  const noting = hosts.map((host) => {
    if (host.isLost || redis.dirs[host.id] === undefined) return host;
    const peers = [...new Set([...host.peers.split(''), ...Object.keys(noted.dirs)])].toSorted().join('');
    noted = notePeers(noted, host.id, peers);
    return { ...host, peers };
  });
  return { redis: noted, hosts: noting };
}

/** Appends to the audit log, after what its own copies continue without a gap. */
export function append(
  redis: Redis,
  host: Host,
  { act, hash }: { act: string; hash: number },
): { redis: Redis; host: Host } {
  const audit = [...redis.audit];
  const putBack = [...redis.putBack];
  const end = (): Pick<Entry, 'place' | 'previous'> => ({ place: audit.length + 1, previous: audit.at(-1)?.hash ?? 0 });
  const lostNow = (): Entry | undefined =>
    host.copies.find(({ place, previous }) => place === end().place && previous === end().previous);
  for (let lost = lostNow(); lost !== undefined; lost = lostNow()) {
    audit.push(lost);
    putBack.push(lost.hash);
  }
  const entry = { ...end(), hash, act };
  return { redis: { ...redis, audit: [...audit, entry], putBack }, host: { ...host, copies: [...host.copies, entry] } };
}

/** Whose reference it is not: what people are told of the other payout. */
export function mayBothBePaid(redis: Redis, which: Which): boolean {
  const { holder } = redis;
  if (holder === null || holder === which) return false;
  const { state, why, quote } = redis.payouts[other(which)];
  if (state === 'held') return why === 'lost' || quote !== 0;
  return state === 'unknown' || state === 'accepted' || redis.runs[holder] === 'stub';
}
