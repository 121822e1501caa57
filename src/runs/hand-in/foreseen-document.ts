import { z } from 'zod';
import { rfc3339 } from '../../clock.ts';
import { formatAmount, type Money } from '../../money.ts';
import { RUN_STATES } from '../../payout.ts';
import type { Foreseen, NamedRow } from './foresee.ts';

const count = z.int();
const amounts = z.array(z.object({ currency: z.string(), amount: z.string() }));
const row = z.object({
  line: count,
  reference: z.string(),
  beneficiaryIdentityId: z.string(),
  amount: z.string(),
  currency: z.string(),
});

/** What handing a file in would come to, as programs read it: money as decimals, times in RFC 3339. */
export const foreseenSchema = z.object({
  at: z.string(),
  knownRun: z.object({ runId: z.string(), state: z.enum(RUN_STATES), createdAt: z.string() }).nullable(),
  stopped: z.array(
    z.object({
      code: z.enum(['E_DIR_LOST', 'E_DUP_HISTORY', 'E_DUP_LIKELY', 'E_BLOCKED', 'E_LIMIT']),
      becomes: z.enum(['held', 'rejected']),
      reason: z.string(),
      rows: count,
      totals: amounts,
      /** The first 1,000; `other` is the payout, or the line of this file, that stands against the row. */
      named: z.array(row.extend({ other: z.string().nullable() })),
    }),
  ),
  pays: z.object({ rows: count, totals: amounts }),
  /** Rows of which only a quote tells whether they pass a limit. */
  untold: count,
  waiting: z.object({ at: z.string(), reason: z.string() }).nullable(),
  /** How each currency stands that has banking days; `shut` is why the run waits for it. The first 20 rows are named. */
  cutOffs: z
    .array(
      z.object({
        currency: z.string(),
        cutOff: z.string(),
        zone: z.string(),
        shut: z.string().nullable(),
        rows: count,
        named: z.array(row),
      }),
    )
    .default([]),
  first: z.array(row),
  largest: z.array(row),
});
export type ForeseenDocument = z.infer<typeof foreseenSchema>;

export function foreseenDocument(foreseen: Foreseen): ForeseenDocument {
  const { at, knownRun, stopped, pays, untold, waiting, cutOffs, first, largest } = foreseen;
  return {
    at: rfc3339(at),
    knownRun: knownRun && { runId: knownRun.id, state: knownRun.state, createdAt: rfc3339(knownRun.createdAt) },
    stopped: stopped.map(({ code, becomes, reason, rows, totals, named }) => ({
      code,
      becomes,
      reason,
      rows,
      totals: totals.map(amountOf),
      named: named.map((one) => ({ ...rowOf(one), other: one.other })),
    })),
    pays: { rows: pays.rows, totals: pays.totals.map(amountOf) },
    untold,
    waiting: waiting && {
      at: waiting.at === 'schedule' ? waiting.at : rfc3339(waiting.at),
      reason: waiting.reason,
    },
    cutOffs: cutOffs.map(({ named, ...one }) => ({ ...one, named: named.map(rowOf) })),
    first: first.map(rowOf),
    largest: largest.map(rowOf),
  };
}

function amountOf(money: Money): { currency: string; amount: string } {
  return { currency: money.currency, amount: formatAmount(money) };
}

function rowOf({ line, reference, beneficiaryIdentityId, amount }: NamedRow) {
  return { line, reference, beneficiaryIdentityId, amount: formatAmount(amount), currency: amount.currency };
}
