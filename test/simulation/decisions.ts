import { DECISIONS, type Decision, type Payout } from '../../src/payout.ts';
import { Refusal } from '../../src/refusal.ts';
import { decidePayout } from '../../src/runs/decide/decide.ts';
import { othersOfReference } from '../../src/runs/decide/same-reference.ts';
import type { Dice } from './dice.ts';
import type { Mutation } from './mutation.ts';
import type { Plan } from './plan.ts';
import type { Process } from './process.ts';
import type { FakeService } from './service.ts';
import type { Entry } from './store.ts';
import type { World } from './world.ts';

/** Without these the service may pay a quote that is over, or hide a payment: honest people do not say "not paid" then. */
const NEEDED = ['one-payment-per-quote', 'expired-quote-refused', 'payment-visible-in-time', 'payment-id-is-quote-id'];
const NEVER_UNPAID = DECISIONS.filter((decision) => decision !== 'not-paid');
const PEOPLE = ['anna', 'anna', 'ben'] as const;

interface DecisionParts {
  readonly world: World;
  readonly plan: Plan;
  readonly service: FakeService;
  readonly mutation: Mutation;
}

/**
 * What people might do with a payout, and how soon one after the other; undefined when they see that there is nothing to
 * say of it.
 */
export function drawDecision(parts: DecisionParts, entry: Entry): ((process: Process) => Promise<void>) | undefined {
  const { dice } = parts.world;
  const sensible = decisionsFor(parts, entry);
  // Now and then they do not see, and the program has to.
  const isBlind = dice.chance(0.1) && !onlyPeopleCanTell(parts.service, entry);
  if (sensible.length === 0 && !isBlind) return undefined;
  const decision = dice.pick(isBlind ? (canBeDead(parts.plan) ? DECISIONS : NEVER_UNPAID) : sensible);
  const paymentId = decision === 'paid' ? namedPayment(dice, parts.service, entry) : '';
  // Mostly somebody else confirms it soon; now and then the same person tries, or nobody does.
  const people = dice.chance(0.8) ? (['anna', 'ben'] as const) : [dice.pick(PEOPLE), dice.pick(PEOPLE)];
  const pauseMs = dice.chance(0.7) ? dice.between(0, 50) : dice.between(50, 3000);
  return async (process) => {
    for (const by of people) {
      const { payout } = await process.deps.payouts.read(entry);
      if (payout === undefined) return;
      const isTold = decision === 'allow' && parts.mutation.tellsNothing !== true;
      if (isTold && (await wouldPayTwice(process, payout))) return;
      const pay = { ...process.deps, rules: { ...process.deps.rules, ...parts.mutation.rulesOfPeople } };
      const deps = {
        ledger: process.ledger,
        openPay: async () => pay,
        wake: async () => {},
        ensureSeason: process.deps.ensureSeason,
      };
      const asked = { decision, paymentId, by, reason: 'a person', caveats: 'read' as const };
      parts.world.countOnce('schedules with a decision');
      try {
        const { result } = await decidePayout(deps, payout, asked);
        if (result === 'to-read') throw new Error('what was read was to be read again');
        parts.world.count(`${decision} ${result}`);
        if (result === 'done') parts.world.countOnce('schedules with a decision carried out');
      } catch (error) {
        if (error instanceof Refusal) parts.world.count(`${decision} refused`);
        throw error;
      }
      await process.deps.clock.sleep(pauseMs);
    }
  };
}

/** They are told where the other payout with the reference stands, and let nothing go that may be paid beside it. */
async function wouldPayTwice({ ledger }: Process, payout: Payout): Promise<boolean> {
  const { words } = await othersOfReference(ledger, payout);
  return words.some((word) => word.includes('both are paid then'));
}

/** What honest people may say of it; the program may say that it is too early. */
function decisionsFor({ plan, service }: DecisionParts, entry: Entry): readonly Decision[] {
  const isHeld = entry.state === 'held';
  if (entry.quote === null && entry.get('rc') === 'E_DIR_LOST')
    return canBeDead(plan) && isUnpaid(service, entry) ? ['allow'] : [];
  if (entry.quote === null) return isHeld ? ['allow', 'allow', 'drop'] : [];
  if (service.book.some(({ quoteId }) => quoteId === entry.quote)) return ['paid'];
  return isHeld && canBeDead(plan) ? ['not-paid'] : [];
}

/** A lost host may have sent it, the service forgot it, or Redis forgot whose payment it is: the program is told nothing more. */
function onlyPeopleCanTell(service: FakeService, entry: Entry): boolean {
  const code = entry.get('rc');
  return code === 'E_DIR_LOST' || code === 'E_BREACH' || service.isForgotten(entry.quote);
}

/** People ask at the service for the reference; that a request of a lost host may still be under way is the program's to know. */
function isUnpaid({ book }: FakeService, entry: Entry): boolean {
  return book.every(({ internalId }) => internalId !== entry.get('ref'));
}

function canBeDead({ has, showsToOwnOnly }: Plan): boolean {
  return NEEDED.every((name) => has.has(name)) && !showsToOwnOnly;
}

function namedPayment(dice: Dice, { book }: FakeService, entry: Entry): string {
  const own = book.filter(({ internalId }) => internalId === entry.get('ref'));
  if (own.length > 0 && (entry.get('rc') === 'E_BREACH' || dice.chance(0.8))) return dice.pick(own).paymentId;
  return book.length > 0 && dice.chance(0.8) ? dice.pick(book).paymentId : dice.uuid();
}
