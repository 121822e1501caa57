import { type Figure, figure } from '../figures.ts';
import { openRig, ratePerSecond } from '../rig.ts';
import type { Effort, Section } from '../section.ts';

const LIMIT = 50;
const SETTINGS = { PAYRUN_RATE: '400', PAYRUN_RATE_MIN: '5' };

/** A service refuses what is above a limit that nobody told payrun. */
export const adaptive: Section = {
  name: 'adaptive',
  title: 'A limit that the service does not say',
  async measure(effort) {
    const figures: Figure[] = [];
    for (const workers of [1, 2]) figures.push(...(await measureWith(workers, effort)));
    return {
      figures,
      notes: [
        `The service takes ${LIMIT} payment requests in any second, answers what is more with 429 and \`Retry-After: 1\`, and takes 50 ms for an answer. PAYRUN_RATE=${SETTINGS.PAYRUN_RATE}, PAYRUN_RATE_MIN=${SETTINGS.PAYRUN_RATE_MIN}. The climb from there is part of the time.`,
      ],
    };
  },
};

async function measureWith(workers: number, { pick, rounds, say }: Effort): Promise<Figure[]> {
  const by = workers === 1 ? '1 worker' : `${workers} workers`;
  const rows = LIMIT * pick(120, 240);
  const rates: number[] = [];
  const refused: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    const rig = await openRig();
    try {
      await rig.service.set({ delayMs: 50, perSecond: LIMIT });
      for (let count = 0; count < workers; count++) await rig.worker(SETTINGS);
      await rig.submit(await rig.file(`limited-${round}`, rows), SETTINGS);
      const counts = await rig.service.paid(rows);
      rates.push(ratePerSecond(counts));
      refused.push((counts.refused * 100) / (counts.refused + counts.payments));
      say(`${by}, round ${round}: ${rates.at(-1)?.toFixed(1)}/s, ${refused.at(-1)?.toFixed(2)} % refused`);
    } finally {
      await rig.close();
    }
  }
  return [
    figure({ name: `${by}, mean rate`, unit: 'payments/s', target: { by: 'value', atLeast: 45 } }, rates),
    figure(
      { name: `${by}, refused`, unit: '% of requests', target: { by: 'value', atMost: 2, always: true } },
      refused,
    ),
  ];
}
