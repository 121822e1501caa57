import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, inject } from 'vitest';
import { z } from 'zod';
import { OUTCOMES, RUN_STATES } from '../../src/payout.ts';
import { asTestStarts } from '../support/as-test-starts.ts';
import { type Ended, openClerks } from '../support/clerks.ts';

export type { Ended };

export interface Started {
  readonly child: ChildProcessWithoutNullStreams;
  readonly ended: Promise<Ended>;
  /** Resolves when standard error has the text; rejects when the process ends without it. */
  said(text: string): Promise<void>;
}

/** The command line as processes, of the present source; `env` is all that they are given. */
export interface Payrun {
  readonly dir: string;
  /** A process of its own. */
  start(words: readonly string[], env?: Readonly<Record<string, string>>): Started;
  /** To its end, in a process that may have done earlier commands. */
  run(words: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ended>;
  /** Removes everything. */
  remove(): void;
}

/** The command line as it was compiled for this run of the tests; its data directory is fresh unless `env` names another. */
export function buildPayrun(common: Readonly<Record<string, string>> = {}): Payrun {
  const dir = mkdtempSync(join(tmpdir(), 'payrun-cli-'));
  const { PATH = '', HOME = '' } = process.env;
  const clerks = openClerks(inject('built'));
  const base = { PATH, HOME, PAYRUN_DATA_DIR: join(dir, 'data'), ...common };

  function start(words: readonly string[], env: Readonly<Record<string, string>> = {}): Started {
    const main = join(inject('built'), 'src/cli/main.js');
    return watchOver(
      spawn(process.execPath, ['--', main, ...asTestStarts(words)], { cwd: dir, env: { ...base, ...env } }),
    );
  }

  return {
    dir,
    start,
    run: (words, env) => clerks.run({ words, env: { ...base, ...env }, cwd: dir }),
    remove() {
      clerks.killAll();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** The same for all tests of a file. */
export function usePayrun(common?: Readonly<Record<string, string>>): Payrun {
  const payrun = buildPayrun(common);
  afterAll(() => payrun.remove());
  return payrun;
}

function watchOver(child: ChildProcessWithoutNullStreams): Started {
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = once(child, 'close').then(() => ({ code: child.signalCode ?? child.exitCode ?? -1, stdout, stderr }));
  return {
    child,
    ended,
    async said(text) {
      const over = ended.then(() => 'over' as const);
      while (!stderr.includes(text)) {
        const next = await Promise.race([once(child.stderr, 'data'), over]);
        if (next === 'over' && !stderr.includes(text)) throw new Error(`it ended without saying "${text}":\n${stderr}`);
      }
    },
  };
}

const HEADER = 'reference,beneficiaryIdentityId,amount,sourceCurrency,destinationCurrency';

/** A payout file with these references and amounts, from USD to MXN. */
export function payoutFile(rows: readonly (readonly [reference: string, amount: string])[]): string {
  const lines = rows.map(([reference, amount], index) => {
    const id = `00000000-0000-4000-8000-${String(index + 1).padStart(12, '0')}`;
    return `${reference},${id},${amount},USD,MXN`;
  });
  return `${[HEADER, ...lines].join('\n')}\n`;
}

const decimal = z.string().regex(/^[0-9]+(\.[0-9]+)?$/);
const time = z.iso.datetime();
const perOutcome = <Value extends z.ZodType>(value: Value) =>
  z.strictObject(Object.fromEntries(OUTCOMES.map((outcome) => [outcome, value])));

/** A run as `--json` prints it. */
const runMembers = {
  runId: z.string(),
  state: z.enum(RUN_STATES),
  sandbox: z.boolean(),
  file: z.strictObject({ name: z.string(), sha256: z.string().length(64), rows: z.int() }),
  outcomes: perOutcome(z.int().nonnegative()),
  totals: z.array(perOutcome(decimal).extend({ currency: z.string().length(3), file: decimal })),
  reports: z.array(z.string()),
  capabilities: z.record(z.string(), z.boolean()),
};
export const runSchema = z.strictObject({
  ...runMembers,
  reconciled: z.looseObject({}).nullable(),
  funds: z.looseObject({ needed: z.array(z.looseObject({ currency: z.string() })) }).nullable(),
});

/** What `status` prints: the run, and when it ends by the rate of now. */
const outage = z.strictObject({
  what: z.enum(['service', 'disk']),
  name: z.string(),
  since: z.iso.datetime(),
  fault: z.string(),
});
/** What `watch --json` prints on each line. */
export const watchSchema = runSchema.extend({ outages: z.array(outage) });
/** What `status --json` prints. */
export const statusSchema = watchSchema.extend({ ending: z.looseObject({ at: z.iso.datetime() }).nullable() });

/** What `validate`, and a refused `run` or `submit`, print. */
export const problemsSchema = z.strictObject({
  file: z.string(),
  rows: z.int(),
  valid: z.int(),
  totals: z.array(z.strictObject({ currency: z.string(), file: decimal })),
  problems: z.array(
    z.strictObject({
      code: z.string().regex(/^[EW]_/),
      line: z.int().nullable(),
      column: z.string().nullable(),
      value: z.string().nullable(),
      message: z.string(),
      remedy: z.string(),
    }),
  ),
  problemsTotal: z.int(),
});

/** What `doctor` prints. */
export const doctorSchema = z.array(
  z.strictObject({
    check: z.string(),
    status: z.enum(['ok', 'warning', 'FAIL', 'not looked at']),
    ok: z.boolean(),
    found: z.string(),
    remedy: z.string().nullable(),
  }),
);

/** A report's document; `rows` only with `--format json`. */
export const reportSchema = z.strictObject({
  ...runMembers,
  service: z.string(),
  environment: z.string(),
  capabilities: z.record(z.string(), z.boolean()),
  overrides: z.array(z.string()),
  conservation: z.strictObject({ rows: z.boolean(), money: z.boolean() }),
  hashes: z.strictObject({
    file: z.string(),
    approved: z.array(z.string()),
    rowsHandedIn: z.string().nullable(),
    rowsAccepted: z.string().nullable(),
    rowsInLedger: z.string().nullable(),
    rows: z.enum(['same', 'other', 'not compared']),
  }),
  auditHead: z.string().nullable(),
  version: z.string(),
  createdAt: time,
  booking: z.array(z.unknown()),
  paymentsWithoutAmount: z.int(),
  faults: z.array(z.string()),
  deadQuotes: z.strictObject({ proven: z.int(), found: z.int().nullable() }),
  rows: z.array(z.looseObject({ line: z.int(), outcome: z.enum(OUTCOMES) })).optional(),
});

const text = z.string().nullable();

/** A row as `list RUN` prints it. */
export const rowSchema = z.strictObject({
  line: z.int(),
  reference: text,
  beneficiaryIdentityId: text,
  originatorIdentityId: text,
  amount: text,
  amountType: text,
  sourceCurrency: text,
  destinationCurrency: text,
  sourceAmount: decimal.nullable(),
  destinationAmount: decimal.nullable(),
  rate: decimal.nullable(),
  fee: decimal.nullable(),
  feeCurrency: text,
  quoteId: text,
  paymentId: text,
  outcome: z.enum(OUTCOMES),
  paymentState: text,
  reasonCode: text,
  reason: text,
  attempts: z.int(),
  quotedAt: time.nullable(),
  sentAt: time.nullable(),
  settledAt: time.nullable(),
  beneficiaryName: text,
  fees: z.array(z.strictObject({ amount: decimal, currency: z.string() })),
});

/** What `show` prints. */
export const storySchema = rowSchema.extend({
  payout: z.string(),
  runId: z.string(),
  state: z.string(),
  evidence: z
    .strictObject({
      quoteExpiresAt: time.nullable(),
      quotes: z.int(),
      armings: z.int(),
      armedBy: text,
      armedAt: time.nullable(),
      armingCounter: z.int(),
      credentials: text,
      seen2xx: z.boolean(),
      lookUps: z.int(),
      notFoundAt: time.nullable(),
      rejectionConfirmed: z.boolean(),
      quoteFailures: z.int(),
    })
    .nullable(),
  deadQuotes: z.array(z.string()),
  quotesBeside: z.array(z.string()),
  proposal: z
    .strictObject({
      decision: z.string(),
      by: z.string(),
      at: time,
      paymentId: z.string().nullable(),
      reason: z.string(),
    })
    .nullable(),
  history: z.array(
    z.strictObject({
      at: time,
      to: z.string(),
      actor: z.string(),
      reason: z.string(),
      exchange: z.string().nullable(),
    }),
  ),
});

/** The one JSON document that a command printed. */
export function parsed<Schema extends z.ZodType>(schema: Schema, stdout: string): z.infer<Schema> {
  return schema.parse(JSON.parse(stdout));
}
