import { blockBeneficiary } from '../../src/runs/block.ts';
import { cancelPayout, cancelRun, findPayout, haltAll, pauseRun, resumeRun } from '../../src/runs/decide/control.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { drawDecision } from './decisions.ts';
import type { Fleet } from './fleet.ts';
import { followRunbook } from './operators.ts';
import type { Process } from './process.ts';
import type { Setting } from './setting.ts';
import { type Entry, entryId, type Store } from './store.ts';

/** What people do while faults happen. They come to a process of their own in the program; here any will do. */
export interface People {
  /** Somebody pauses, resumes or cancels. */
  interfere(process: Process): void;
  /** Two people settle a payout; a held one rather than another. */
  decide(process: Process): void;
  /** Somebody halts everything, or lets it go on. */
  haltOrRelease(process: Process): void;
  /** A payout became such that they may have something to say of it. */
  onOpen(entry: Entry): void;
  /** They look for what is held when nothing else is open any more. */
  settle(): void;
  /** Whether they still try to settle what is held. */
  areBusy(): boolean;
}

/** How soon somebody looks at a payout that is held or unknown: mostly before the program has looked it up again. */
const LOOK_SOON_MS_MAX = 300;
const LOOK_MS_MAX = 4000;
/** How often they look once no fault happens any more. */
const LAST_LOOKS = 80;

const ACTS = [
  'pause',
  'pause',
  'resume',
  'resume',
  'runbook',
  'runbook',
  'cancel payout',
  'cancel run',
  'block',
] as const;

export function openPeople(setting: Setting, fleet: Fleet): People {
  const { world, plan, redis } = setting;
  const { dice } = world;
  let lastLooks = 0;

  function settleOne(process: Process, entry: Entry): void {
    const decision = drawDecision(setting, entry);
    if (decision !== undefined) fleet.spawn(process, 'people decide', () => decision(process));
  }

  return {
    interfere(process) {
      const runs = [...redis.store().runs.values()];
      if (runs.length === 0) return;
      const run = dice.pick(runs);
      const runId = run.id;
      const { ledger } = process;
      const control = { ledger, wake: async () => {}, ensureSeason: process.deps.ensureSeason };
      const person = { actor: 'anna', reason: 'a person' };
      const act = dice.pick(ACTS);
      if (act === 'runbook') {
        followRunbook(setting, fleet, process);
        return;
      }
      fleet.spawn(process, `a person: ${act}`, async () => {
        if (act === 'pause') await pauseRun(control, runId, person);
        else if (act === 'resume') await resumeRun(control, runId, person);
        else if (act === 'cancel run') {
          await cancelRun(control, runId, person);
        } else {
          const payout = await findPayout(ledger, runId, `INV-${dice.between(1, plan.payouts)}`);
          if (payout === undefined) return;
          if (act === 'block') {
            await blockBeneficiary({ ledger }, payout.row.beneficiaryIdentityId, person);
            return;
          }
          await cancelPayout(control, payout, person);
          world.count('payouts cancelled');
        }
      });
    },
    decide(process) {
      const entries = [...redis.store().entries.values()].filter(({ hasRow }) => hasRow);
      const held = entries.filter(({ state }) => state === 'held');
      const among = held.length > 0 && dice.chance(0.9) ? held : entries;
      if (among.length === 0 || !dice.chance(held.length > 0 ? 0.6 : 0.15)) return;
      settleOne(process, dice.pick(among));
    },
    haltOrRelease(process) {
      fleet.spawn(process, 'a person halts or releases', async () => {
        if (dice.chance(0.3)) await haltAll(process, { actor: 'anna', reason: 'a person' });
        else await releaseHalt(process, dice.pick(['anna', 'ben']));
      });
    },
    onOpen({ runId, line }) {
      if (setting.isCalm() || plan.decideShare === 0 || !dice.chance(plan.decideShare)) return;
      const look = (): void => {
        const entry = redis.store().entries.get(entryId(runId, line));
        const workers = fleet.alive();
        if (entry?.hasRow !== true || workers.length === 0) return;
        if (entry.state === 'held' || entry.state === 'unknown') settleOne(dice.pick(workers), entry);
      };
      const ms = dice.between(0, dice.chance(0.7) ? LOOK_SOON_MS_MAX : LOOK_MS_MAX);
      world.after(ms, { actor: null, label: `people look at ${line}`, run: look });
    },
    settle() {
      if (plan.decideShare === 0 || !setting.isCalm() || lastLooks >= LAST_LOOKS) return;
      const held = [...redis.store().entries.values()].filter(({ state, hasRow }) => state === 'held' && hasRow);
      if (held.length === 0) return;
      lastLooks++;
      const workers = fleet.alive();
      if (workers.length > 0 && dice.chance(plan.decideShare)) settleOne(dice.pick(workers), dice.pick(held));
    },
    areBusy: () => plan.decideShare > 0 && lastLooks < LAST_LOOKS && hasHeld(redis.store()),
  };
}

function hasHeld({ entries }: Store): boolean {
  for (const { state } of entries.values()) if (state === 'held') return true;
  return false;
}
