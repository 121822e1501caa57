import { z } from 'zod';
import { DECISIONS, OUTCOMES, type Outcome, PAYOUT_STATES, RUN_STATES } from '../../payout.ts';
import type { RunDocument, summaryJson, TotalDocument } from '../../report/document.ts';
import type { ReportRow } from '../../report/row.ts';
import { ROW_VERDICTS } from '../../report/signing/file-hashes.ts';
import type { Story } from '../../runs/story.ts';

/*
 * The JSON documents of runs and payouts, as schemas of replies: amounts are decimals with the currency's digits,
 * counts are numbers, times are RFC 3339 in UTC, what is absent is null.
 */

/** Names under which the OpenAPI document has the schemas that several replies share. */
export const documentNames = z.registry<{ id?: string | undefined; [key: string]: unknown }>();

export const time = z.iso.datetime({ precision: 3 });
export const amount = z.string().regex(/^-?[0-9]+(\.[0-9]+)?$/);
export const count = z.int().min(0);
const sha256 = z.string();
const text = z.string().nullable();

export const ofOutcomes = <Value extends z.ZodType>(value: Value): z.ZodObject<Record<Outcome, Value>> =>
  z.object(perOutcome(() => value));

function perOutcome<Value>(valueOf: () => Value): Record<Outcome, Value> {
  return {
    waiting: valueOf(),
    unknown: valueOf(),
    pending: valueOf(),
    paid: valueOf(),
    failed: valueOf(),
    returned: valueOf(),
    rejected: valueOf(),
    held: valueOf(),
    cancelled: valueOf(),
    refused: valueOf(),
  };
}

const total: z.ZodType<TotalDocument> = z.object({
  currency: z.string(),
  file: amount,
  ...perOutcome(() => amount),
});

const runMembers = {
  runId: z.string(),
  state: z.enum(RUN_STATES),
  sandbox: z.boolean(),
  file: z.object({ name: z.string(), sha256, rows: count }),
  outcomes: ofOutcomes(count),
  totals: z.array(total),
  reports: z.array(z.string()),
  capabilities: z.record(z.string(), z.boolean()),
};

const reconciled = z
  .object({ at: time, sha256, payments: count, reconciled: count, missing: count, different: count, extra: count })
  .nullable()
  .describe('How far its payments were found on the last statement of the bank; null before the first');

/** Null where the service was not asked. */
export const balance = z
  .object({
    available: amount.nullable().describe('Null where the service did not tell'),
    short: amount.nullable().describe('What is missing of what is needed'),
  })
  .nullable();

const needed = z.object({
  currency: z.string(),
  amount: amount.describe('Source amounts'),
  fees: amount,
  needed: amount.describe('Both'),
  estimate: z.boolean(),
  balance,
});
const funds = z
  .object({ at: time, payouts: count, unpriced: count, needed: z.array(needed) })
  .nullable()
  .describe('What its payouts that wait need, by quotes that are never armed; null where nobody asked');

export const runDocument: z.ZodType<RunDocument> = z.object({ ...runMembers, reconciled, funds });

const summaryMembers = {
  ...runMembers,
  service: z.string(),
  environment: z.string(),
  overrides: z.array(z.string()),
  deadQuotes: z.object({ proven: count, found: count.nullable() }),
  auditHead: text,
  version: z.string(),
  createdAt: time,
  booking: z.array(
    z.object({
      currency: z.string(),
      debited: amount,
      debitedPayments: count,
      fees: amount,
      returned: amount,
      returnedPayments: count,
      returnedFees: amount,
    }),
  ),
  paymentsWithoutAmount: count,
  conservation: z.object({ rows: z.boolean(), money: z.boolean() }),
  hashes: z.object({
    file: z.string(),
    approved: z.array(z.string()),
    rowsHandedIn: text,
    rowsAccepted: text,
    rowsInLedger: text,
    rows: z.enum(ROW_VERDICTS).describe('Whether the rows in the ledger are those that were accepted'),
  }),
  faults: z.array(z.string()),
};

export const summaryDocument: z.ZodType<ReturnType<typeof summaryJson>> = z.object(summaryMembers);

const rowMembers = {
  line: count,
  reference: text,
  beneficiaryIdentityId: text,
  originatorIdentityId: text,
  /** Of a refused row as it stood in the file. */
  amount: text,
  amountType: text,
  sourceCurrency: text,
  destinationCurrency: text,
  sourceAmount: amount.nullable(),
  destinationAmount: amount.nullable(),
  rate: text,
  fee: amount.nullable(),
  feeCurrency: text,
  quoteId: text,
  paymentId: text,
  outcome: z.enum(OUTCOMES),
  paymentState: text,
  reasonCode: text,
  reason: text,
  attempts: count,
  quotedAt: time.nullable(),
  sentAt: time.nullable(),
  settledAt: time.nullable(),
  beneficiaryName: text,
  fees: z.array(z.object({ amount, currency: z.string() })),
};

export const rowDocument: z.ZodType<ReportRow> = z.object(rowMembers);

/** What `report --format json` gives. */
export const reportDocument = z.object({ ...summaryMembers, rows: z.array(rowDocument) });

export const proposalDocument = z.object({
  decision: z.enum(DECISIONS),
  by: z.string(),
  at: time,
  paymentId: text,
  reason: z.string(),
});

const evidence = z.object({
  quoteExpiresAt: time.nullable(),
  quotes: count,
  armings: count,
  armedBy: text,
  armedAt: time.nullable(),
  armingCounter: count,
  credentials: text,
  seen2xx: z.boolean(),
  lookUps: count,
  notFoundAt: time.nullable(),
  rejectionConfirmed: z.boolean(),
  quoteFailures: count,
});

export const storyDocument: z.ZodType<Story> = z.object({
  ...rowMembers,
  payout: z.string(),
  runId: z.string(),
  state: z.enum([...PAYOUT_STATES, 'refused']),
  evidence: evidence.nullable(),
  deadQuotes: z.array(z.string()),
  quotesBeside: z.array(z.string()),
  proposal: proposalDocument.nullable(),
  history: z.array(z.object({ at: time, to: z.string(), actor: z.string(), reason: z.string(), exchange: text })),
});

const fileProblem = z.object({
  code: z.string(),
  line: count.nullable(),
  column: text,
  value: text,
  message: z.string(),
  remedy: z.string(),
});

/** The members of what `validate` says of a file. */
export const problemsMembers = {
  file: z.string(),
  rows: count,
  valid: count,
  totals: z.array(z.object({ currency: z.string(), file: amount })),
  problems: z.array(fileProblem),
  problemsTotal: count,
};

export const problemsReply: z.ZodType<object> = z.object(problemsMembers);

/** RFC 9457; `remedy` and the members after it are extensions. Those of a payout file come with one that is refused. */
const problemReply = z.object({
  type: z.literal('about:blank'),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  remedy: z.string(),
  requestId: z.string(),
  errors: z.array(z.object({ place: z.string(), message: z.string() })).optional(),
  ...z.object(problemsMembers).partial().shape,
});

documentNames
  .add(runDocument, { id: 'Run' })
  .add(summaryDocument, { id: 'Summary' })
  .add(rowDocument, { id: 'Payout' })
  .add(reportDocument, { id: 'Report' })
  .add(storyDocument, { id: 'Story' })
  .add(problemsReply, { id: 'FileProblems' })
  .add(problemReply, { id: 'Problem' });
