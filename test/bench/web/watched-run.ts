import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Run } from '../../../src/payout.ts';
import { resumeRun } from '../../../src/runs/decide/control.ts';
import { rowsTaken } from '../../../src/runs/progress.ts';
import { readRun } from '../../../src/runs/read-run.ts';
import { cookiesOf } from './people.ts';
import { cpuSecondsOf, openProcesses } from './processes.ts';
import type { Stage } from './stage.ts';

const LOOK_EVERY_MS = 100;
/** What is measured lies between: the first and the last rows of a run go at a pace of their own. */
const FROM_SHARE = 0.1;
const TO_SHARE = 0.95;
const WATCHERS = fileURLToPath(new URL('./watchers.js', import.meta.url));

export interface Site {
  readonly stage: Stage;
  readonly base: string;
  readonly pids: ReadonlyMap<string, readonly number[]>;
}

export interface Watched {
  /** Rows done in a second. */
  readonly rate: number;
  /** Cores that each kind of process kept busy meanwhile. */
  readonly cores: ReadonlyMap<string, number>;
  /** Events that each watcher got, and their mean size; of nobody: 0. */
  readonly events: number;
  readonly eventBytes: number;
}

/** Lets the workers pay a run of so many rows while so many people watch it, from before it begins to its end. */
export async function payWatched(
  site: Site,
  { round, rows, watchers }: { round: number; rows: number; watchers: number },
): Promise<Watched> {
  const { stage } = site;
  const path = join(stage.folder, `round-${round}.csv`);
  await writeFile(path, payoutText(round, rows));
  const at = new Date(stage.app.clock.now() + 86_400_000).toISOString();
  const { runId } = JSON.parse(await stage.payrun(['submit', path, '--at', at, '--json'])) as { runId: string };
  const audience = await bringIn(site, { runId, watchers });
  try {
    await resumeRun(stage.app, runId, { actor: 'bench', reason: 'everybody is in' });
    const measured = await measure(site, runId, audience.pid);
    return { ...measured, ...(await audience.leave()) };
  } finally {
    await audience.remove();
  }
}

async function measure(
  site: Site,
  runId: string,
  audience: number | undefined,
): Promise<Pick<Watched, 'rate' | 'cores'>> {
  const { app } = site.stage;
  const pids = new Map([...site.pids, ...(audience === undefined ? [] : [['watchers', [audience]] as const])]);
  const until = async (share: number): Promise<Moment> => {
    for (;;) {
      const run: Run = await readRun(app, runId);
      if (rowsTaken(run) >= run.rows * share) return momentOf(rowsTaken(run), pids);
      if (run.state !== 'paying' && run.state !== 'finished')
        throw new Error(`run ${runId} is ${run.state}: ${run.pauseReason}`);
      await delay(LOOK_EVERY_MS);
    }
  };
  const from = await until(FROM_SHARE);
  const to = await until(TO_SHARE);
  await until(1);
  const { counts, rows } = await readRun(app, runId);
  if (counts.accepted + counts.completed !== rows) throw new Error(`not all of run ${runId} was paid`);
  const seconds = (to.atMs - from.atMs) / 1000;
  if (to.done === from.done) throw new Error('the run is too small to be measured');
  const cores = [...to.cpu].map(([kind, cpu]) => [kind, (cpu - (from.cpu.get(kind) ?? 0)) / seconds] as const);
  return { rate: (to.done - from.done) / seconds, cores: new Map(cores) };
}

interface Moment {
  readonly atMs: number;
  readonly done: number;
  readonly cpu: ReadonlyMap<string, number>;
}

function momentOf(done: number, pids: ReadonlyMap<string, readonly number[]>): Moment {
  const cpu = [...pids].map(([kind, own]) => [kind, own.reduce((sum, pid) => sum + cpuSecondsOf(pid), 0)] as const);
  return { atMs: performance.now(), done, cpu: new Map(cpu) };
}

interface Audience {
  readonly pid: number | undefined;
  leave(): Promise<Pick<Watched, 'events' | 'eventBytes'>>;
  remove(): Promise<void>;
}

async function bringIn({ stage, base }: Site, asked: { runId: string; watchers: number }): Promise<Audience> {
  const { runId, watchers } = asked;
  if (watchers === 0) {
    return { pid: undefined, leave: async () => ({ events: 0, eventBytes: 0 }), remove: async () => {} };
  }
  const processes = openProcesses();
  const words = [`${base}/runs/${runId}/live`, ...(await cookiesOf(stage.app, watchers))];
  const started = processes.start(words, { main: WATCHERS });
  await started.said('all are in');
  return {
    pid: started.pid,
    async leave() {
      started.kill('SIGTERM');
      const { stdout } = await started.ended;
      const told: unknown = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
      const { events, bytes, refused } = told as { events: number; bytes: number; refused: number };
      if (refused > 0) throw new Error(`${refused} watchers were not let in, or lost their connection`);
      return { events: events / watchers, eventBytes: bytes / events };
    },
    remove: () => processes.remove(),
  };
}

function payoutText(round: number, rows: number): string {
  const lines = Array.from({ length: rows }, (_, row) => {
    // Nobody is paid twice: a likely duplicate would be held.
    const beneficiary = `93ee9da3-1bef-4af5-a284-${(round * rows + row).toString(16).padStart(12, '0')}`;
    return `WATCHED-${round}-${row},${beneficiary},${(row % 9000) + 1}.25,USD,MXN`;
  });
  return ['reference,beneficiaryIdentityId,amount,sourceCurrency,destinationCurrency', ...lines, ''].join('\n');
}
