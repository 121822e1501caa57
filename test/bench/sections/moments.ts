import { setTimeout as delay } from 'node:timers/promises';
import { openPayouts, type Payouts } from '../../../src/ledger/payouts/payouts.ts';
import { openSeals } from '../../../src/ledger/seals.ts';
import type { PayoutPlace, PayoutState } from '../../../src/payout.ts';
import { type Figure, figure } from '../figures.ts';
import { runRate } from '../pay-rounds.ts';
import { openRig, openStuck, PREFIX, type Rig } from '../rig.ts';
import type { Effort, Section } from '../section.ts';

const LOOK_MS = 20;
const TEN = 10;
const OPEN: readonly PayoutState[] = ['ready', 'armed', 'quoted', 'unknown'];

const now = (): number => performance.timeOrigin + performance.now();

/** How long one waits: for the first payment, after a worker's death, behind a large run. */
export const moments: Section = {
  name: 'moments',
  title: 'Start-up, recovery, fairness',
  async measure(effort) {
    return {
      figures: [
        ...(await measureStart(effort)),
        ...(await measureRecovery(effort)),
        ...(await measureFairness(effort)),
      ],
      notes: [
        'Start-up: from the start of the process `payrun submit` to the first payment, a worker being there.',
        'Recovery: one of two workers is killed (-9) in the middle of a run, the service answering in 50 ms; until the last payout that was open in a job of either has moved. A job of a dead worker is found when its lock of 8 s has run out, at a check each 4 s.',
        'Fairness: from the start of the process `payrun submit` to the state `finished`, which the sweeper gives, each 2 s.',
      ],
    };
  },
};

async function measureStart({ rounds, say }: Effort): Promise<Figure[]> {
  const rig = await openRig();
  try {
    await rig.worker();
    await runRate(rig, 'warm', 200);
    const seconds: number[] = [];
    for (let round = 1; round <= rounds; round++) {
      const path = await rig.file(`start-${round}`, 100);
      await rig.service.reset();
      const started = now();
      const runId = await rig.submit(path);
      const { firstPaymentAt } = await rig.service.paid(1);
      seconds.push((firstPaymentAt - started) / 1000);
      await rig.finished(runId);
    }
    say(`start-up: ${seconds.map((one) => one.toFixed(2)).join(', ')} s`);
    return [figure({ name: 'from submit to the first payment, 100 rows', unit: 's' }, seconds)];
  } finally {
    await rig.close();
  }
}

async function measureRecovery({ pick, rounds, say }: Effort): Promise<Figure[]> {
  const seconds: number[] = [];
  for (let round = 1; round <= pick(1, rounds); round++) seconds.push(await recover(pick(2000, 4000)));
  say(`recovery: ${seconds.map((one) => one.toFixed(2)).join(', ')} s`);
  return [figure({ name: 'from kill -9 of a worker to all of its payouts moving', unit: 's' }, seconds)];
}

async function recover(rows: number): Promise<number> {
  const rig = await openRig();
  try {
    await rig.service.set({ delayMs: 50 });
    const [dying] = [await rig.worker(), await rig.worker()];
    const path = await rig.file('recovered', rows);
    const runId = await rig.submit(path);
    await rig.service.paid(rows / 4);
    await dying.kill('SIGKILL');
    const killedAt = now();
    const { redis } = rig.redis;
    const payouts = openPayouts({ redis, arming: redis }, { prefix: PREFIX, dataDirId: 'bench', seals: openSeals() });
    let waiting = await openInJobs(rig, payouts, runId);
    const idle = openStuck('recovery');
    while (waiting.length > 0) {
      idle(String(waiting.length));
      await delay(LOOK_MS);
      waiting = await unmoved(payouts, waiting);
    }
    return (now() - killedAt) / 1000;
  } finally {
    await rig.close();
  }
}

interface Waiting {
  readonly place: PayoutPlace;
  readonly version: number;
}

/** The open payouts of the slices that some worker has in work. */
async function openInJobs(rig: Rig, payouts: Payouts, runId: string): Promise<Waiting[]> {
  const ids = await rig.redis.redis.lrange(`${PREFIX}:bull:pay:active`, 0, -1);
  const places = ids.flatMap((id) => {
    const [, from = '1', to = '0'] = /-(\d+)-(\d+)$/.exec(id) ?? [];
    return Array.from({ length: Number(to) - Number(from) + 1 }, (_, at) => ({ runId, line: Number(from) + at }));
  });
  const readings = await Promise.all(places.map(async (place) => ({ place, ...(await payouts.read(place)) })));
  return readings.flatMap(({ place, payout }) =>
    payout !== undefined && OPEN.includes(payout.state) ? [{ place, version: payout.version }] : [],
  );
}

async function unmoved(payouts: Payouts, waiting: readonly Waiting[]): Promise<Waiting[]> {
  const readings = await Promise.all(waiting.map(({ place }) => payouts.read(place)));
  return waiting.filter(({ version }, at) => readings[at]?.payout?.version === version);
}

async function measureFairness({ pick, rounds, say }: Effort): Promise<Figure[]> {
  const rig = await openRig();
  try {
    await rig.worker();
    await runRate(rig, 'warm', 200);
    const rows = pick(30_000, 1_000_000);
    const large = await rig.file('large', rows);
    await rig.service.reset();
    const largeId = await rig.submit(large);
    await rig.service.paid(100);
    const figures: Figure[] = [];
    // The slow service first: the large run is to last.
    for (const delayMs of [50, 0]) {
      await rig.service.set({ delayMs });
      const seconds: number[] = [];
      for (let round = 1; round <= rounds; round++) {
        const path = await rig.file(`small-${delayMs}-${round}`, TEN);
        const started = now();
        await isFinished(rig, await rig.submit(path));
        seconds.push((now() - started) / 1000);
      }
      const left = (await rig.runs.read(largeId))?.counts.ready ?? 0;
      if (left === 0) throw new Error('the large run was over before the small ones');
      const service = delayMs === 0 ? 'at once' : `in ${delayMs} ms`;
      say(`fairness, answers ${service}: ${seconds.map((one) => one.toFixed(2)).join(', ')} s, ${left} rows are left`);
      const name = `a run of ${TEN} rows behind one of ${rows.toLocaleString('en')}, answers ${service}`;
      figures.push(figure({ name, unit: 's', target: { by: 'value', atMost: 5, always: true } }, seconds));
    }
    return figures;
  } finally {
    await rig.close();
  }
}

/** Resolves in the moment in which the run is finished, its report or not. */
async function isFinished(rig: Rig, runId: string): Promise<void> {
  const idle = openStuck(`run ${runId}`);
  for (;;) {
    const run = await rig.runs.read(runId);
    if (run?.state === 'finished') return;
    idle(JSON.stringify(run?.counts));
    await delay(LOOK_MS);
  }
}
