import { lookUpPayout } from '../../src/pay/look-up/look-up.ts';
import { payPayout } from '../../src/pay/pay-payout.ts';
import { trackPayout } from '../../src/pay/track/track.ts';
import { finishRun, lookUpDeadQuotes } from '../../src/runs/after/finish.ts';
import type { Fleet } from './fleet.ts';
import type { Process } from './process.ts';
import { lookAtClock } from './redis-clock.ts';
import { linesIn, takeFrom } from './runs.ts';
import { isSeasonClosed } from './season.ts';
import type { Setting } from './setting.ts';
import { type Entry, OPEN, type RowState, type Store } from './store.ts';

interface Place {
  readonly runId: string;
  readonly line: number;
}

/** What the feed and the sweeper do (jobs/feed.ts, jobs/sweep.ts). A job may be lost, repeated or late. */
export interface Jobs {
  /** Gives out what is due, and ends runs. */
  sweep(): void;
  /** A job comes that nobody waits for. */
  stray(process: Process): void;
  /** The queue is in the same Redis as the ledger: what was under way comes again at once. */
  again(): void;
}

export function openJobs(setting: Setting, fleet: Fleet): Jobs {
  const { world, redis } = setting;
  const { dice } = world;

  function pay(process: Process, place: Place, stamp: number | undefined): void {
    fleet.spawn(process, `job: pay ${place.line}`, async () => {
      const run = await process.ledger.runs.read(place.runId);
      if (run === undefined || (run.state !== 'paying' && stamp !== undefined)) return;
      const order = { fileSha256: run.fileSha256, mayArm: run.state === 'paying', ...place };
      const result = await payPayout(process.deps, order, process.stopping.signal);
      if (result === 'done' && stamp !== undefined) await endSlice(process, place, stamp);
    });
  }

  async function endSlice({ actor }: Process, { runId, line }: Place, stamp: number): Promise<void> {
    const run = (store: Store): void => {
      const slices = store.runs.get(runId)?.slices;
      const slice = `${line}-${line}`;
      if (slices?.get(slice) === stamp) slices.delete(slice);
    };
    await redis.call({ actor, label: 'end slice', kind: 'commands', run });
  }

  /** Where nothing is to be kept it would only read. */
  function keepSeason(store: Store, worker: Process): void {
    const noted = store.peers.get(worker.host.dataDirId);
    let isNoted = true;
    for (const dir of store.dirs.keys()) isNoted &&= noted?.includes(dir) === true;
    const last = store.audit.at(-1);
    isNoted &&= last === undefined || worker.host.disk.audit.has(last.hash);
    if (!isNoted || isSeasonClosed(store) || worker.ledger.payouts.highestCounter() > store.armings)
      fleet.spawn(worker, 'keeps the season', worker.keepSeason);
  }

  function sweepRun(store: Store, runId: string, now: number): void {
    const run = store.runs.get(runId);
    if (run === undefined) return;
    const hasOpen = OPEN.some((state) => run.counts[state] > 0);
    if (!hasOpen || run.state === 'cancelled') finish(runId, run.fields['deadQuotesFound'] === undefined);
    if (run.state !== 'paying') return;
    if (run.slices.size === 0)
      for (const line of linesIn(store, runId, 'ready')) run.slices.set(`${line}-${line}`, now);
    for (const slice of takeFrom(run.slices, now)) {
      const stamp = run.slices.get(slice);
      const line = Number.parseInt(slice, 10);
      for (let copy = copies(); copy > 0; copy--) pay(dice.pick(fleet.alive()), { runId, line }, stamp);
    }
  }

  function copies(): number {
    if (!setting.hasFault('jobs')) return 1;
    return dice.pick([0, 1, 1, 1, 2, 3]);
  }

  function finish(runId: string, wantsDead: boolean): void {
    const process = dice.pick(fleet.alive());
    fleet.spawn(process, `ends ${runId}`, async () => {
      if (!(await finishRun(process.ledger, runId)) || !wantsDead) return;
      const run = await process.ledger.runs.read(runId);
      if (run !== undefined) await lookUpDeadQuotes({ ledger: process.ledger, ...process.deps }, run);
    });
  }

  function dispatch(id: string): void {
    const entry = redis.store().entries.get(id);
    if (entry === undefined) return;
    for (let copy = copies(); copy > 0; copy--) work(dice.pick(fleet.alive()), entry, entry.state);
  }

  function work(process: Process, { runId, line }: Entry, state: RowState): void {
    const { deps, stopping } = process;
    if (state === 'quoted') pay(process, { runId, line }, undefined);
    else if (state === 'accepted' || state === 'completed')
      fleet.spawn(process, `job: track ${line}`, () => trackPayout(deps, { runId, line }, stopping.signal));
    else fleet.spawn(process, `job: look up ${line}`, () => lookUpPayout(deps, { runId, line }));
  }

  return {
    sweep() {
      const store = redis.store();
      const now = redis.now();
      const workers = fleet.alive();
      if (workers.length === 0) return;
      if (setting.mutation.ignoresClockSteps !== true) lookAtClock(store, now);
      setting.checks.waits(store, now);
      for (const worker of workers) keepSeason(store, worker);
      for (const runId of store.live) sweepRun(store, runId, now);
      for (const id of takeFrom(store.due, now).concat(takeFrom(store.tracked, now))) dispatch(id);
    },
    stray(process) {
      const entries = [...redis.store().entries.values()];
      if (entries.length === 0) return;
      const entry = dice.pick(entries);
      work(process, entry, dice.pick(['quoted', 'accepted', 'unknown'] as const));
    },
    again() {
      for (const { runId, line } of redis.store().entries.values()) {
        const run = (): void => {
          const workers = fleet.alive();
          if (workers.length > 0) pay(dice.pick(workers), { runId, line }, 0);
        };
        world.after(dice.between(0, 1500), { actor: null, label: `job ${line} comes again`, run });
      }
    },
  };
}
