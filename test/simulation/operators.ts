import { resumeRun } from '../../src/runs/decide/control.ts';
import type { Fleet } from './fleet.ts';
import type { Process } from './process.ts';
import { isSeasonClosed } from './season.ts';
import type { Setting } from './setting.ts';
import type { Store } from './store.ts';
import { type SimulatedFile, submit } from './submission.ts';

const LOOK_MS = 1000;

/**
 * Once all faults have stopped, people do what docs/operation.md says after a restore: hand in again what was not recorded,
 * the oldest first, release by two, and resume the runs, the oldest first.
 */
export function operate(setting: Setting, fleet: Fleet): void {
  const { world, redis } = setting;
  const process = world.dice.pick(fleet.alive());
  if (isSeasonClosed(redis.store()))
    for (const each of fleet.alive()) fleet.spawn(each, 'opens the season', each.deps.ensureSeason);
  followRunbook(setting, fleet, process);
  world.after(LOOK_MS, { actor: null, label: 'operators look', run: () => operate(setting, fleet) });
}

/** The next step that there is to do. */
export function followRunbook({ files, redis }: Setting, fleet: Fleet, process: Process): void {
  const { ledger } = process;
  const store = redis.store();
  const unrecorded = files.find((file) => !isRecorded(store, file));
  if (unrecorded !== undefined)
    fleet.spawn(process, 'hands the file in again', () =>
      submit(process, redis, { file: unrecorded, candidateId: `run-again-${unrecorded.sha256.charAt(0)}` }),
    );
  if (store.halt !== null) {
    fleet.spawn(process, 'two people release', async () => {
      await ledger.state.release('anna');
      await ledger.state.release('ben');
    });
    return;
  }
  const paused = [...store.runs.values()].filter(({ state }) => state === 'paused');
  const [oldest] = paused.toSorted((one, other) => one.createdAt - other.createdAt);
  if (oldest === undefined) return;
  const person = { actor: 'anna', reason: 'all is well' };
  fleet.spawn(process, 'a person resumes', () => resumeRun({ ledger, wake: async () => {} }, oldest.id, person));
}

function isRecorded({ files, runs, entries }: Store, { sha256, rows }: SimulatedFile): boolean {
  const run = runs.get(files.get(sha256) ?? '');
  if (run === undefined || run.state === 'recording') return false;
  return rows.every(({ line }) => (entries.get(`${run.id}-${line}`)?.row ?? null) !== null);
}
