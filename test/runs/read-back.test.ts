import { expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { readBack } from '../../src/runs/read-back.ts';
import { useTestRedis } from '../support/redis.ts';
import { armPayout, freshLedger, movePayout, recordRun } from './recorded-run.ts';

const LINES = [2, 3, 4, 5, 6, 7];
const APART_MS = 200;

const server = await useTestRedis();

test('each payment is read back at the moment that the pace of PAYRUN_TRACK_RATE gives it, and none before', async () => {
  const ledger = await freshLedger(server.redis);
  const runId = await recordRun(ledger, { lines: LINES });
  for (const line of LINES) {
    await armPayout(ledger, { runId, line }, `q-${line}`);
    await movePayout(ledger, { runId, line }, 'accepted');
  }
  const asked: string[] = [];
  const sleeping: { readonly ms: number; readonly wake: () => void }[] = [];
  let moments = 0;
  const deps = {
    ledger,
    clock: {
      ...systemClock,
      monotonic: () => 0,
      sleep: async (ms: number) => {
        await new Promise<void>((wake) => sleeping.push({ ms, wake }));
      },
    },
    trackPace: { take: async () => await Promise.resolve(moments++ * APART_MS) },
    rules: { notFoundCodes: new Set<string>() },
    service: {
      readPayment: async (id: string) => {
        asked.push(id);
        return await Promise.resolve({ kind: 'unanswered' });
      },
    },
  };
  const unanswered: number[] = [];
  const reading = (async () => {
    for await (const part of readBack(deps as never, runId)) unanswered.push(...part.unanswered);
  })();
  await expect.poll(() => sleeping.map(({ ms }) => ms)).toEqual(LINES.map((_, index) => index * APART_MS));
  for (const [index, { wake }] of sleeping.entries()) {
    expect(asked).toHaveLength(index);
    wake();
    await expect.poll(() => asked.length).toBe(index + 1);
  }
  await reading;
  expect(asked).toEqual(LINES.map((line) => `q-${line}`));
  expect(unanswered).toEqual(LINES);
});
