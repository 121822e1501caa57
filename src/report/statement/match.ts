import type { Movement } from '../../intake/statement/movement.ts';
import { addMoney, formatAmount, type Money } from '../../money.ts';
import { type Outcome, outcomeOf, type Payout, payoutId, type RefusedRow } from '../../payout.ts';
import { isRefused } from '../row.ts';
import { inTurns } from '../turns.ts';

export const MATCH_STATUSES = ['matched', 'missing', 'different', 'extra'] as const;
export type MatchStatus = (typeof MATCH_STATUSES)[number];

/** A payment, a movement, or both, and how they stand to each other. */
export interface Match {
  readonly status: MatchStatus;
  /** In words; '' for what is matched. */
  readonly why: string;
  readonly payout: Payout | null;
  readonly movement: Movement | null;
}

/** Outcomes of payouts of which a statement has a debit. */
const DEBITED: readonly Outcome[] = ['pending', 'paid', 'returned'];

/** Whether a statement should have a debit of the payout. */
export function isDebited(payout: Payout): boolean {
  return DEBITED.includes(outcomeOf(payout.state));
}

interface Attached {
  readonly debits: readonly Movement[];
  readonly credits: readonly Movement[];
}

type Rows = AsyncIterable<readonly (Payout | RefusedRow)[]>;

/** Lines that are given at a time: others have their turn between, however many movements one payment has, or none. */
const LINES_A_TURN = 200;
const MOVEMENTS_A_TURN = 5000;

/**
 * Matches the movements of a statement with the payments of runs: by an id of the payment; where there is none by reference, payouts
 * that were debited first; then by amount. Each movement belongs to one payout at most, and stands in the result once. The rows are
 * read three times; memory holds the movements.
 */
export async function* matchStatement(
  rows: () => Rows,
  movements: readonly Movement[],
): AsyncGenerator<readonly Match[], void> {
  const open = await openMovements(movements);
  const attached = new Map<string, Attached>();
  for await (const payout of payouts(rows())) {
    const found = open.takeById([payout.paymentId, payout.quoteId]);
    if (found.length > 0) attached.set(payoutId(payout), byDirection(found));
  }
  for await (const payout of payouts(rows())) {
    if (isDebited(payout)) attachByReference(payout);
  }
  for await (const batch of rows()) {
    const lines = batch.flatMap((row) => (isRefused(row) ? [] : judge(row)));
    yield* inTurns(lines, LINES_A_TURN);
  }
  for await (const left of inTurns(open.left(), LINES_A_TURN)) {
    yield left.map((movement) => ({ status: 'extra', why: 'no payment of these runs', payout: null, movement }));
  }

  function attachByReference(payout: Payout): Attached {
    const { debits, credits } = attached.get(payoutId(payout)) ?? byDirection([]);
    const isReturned = outcomeOf(payout.state) === 'returned';
    const now = {
      debits: debits.length > 0 ? debits : open.takeByReference(payout, { isCredit: false }),
      credits: credits.length > 0 || !isReturned ? credits : open.takeByReference(payout, { isCredit: true }),
    };
    if (now.debits.length + now.credits.length > 0) attached.set(payoutId(payout), now);
    return now;
  }

  function judge(payout: Payout): Match[] {
    const known = attached.get(payoutId(payout));
    if (isDebited(payout)) return judgeDebited(payout, known ?? byDirection([]));
    return judgeOther(payout, known ?? attachByReference(payout));
  }
}

async function* payouts(rows: Rows): AsyncGenerator<Payout, void> {
  for await (const batch of rows) for (const row of batch) if (!isRefused(row)) yield row;
}

function byDirection(movements: readonly Movement[]): Attached {
  return {
    debits: movements.filter(({ isCredit }) => !isCredit),
    credits: movements.filter(({ isCredit }) => isCredit),
  };
}

/** The movements that no payout has taken yet. */
async function openMovements(movements: readonly Movement[]) {
  const taken = new Set<Movement>();
  const byId = await groupBy(movements, ({ ids }) => ids.map((id) => id.toLowerCase()));
  const byReference = await groupBy(movements, ({ reference }) => (reference === '' ? [] : [reference]));

  function take(wanted: readonly Movement[]): Movement[] {
    for (const movement of wanted) taken.add(movement);
    return [...wanted];
  }

  return {
    takeById(ids: readonly (string | null)[]): Movement[] {
      const found = ids.flatMap((id) => byId.get(id?.toLowerCase() ?? '') ?? []);
      return take([...new Set(found)].filter((movement) => !taken.has(movement)));
    },
    /** One at most: another one with the same reference may be another payout's. */
    takeByReference(payout: Payout, { isCredit }: Pick<Movement, 'isCredit'>): Movement[] {
      const found = (byReference.get(payout.row.reference) ?? []).filter(
        (movement) => movement.isCredit === isCredit && !taken.has(movement),
      );
      const differenceOf = differenceFrom(payout);
      const best = found.find((movement) => differenceOf(movement) === '') ?? found[0];
      return best === undefined ? [] : take([best]);
    },
    left: (): Movement[] => movements.filter((movement) => !taken.has(movement)),
  };
}

async function groupBy(movements: readonly Movement[], keysOf: (movement: Movement) => readonly string[]) {
  const groups = new Map<string, Movement[]>();
  for await (const piece of inTurns(movements, MOVEMENTS_A_TURN)) {
    for (const [key, movement] of piece.flatMap((one) => keysOf(one).map((name) => [name, one] as const))) {
      const group = groups.get(key);
      if (group === undefined) groups.set(key, [movement]);
      else group.push(movement);
    }
  }
  return groups;
}

function judgeDebited(payout: Payout, { debits, credits }: Attached): Match[] {
  const isReturned = outcomeOf(payout.state) === 'returned';
  const back = 'it came back, and payrun does not know it';
  return [
    ...judgeSide(payout, debits, 'its debit is not on the statement'),
    ...(isReturned
      ? judgeSide(payout, credits, 'its return is not on the statement')
      : credits.map((movement) => ({ status: 'different', why: back, payout, movement }) as const)),
  ];
}

/** The first movement is compared; a second one is too much. */
function judgeSide(payout: Payout, [first, ...others]: readonly Movement[], missing: string): Match[] {
  if (first === undefined) return [{ status: 'missing', why: missing, payout, movement: null }];
  const why = differenceFrom(payout)(first);
  const again = `it is on the statement ${others.length + 1} times`;
  return [
    { status: why === '' ? 'matched' : 'different', why, payout, movement: first },
    ...others.map((movement) => ({ status: 'extra', why: again, payout, movement }) as const),
  ];
}

/** A payment that failed may have been debited and released. */
function judgeOther(payout: Payout, { debits, credits }: Attached): Match[] {
  const all = [...debits, ...credits];
  const differenceOf = differenceFrom(payout);
  const isReleased = debits.length === credits.length && all.every((one) => differenceOf(one) === '');
  const outcome = outcomeOf(payout.state);
  return all.map((movement) =>
    isReleased && outcome === 'failed'
      ? { status: 'matched', why: '', payout, movement }
      : { status: 'different', why: `payrun has it as ${outcome}`, payout, movement },
  );
}

/** How the amount of a movement differs from the payment's; '' where it does not. With fees or without is the same. */
function differenceFrom(payout: Payout): (movement: Movement) => string {
  const amounts = amountsOf(payout).map((money) => ({ currency: money.currency, text: formatAmount(money) }));
  return ({ amount }) => {
    if (amount === null) return 'the statement gives no amount of its own';
    if (amounts.length === 0) return 'what was debited is not known';
    const expected = amounts.filter(({ currency }) => currency === amount.currency);
    const text = formatAmount(amount);
    if (expected.some((one) => one.text === text)) return '';
    const words = expected.map((one) => `${one.text} ${one.currency}`);
    return `the amount is ${words.length === 0 ? 'in another currency' : `not ${words.join(' or ')}`}`;
  };
}

/** What the movement of a payment may show: what was debited, the same with its fees, and, in another currency, what arrives. */
function amountsOf({ row, sourceAmount, destinationAmount, fees }: Payout): Money[] {
  const debited = sourceAmount ?? (row.amountType === 'SOURCE_AMOUNT' ? row.amount : null);
  const arriving = destinationAmount ?? (row.amountType === 'DESTINATION_AMOUNT' ? row.amount : null);
  const isConverted = row.sourceCurrency !== row.destinationCurrency;
  const isSumKnown = debited !== null && fees.length > 0 && fees.every(({ currency }) => currency === debited.currency);
  return [
    ...(debited === null ? [] : [debited]),
    ...(isSumKnown ? [fees.reduce(addMoney, debited)] : []),
    ...(arriving === null || !isConverted ? [] : [arriving]),
  ];
}
