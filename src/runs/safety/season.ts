import type { Clock, Random } from '../../clock.ts';
import type { DataDir } from '../../ledger/intents/data-dir.ts';
import type { DirLease } from '../../ledger/intents/dir-lease.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Season } from '../../ledger/season/ledger-state.ts';
import { ensureSeason, refreshSeason } from '../../ledger/season/season.ts';
import { type Log, withoutRepeats } from '../../log.ts';
import type { DurabilityWatch } from './durability-watch.ts';
import { redoMissedDecisions } from './missed-decisions.ts';

interface SeasonParts {
  readonly config: { readonly armDeadlineMs: number };
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly ledger: Ledger;
  readonly lease: DirLease;
  readonly durability: DurabilityWatch;
}

/** See `App`. */
interface SeasonActs {
  readonly ensureSeason: () => Promise<readonly string[]>;
  readonly joinSeason: () => Promise<readonly string[]>;
  readonly refreshSeason: () => Promise<void>;
}

const NOT_OURS = {
  taken: undefined,
  elsewhere: 'another host uses a copy of this data directory',
  'written-off': 'two people wrote this data directory off',
} as const;

/** What a process does for the season (architecture.md, rule 4): what people decided is compared before the intent logs are. */
export function openSeason(parts: SeasonParts, dataDir: DataDir): SeasonActs {
  const { config, clock, random, log, ledger, lease, durability } = parts;
  const place = { dataDir: dataDir.path, dataDirId: dataDir.id, armDeadlineMs: config.armDeadlineMs };
  // A closed season is looked at every few seconds; what was restored is logged each time.
  const unrepeated = withoutRepeats(log, () => clock.monotonic());
  const warn: Log['warn'] = (message, fields) => unrepeated.warn(message, fields);
  const season = { state: ledger.state, ...place, clock, random, log: { ...log, warn } };
  let comparedFor = '';
  let isWhole = true;
  const enter = async (arms: boolean): Promise<readonly string[]> => {
    await durability.look(true);
    let isFirst = true;
    const compareDecisions = async ({ server, open }: Season): Promise<void> => {
      // In an open season a worker has compared already, unless the server is another one.
      const isDone = server === comparedFor && (!isFirst || (arms && open));
      isFirst = false;
      if (isDone) return;
      isWhole = await redoMissedDecisions({ ledger, clock, log }, server);
      comparedFor = isWhole ? server : '';
    };
    return await ensureSeason({ ...season, arms, compareDecisions });
  };
  const joinSeason = onceAtATime(() => enter(true));
  return {
    ensureSeason: onceAtATime(() => enter(false)),
    joinSeason,
    refreshSeason: onceAtATime(async () => {
      await refreshSeason(season, joinSeason);
      // What a list stood against that people had to look at is done once they have released the halt.
      if (!isWhole && (await ledger.state.read()).halt === null) await joinSeason();
      await durability.look();
      const why = NOT_OURS[await lease.take(dataDir.id)];
      if (why !== undefined) log.error(`${why}: nothing is sent from here before payrun is started again`);
      await ledger.audit.copyOthers();
    }),
  };
}

/** Callers that come while the task runs share its result. */
function onceAtATime<T>(task: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= task().finally(() => {
      running = undefined;
    });
    return running;
  };
}
