import type { Switches } from '../faults/switches.ts';
import type { Payment } from './payments.ts';

/** A payment's state at a moment, and since when (milliseconds since 1970). */
export interface PaymentState {
  readonly state: string;
  readonly since: number;
}

/** States that a payment passes on its way, and the share of `completesAfterMs` after which it enters them. */
const WAY = [
  { state: 'INITIATED', thirds: 0 },
  { state: 'VALIDATING', thirds: 1 },
  { state: 'TRANSFERRING', thirds: 2 },
];

/** A new payment. */
export function initialState(initiatedAt: number): PaymentState {
  return { state: 'INITIATED', since: initiatedAt };
}

/**
 * Where a payment stands: INITIATED, VALIDATING, TRANSFERRING in thirds of `completesAfterMs`, then the final state
 *, the payment's own or that of the switches. RETURNED comes after COMPLETED; a final state that
 * lies on the way is one to stay in.
 */
export function paymentStateAt(payment: Payment, now: number, switches: Switches): PaymentState {
  const { initiatedAt, finalState = switches.finalState } = payment;
  let reached = initialState(initiatedAt);
  for (const { state, after } of stepsOf({ ...switches, finalState })) {
    const since = initiatedAt + after;
    if (now < since) break;
    reached = { state, since };
  }
  return reached;
}

function stepsOf({ finalState, completesAfterMs, returnsAfterMs }: Switches): { state: string; after: number }[] {
  const way = WAY.map(({ state, thirds }) => ({ state, after: Math.round((completesAfterMs * thirds) / 3) }));
  const stop = way.findIndex(({ state }) => state === finalState);
  if (stop !== -1) return way.slice(0, stop + 1);
  if (finalState !== 'RETURNED') return [...way, { state: finalState, after: completesAfterMs }];
  return [
    ...way,
    { state: 'COMPLETED', after: completesAfterMs },
    { state: 'RETURNED', after: completesAfterMs + returnsAfterMs },
  ];
}
