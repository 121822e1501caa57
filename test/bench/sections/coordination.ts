import { type Figure, figure, ratioFigure } from '../figures.ts';
import { openRig } from '../rig.ts';
import type { Effort, Section } from '../section.ts';

const RATE = 400;
const SLICE_MS = 100;
/** A token that is good for so long beside payrun's margin of 60 s. */
const SHORT_TOKEN_S = 3;
const MARGIN_S = 60;

interface Paced {
  /** Payments per second from the first to the last. */
  readonly mean: number;
  /** The most payments in any 100 ms, wherever they begin, by the share of 100 ms. */
  readonly worst: number;
  readonly tokens: number;
  readonly seconds: number;
}

/** Several workers share one rate and one token. */
export const coordination: Section = {
  name: 'coordination',
  title: 'Coordination',
  async measure(effort) {
    const figures: Figure[] = [];
    for (const workers of [1, 2, 4]) figures.push(...(await measureWith(workers, effort)));
    figures.push(await measureShortTokens(effort));
    return {
      figures,
      notes: [
        `PAYRUN_RATE=${RATE}. A slice is the worst of all 100 ms, wherever they begin, as the service saw payments arrive; its share is ${(RATE * SLICE_MS) / 1000} payments.`,
        'All workers and the service share the cores: what arrives late here was not necessarily sent late.',
      ],
    };
  },
};

async function measureWith(workers: number, effort: Effort): Promise<Figure[]> {
  const paced = await pay(workers, effort, 3600);
  const by = workers === 1 ? '1 worker' : `${workers} workers`;
  return [
    ratioFigure(
      {
        name: `${by}, mean rate`,
        unit: 'payments/s',
        limit: 'PAYRUN_RATE',
        target: { by: 'ratio', atLeast: 0.98, atMost: 1.02 },
      },
      paced.map(({ mean }) => ({ ours: mean, limit: RATE })),
    ),
    figure(
      { name: `${by}, worst ${SLICE_MS} ms`, unit: 'of its share', target: { by: 'value', atMost: 1.5, always: true } },
      paced.map(({ worst }) => worst),
    ),
    figure(
      { name: `${by}, token requests`, unit: 'requests', target: { by: 'value', atMost: 1, always: true } },
      paced.map(({ tokens }) => tokens),
    ),
  ];
}

/** One asks for all, also when tokens are short-lived. */
async function measureShortTokens(effort: Effort): Promise<Figure> {
  const paced = await pay(4, effort, MARGIN_S + SHORT_TOKEN_S);
  return ratioFigure(
    {
      name: `4 workers, token requests when one is good for ${SHORT_TOKEN_S} s`,
      unit: 'requests',
      limit: 'one each time',
      target: { by: 'ratio', atMost: 1, always: true },
    },
    paced.map(({ tokens, seconds }) => ({ ours: tokens, limit: Math.ceil(seconds / SHORT_TOKEN_S) + 1 })),
  );
}

async function pay(workers: number, { pick, rounds, say }: Effort, tokenSeconds: number): Promise<Paced[]> {
  const rig = await openRig();
  try {
    const rows = RATE * pick(2, 10);
    await rig.service.set({ delayMs: 0, tokenSeconds });
    for (let count = 0; count < workers; count++) await rig.worker({ PAYRUN_RATE: String(RATE) });
    const paced: Paced[] = [];
    for (let round = 1; round <= rounds; round++) {
      await rig.service.reset();
      await rig.redis.redis.del('{payrun}:token');
      const started = performance.now();
      const runId = await rig.submit(await rig.file(`paced-${round}`, rows), { PAYRUN_RATE: String(RATE) });
      const counts = await rig.service.paid(rows);
      const seconds = (performance.now() - started) / 1000;
      const { paidAt } = await rig.service.log();
      const mean = ((rows - 1) * 1000) / (counts.lastPaymentAt - counts.firstPaymentAt);
      paced.push({ mean, worst: worstSlice(paidAt), tokens: counts.tokens, seconds });
      say(
        `${workers} workers, round ${round}: ${mean.toFixed(1)}/s, worst ${worstSlice(paidAt).toFixed(2)}, ${counts.tokens} tokens`,
      );
      await rig.finished(runId);
    }
    return paced;
  } finally {
    await rig.close();
  }
}

function worstSlice(paidAt: readonly number[]): number {
  const sorted = paidAt.toSorted((one, other) => one - other);
  let most = 0;
  let from = 0;
  for (const [to, at] of sorted.entries()) {
    while ((sorted[from] ?? at) <= at - SLICE_MS) from++;
    most = Math.max(most, to - from + 1);
  }
  return most / ((RATE * SLICE_MS) / 1000);
}
