import { cpuMsOf } from '../cpu-time.ts';
import { type Figure, figure, type Round, ratioFigure } from '../figures.ts';
import { loopRate, openBareLoop, runRate } from '../pay-rounds.ts';
import { openRig } from '../rig.ts';
import type { Section } from '../section.ts';

const IN_FLIGHT = 64;

/** One worker against a service that answers at once. */
export const pay: Section = {
  name: 'pay',
  title: 'Paying, the service answers at once',
  async measure({ pick, rounds, say }) {
    const rig = await openRig();
    try {
      const payouts = pick(4000, 30_000);
      const loop = await openBareLoop(rig);
      const worker = await rig.worker({ PAYRUN_CONCURRENCY: String(IN_FLIGHT) });
      await loopRate(rig, loop, { payouts: pick(2000, 10_000), inFlight: IN_FLIGHT });
      await runRate(rig, 'warm', pick(2000, 10_000));
      const measured: Round[] = [];
      const paying: Cost[] = [];
      const looping: Cost[] = [];
      const costOf = (payer: number): Cost => ({
        payer: cpuMsOf(payer),
        redis: cpuMsOf(rig.redis.pid),
        service: cpuMsOf(rig.service.pid),
      });
      for (let round = 1; round <= rounds; round++) {
        let before = costOf(worker.pid);
        const ours = await runRate(rig, `pay-${round}`, payouts);
        paying.push(perPayout(before, costOf(worker.pid), payouts));
        before = costOf(loop.pid);
        const limit = await loopRate(rig, loop, { payouts, inFlight: IN_FLIGHT });
        looping.push(perPayout(before, costOf(loop.pid), payouts));
        measured.push({ ours, limit });
        say(`round ${round}: ${Math.round(ours)} of ${Math.round(limit)} payouts/s`);
      }
      return {
        figures: [
          ratioFigure(
            {
              name: `one worker, ${IN_FLIGHT} in flight`,
              unit: 'payouts/s',
              limit: 'bare loop',
              target: { by: 'ratio', atLeast: 0.35 },
            },
            measured,
          ),
          ratioFigure(
            {
              name: 'processor time of the worker itself',
              unit: 'µs of a core per payout',
              limit: 'bare loop itself',
              target: { by: 'ratio', atMost: 2.8 },
            },
            paying.map(({ payer }, at) => ({ ours: payer, limit: looping[at]?.payer ?? Number.NaN })),
          ),
          ...costFigures('worker', paying),
          ...costFigures('bare loop', looping),
        ],
        notes: [
          `${payouts} payouts a round, from the first payment to the last as the service saw them; worker and loop stay the same processes and are warm.`,
          'Processor time is that of the whole round, also of Redis for recording the file and of the worker for writing its report.',
        ],
      };
    } finally {
      await rig.close();
    }
  },
};

/** Processor time, in milliseconds so far or in microseconds per payout. */
interface Cost {
  readonly payer: number;
  readonly redis: number;
  readonly service: number;
}

function perPayout(before: Cost, after: Cost, payouts: number): Cost {
  const us = (of: keyof Cost): number => ((after[of] - before[of]) * 1000) / payouts;
  return { payer: us('payer'), redis: us('redis'), service: us('service') };
}

/** What it costs on any machine, also one that has other work: the cores are what the parts share. */
function costFigures(payer: string, costs: readonly Cost[]): Figure[] {
  const unit = 'µs of a core per payout';
  return [
    figure(
      { name: `${payer}: itself`, unit },
      costs.map((cost) => cost.payer),
    ),
    figure(
      { name: `${payer}: Redis`, unit },
      costs.map((cost) => cost.redis),
    ),
    figure(
      { name: `${payer}: service`, unit },
      costs.map((cost) => cost.service),
    ),
  ];
}
