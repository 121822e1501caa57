import type { Decision } from '../../src/payout.ts';
import { decidePayout } from '../../src/runs/decide.ts';
import type { Dice } from './dice.ts';
import { payoutOf } from './moves.ts';
import type { Plan } from './plan.ts';
import type { Mutation, Process } from './process.ts';
import type { FakeService } from './service.ts';
import type { Entry } from './store.ts';
import type { World } from './world.ts';

/** Without these the service may pay a quote that is over, or hide a payment: honest people do not say "not paid" then. */
const NEEDED = ['one-payment-per-quote', 'expired-quote-refused', 'payment-visible-in-time', 'payment-id-is-quote-id'];
const PEOPLE = ['anna', 'anna', 'ben'] as const;

interface DecisionParts {
  readonly world: World;
  readonly plan: Plan;
  readonly service: FakeService;
  readonly mutation: Mutation;
}

/** What people might do with a payout, and how soon one after the other. */
export function drawDecision(parts: DecisionParts, entry: Entry): (process: Process) => Promise<void> {
  const { dice } = parts.world;
  const decision = dice.pick(decisionsFor(parts.plan, entry));
  const paymentId = decision === 'paid' ? namedPayment(dice, parts.service, entry) : '';
  // Mostly somebody else confirms it soon; now and then the same person tries, or nobody does.
  const people = dice.chance(0.5) ? (['anna', 'ben'] as const) : [dice.pick(PEOPLE), dice.pick(PEOPLE)];
  const pauseMs = dice.chance(0.7) ? dice.between(0, 50) : dice.between(50, 3000);
  return async (process) => {
    for (const by of people) {
      const { payout } = await process.deps.payouts.read(entry);
      if (payout === undefined) return;
      const pay = { ...process.deps, rules: { ...process.deps.rules, ...parts.mutation.rulesOfPeople } };
      const deps = { ledger: process.ledger, openPay: async () => pay, wake: async () => {} };
      const { result } = await decidePayout(deps, payout, { decision, paymentId, by, reason: 'a person' });
      parts.world.count(`${decision} ${result}`);
      await process.deps.clock.sleep(pauseMs);
    }
  };
}

/** Mostly what may be said of it, now and then anything. */
function decisionsFor(plan: Plan, entry: Entry): readonly Decision[] {
  const payout = payoutOf(entry);
  const canBeDead = NEEDED.every((name) => plan.has.has(name)) && !plan.showsToOwnOnly;
  if (payout?.quoteId === null) return ['allow', 'allow', 'drop', 'paid'];
  return canBeDead ? ['not-paid', 'not-paid', 'not-paid', 'paid', 'drop'] : ['paid', 'paid', 'allow', 'drop'];
}

function namedPayment(dice: Dice, { book }: FakeService, { row }: Entry): string {
  const own = book.filter(({ internalId }) => internalId === row?.reference);
  if (own.length > 0 && dice.chance(0.8)) return dice.pick(own).paymentId;
  return book.length > 0 && dice.chance(0.8) ? dice.pick(book).paymentId : dice.uuid();
}
