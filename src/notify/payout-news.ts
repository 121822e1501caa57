import { type Endpoint, PAYOUT_EVENTS, type PayoutEvent } from '../config/notify.ts';
import type { Outbox, PayoutChoices, ToldPayouts } from '../ledger/outbox.ts';
import type { ChangedPayout } from '../ledger/payout-news.ts';
import type { PayoutState } from '../payout.ts';
import type { Draft } from './notification.ts';

/** Payouts of a run that an endpoint is told of in one look: a run of a million rows holds nobody up. */
export const PAYOUTS_PER_LOOK = 250;
/** An endpoint for which so many notifications wait is told of no more payouts until then, so that it has room for the rest. */
export const PAYOUTS_WAIT_MAX = 2000;

const STATES: Readonly<Record<PayoutEvent, PayoutState>> = {
  'payout.paid': 'completed',
  'payout.failed': 'failed',
  'payout.returned': 'returned',
  'payout.held': 'held',
};
const EVENT_OF: ReadonlyMap<string, PayoutEvent> = new Map(PAYOUT_EVENTS.map((event) => [STATES[event], event]));
const TOLD_STATES = new Set(Object.values(STATES));

const fieldOf = (endpoint: string): string => `payouts:${endpoint}`;

/**
 * Notes which endpoints are told of payouts, and since when: from now on, or from the ledger's own beginning where nothing was
 * noted yet. Gives what is to be changed in the ledger's note.
 */
export function noteChoices(
  endpoints: readonly Endpoint[],
  note: Readonly<Record<string, string>>,
  nowMs: number,
): Record<string, string> {
  const isFirstLook = note['since'] === undefined;
  const changes: Record<string, string> = {};
  for (const { name, events } of endpoints) {
    const isChosen = PAYOUT_EVENTS.some((event) => events.has(event));
    const isNoted = (note[fieldOf(name)] ?? '') !== '';
    if (isChosen !== isNoted) changes[fieldOf(name)] = isChosen ? String(isFirstLook ? 0 : nowMs) : '';
  }
  return changes;
}

/** The choices as they stand in the ledger's note. */
export function choicesOf(endpoints: readonly Endpoint[], note: Readonly<Record<string, string>>): PayoutChoices {
  const noted = endpoints.map(({ name }) => [name, note[fieldOf(name)] ?? ''] as const);
  return new Map(noted.filter(([, since]) => since !== ''));
}

export interface PayoutAnnouncement {
  readonly drafts: readonly Draft[];
  readonly told: readonly ToldPayouts[];
  /** Some endpoint has more to be told. */
  readonly hasMore: boolean;
  /** The same, of endpoints that have room for it. */
  readonly hasMoreWithRoom: boolean;
}

/** Reads what endpoints are to be told of the payouts of a run. */
export async function readPayoutNews(
  outbox: Pick<Outbox, 'readPayouts'>,
  choices: PayoutChoices,
  runId: string,
): Promise<PayoutAnnouncement> {
  const limits = { states: TOLD_STATES, most: PAYOUTS_PER_LOOK, full: PAYOUTS_WAIT_MAX };
  const reads = [...choices].map(async ([endpoint, since]) => {
    return { endpoint, ...(await outbox.readPayouts({ runId, endpoint, since, ...limits })) };
  });
  const news = await Promise.all(reads);
  return {
    drafts: news.flatMap(({ endpoint, changed }) => changed.flatMap((one) => draftsOf(one, runId, endpoint))),
    told: news.map(({ endpoint, changed }) => ({ endpoint, payouts: changed })),
    hasMore: news.some(({ hasMore }) => hasMore),
    hasMoreWithRoom: news.some(({ hasMore, isFull }) => hasMore && !isFull),
  };
}

/** What became of a payout since it was told of: the last steps of its history that are told, after the one that was. */
function draftsOf({ line, told, steps }: ChangedPayout, runId: string, endpoint: string): Draft[] {
  const from = steps.findLastIndex(({ state }) => !EVENT_OF.has(state) || state === told);
  return steps.slice(from + 1).flatMap(({ state, at }) => {
    const event = EVENT_OF.get(state);
    return event === undefined ? [] : [{ event, at, payout: { runId, line }, to: endpoint }];
  });
}
