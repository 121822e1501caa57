import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import { EXIT, Refusal } from '../refusal.ts';
import type { Head } from './head.ts';
import type { IntentLine } from './intent-line.ts';
import { intentFiles, readIntentFile } from './intent-log.ts';

const LINES_PER_CALL = 500;
const TRIES_MAX = 5;

export interface SeasonDeps {
  readonly head: Head;
  readonly dataDir: string;
  readonly dataDirId: string;
  /** Whether this process may arm. Who only hands files in or looks does not keep any season closed. */
  readonly arms: boolean;
  readonly armDeadlineMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Makes sure that arming is allowed on this Redis, from this data directory (design 3, rule 4). In a closed season it
 * waits twice the arm deadline, so that nobody who armed before the change can still send, and compares the directory's
 * intent logs. Gives the data directories that have yet to compare theirs; none when arming is allowed. Throws a Refusal
 * for a damaged log.
 */
export async function ensureSeason(deps: SeasonDeps, signal?: AbortSignal): Promise<readonly string[]> {
  if (deps.arms) await deps.head.enterDir(deps.dataDirId);
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const season = await deps.head.season();
    if (season.open && !season.missing.includes(deps.dataDirId)) return [];
    const hasLogs = (await intentFiles(deps.dataDir)).length > 0;
    const joins = hasLogs || season.dataDirIds.includes(deps.dataDirId);
    if (!joins && season.missing.length > 0) return tellMissing(deps, season.missing);
    // A directory without logs that joins an open season has armed nothing that anybody could have forgotten.
    if ((!season.open || hasLogs) && !(await waitOutDeadlines(deps, signal))) return [deps.dataDirId];
    const missing = await compareAndOpen(deps, { server: season.server, joins });
    if (missing !== undefined) return missing;
  }
  return [deps.dataDirId];
}

/** False when the signal ended the wait. */
async function waitOutDeadlines({ armDeadlineMs, clock, log }: SeasonDeps, signal?: AbortSignal): Promise<boolean> {
  log.warn('Redis is another one or was restarted: comparing the intent logs before anything is sent');
  await clock.sleep(2 * armDeadlineMs, signal);
  return signal?.aborted !== true;
}

/** Gives the directories that are still missing; undefined when Redis became yet another one meanwhile. */
async function compareAndOpen(
  deps: SeasonDeps,
  at: { server: string; joins: boolean },
): Promise<readonly string[] | undefined> {
  if ((await compareLogs(deps, at)) === 'changed') return undefined;
  const after = await deps.head.season();
  if (after.server !== at.server) return undefined;
  return after.open ? [] : tellMissing(deps, after.missing);
}

function tellMissing({ log }: SeasonDeps, missing: readonly string[]): readonly string[] {
  log.warn('nothing is sent before other data directories have compared their intent logs', {
    reason: missing.join(', '),
  });
  return missing;
}

/** Read only now: whoever could still write a line before its deadline has done so. */
async function compareLogs(
  deps: SeasonDeps,
  { server, joins }: { server: string; joins: boolean },
): Promise<'compared' | 'changed'> {
  const { head, dataDirId } = deps;
  let part: IntentLine[] = [];
  const compare = async (last: boolean): Promise<boolean> => {
    const json = JSON.stringify(part.map(lineArgument));
    part = [];
    const { result, restored } = await head.compare({ dataDirId: joins ? dataDirId : '', server, last, json });
    if (restored > 0) deps.log.error('payouts were restored as unknown; everything is halted', { count: restored });
    return result !== 'changed';
  };
  for (const file of await intentFiles(deps.dataDir)) {
    for await (const line of readIntentFile(file)) {
      if (line === 'damaged') throw refuseDamaged(file);
      part.push(line);
      if (part.length >= LINES_PER_CALL && !(await compare(false))) return 'changed';
    }
  }
  return (await compare(true)) ? 'compared' : 'changed';
}

function refuseDamaged(file: string): Refusal {
  return new Refusal(`The intent log ${file} is damaged.`, {
    exitCode: EXIT.defect,
    remedy: 'Nothing is sent while it is. Restore the file from a copy, or settle its payouts by hand.',
  });
}

function lineArgument(line: IntentLine): Record<string, unknown> {
  return {
    r: line.runId,
    l: line.line,
    s: line.fileSha256,
    h: line.referenceHash,
    q: line.quoteId,
    x: line.quoteExpiresAt === null ? '' : String(line.quoteExpiresAt),
    k: line.attempt,
    c: line.armingCounter,
    o: line.owner,
    t: String(line.armedAt),
    f: line.credentials,
  };
}
