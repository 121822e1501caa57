import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { quotesKey } from '../../src/ledger/keys.ts';
import type { PayDeps } from '../../src/pay/deps.ts';
import type { PayoutState, RunState } from '../../src/payout.ts';
import { finishRun, lookUpDeadQuotes } from '../../src/runs/after/finish.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { givingTokens, testSettings } from '../service/test-service.ts';
import { type AnsweringServer, type ReplyOptions, startAnsweringServer } from '../support/answering-server.ts';
import { useTestRedis } from '../support/redis.ts';
import { openTestApp } from './opened-app.ts';
import { armPayout, beginRun, loseQuote, movePayout, payoutAt, recordRun, rowAt } from './recorded-run.ts';

const server = await useTestRedis();
let app: App;

beforeEach(async () => {
  app = await openTestApp(server.url);
});
afterEach(async () => {
  await app.close();
});

async function stateOf(runId: string): Promise<RunState> {
  return (await readRun(app, runId)).state;
}

describe('a run ends', () => {
  test.each<PayoutState[]>([
    ['held'],
    ['rejected'],
    ['cancelled'],
    ['armed', 'rejected'],
    ['armed', 'accepted'],
    ['armed', 'accepted', 'completed'],
    ['armed', 'accepted', 'failed'],
    ['armed', 'accepted', 'returned'],
    ['armed', 'unknown', 'held'],
  ])('with its last payout: %s %s %s', async (...states) => {
    const { ledger } = app;
    const runId = await recordRun(ledger, { lines: [2, 3], refused: [4] });
    await movePayout(ledger, { runId, line: 2 }, 'rejected');
    expect(await finishRun(ledger, runId)).toBe(false);
    if (states[0] === 'armed') await armPayout(ledger, { runId, line: 3 }, 'q-3');
    await movePayout(ledger, { runId, line: 3 }, ...states.filter((state) => state !== 'armed'));
    expect(await finishRun(ledger, runId)).toBe(true);
    expect(await readRun(app, runId)).toMatchObject({ state: 'finished', finishedAt: expect.any(Number) });
    // The sweeper walks it until its first report.
    expect(await ledger.runs.live()).toEqual([runId]);
    expect(await finishRun(ledger, runId)).toBe(true);
  });

  test('also while it is paused', async () => {
    const runId = await recordRun(app.ledger, { lines: [2] });
    await app.ledger.runs.move(runId, { to: 'paused', actor: 'test', reason: 'test' });
    await movePayout(app.ledger, { runId, line: 2 }, 'rejected');
    expect(await finishRun(app.ledger, runId)).toBe(true);
    expect(await stateOf(runId)).toBe('finished');
  });

  test('once, however many look at the same time', async () => {
    const runId = await recordRun(app.ledger, { lines: [2] });
    await movePayout(app.ledger, { runId, line: 2 }, 'rejected');
    const ends = await Promise.all(Array.from({ length: 10 }, () => finishRun(app.ledger, runId)));
    expect(ends).toEqual(ends.map(() => true));
    const events = await app.ledger.runs.events(runId);
    expect(events.filter(({ event }) => event === 'finished')).toHaveLength(1);
  });
});

describe('a run does not end', () => {
  test.each<PayoutState>(['ready', 'armed', 'quoted', 'unknown'])('while a payout is %s', async (state) => {
    const runId = await recordRun(app.ledger, { lines: [2] });
    if (state !== 'ready') await armPayout(app.ledger, { runId, line: 2 }, 'q-2');
    if (state === 'quoted' || state === 'unknown') await movePayout(app.ledger, { runId, line: 2 }, state);
    expect(await finishRun(app.ledger, runId)).toBe(false);
    expect(await stateOf(runId)).toBe('paying');
  });

  test('while it is recorded, though nothing of it is open', async () => {
    const runId = await beginRun(app.ledger, { lines: [], refused: [2] });
    expect(await finishRun(app.ledger, runId)).toBe(false);
    expect(await stateOf(runId)).toBe('recording');
  });

  test('when there is none', async () => {
    expect(await finishRun(app.ledger, '20260131-absent')).toBe(false);
  });
});

describe('a cancelled run', () => {
  test('has cancelled what became ready meanwhile, and is over when nothing is open', async () => {
    const { ledger } = app;
    const runId = await recordRun(ledger, { lines: [2, 3] });
    await armPayout(ledger, { runId, line: 3 }, 'q-3');
    await movePayout(ledger, { runId, line: 3 }, 'unknown');
    await ledger.runs.move(runId, { to: 'cancelled', actor: 'test', reason: 'test' });
    expect(await finishRun(ledger, runId)).toBe(false);
    expect((await payoutAt(ledger, { runId, line: 2 })).state).toBe('cancelled');
    expect((await payoutAt(ledger, { runId, line: 3 })).state).toBe('unknown');
    expect(await ledger.runs.live()).toEqual([runId]);
    await movePayout(ledger, { runId, line: 3 }, 'accepted');
    expect(await finishRun(ledger, runId)).toBe(true);
    expect(await stateOf(runId)).toBe('cancelled');
    expect(await ledger.runs.live()).toEqual([runId]);
  });
});

describe('the last look at quotes that were proven dead', () => {
  const DEAD = ['0b9a4c1e-77d2-4f35-8e60-000000000002', '0b9a4c1e-77d2-4f35-8e60-000000000003'] as const;
  const NOT_FOUND = { status: 404, json: { errors: [{ code: 'USR_002', title: 'no such payment' }] } };

  let service: AnsweringServer;
  let deps: PayDeps;
  let runId: string;

  /** Answers look-ups by the payment's id. */
  function answer(replies: Readonly<Record<string, ReplyOptions>>): void {
    service.handle(
      givingTokens((request, answering) => {
        answering.reply(replies[request.path.replace('/v2/payments/', '')] ?? NOT_FOUND);
      }),
    );
  }

  beforeEach(async () => {
    service = await startAnsweringServer(givingTokens((_request, answering) => answering.reply(NOT_FOUND)));
    deps = await app.openPay({ settings: testSettings(service.url), isSandbox: true });
    runId = await recordRun(app.ledger, { lines: [2, 3, 4] });
    for (const [index, quoteId] of DEAD.entries()) {
      await loseQuote(app.ledger, { runId, line: index + 2 }, quoteId);
      await armPayout(app.ledger, { runId, line: index + 2 }, `later-${index}`);
      await movePayout(app.ledger, { runId, line: index + 2 }, 'accepted');
    }
    await movePayout(app.ledger, { runId, line: 4 }, 'rejected');
    await finishRun(app.ledger, runId);
  });
  afterEach(async () => {
    await service.close();
  });

  async function look(): Promise<void> {
    await lookUpDeadQuotes({ ...deps, ledger: app.ledger }, await readRun(app, runId));
  }
  const lookUps = (): string[] => service.requests.filter(({ method }) => method === 'GET').map(({ path }) => path);

  test('asks for each of them once, and notes that none was found', async () => {
    expect(await readRun(app, runId)).toMatchObject({ deadQuotes: 2, deadQuotesFound: null });
    await look();
    expect(lookUps().toSorted()).toEqual(DEAD.map((id) => `/v2/payments/${id}`));
    expect(await readRun(app, runId)).toMatchObject({ deadQuotes: 2, deadQuotesFound: 0 });
    await look();
    expect(lookUps()).toHaveLength(2);
    expect((await app.ledger.state.read()).halt).toBeNull();
  });

  test('holds the payout of one that is paid after all, with the evidence, and halts everything', async () => {
    const { beneficiaryIdentityId, reference } = rowAt(3);
    answer({
      [DEAD[1]]: {
        json: {
          paymentId: DEAD[1],
          paymentState: 'COMPLETED',
          originator: { internalId: reference },
          destination: { beneficiaryIdentityId },
        },
      },
    });
    await look();
    expect(await readRun(app, runId)).toMatchObject({ deadQuotesFound: 1 });
    const payout = await payoutAt(app.ledger, { runId, line: 3 });
    expect(payout).toMatchObject({ state: 'held', reasonCode: 'E_BREACH', reason: expect.stringContaining(DEAD[1]) });
    expect((await payoutAt(app.ledger, { runId, line: 2 })).state).toBe('accepted');
    expect((await app.ledger.state.read()).halt).toContain(`${runId}-3`);
  });

  test.each<[string, { found: number; paidTo?: string; lines?: number[] }]>([
    [
      'is no breach where another payout was paid by it, as a service does that gives equal requests one quote',
      { found: 0, paidTo: 'r2-90' },
    ],
    ['is one where no other payout has it', { found: 1 }],
    ['is one where the row with that reference has not got it', { found: 1, lines: [90] }],
  ])('a payment that shows another reference %s', async (_what, { found, paidTo, lines = [] }) => {
    const { beneficiaryIdentityId } = rowAt(3);
    const key = quotesKey(app.config.prefix, DEAD[1]);
    if (paidTo !== undefined) await server.redis.hset(key, DEAD[1], paidTo);
    if (lines.length > 0) await recordRun(app.ledger, { id: 'r2', lines });
    const payment = { paymentId: DEAD[1], paymentState: 'COMPLETED', originator: { internalId: 'INV-90' } };
    answer({ [DEAD[1]]: { json: { ...payment, destination: { beneficiaryIdentityId } } } });
    await look();
    expect((await readRun(app, runId)).deadQuotesFound).toBe(found);
    expect((await app.ledger.state.read()).halt === null).toBe(found === 0);
  });

  test.each<[string, ReplyOptions]>([
    ['an error of the service', { status: 503, json: { errors: [{ code: 'DOWN' }] } }],
    ["a gateway's page", { status: 404, text: '<html>not found</html>', headers: { 'content-type': 'text/html' } }],
    ['another payment', { json: { paymentId: DEAD[0], paymentState: 'COMPLETED' } }],
  ])('%s is no "not found": the look is not noted as made', async (_what, reply) => {
    answer({ [DEAD[1]]: reply });
    await look().catch(() => undefined);
    expect((await readRun(app, runId)).deadQuotesFound).toBeNull();
    answer({});
    await look();
    expect((await readRun(app, runId)).deadQuotesFound).toBe(0);
  });

  test('a run without any has nothing to ask', async () => {
    const other = await recordRun(app.ledger, { id: 'r2', lines: [90] });
    await lookUpDeadQuotes({ ...deps, ledger: app.ledger }, await readRun(app, other));
    expect(lookUps()).toEqual([]);
    expect(await readRun(app, other)).toMatchObject({ deadQuotes: 0, deadQuotesFound: 0 });
  });
});
