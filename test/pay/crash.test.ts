import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock, systemRandom } from '../../src/clock.ts';
import type { AtCrashPoint, CrashPoint } from '../../src/pay/crash-point.ts';
import type { PayDeps } from '../../src/pay/deps.ts';
import { trackPayout } from '../../src/pay/track/track.ts';
import type { SwitchSettings } from '../../src/sandbox/faults/switches.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import type { Service } from '../../src/service/client.ts';
import type { ReceivedRequest } from '../support/answering-server.ts';
import { openRig, type PayRig } from '../support/pay-rig.ts';
import { ROW } from '../support/payout-row.ts';
import { useTestRedis } from '../support/redis.ts';
import { REFUSING_URL } from './unreachable.ts';

const redis = await useTestRedis();

/** Ends the process, as far as a test can, the first time that it comes to this point. */
function dieAt(wanted: CrashPoint): AtCrashPoint {
  let isDead = false;
  return (point) => {
    if (point !== wanted || isDead) return;
    isDead = true;
    throw new Error(`died at ${wanted}`);
  };
}

/** The process ends while its request is under way: it never learns what came of it. */
function dyingService({ service }: PayDeps): Service {
  return {
    ...service,
    async createPayment(body, sending) {
      await service.createPayment(body, sending);
      throw new Error('died');
    },
  };
}

/** The next process: it doubts what a dead one armed as soon as its deadline is over. */
async function goOnInAnother(rig: PayRig): Promise<void> {
  const next = await rig.process();
  const patient = { ...next, rules: { ...next.rules, armDeadlineMs: 20 } };
  await expect
    .poll(async () => {
      if ((await rig.payout()).state === 'armed') await rig.lookUp(patient);
      return (await rig.payout()).state;
    })
    .not.toBe('armed');
  await rig.goOn(next);
}

describe('a process that dies', () => {
  test.each<[CrashPoint, string, { quotes: number; sent: number; asked: number }]>([
    ['C1', 'ready', { quotes: 1, sent: 1, asked: 1 }],
    ['C2', 'ready', { quotes: 1, sent: 1, asked: 2 }],
    ['C3', 'ready', { quotes: 1, sent: 1, asked: 2 }],
    ['C4', 'armed', { quotes: 2, sent: 1, asked: 2 }],
    ['C6', 'armed', { quotes: 2, sent: 1, asked: 2 }],
    ['C10', 'armed', { quotes: 1, sent: 1, asked: 1 }],
  ])(
    'at %s leaves the payout %s, and the next one ends it paid once',
    async (point, state, { quotes, sent, asked }) => {
      const rig = await openRig(redis);
      await expect(rig.pay(await rig.process({ at: dieAt(point) }))).rejects.toThrow('died');
      expect((await rig.payout()).state).toBe(state);
      await goOnInAnother(rig);
      expect(await rig.payout()).toMatchObject({ state: 'accepted', quotes });
      expect(rig.service.book).toHaveLength(1);
      expect([rig.service.payments().length, rig.service.quotes()]).toEqual([sent, asked]);
    },
  );

  test.each<[string, boolean]>([
    ['before the service made the payment (C8)', false],
    ['after the service made the payment (C9)', true],
  ])('with its request under way, %s: paid once', async (_when, isCommitted) => {
    const rig = await openRig(redis);
    const { onPay } = rig.service;
    const dead = await rig.process();
    rig.service.onPay = (request, answering) => {
      if (isCommitted) rig.service.commit(request);
      rig.service.onPay = onPay;
      answering.reset();
    };
    await expect(rig.pay({ ...dead, service: dyingService(dead) })).rejects.toThrow('died');
    expect((await rig.payout()).state).toBe('armed');
    await goOnInAnother(rig);
    expect(await rig.payout()).toMatchObject({ state: 'accepted', quotes: isCommitted ? 1 : 2 });
    expect(rig.service.book).toHaveLength(1);
  });

  test('and whose payment is made late, but before the end of its quote: the early not-found is not believed', async () => {
    const rig = await openRig(redis);
    const { onPay } = rig.service;
    let late: ReceivedRequest | undefined;
    rig.service.onPay = (request, answering) => {
      late = request;
      rig.service.onPay = onPay;
      answering.reset();
    };
    const deps = await rig.process();
    await rig.pay(deps);
    for (let look = 0; look < 5; look++) {
      await rig.lookUp(deps);
      await rig.passTime(3000);
    }
    if (late !== undefined) rig.service.commit(late);
    expect(await rig.goOn(deps)).toMatchObject({ state: 'accepted', quotes: 1 });
    expect(rig.service.book).toHaveLength(1);
    expect(rig.service.payments()).toHaveLength(1);
  });

  test('at C13, after the payout was put back because nothing was sent: paid once', async () => {
    const rig = await openRig(redis);
    const dying = await rig.process({ at: dieAt('C13') });
    const refusing = await rig.process({ url: REFUSING_URL, hasToken: true });
    await refusing.service.ready();
    const service: Service = {
      ...dying.service,
      createPayment: (body, sending) => refusing.service.createPayment(body, sending),
    };
    await expect(rig.pay({ ...dying, service })).rejects.toThrow('died');
    expect(await rig.payout()).toMatchObject({ state: 'ready', quotes: 0, attempts: 0 });
    await goOnInAnother(rig);
    expect(rig.service.book).toHaveLength(1);
  });

  test('at C13, after the quote was proven dead: paid once, with another quote', async () => {
    const rig = await openRig(redis);
    const { onPay } = rig.service;
    rig.service.onPay = (_request, answering) => {
      rig.service.onPay = onPay;
      answering.reset();
    };
    const dying = await rig.process({ at: dieAt('C13') });
    await expect(rig.goOn(dying)).rejects.toThrow('died');
    expect(await rig.payout()).toMatchObject({ state: 'ready', quotes: 1 });
    await goOnInAnother(rig);
    expect(await rig.payout()).toMatchObject({ state: 'accepted', quotes: 2 });
    expect(rig.service.book).toHaveLength(1);
  });

  test('with the second request for a quote under way after a 401: paid once', async () => {
    for (const point of ['C4', 'C6', 'C10'] as const) {
      const rig = await openRig(redis);
      const { onPay } = rig.service;
      rig.service.onPay = (_request, answering) => {
        rig.service.onPay = onPay;
        rig.service.reply(answering, { status: 401 });
      };
      let seen = 0;
      const dying = await rig.process({
        at(reached) {
          if (reached === point && ++seen === 2) throw new Error('died');
        },
      });
      await expect(rig.pay(dying)).rejects.toThrow('died');
      expect(await rig.payout()).toMatchObject({ state: 'armed', armings: 2 });
      await goOnInAnother(rig);
      expect((await rig.payout()).state).toBe('accepted');
      expect(rig.service.book).toHaveLength(1);
    }
  });
});

async function openSandbox(
  switches: SwitchSettings,
): Promise<{ sandbox: Sandbox; url: string; clientId: string; clientSecret: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'payrun-sandbox-'));
  const sandbox = await startSandbox({ folder, clock: systemClock, random: systemRandom, switches });
  onTestFinished(async () => {
    await sandbox.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const { beneficiaryIdentityId: identityId } = ROW;
  await sandbox.registerIdentities('test', [{ identityId, identityType: 'BENEFICIARY' }]);
  return { sandbox, url: sandbox.url('test'), ...(await sandbox.createCredential('pay', 'test')) };
}

describe('against the sandbox', () => {
  test.each<[string, SwitchSettings]>([
    ['that behaves well', {}],
    ['that drops answers before and after it pays', { dropBeforeCommit: 0.3, dropAfterCommit: 0.3 }],
    ['that answers 500 before and after it pays', { error500BeforeCommit: 0.3, error500AfterCommit: 0.3 }],
    ['that shows payments late', { dropAfterCommit: 0.5, visibilityDelayMs: 600 }],
    ['that replays nothing', { dropAfterCommit: 0.4, repeatedQuote: '404' }],
  ])('%s each payout is paid once and completes', async (_what, switches) => {
    const rig = await openRig(redis, [{}, {}, {}, {}, {}, {}]);
    const { sandbox, url, clientId, clientSecret } = await openSandbox({
      quoteLifeMs: 1500,
      completesAfterMs: 0,
      ...switches,
    });
    const rules = { quoteGraceMs: 0, notFoundGapMs: 0, requestTimeoutMs: 1000 };
    const deps = await rig.process({ url, clientId, clientSecret, tenantId: sandbox.tenantId, rules });
    const lines = [2, 3, 4, 5, 6, 7];
    const step = async (line: number): Promise<string> => {
      const { state } = await rig.payout(line);
      if (state === 'ready' || state === 'quoted') await rig.pay(deps, line);
      else if (state === 'accepted') await trackPayout(deps, { runId: rig.runId, line }, new AbortController().signal);
      else await rig.lookUp(deps, line);
      return (await rig.payout(line)).state;
    };
    await expect
      .poll(async () => new Set(await Promise.all(lines.map(step))), { timeout: 60_000, interval: 50 })
      .toEqual(new Set(['completed']));
    const book = sandbox.book('test');
    expect(book.map(({ internalId }) => internalId ?? '').toSorted((a, b) => a.localeCompare(b))).toEqual(
      lines.map((line) => `INV-${line - 1}`),
    );
    const payouts = await Promise.all(lines.map((line) => rig.payout(line)));
    expect(new Set(payouts.map(({ paymentId }) => paymentId))).toEqual(new Set(book.map(({ paymentId }) => paymentId)));
  });
});
