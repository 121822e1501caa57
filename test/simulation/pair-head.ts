import { hashReference } from '../../src/intake/row/reference-hash.ts';
import type { Season } from '../../src/ledger/season/ledger-state.ts';
import { RUN_STATES } from '../../src/payout.ts';
import {
  type ComparedAnswer,
  type ComparedLine,
  compareLines,
  disprove,
  enterDir,
  haltAll,
  holdAll,
  notePeers,
  readSeason,
  releaseHalt,
} from './head.ts';
import { ask, BENEFICIARY, DIRS, HOUR_MS, LINES, now, type Pair, payoutAt, pickPlace } from './pair.ts';
import { forgetDirs, restoreRun, writeOff } from './recovery.ts';
import { moveRun } from './runs.ts';

/* What is asked of runs, and of what all processes share, at random. */

export function changeRun(pair: Pair): void {
  const { dice, store, real } = pair;
  const runId = dice.chance(0.02) ? 'no-run' : dice.pick(pair.runs);
  const to = dice.pick([...RUN_STATES, 'paying', 'paying', 'paying', 'paused'] as const);
  // A run that is over plays no part any more, so few are ended.
  if ((to === 'cancelled' || to === 'finished') && dice.chance(0.85)) return;
  const asked = { to, actor: 'anna', reason: 'because', ...(dice.chance(0.1) ? { from: 'recording' as const } : {}) };
  ask(pair, `run ${runId} ${JSON.stringify(asked)}`, {
    mine: moveRun(store, runId, { move: asked, now: now() }),
    theirs: real.ledger.runs.move(runId, asked),
  });
}

export async function steer(pair: Pair): Promise<void> {
  const { dice, store, real } = pair;
  const { state: head } = real.ledger;
  switch (dice.between(0, 11)) {
    case 0:
      {
        const actor = dice.pick(['anna', 'payrun', 'process w1']);
        const reason = dice.pick(['halted', 'halted again']);
        ask(pair, 'halt', { mine: haltAll(store, { actor, reason }), theirs: head.halt(actor, reason) });
      }
      break;
    case 1:
      ask(pair, 'hold', { mine: holdAll(store, HOUR_MS, now()), theirs: head.hold(HOUR_MS) });
      break;
    case 2:
    case 3:
      store.waitUntil = 0;
      ask(pair, 'wait is over', { mine: 1, theirs: real.redis.del(`${real.prefix}:wait`).then(() => 1) });
      break;
    case 10:
      ask(pair, 'block', {
        mine: void store.blocked.add(BENEFICIARY),
        theirs: real.redis.hset(real.keys.blocked, BENEFICIARY, '{}').then(() => undefined),
      });
      break;
    case 11:
      store.blocked.clear();
      ask(pair, 'nobody is blocked', { mine: 1, theirs: real.redis.del(real.keys.blocked).then(() => 1) });
      break;
    case 4: {
      const capability = dice.pick(['one', 'two']);
      ask(pair, 'disprove', { mine: disprove(store, capability), theirs: head.disprove(capability, 'seen') });
      break;
    }
    default: {
      const actor = dice.pick(['anna', 'ben']);
      // It may take two commands, and nothing is to come between them.
      const theirs = head.release(actor, { own: '', seen: '' });
      ask(pair, `release by ${actor}`, { mine: releaseHalt(store, actor), theirs });
      await theirs;
    }
  }
}

/** A server's name cannot be changed, so what the ledger keeps of it is. */
export async function changeSeason(pair: Pair): Promise<void> {
  const { dice, store, real } = pair;
  if (dice.chance(0.5)) {
    store.season = 'another server';
    await real.redis.hset(real.keys.head, 'season', 'another server');
  }
  if (dice.chance(0.3)) {
    const [noting, peers] = [dice.pick(DIRS), dice.chance(0.8) ? DIRS : []];
    ask(pair, 'note peers', {
      mine: notePeers(store, noting, peers),
      theirs: real.ledger.state.notePeers(noting, peers),
    });
  }
  const dir = dice.pick(DIRS);
  if (dice.chance(0.8) && store.writtenOff.delete(dir)) {
    // Redis went back to before that.
    await real.redis.hdel(real.keys.head, `writtenOff:${dir}`);
  }
  if (dice.chance(0.5) && store.dirs.has(dir)) {
    store.dirs.set(dir, 'another server');
    await real.redis.hset(real.keys.dirs, dir, 'another server');
  } else {
    const hasLogs = dice.chance(0.5);
    ask(pair, `enter ${dir}`, {
      mine: enterDir(store, dir, hasLogs),
      theirs: real.ledger.state.enterDir(dir, hasLogs),
    });
  }
  for (let acts = dice.between(0, 9); acts > 0; acts--) await giveUp(pair, dice.chance(0.8) ? dir : dice.pick(DIRS));
  ask(pair, 'season', { mine: unnamed(readSeason(store, now())), theirs: real.ledger.state.season().then(unnamed) });
}

/** A server's name is not that of the fake one. */
function unnamed({ name: _name, ...season }: Season): Omit<Season, 'name'> {
  return season;
}

/** A directory is written off; a run is made known again. */
async function giveUp(pair: Pair, dir: string): Promise<void> {
  const { dice, store, real } = pair;
  const { recovery } = real.ledger;
  const actor = dice.pick(['anna', 'ben']);
  // It takes several commands.
  const theirs = recovery.writeOff(dir, actor);
  const mine = writeOff(store, { dir, actor });
  ask(pair, `write off ${dir} by ${actor}`, { mine, theirs });
  await theirs;
  if (mine.result === 'begun') {
    const forgotten = recovery.forgetDirs();
    ask(pair, 'forget directories', { mine: forgetDirs(store), theirs: forgotten });
    await forgotten;
  }
  const run = {
    id: dice.pick(['run-1', `run-${dice.hex(4)}`]),
    fileSha256: `sha-${dice.hex(4)}`,
    contentHash: dice.pick(['', dice.hex(4)]),
  };
  ask(pair, `restore ${JSON.stringify(run)}`, {
    mine: restoreRun(store, run, now()),
    theirs: recovery.restoreRun(run),
  });
}

export function compare(pair: Pair): void {
  const { dice, store, real } = pair;
  const lines = Array.from({ length: dice.between(0, 3) }, () => drawLine(pair));
  const part = {
    dataDirId: dice.pick(DIRS),
    server: dice.chance(0.95) ? store.server : 'another server',
    season: dice.chance(0.9) ? '' : dice.pick([store.season, 'closed 1']),
    last: dice.chance(0.9),
    peers: dice.chance(0.7) ? DIRS : [],
  };
  const quotes = [...pair.quotes, ...lines.map(({ q }) => q)];
  const answers = quotes.length > 0 && dice.chance(0.5) ? [drawAnswer(pair, quotes)] : [];
  ask(pair, `compare ${JSON.stringify({ ...part, lines, answers })}`, {
    mine: compareLines(store, { ...part, lines, answers, sawCounter: 0 }, now()),
    theirs: real.ledger.state.compare({ ...part, json: JSON.stringify([...lines, ...answers]) }),
  });
}

function drawAnswer({ dice, store }: Pair, quotes: readonly string[]): ComparedAnswer {
  const quote = dice.pick(quotes);
  const settled = store.entries.get(store.quotes.get(quote) ?? '')?.get('st');
  return {
    y: quote,
    p: dice.pick(['', quote, dice.uuid()]),
    h: dice.chance(0.5) ? hashReference(`INV-${dice.pick(LINES)}`) : undefined,
    o: settled !== undefined && dice.chance(0.3) ? Number(settled) : undefined,
  };
}

function drawLine(pair: Pair): ComparedLine {
  const { dice, store } = pair;
  const known = pair.quotes.length > 0 && dice.chance(0.3) ? dice.pick(pair.quotes) : undefined;
  const payout = payoutAt(pair, pickPlace(pair));
  return {
    r: dice.chance(0.05) ? 'run-forgotten' : dice.pick(pair.runs),
    l: payout?.line ?? dice.pick(LINES),
    s: dice.chance(0.1) ? 'sha-run-1' : `sha-${dice.hex(4)}`,
    n: dice.chance(0.3) ? dice.pick(['content-run-1', 'content-run-2', dice.hex(4)]) : '',
    h: dice.chance(0.5) ? hashReference(`INV-${dice.pick(LINES)}`) : dice.hex(16),
    q: known ?? dice.uuid(),
    x: dice.chance(0.2) ? '' : '1900000000000',
    k: dice.between(1, 5),
    c: Math.max(1, store.armings + dice.between(-30, 2)),
    o: 'w9',
    t: '1800000000000',
    f: 'A',
  };
}
