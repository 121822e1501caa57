import type { Clock } from '../../src/clock.ts';
import type { Season } from '../../src/ledger/season/ledger-state.ts';
import type { FakeDisk } from './disk.ts';
import type { Compared, ComparedLine, Comparison } from './head.ts';
import type { Store } from './store.ts';

const TRIES_MAX = 20;
const NOTED_AGAIN_MS = 400;

/** What is asked of the ledger's head. */
export interface SeasonHead {
  season(): Promise<Season>;
  enterDir(dataDirId: string, hasLogs: boolean): Promise<boolean>;
  notePeers(dataDirId: string, peers: readonly string[]): Promise<void>;
  compare(part: Omit<Comparison, 'sawCounter'>): Promise<Compared>;
}

export interface SeasonParts {
  readonly head: SeasonHead;
  readonly dataDirId: string;
  readonly disk: FakeDisk;
  /** What is read of the intent logs. */
  readonly lines: () => FakeDisk['lines'];
  /** Compares what people decided with this server. */
  readonly redo: (season: Season) => Promise<void>;
  /** Whether this process may arm. */
  readonly arms: boolean;
  readonly waitMs: number;
  readonly clock: Clock;
  /** How long reading or writing a file takes. */
  readonly diskMs: () => number;
}

/**
 * The steps of `ensureSeason` in src/ledger/season/season.ts, which reads real files and so cannot run here, over a fake disk:
 * wait out whoever could still send, compare, be noted by the other directories, and see whether the season is open.
 */
export async function ensureSeason(parts: SeasonParts): Promise<readonly string[]> {
  const { head, dataDirId, clock } = parts;
  await parts.redo(await head.season());
  if (parts.arms && !(await head.enterDir(dataDirId, parts.lines().length > 0))) return [dataDirId];
  const waitedFor = new Set<string>();
  let strangers: readonly string[] = [dataDirId];
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const season = await head.season();
    if (season.open && !season.missing.includes(dataDirId)) return [];
    const hasLogs = parts.lines().length > 0;
    const joins = hasLogs || season.dataDirIds.includes(dataDirId);
    if (!joins && season.missing.length > 0) return season.missing;
    await parts.redo(season);
    const closing = `${season.server} ${season.name}`;
    if ((!season.open || hasLogs) && !waitedFor.has(closing)) {
      await clock.sleep(parts.waitMs);
      waitedFor.add(closing);
    }
    const peers = joins ? await notePeers(parts, season) : [];
    const compared = await compare(parts, { season, joins, peers });
    if (compared.result === 'unnoted') {
      strangers = compared.strangers;
      await clock.sleep(NOTED_AGAIN_MS);
    } else if (compared.result === 'written-off') {
      return [dataDirId];
    } else if (compared.result !== 'changed') {
      const after = await head.season();
      if (after.server === season.server) return after.open ? [] : after.missing;
    }
  }
  return strangers;
}

/** Whether a data directory has yet to be compared with what Redis holds. */
export function isSeasonClosed({ server, season, dirs }: Store): boolean {
  if (season !== server) return true;
  for (const compared of dirs.values()) if (compared !== server) return true;
  return false;
}

type PeersParts = Omit<SeasonParts, 'lines' | 'arms' | 'waitMs' | 'redo'>;

/** The steps of `keepSeason` there. */
export async function keepSeason(parts: PeersParts, join: () => Promise<unknown>): Promise<void> {
  const season = await parts.head.season();
  if (season.open) await notePeers(parts, season);
  else await join();
}

/** The steps of `notePeers` in src/ledger/intents/peers.ts. */
async function notePeers(
  { head, dataDirId, disk, clock, diskMs }: PeersParts,
  season: Season,
): Promise<readonly string[]> {
  const all = new Set(season.dataDirIds).add(dataDirId);
  for (const peer of disk.peers) all.add(peer);
  const isNoted = all.size === disk.peers.length && disk.peers.every((peer) => all.has(peer));
  const peers = isNoted ? disk.peers : [...all].toSorted();
  if (!isNoted) {
    await clock.sleep(diskMs());
    disk.peers = peers;
  }
  await head.notePeers(dataDirId, peers);
  return peers;
}

async function compare(
  { head, dataDirId, disk, lines, clock, diskMs }: SeasonParts,
  { season, joins, peers }: { season: Season; joins: boolean; peers: readonly string[] },
): Promise<Compared> {
  const compared = lines().map(argumentOf);
  await clock.sleep(diskMs());
  const answers = disk.answers.map(({ answer: { quoteId, paymentId, referenceHash, overturns } }) => {
    return { y: quoteId, p: paymentId ?? '', h: referenceHash, o: overturns };
  });
  const { server, name } = season;
  const part = { dataDirId: joins ? dataDirId : '', server, season: name, last: true };
  return await head.compare({ ...part, lines: compared, answers, peers });
}

function argumentOf({ line }: FakeDisk['lines'][number]): ComparedLine {
  return {
    r: line.runId,
    l: line.line,
    s: line.fileSha256,
    n: line.contentHash ?? '',
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
