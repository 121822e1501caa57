import { resumeRun } from '../../src/runs/control.ts';
import type { Fleet } from './fleet.ts';
import { isSeasonClosed } from './season.ts';
import type { Setting } from './setting.ts';
import type { Store } from './store.ts';
import { submit } from './submission.ts';

const LOOK_MS = 1000;

/** Once all faults have stopped, people let go what was stopped, and hand in again what was not recorded. */
export function operate(setting: Setting, fleet: Fleet): void {
  const { world, redis, file } = setting;
  const process = world.dice.pick(fleet.alive());
  const { ledger } = process;
  const store = redis.store();
  const [run] = store.runs.values();
  if (isSeasonClosed(store))
    for (const each of fleet.alive()) fleet.spawn(each, 'opens the season', each.deps.ensureSeason);
  if (run?.state === 'recording' || recorded(store) < file.rows.length)
    fleet.spawn(process, 'submits the file as run-again', () =>
      submit(process, redis, { file, candidateId: 'run-again' }),
    );
  if (store.halt !== null) {
    fleet.spawn(process, 'two people release', async () => {
      await ledger.head.release('anna');
      await ledger.head.release('ben');
    });
  } else if (run?.state === 'paused') {
    const person = { actor: 'anna', reason: 'all is well' };
    fleet.spawn(process, 'a person resumes', () => resumeRun({ ledger, wake: async () => {} }, run.id, person));
  }
  world.after(LOOK_MS, { actor: null, label: 'operators look', run: () => operate(setting, fleet) });
}

function recorded({ entries }: Store): number {
  let rows = 0;
  for (const { row } of entries.values()) if (row !== null) rows++;
  return rows;
}
