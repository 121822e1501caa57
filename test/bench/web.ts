import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { quantile, spread, table } from './web/figures.ts';
import { addWatchers, cookiesOf } from './web/people.ts';
import { measureRunsPage } from './web/runs-page.ts';
import { seedRuns } from './web/seed.ts';
import { type Stage, setStage } from './web/stage.ts';
import { payWatched, type Site, type Watched } from './web/watched-run.ts';

/*
 * npm run bench:web -- [--runs 10000] [--payouts 1000000] [--rows 100000] [--watchers 200] [--pairs 5] [--workers 2]
 * What the web app costs: the list of runs and the search with so many runs and payouts in Redis, and how much slower the
 * workers are while so many people watch one run of so many rows. Rounds with and without watchers take turns, and the one
 * that comes first changes from pair to pair. `--runs 0` leaves out the list, `--pairs 0` the watching.
 */

const PAGE_RUNS = 25;
const ASKED = 200;

const figure = (standard: string) => ({ type: 'string', default: standard }) as const;
const { values } = parseArgs({
  options: {
    runs: figure('10000'),
    payouts: figure('1000000'),
    rows: figure('100000'),
    watchers: figure('200'),
    pairs: figure('5'),
    workers: figure('2'),
  },
});
const runs = Number(values.runs);
const [payouts, rows, watchers] = [Number(values.payouts), Number(values.rows), Number(values.watchers)];
const [pairs, workers] = [Number(values.pairs), Number(values.workers)];

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** Milliseconds for which a row keeps a core busy, at all but those who watch: it tells the cost also where others work. */
function cpuMsOfRow({ cores, rate }: Watched): number {
  const own = [...cores].filter(([kind]) => kind !== 'watchers');
  return (1000 * own.reduce((sum, [, busy]) => sum + busy, 0)) / rate;
}

function describe(pairsMeasured: readonly (readonly [alone: Watched, watched: Watched])[]): string {
  const sides = [
    ['nobody', pairsMeasured.map(([alone]) => alone)],
    [`${watchers} people`, pairsMeasured.map(([, watched]) => watched)],
  ] as const;
  const kinds = [...(pairsMeasured[0]?.[1].cores.keys() ?? [])];
  const lines = sides.map(([who, measured]) => [
    who,
    spread(measured.map(({ rate }) => rate)),
    spread(measured.map(cpuMsOfRow), 2),
    ...kinds.map((kind) => quantile(measured.map(({ cores }) => cores.get(kind) ?? 0)).toFixed(3)),
  ]);
  const slower = pairsMeasured.map(([alone, watched]) => 100 * (1 - watched.rate / alone.rate));
  const dearer = pairsMeasured.map(([alone, watched]) => 100 * (1 - cpuMsOfRow(alone) / cpuMsOfRow(watched)));
  const medians = sides.map(([, measured]) => quantile(measured.map(({ rate }) => rate)));
  const seen = pairsMeasured.map(([, watched]) => watched);
  return [
    table(['watching', 'rows/s', 'CPU of a row, ms', ...kinds.map((kind) => `${kind}, cores`)], lines),
    `ratio of the medians ${((medians[1] ?? 0) / (medians[0] ?? 0)).toFixed(3)}; slower by pair, %: ${spread(slower, 1)}`,
    `slower by pair, by the CPU time of a row, %: ${spread(dearer, 1)}`,
    `events for each of them: ${spread(seen.map(({ events }) => events))}, bytes each ${spread(seen.map(({ eventBytes }) => eventBytes))}`,
  ].join('\n');
}

async function measureWatching(site: Site): Promise<string> {
  const measured: [Watched, Watched][] = [];
  await payWatched(site, { round: 0, rows: Math.ceil(rows / 5), watchers: 0 });
  for (let pair = 0; pair < pairs; pair++) {
    const round = 1 + 2 * pair;
    const pay = (place: number, count: number) => payWatched(site, { round: round + place, rows, watchers: count });
    const isWatchedFirst = pair % 2 === 1;
    const first = await pay(0, isWatchedFirst ? watchers : 0);
    const second = await pay(1, isWatchedFirst ? 0 : watchers);
    const both: [Watched, Watched] = isWatchedFirst ? [second, first] : [first, second];
    measured.push(both);
    say(`pair ${pair + 1}: ${both.map(({ rate }) => Math.round(rate)).join(' and ')} rows/s`);
  }
  return describe(measured);
}

async function seed({ app, redis }: Stage): Promise<void> {
  const start = performance.now();
  // Nobody waits for the disk while the past is written.
  await redis.redis.config('SET', 'appendfsync', 'no');
  await seedRuns(app, { runs, rows: Math.ceil(payouts / runs) });
  await redis.redis.config('SET', 'appendfsync', 'always');
  const seconds = (performance.now() - start) / 1000;
  const used = /used_memory_human:(\S+)/.exec(await redis.redis.info('memory'))?.[1];
  say(`${runs} runs, ${payouts} payouts recorded and paid in ${Math.round(seconds)} s; Redis holds ${used}`);
}

// What was started ends with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const stage = await setStage();
try {
  await addWatchers(stage.app, Math.max(1, watchers));
  if (runs > 0) await seed(stage);
  const { base, pids } = await stage.open(workers);
  const [cookie = ''] = await cookiesOf(stage.app, 1);
  if (runs > 0)
    say(
      await measureRunsPage(
        { base, cookie, pid: pids.get('serve')?.[0] ?? 0 },
        { pages: Math.ceil(runs / PAGE_RUNS), asked: ASKED },
      ),
    );
  if (pairs > 0) say(await measureWatching({ stage, base, pids }));
  say(
    `${rows} rows a run, ${pairs} pairs, ${workers} workers, Node ${process.version}, ${availableParallelism()} cores`,
  );
} finally {
  await stage.remove();
}
