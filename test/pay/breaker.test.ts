import { describe, expect, test } from 'vitest';
import { openRig } from '../support/pay-rig.ts';
import { useTestRedis } from '../support/redis.ts';

const redis = await useTestRedis();

const breaker = { bad: 3, of: 4 };
const ROWS = [{}, {}, {}, {}, {}, {}];

describe('a run', () => {
  test('pauses itself and says why when too many of its last payments are unknown', async () => {
    const rig = await openRig(redis, ROWS);
    const deps = await rig.process({ rules: { breaker } });
    rig.service.onPay = (_request, answering) => answering.reset();
    for (const line of [2, 3]) await rig.pay(deps, line);
    expect((await rig.run()).state).toBe('paying');
    await rig.pay(deps, 4);
    expect(await rig.run()).toMatchObject({
      state: 'paused',
      pauseReason: 'E_BREAKER: 3 of its last 4 payments are unknown or were refused',
    });
    expect(await rig.pay(deps, 5)).toBe('left');
    expect((await rig.payout(5)).state).toBe('ready');
  });

  test('pauses itself when too many of its quotes are refused for good', async () => {
    const rig = await openRig(redis, ROWS);
    const deps = await rig.process({ rules: { breaker } });
    rig.service.onQuote = (_request, answering) =>
      rig.service.reply(answering, { status: 400, json: { errors: [{ code: 'USR_013', type: 'USER_ERROR' }] } });
    for (const line of [2, 3, 4]) await rig.pay(deps, line);
    expect((await rig.run()).state).toBe('paused');
  });

  test('goes on while enough of its last payments are made, and counts none twice', async () => {
    const rig = await openRig(redis, ROWS);
    const deps = await rig.process({ rules: { breaker } });
    const { onPay } = rig.service;
    for (const line of [2, 3, 4, 5, 6, 7]) {
      rig.service.onPay = line % 2 === 0 ? (_request, answering) => answering.reset() : onPay;
      await rig.pay(deps, line);
    }
    expect((await rig.run()).state).toBe('paying');
    rig.service.onPay = onPay;
    for (const line of [2, 4, 6]) expect((await rig.goOn(deps, line)).state).toBe('accepted');
    expect((await rig.run()).state).toBe('paying');
  });

  test('that is resumed begins to count anew', async () => {
    const rig = await openRig(redis, ROWS);
    const deps = await rig.process({ rules: { breaker } });
    rig.service.onPay = (_request, answering) => answering.reset();
    for (const line of [2, 3, 4]) await rig.pay(deps, line);
    await rig.moveRun('paying');
    for (const line of [5, 6]) await rig.pay(deps, line);
    expect((await rig.run()).state).toBe('paying');
    await rig.pay(deps, 7);
    expect((await rig.run()).state).toBe('paused');
  });

  test('does not pause itself where the setting is off', async () => {
    const rig = await openRig(redis, ROWS);
    const deps = await rig.process();
    rig.service.onPay = (_request, answering) => answering.reset();
    for (const line of [2, 3, 4, 5, 6, 7]) await rig.pay(deps, line);
    expect((await rig.run()).state).toBe('paying');
  });
});
