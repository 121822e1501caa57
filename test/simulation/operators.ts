import { resumeRun } from '../../src/runs/decide/control.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { writeOffDataDir } from '../../src/runs/safety/write-off.ts';
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

const BACK_SHARE = 0.3;
const BACK_MS_MAX = 5000;

/** The next step that there is to do. */
export function followRunbook(setting: Setting, fleet: Fleet, process: Process): void {
  const { world, files, redis } = setting;
  const { ledger } = process;
  const store = redis.store();
  const isUsed = (dir: string): boolean => fleet.hosts.some((host) => !host.isLost && host.dataDirId === dir);
  const lost = [...store.dirs.keys()].find((dir) => !isUsed(dir));
  const isRefused = store.season !== store.server && store.dirs.get(lost ?? '') === store.server;
  // It compared, and was lost before it noted a new one: only another server asks for it again.
  if (isRefused) redis.restart('as it was');
  else if (lost !== undefined && isSeasonClosed(store))
    fleet.spawn(process, 'people write a host off', () => writeOff(setting, fleet, { process, dir: lost }));
  const unrecorded = files.find((file) => !isRecorded(store, file));
  if (unrecorded !== undefined) {
    fleet.spawn(process, 'hands the file in again', () =>
      submit(process, redis, { file: unrecorded, candidateId: `run-${unrecorded.sha256.charAt(0)}-${world.now()}` }),
    );
    if (store.halt !== null) return;
  }
  if (store.halt !== null) {
    fleet.spawn(process, 'two people release', async () => {
      await releaseHalt({ ledger }, 'anna');
      await releaseHalt({ ledger }, 'ben');
    });
    return;
  }
  const paused = [...store.runs.values()].filter(({ state }) => state === 'paused');
  const [oldest] = paused.toSorted((one, other) => one.createdAt - other.createdAt);
  if (oldest === undefined) return;
  const person = { actor: 'anna', reason: 'all is well' };
  fleet.spawn(process, 'a person resumes', () => resumeRun({ ledger, wake: async () => {} }, oldest.id, person));
}

/** "Host lost" in docs/operation.md; now and then it comes back after all. */
async function writeOff(
  { world, mutation }: Setting,
  fleet: Fleet,
  { process: { ledger }, dir }: { process: Process; dir: string },
): Promise<void> {
  const seen = mutation.writeOffOn?.(ledger) ?? ledger;
  const act = { actor: world.dice.pick(['anna', 'ben']), reason: 'it is lost' };
  const { result } = await writeOffDataDir({ ledger: seen }, dir, act);
  if (result !== 'done' && result !== 'retired') return;
  world.count('hosts written off');
  const host = fleet.hosts.find(({ isLost, dataDirId }) => isLost && dataDirId === dir);
  if (host === undefined || !world.dice.chance(BACK_SHARE)) return;
  const run = (): void => (host.isLost ? fleet.comeBack(host) : undefined);
  world.after(world.dice.between(0, BACK_MS_MAX), { actor: null, label: 'a host comes back', run });
}

function isRecorded({ files, runs, entries }: Store, { sha256, rows }: SimulatedFile): boolean {
  const run = runs.get(files.get(sha256) ?? '');
  if (run === undefined || run.state === 'recording') return false;
  return rows.every(({ line }) => entries.get(`${run.id}-${line}`)?.hasRow === true);
}
