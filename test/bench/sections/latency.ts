import { type Figure, type Round, ratioFigure } from '../figures.ts';
import { loopRate, openBareLoop, runRate } from '../pay-rounds.ts';
import { openRig } from '../rig.ts';
import type { Effort, Section } from '../section.ts';

const LATENCY_MS = 50;
const REQUESTS_PER_PAYOUT = 2;

/** One worker against a service that takes 50 ms for each answer. */
export const latency: Section = {
  name: 'latency',
  title: 'Paying, the service answers in 50 ms',
  async measure(effort) {
    return {
      figures: [...(await measureAt(100, 0.97, effort)), ...(await measureAt(400, 0.85, effort))],
      notes: [
        `A payout is two requests one after the other, so that in flight ÷ latency is in flight ÷ ${REQUESTS_PER_PAYOUT * LATENCY_MS} ms.`,
        'The bare loop under the same latency tells how much of the limit anybody reaches here: timers are late, and the service has to answer on the same cores.',
      ],
    };
  },
};

/** `ofLoop`: at least this part of what the bare loop reaches. */
async function measureAt(inFlight: number, ofLoop: number, { pick, rounds, say }: Effort): Promise<Figure[]> {
  const rig = await openRig();
  try {
    await rig.service.set({ delayMs: LATENCY_MS });
    const limit = (inFlight * 1000) / (REQUESTS_PER_PAYOUT * LATENCY_MS);
    const payouts = inFlight * pick(20, 150);
    const loop = await openBareLoop(rig);
    await rig.worker({ PAYRUN_CONCURRENCY: String(inFlight) });
    await loopRate(rig, loop, { payouts: inFlight * pick(5, 20), inFlight });
    await runRate(rig, 'warm', inFlight * pick(5, 20));
    const rates: Round[] = [];
    for (let round = 1; round <= rounds; round++) {
      const ours = await runRate(rig, `slow-${round}`, payouts);
      rates.push({ ours, limit: await loopRate(rig, loop, { payouts, inFlight }) });
      say(`${inFlight} in flight, round ${round}: ${Math.round(ours)} of ${limit} payouts/s`);
    }
    const unit = 'payouts/s';
    const loops = rates.map((rate) => ({ ours: rate.limit, limit }));
    return [
      ratioFigure(
        {
          name: `one worker, ${inFlight} in flight`,
          unit,
          limit: 'bare loop',
          target: { by: 'ratio', atLeast: ofLoop },
        },
        rates,
      ),
      ratioFigure({ name: `bare loop, ${inFlight} in flight`, unit, limit: 'in flight ÷ latency' }, loops),
    ];
  } finally {
    await rig.close();
  }
}
