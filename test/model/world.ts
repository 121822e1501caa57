import { arm, armRefusal, mayEnd, move, PAYOUTS, type Redis, type Which } from './ledger.ts';
import { decisions } from './people.ts';
import type { Rules } from './rules.ts';
import { compare, type Host, noteAll, redoMissed } from './season.ts';
import { type Act, spend, type World } from './state.ts';

/** Everything that may happen next. */
export function nextOf(rules: Rules): (world: World) => Act[] {
  return (world) => [...work(world, rules), ...copies(world, rules), ...decisions(world, rules)];
}

/** What workers do by themselves. */
function work(world: World, rules: Rules): Act[] {
  const { redis, left } = world;
  const acts: Act[] = [];
  for (const which of PAYOUTS) {
    const { state, quote } = redis.payouts[which];
    const name = `payout ${which + 1}`;
    const to = (moved: Redis): World => ({ ...world, redis: moved });
    if (state === 'ready') acts.push(...turn(world, which, rules));
    const ends = state === 'ready' && mayEnd(redis, rules);
    if (ends && redis.runs[which] === 'cancelled')
      acts.push([`${name} is cancelled with its run`, to(move(redis, which, { state: 'cancelled' }))]);
    if (ends && left.refusals > 0 && redis.runs[which] === 'paying')
      acts.push([`${name} is refused at its quote`, spend(to(move(redis, which, { state: 'rejected' })), 'refusals')]);
    const isSeen = redis.runs[which] !== 'stub' && quote !== 0;
    if (isSeen && (state === 'unknown' || state === 'held')) acts.push(...lookUp(world, which, rules));
  }
  for (const [index, host] of world.hosts.entries()) acts.push(...season(world, { host, index }, rules));
  return acts;
}

/** A payout's turn: it is armed from any host, or held because its reference is another's or a limit stands against it. */
function turn(world: World, which: Which, rules: Rules): Act[] {
  const { redis, left } = world;
  const acts: Act[] = [];
  for (const [index, host] of world.hosts.entries()) {
    if (host.isLost) continue;
    const refusal = armRefusal(redis, which, { dir: host.id, rules });
    if (refusal === 'reference') {
      const held = move(redis, which, { state: 'held', why: 'duplicate', takesReference: true });
      acts.push([`payout ${which + 1} is held: its reference is another's`, { ...world, redis: held }]);
    }
    if (refusal !== null || left.armings === 0) continue;
    for (const isPaid of [true, false])
      acts.push([
        `host ${host.id} arms payout ${which + 1}, ${isPaid ? 'paid' : 'lost'}`,
        send(world, which, { index, isPaid }),
      ]);
  }
  if (left.limits > 0 && redis.runs[which] === 'paying' && !redis.payouts[which].isLifted)
    acts.push([
      `payout ${which + 1} is held: a limit`,
      spend({ ...world, redis: move(redis, which, { state: 'held', why: 'limit' }) }, 'limits'),
    ]);
  return acts;
}

function send(world: World, which: Which, { index, isPaid }: { index: number; isPaid: boolean }): World {
  const quotes = [...world.truth.quotes, isPaid];
  const redis = arm(world.redis, which, quotes.length);
  const line = { payout: which, quote: quotes.length, counter: redis.armings };
  const hosts = world.hosts.map((host, at) => (at === index ? { ...host, lines: [...host.lines, line] } : host));
  const { halted, blocked, cancelled } = world.truth;
  const isForgotten = halted + blocked + cancelled[which] > 0;
  const broken = isForgotten ? 'what people stopped is paid' : null;
  return spend({ ...world, redis, hosts, truth: { ...world.truth, quotes }, broken }, 'armings');
}

/** A look-up finds what there is; what is not there is proven dead. */
function lookUp(world: World, which: Which, rules: Rules): Act[] {
  const { redis, truth } = world;
  const { quote, state } = redis.payouts[which];
  const found = truth.quotes[quote - 1] === true;
  const name = `payout ${which + 1} is looked up: ${found ? 'found' : 'not found'}`;
  if (found) return [[name, { ...world, redis: move(redis, which, { state: 'accepted' }) }]];
  const isOver = state === 'held' || redis.runs[which] === 'cancelled';
  if (isOver && !mayEnd(redis, rules)) return [];
  const rejected = { ...world, redis: move(redis, which, { state: 'rejected' }) };
  if (state === 'held') return [[`two people say that payout ${which + 1} was not paid`, rejected]];
  const to = isOver ? 'cancelled' : 'ready';
  return [[name, { ...world, redis: move(redis, which, { state: to, quote: 0 }) }]];
}

/** A worker does what its directory's part in the season is. */
function season(world: World, { host, index }: { host: Host; index: number }, rules: Rules): Act[] {
  if (host.isLost || world.redis.dirs[host.id] === world.redis.server) return copyAudit(world, { host, index });
  const id =
    host.id === '' ? 'abcdefgh'.charAt(Object.keys(world.redis.dirs).length + world.redis.forgotten.length) : host.id;
  const named = { ...host, id };
  const entered = { ...world.redis, dirs: { ...world.redis.dirs, [id]: world.redis.dirs[id] ?? 0 } };
  const redone = redoMissed(entered, named, rules);
  const noted = noteAll(redone, world.hosts.with(index, named));
  const compared = compare(noted.redis, noted.hosts[index] ?? named);
  const redis = compared.kind === 'compared' ? compared.redis : redone;
  return [[`host ${id} compares`, { ...world, redis, hosts: noted.hosts }]];
}

/** At each sweep a worker copies what others wrote in the audit log. */
function copyAudit(world: World, { host, index }: { host: Host; index: number }): Act[] {
  const { redis, hosts } = world;
  if (host.isLost || redis.season !== redis.server) return [];
  const fresh = redis.audit.filter(({ hash }) => !host.copies.some((copy) => copy.hash === hash));
  if (fresh.length === 0) return [];
  const copied = hosts.with(index, { ...host, copies: [...host.copies, ...fresh] });
  return [[`host ${host.id} copies the audit log`, { ...world, hosts: copied }]];
}

/** What is copied, put back and lost. */
function copies(world: World, rules: Rules): Act[] {
  const { redis, hosts, left, truth, copy, saved } = world;
  const acts: Act[] = [];
  const [first] = hosts;
  if (first === undefined) return acts;
  if (left.copies > 0) acts.push(['Redis is copied', spend({ ...world, copy: redis }, 'copies')]);
  if (left.restores > 0 && copy !== null) {
    const servers = truth.servers + 1;
    const back = { ...world, redis: { ...copy, server: servers }, confirming: null, truth: { ...truth, servers } };
    acts.push(['Redis is put back', spend(back, 'restores')]);
  }
  if (left.clones > 0 && !first.isLost) {
    const clone = rules.copyGetsNewId ? { ...first, id: '' } : first;
    acts.push([
      'the directory of host a is copied as a second host',
      spend({ ...world, hosts: [...hosts, clone] }, 'clones'),
    ]);
  }
  if (left.savings > 0 && saved === null) acts.push(['the directory of host a is saved', { ...world, saved: first }]);
  if (left.savings > 0 && saved !== null) {
    const back = rules.copyGetsNewId ? { ...saved, id: '' } : saved;
    acts.push(['the directory of host a is put back', spend({ ...world, hosts: hosts.with(0, back) }, 'savings')]);
  }
  return acts;
}
