import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import { EXIT, Refusal } from '../refusal.ts';
import type { Head } from './head.ts';
import type { IntentLine } from './intent-line.ts';
import { readIntentLogs } from './intent-log.ts';

const LINES_PER_CALL = 500;
const TRIES_MAX = 5;

export interface SeasonDeps {
  readonly head: Head;
  readonly dataDir: string;
  readonly dataDirId: string;
  readonly armDeadlineMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Makes sure that arming is allowed on this Redis (design 3, rule 4). In a closed season it waits twice the arm
 * deadline, so that nobody who armed before the change can still send, and compares this data directory's intent logs.
 * Gives false while other data directories have yet to compare theirs. Throws a Refusal for a damaged log.
 */
export async function ensureSeason(deps: SeasonDeps, signal?: AbortSignal): Promise<boolean> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const season = await deps.head.season();
    if (season.open) return true;
    deps.log.warn('Redis is another one or was restarted: comparing the intent logs before anything is sent');
    await deps.clock.sleep(2 * deps.armDeadlineMs, signal);
    if (signal?.aborted === true) return false;
    const result = await compareLogs(deps, season.server);
    if (result === 'compared') return (await deps.head.season()).open;
  }
  return false;
}

async function compareLogs(deps: SeasonDeps, server: string): Promise<'compared' | 'changed'> {
  const { lines, damagedFiles } = await readIntentLogs(deps.dataDir);
  if (damagedFiles.length > 0) {
    throw new Refusal(`An intent log is damaged: ${damagedFiles.join(', ')}.`, {
      exitCode: EXIT.defect,
      remedy: 'Nothing is sent while it is. Restore the file from a copy, or settle its payouts by hand.',
    });
  }
  for (let from = 0; from === 0 || from < lines.length; from += LINES_PER_CALL) {
    const part = lines.slice(from, from + LINES_PER_CALL);
    const last = from + LINES_PER_CALL >= lines.length;
    const json = JSON.stringify(part.map(lineArgument));
    const { result, restored } = await deps.head.compare({ dataDirId: deps.dataDirId, server, last, json });
    if (result === 'changed') return 'changed';
    if (restored > 0) deps.log.error('payouts were restored as unknown; everything is halted', { count: restored });
  }
  return 'compared';
}

function lineArgument(line: IntentLine): Record<string, unknown> {
  return {
    r: line.runId,
    l: line.line,
    s: line.fileSha256,
    q: line.quoteId,
    x: line.quoteExpiresAt === null ? '' : String(line.quoteExpiresAt),
    k: line.attempt,
    c: line.armingCounter,
    o: line.owner,
    t: String(line.armedAt),
    f: line.credentials,
  };
}
