import { describe, expect, test } from 'vitest';
import type { PayDeps } from '../../src/pay/deps.ts';
import { trackPayout } from '../../src/pay/track/track.ts';
import { DECISIONS } from '../../src/payout.ts';
import { Refusal } from '../../src/refusal.ts';
import { decidePayout } from '../../src/runs/decide/decide.ts';
import { openRig, type PayRig } from '../support/pay-rig.ts';
import { changeStored } from '../support/records.ts';
import { useTestRedis } from '../support/redis.ts';
import type { Json } from '../support/scripted-service.ts';
import { decideDeps } from './decide-desk.ts';

const redis = await useTestRedis();

/** A service that keeps references in a form of its own, or gave the quote to another row as well. */
const OTHER = { originator: { internalId: 'PR/INV-1' } };

interface Desk {
  readonly rig: PayRig;
  readonly pay: PayDeps;
  /** What comes of each decision that a person asks for. */
  readonly answers: () => Promise<string[]>;
}

async function openDesk(rows = 1): Promise<Desk> {
  const rig = await openRig(
    redis,
    Array.from({ length: rows }, () => ({})),
  );
  const pay = await rig.process();
  const deps = decideDeps(rig, pay);
  return {
    rig,
    pay,
    answers: async () => {
      const said: string[] = [];
      for (const decision of DECISIONS) {
        const payout = await rig.payout();
        const paymentId = decision === 'paid' ? (payout.quoteId ?? '') : '';
        const asked = { decision, paymentId, by: 'anna', reason: 'a good reason', caveats: 'read' } as const;
        const deciding = decidePayout(deps, payout, asked).then(({ result }) => result);
        said.push(await deciding.catch((error: unknown) => (error instanceof Refusal ? error.message : String(error))));
      }
      return said;
    },
  };
}

/** The first row's reply is lost; its payment shows the reference. It is held after 24 hours. */
async function holdWith({ rig, pay }: Desk, internalId: string, other: Json = {}): Promise<void> {
  rig.service.onPay = (request, answering) => {
    rig.service.commit(request, { originator: { internalId }, ...other });
    answering.reset();
  };
  await rig.pay(pay);
  const values = { reasonCode: 'E_TRIED', reason: 'it was tried for 24 h and is still unknown' };
  const held = { runId: rig.runId, line: 2, to: 'held', actor: 'test', reason: 'E_TRIED', values } as const;
  await rig.ledger.payouts.move(held);
  const armedAt = Date.now() - 2 * 86_400_000;
  await changeStored({ ...rig, line: 2 }, { aa: String(armedAt), ql: '10000', x: String(armedAt + 10_000) });
}

describe('a payout whose payment shows another reference', () => {
  test('can be settled by people, once it is held', async () => {
    const desk = await openDesk();
    await holdWith(desk, OTHER.originator.internalId);
    expect(await desk.answers()).toContain('proposed');
  });

  test.each<[string, Json]>([
    ['and all that was asked for', {}],
    ['and another beneficiary', { destination: { beneficiaryIdentityId: '6b1f2a90-5c3d-4e7f-8a21-9d0c4b7e3f15' } }],
  ])(
    'is not settled as paid by a payment that shows the reference of another row %s, and can be settled otherwise',
    async (_what, other) => {
      const desk = await openDesk(2);
      await holdWith(desk, 'INV-2', other);
      const answers = await desk.answers();
      expect(answers[DECISIONS.indexOf('paid')]).toContain(`that of payout ${desk.rig.runId}-3`);
      expect(answers).toContain('proposed');
    },
  );

  test('does not stay accepted for ever', async () => {
    const { rig, pay, answers } = await openDesk();
    rig.service.onPay = (request, answering) => {
      const payment = rig.service.commit(request, { ...OTHER, paymentState: 'COMPLETED' });
      rig.service.reply(answering, { status: 201, json: payment });
    };
    await rig.pay(pay);
    expect((await rig.payout()).state).toBe('accepted');
    for (let days = 1; days <= 5; days++) {
      await rig.passTime(86_400_000);
      await trackPayout(pay, { runId: rig.runId, line: 2 }, new AbortController().signal);
    }
    const { state } = await rig.payout();
    const answered = state === 'accepted' ? await answers() : [];
    expect([state, ...answered].some((word) => ['held', 'completed', 'proposed'].includes(word))).toBe(true);
  });
});
