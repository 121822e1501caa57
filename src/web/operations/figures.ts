import { foresee } from '../../../jobs/cut-offs.ts';
import type { JobQueues } from '../../../jobs/open.ts';
import type { App } from '../../app.ts';
import type { Clock } from '../../clock.ts';
import { readDisk } from '../../ledger/intents/disk.ts';
import type { Figures, LedgerFigures, Metrics } from '../../metrics.ts';
import { openPatientLook } from './look.ts';
import { openTallies } from './tallies.ts';

/** Two looks are at least so far apart, however many ask. */
export const FIGURES_EVERY_MS = 5000;
/** A Redis that has not answered by then is away. */
const LOOK_MS_MAX = 5000;

export interface FiguresDeps {
  readonly app: Pick<App, 'config' | 'clock' | 'log' | 'ledger' | 'readDurability'>;
  readonly queues?: Pick<JobQueues, 'depths'>;
  readonly metrics: Pick<Metrics, 'runEnded'>;
}

/** Looks at the ledger, the queues and the disks of this process for figures. What does not answer is left out. */
export function openFigures({ app, queues, metrics }: FiguresDeps): () => Promise<Figures> {
  const { clock, config, log } = app;
  const tallies = openTallies(app.ledger.runs, clock);
  const moves = openMovement(clock);

  async function readLedger(): Promise<LedgerFigures> {
    const { ledger, readDurability } = app;
    const [head, season, findings, tally, endpoints, foreseen] = await Promise.all([
      ledger.state.read(),
      ledger.state.season(),
      readDurability(),
      tallies.look(),
      ledger.outbox.endpoints(),
      foresee(app),
    ]);
    const halted = head.halt !== null;
    for (const ms of tally.endedAfterMs) metrics.runEnded(ms);
    return {
      payouts: tally.payouts,
      runs: tally.runs,
      armings: head.armings,
      refusedMoves: head.refusedMoves,
      halted,
      seasonOpen: season.open,
      durable: findings.length === 0,
      moving: moves({ due: halted ? 0 : tally.due, changes: tally.changes }),
      ratePerSecond: foreseen.perSecond,
      lateRows: foreseen.late.reduce((sum, { rows }) => sum + rows, 0),
      endpoints: endpoints.map(({ name, waiting, deadLetters }) => ({
        name,
        waiting,
        deadLetters: deadLetters.length,
      })),
    };
  }

  const askLedger = openPatientLook(clock, LOOK_MS_MAX, readLedger);
  const askQueues = openPatientLook(clock, LOOK_MS_MAX, async () => (await queues?.depths(clock.now())) ?? []);

  async function unlessFault<Figure>(asked: Promise<Figure>): Promise<Figure | undefined> {
    return await asked.catch((error: unknown) => {
      log.warn('some figures could not be read', { error });
      return undefined;
    });
  }

  return async () => {
    const [ledger = null, depths = [], disks] = await Promise.all([
      unlessFault(askLedger()),
      unlessFault(askQueues()),
      readDisks({ data: config.dataDir, reports: config.reportDir }),
    ]);
    return { ledger, queues: depths, disks };
  };
}

/** A folder that is not there yet has no disk to tell of. */
async function readDisks(folders: Readonly<Record<string, string>>): Promise<Figures['disks']> {
  const disks = Object.entries(folders).map(async ([folder, path]) => {
    const disk = await readDisk(path).catch(() => undefined);
    return disk === undefined ? [] : [{ folder, freeBytes: disk.freeBytes, sizeBytes: disk.sizeBytes }];
  });
  return (await Promise.all(disks)).flat();
}

/** So long may nothing move while payouts are due. */
export const STILL_MS_MAX = 2 * 60_000;

/** What one look saw. */
interface Seen {
  /** Payouts that could be taken. */
  readonly due: number;
  /** Grows with each move. */
  readonly changes: number;
}

/** Tells from one look to the next whether what is due is taken: false once nothing moved for two minutes. */
export function openMovement(clock: Pick<Clock, 'monotonic'>): (seen: Seen) => boolean {
  let changesBefore = -1;
  let stillSince = clock.monotonic();
  return ({ due, changes }) => {
    const now = clock.monotonic();
    if (due === 0 || changes !== changesBefore) stillSince = now;
    changesBefore = changes;
    return now - stillSince < STILL_MS_MAX;
  };
}
