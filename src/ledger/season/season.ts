import { type Clock, dayText } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { Refusal } from '../../refusal.ts';
import { isIntent, type LogLine } from '../intents/intent-line.ts';
import { highestCounter, intentFiles, readIntentFile } from '../intents/intent-log.ts';
import { notePeers, type PeersDeps } from '../intents/peers.ts';
import type { LedgerState, Season } from './ledger-state.ts';

const LINES_PER_CALL = 500;
const TRIES_MAX = 20;
/** Longer in all than two sweeps of every other process, in each of which it notes the directories that came. */
const NOTED_AGAIN_MS = 400;

export interface SeasonDeps extends PeersDeps {
  readonly state: LedgerState;
  /** Whether this process may arm. Who only hands files in or looks does not keep any season closed. */
  readonly arms: boolean;
  readonly armDeadlineMs: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Compares what people decided with this very server, before the logs are compared with it. */
  readonly compareDecisions: (season: Season) => Promise<void>;
}

/**
 * Makes sure that arming is allowed on this Redis, from this data directory (architecture.md, rule 4). In a closed season it
 * waits twice the arm deadline, so that nobody who armed before the change can still send, and compares the directory's
 * intent logs. A new directory waits until each other one has noted it. Gives the data directories that keep it from
 * arming; none when arming is allowed. One that was written off arms nothing before payrun starts again on it. Throws a Refusal
 * for a damaged log.
 */
export async function ensureSeason(deps: SeasonDeps, signal?: AbortSignal): Promise<readonly string[]> {
  const hasLogs = (await intentFiles(deps.dataDir)).length > 0;
  if (deps.arms && !(await deps.state.enterDir(deps.dataDirId, hasLogs))) return [deps.dataDirId];
  const waitedFor = new Set<string>();
  let strangers: readonly string[] = [deps.dataDirId];
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const season = await deps.state.season();
    await deps.compareDecisions(season);
    if (season.open && !season.missing.includes(deps.dataDirId)) return [];
    const compared = await compareOnce(deps, season, { waitedFor, ...(signal === undefined ? {} : { signal }) });
    if (compared.kind === 'missing') return compared.dirs;
    if (compared.kind === 'changed') continue;
    strangers = compared.dirs;
    await deps.clock.sleep(NOTED_AGAIN_MS, signal);
  }
  deps.log.warn('nothing is sent from here before other data directories have noted this one', {
    reason: strangers.join(', '),
  });
  return strangers;
}

type Compared =
  | { readonly kind: 'changed' }
  | { readonly kind: 'missing' | 'unnoted'; readonly dirs: readonly string[] };

async function compareOnce(
  deps: SeasonDeps,
  season: Season,
  { waitedFor, signal }: { waitedFor: Set<string>; signal?: AbortSignal },
): Promise<Compared> {
  const hasLogs = (await intentFiles(deps.dataDir)).length > 0;
  // A host for commands may have noted payments there; nobody waits for it, unless it armed once.
  const mayHaveArmed = deps.arms ? hasLogs : hasLogs && (await highestCounter(deps.dataDir)) > 0;
  const joins = mayHaveArmed || season.dataDirIds.includes(deps.dataDirId);
  if (!hasLogs && !joins && season.missing.length > 0)
    return { kind: 'missing', dirs: tellMissing(deps, season.missing) };
  // A directory without logs that joins an open season has armed nothing that anybody could have forgotten.
  // It waits after each closing: until then somebody may have armed.
  const closing = `${season.server} ${season.name}`;
  if ((!season.open || hasLogs) && !waitedFor.has(closing)) {
    if (!(await waitOutDeadlines(deps, signal))) return { kind: 'missing', dirs: [deps.dataDirId] };
    waitedFor.add(closing);
  }
  return await compareAndOpen(deps, { season, joins });
}

/** Does what other directories wait for: compares the logs in a closed season, notes those that came in an open one. */
export async function refreshSeason(
  deps: PeersDeps & { state: LedgerState },
  join: () => Promise<unknown>,
): Promise<void> {
  const season = await deps.state.season();
  if (season.open) await notePeers(deps, season);
  else await join();
}

/** False when the signal ended the wait. */
async function waitOutDeadlines({ armDeadlineMs, clock, log }: SeasonDeps, signal?: AbortSignal): Promise<boolean> {
  log.warn('Redis is another one or was restarted: comparing the intent logs before anything is sent');
  await clock.sleep(2 * armDeadlineMs, signal);
  return signal?.aborted !== true;
}

async function compareAndOpen(deps: SeasonDeps, at: { season: Season; joins: boolean }): Promise<Compared> {
  const peers = at.joins ? await notePeers(deps, at.season) : [];
  const { result, strangers } = await compareLogs(deps, {
    server: at.season.server,
    season: at.season.name,
    joins: at.joins,
    peers,
  });
  if (result === 'changed') return { kind: 'changed' };
  if (result === 'written-off') return { kind: 'missing', dirs: [deps.dataDirId] };
  if (result === 'unnoted') return { kind: 'unnoted', dirs: strangers };
  const after = await deps.state.season();
  if (after.server !== at.season.server) return { kind: 'changed' };
  return { kind: 'missing', dirs: after.open ? [] : tellMissing(deps, after.missing) };
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
  at: { server: string; season: string; joins: boolean; peers: readonly string[] },
): Promise<{ result: string; strangers: readonly string[] }> {
  const { state: head, dataDirId } = deps;
  let part: LogLine[] = [];
  const compare = async (last: boolean): ReturnType<LedgerState['compare']> => {
    const json = JSON.stringify(part.map(lineArgument));
    part = [];
    const answer = await head.compare({ ...at, dataDirId: at.joins ? dataDirId : '', last, json });
    if (answer.restored > 0) {
      deps.log.error('payouts were restored as unknown or held; everything is halted', { count: answer.restored });
    }
    return answer;
  };
  for (const file of await intentFiles(deps.dataDir)) {
    for await (const line of readIntentFile(file)) {
      if (line === 'damaged') throw refuseDamaged(file);
      part.push(line);
      if (part.length < LINES_PER_CALL) continue;
      const answer = await compare(false);
      if (answer.result !== 'compared') return answer;
    }
  }
  return await compare(true);
}

function refuseDamaged(file: string): Refusal {
  return new Refusal(
    `The intent log ${file} is damaged.`,
    'Nothing is sent while it is damaged. Restore the file from a copy, or settle its payouts by hand.',
    { kind: 'defect' },
  );
}

function lineArgument(line: LogLine): Record<string, unknown> {
  if (!isIntent(line))
    return { y: line.quoteId, p: line.paymentId ?? '', n: line.isNamed, h: line.referenceHash, o: line.overturns };
  return {
    r: line.runId,
    l: line.line,
    s: line.fileSha256,
    n: line.contentHash ?? '',
    m:
      line.counted === undefined
        ? undefined
        : { d: line.counted.day, b: line.counted.beneficiaryHash, s: line.counted.sums },
    h: line.referenceHash,
    q: line.quoteId,
    x: line.quoteExpiresAt === null ? '' : String(line.quoteExpiresAt),
    k: line.attempt,
    c: line.armingCounter,
    d: dayText(line.armedAt),
    o: line.owner,
    t: String(line.armedAt),
    f: line.credentials,
  };
}
