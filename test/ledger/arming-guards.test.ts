import { beforeEach, describe, expect, test } from 'vitest';
import { openLedger } from '../../src/ledger/ledger.ts';
import { SCHEMA_VERSION } from '../../src/ledger/season/refuse-ledger.ts';
import { useTestRedis } from '../support/redis.ts';
import {
  armingOf,
  armPayout,
  DATA_DIR,
  freshRows,
  movePayout,
  newLedger,
  payingRun,
  readPayout,
  type TestLedger,
  useArming,
} from './test-ledger.ts';

const server = await useTestRedis();
const arming = await useArming(server);
let desk: TestLedger;
let place: { readonly runId: string; readonly line: number };

beforeEach(async () => {
  desk = await newLedger({ redis: server.redis, arming });
  place = { runId: await payingRun(desk.ledger, freshRows(1)), line: 2 };
});

describe('a payout is not armed', () => {
  test('again under other credentials: who armed it first may be the only one who can see its payment', async () => {
    const { quoteId, credentials } = await armPayout(desk.ledger, place);
    await movePayout(desk.ledger, place, { to: 'quoted', dueMs: 0 });
    const quoted = await readPayout(desk.ledger, place);
    const others = await desk.ledger.payouts.arm(armingOf(quoted, { credentials: 'another fingerprint' }));
    expect(others).toEqual({ armed: false, refusal: 'changed' });
    expect(await readPayout(desk.ledger, place)).toMatchObject({ state: 'quoted', quoteId, credentials });
    expect(await desk.ledger.payouts.arm(armingOf(quoted))).toMatchObject({ armed: true });
  });

  test('by an older payrun on a ledger that a newer one has written', async () => {
    await desk.redis.hset(desk.keys.head, 'schema', SCHEMA_VERSION + 1);
    const ready = await readPayout(desk.ledger, place);
    expect(await desk.ledger.payouts.arm(armingOf(ready))).toEqual({ armed: false, refusal: 'newer' });
    expect((await readPayout(desk.ledger, place)).state).toBe('ready');
  });

  test('while another host holds the id of the data directory', async () => {
    const on = (lease: string) =>
      openLedger({ redis: desk.redis, arming }, { prefix: desk.prefix, dataDirId: DATA_DIR, lease }).payouts;
    await desk.redis.set(`${desk.prefix}:dir-lease:${DATA_DIR}`, 'host one');
    const ready = await readPayout(desk.ledger, place);
    expect(await on('host two').arm(armingOf(ready))).toEqual({ armed: false, refusal: 'season' });
    expect((await readPayout(desk.ledger, place)).state).toBe('ready');
    expect(await on('host one').arm(armingOf(ready))).toMatchObject({ armed: true });
  });
});
