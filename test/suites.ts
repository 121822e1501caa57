import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * `quick` is what `npm test` runs. `system` has what starts many processes or takes long, `isolated` what measures time or
 * memory, so that nothing may run beside it: `npm run test:system` runs both. The others have a command each.
 */
export type Suite = 'quick' | 'system' | 'isolated' | 'containers' | 'faults' | 'hosts';

/** The suite of each file or folder; the first place that fits decides. A test that fits none is quick. */
export const PLACES: readonly (readonly [place: string, suite: Suite])[] = [
  // The main promises, proven by real processes in each `npm test`.
  ['test/cli/run.test.ts', 'quick'],
  // It starts none.
  ['test/cli/progress.test.ts', 'quick'],
  ['test/cli/wait-limit.test.ts', 'quick'],
  ['test/cli/reason-lines.test.ts', 'quick'],
  ['test/cli/next-steps.test.ts', 'quick'],
  ['test/crash/kill.test.ts', 'quick'],
  ['test/browser/whole-way.test.ts', 'quick'],
  ['test/browser/', 'system'],
  ['test/build.test.ts', 'system'],
  ['test/cli/', 'system'],
  // It needs no engine.
  ['test/containers/compose.test.ts', 'quick'],
  ['test/containers/', 'containers'],
  ['test/contract/', 'system'],
  // It measures the pace of four workers.
  ['test/crash/together.test.ts', 'isolated'],
  ['test/crash/', 'system'],
  ['test/faults/', 'faults'],
  ['test/hosts/', 'hosts'],
  // How long others wait while a file is read.
  ['test/hostile/', 'isolated'],
  ['test/inbox/copy.test.ts', 'system'],
  ['test/inbox/inbox.test.ts', 'system'],
  ['test/inbox/inbox-command.test.ts', 'system'],
  ['test/inbox/kill.test.ts', 'isolated'],
  ['test/inbox/sftp.test.ts', 'system'],
  ['test/intake/command-line.test.ts', 'system'],
  // Cases of other readers' own suites.
  ['test/intake/public-suites.test.ts', 'system'],
  ['test/jobs/new-version.test.ts', 'system'],
  ['test/jobs/schedules-processes.test.ts', 'system'],
  ['test/metrics.test.ts', 'system'],
  ['test/model/', 'system'],
  ['test/notify/kill.test.ts', 'system'],
  ['test/notify/payouts-of-a-worker.test.ts', 'system'],
  ['test/redis/acl-commands.test.ts', 'system'],
  ['test/redis/private-redis.test.ts', 'system'],
  ['test/redis/redis-server.test.ts', 'system'],
  ['test/regular-expressions.test.ts', 'system'],
  // It starts LibreOffice.
  ['test/report/libre-office.test.ts', 'system'],
  ['test/report/memory.test.ts', 'isolated'],
  ['test/restore/few-random-acts.test.ts', 'quick'],
  ['test/restore/', 'system'],
  // Hosts that are lost, again and again.
  ['test/runs/write-off-and-late-hosts.test.ts', 'system'],
  ['test/runs/lost-host.test.ts', 'system'],
  ['test/runs/write-off-later.test.ts', 'system'],
  ['test/runs/write-off.test.ts', 'system'],
  ['test/sandbox/rehearse.test.ts', 'system'],
  ['test/schedules/command.test.ts', 'system'],
  // Every zone of the database.
  ['test/schedules/cron.test.ts', 'system'],
  // A burst of reads is one only while nothing else keeps the process busy.
  ['test/service/probe.test.ts', 'isolated'],
  // 100,000 operations.
  ['test/simulation/ledger.test.ts', 'system'],
  // One of them needs thousands of schedules.
  ['test/simulation/mutants.test.ts', 'system'],
  ['test/tracing.test.ts', 'system'],
  // Of pages and API the main ones; attacks, and what is tried on all of them, are the others.
  ['test/web/access.test.ts', 'quick'],
  ['test/web/api.test.ts', 'quick'],
  ['test/web/guard.test.ts', 'quick'],
  ['test/web/payouts.test.ts', 'quick'],
  ['test/web/runs.test.ts', 'quick'],
  ['test/web/settle.test.ts', 'quick'],
  ['test/web/sign-in.test.ts', 'quick'],
  ['test/web/today.test.ts', 'quick'],
  ['test/web/sorted-cost.test.ts', 'isolated'],
  ['test/web/', 'system'],
];

/** All test files, each as a path from the repository's root. */
export const TEST_FILES: readonly string[] = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.test\.[^/]*$/.test(name))
  .map((name) => join('test', name));

export function isIn(place: string, file: string): boolean {
  return place.endsWith('/') ? file.startsWith(place) : file === place;
}

export function suiteOf(file: string): Suite {
  return PLACES.find(([place]) => isIn(place, file))?.[1] ?? 'quick';
}

export function filesOf(suite: Suite): string[] {
  return TEST_FILES.filter((file) => suiteOf(file) === suite);
}
