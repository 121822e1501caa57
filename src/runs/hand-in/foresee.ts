import type { Clock } from '../../clock.ts';
import type { Limits } from '../../config/limits.ts';
import type { CheckedFile } from '../../intake/check-file.ts';
import { readPayoutFile } from '../../intake/read-file.ts';
import { duplicateKey } from '../../intake/row/duplicate-key.ts';
import { hashReference } from '../../intake/row/reference-hash.ts';
import { openTally } from '../../intake/tally.ts';
import type { AgainstRow } from '../../ledger/foresight.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Money } from '../../money.ts';
import { beyondLimit } from '../../pay/limits.ts';
import type { PayoutRow, Run, RunStart } from '../../payout.ts';
import type { CurrencyHours } from '../../schedules/calendar.ts';
import type { IdentityBook } from '../identities.ts';
import { withAgreedRules } from './agreed-rules.ts';
import { openLargest } from './largest.ts';
import { openLimitsAhead } from './limits-ahead.ts';
import { hoursAhead, type StartRules, type Waiting, waitingFor } from './start.ts';

/** Rows of a group that are named. */
const NAMED_ROWS_MAX = 1000;
/** Of a currency. */
const CURRENCY_ROWS = 20;
const FIRST_ROWS = 5;
const LARGEST_ROWS = 5;

export interface ForeseeDeps {
  readonly ledger: Pick<Ledger, 'foresight' | 'runs' | 'state'>;
  readonly config: {
    readonly rememberMs: number;
    readonly duplicatesWithinMs?: number | undefined;
    readonly limits?: Limits | null;
  } & StartRules;
  /** After it was asked about this very file (`checkSubmission`). */
  readonly identities?: Pick<IdentityBook, 'judge'> | undefined;
  readonly clock: Clock;
}

/** A row of the file, as far as it is told. */
export type NamedRow = Pick<PayoutRow, 'line' | 'reference' | 'beneficiaryIdentityId' | 'amount'>;

/** Rows that would not be paid for one reason. */
export interface StoppedRows {
  readonly code: 'E_DIR_LOST' | 'E_DUP_HISTORY' | 'E_DUP_LIKELY' | 'E_BLOCKED' | 'E_LIMIT';
  readonly becomes: 'held' | 'rejected';
  /** For people. */
  readonly reason: string;
  readonly rows: number;
  readonly totals: readonly Money[];
  /** The first 1,000 in file order, each with the payout or the line of this file that stands against it. */
  readonly named: readonly (NamedRow & { readonly other: string | null })[];
}

/** A currency's cut-off, and the rows that are paid from it or into it: the first 20 are named. */
export interface CutOffAhead extends CurrencyHours {
  readonly rows: number;
  readonly named: readonly NamedRow[];
}

/** What handing a file in would come to now. */
export interface Foreseen {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The run that the content is already: handing it in adds nothing to it. Then nothing else is foreseen. */
  readonly knownRun: Pick<Run, 'id' | 'state' | 'createdAt'> | null;
  readonly stopped: readonly StoppedRows[];
  /** What nothing is foreseen against. */
  readonly pays: { readonly rows: number; readonly totals: readonly Money[] };
  /** Rows of which only a quote tells whether they pass a limit. */
  readonly untold: number;
  /** What the run would wait for before anything is paid, approval apart. */
  readonly waiting: Waiting | null;
  /** How each currency stands that has banking days and a cut-off, with the rows in it. */
  readonly cutOffs: readonly CutOffAhead[];
  readonly first: readonly NamedRow[];
  /** In each currency the largest first. */
  readonly largest: readonly NamedRow[];
}

export interface FileAhead {
  readonly path: string;
  readonly checked: CheckedFile;
  readonly startAt?: RunStart | undefined;
  readonly again?: boolean | undefined;
}

/**
 * What would become of the rows of a file if it were handed in now, by the functions and scripts that decide it then. The ledger
 * is only read, in a call for each 500 rows. What happens until then may change it: a limit may be used up, a beneficiary
 * blocked. Throws like `readPayoutFile`.
 */
export async function foresee(given: ForeseeDeps, file: FileAhead): Promise<Foreseen> {
  const deps = await withAgreedRules(given);
  const at = deps.clock.now();
  const knownRun = await knownRunOf(deps, file);
  const rows = openRowsAhead(deps, at);
  if (knownRun === null) {
    for await (const batch of readPayoutFile(file.path, file.checked)) {
      const judged = batch.map((row) => ('reference' in row ? (deps.identities?.judge(row) ?? row) : row));
      await rows.take(judged.filter((row) => 'reference' in row));
    }
  }
  const { currencies, ...found } = rows.result();
  const run = { rows: file.checked.rows, currencies: [...currencies.keys()] };
  const cutOffs = hoursAhead(deps, run).map((hours) => ({
    ...hours,
    ...(currencies.get(hours.currency) ?? { rows: 0, named: [] }),
  }));
  return { at, knownRun, ...found, waiting: waitingFor(deps, run, file.startAt) ?? null, cutOffs };
}

async function knownRunOf(
  { ledger }: Pick<ForeseeDeps, 'ledger'>,
  { checked, again = false }: FileAhead,
): Promise<Foreseen['knownRun']> {
  const known = await ledger.foresight.knownRun(checked);
  if (known === undefined || (again && known.isFree)) return null;
  const run = await ledger.runs.read(known.id);
  // One that was only begun is carried on by whoever hands it in again.
  if (run === undefined || run.state === 'recording') return null;
  return { id: run.id, state: run.state, createdAt: run.createdAt };
}

function openRowsAhead({ ledger, config }: ForeseeDeps, at: number) {
  const { rememberMs, duplicatesWithinMs, limits = null } = config;
  const ahead = openLimitsAhead(ledger.foresight, limits, at);
  const currencies = new Map<string, { rows: number; named: NamedRow[] }>();
  const stopped = openStopped();
  const pays = openTally();
  const lineOf = new Map<string, number>();
  const first: NamedRow[] = [];
  const largest = openLargest<NamedRow>(LARGEST_ROWS);
  let paid = 0;

  const likenessOf = (row: PayoutRow) =>
    duplicatesWithinMs === undefined ? undefined : { hash: duplicateKey(row), withinMs: duplicatesWithinMs };

  /** The like row that stands before this one in the file, which takes the place itself where there is none. */
  function twinInFile(row: PayoutRow, { twin }: AgainstRow): string | null {
    const hash = likenessOf(row)?.hash;
    if (hash === undefined || twin !== null) return twin;
    const line = lineOf.get(hash);
    if (line === undefined) lineOf.set(hash, row.line);
    return line === undefined ? null : `line ${line} of this file`;
  }

  function whyStopped(row: PayoutRow, against: AgainstRow): Stop | undefined {
    const twin = twinInFile(row, against);
    if (against.freed !== null) return { ...HELD.E_DIR_LOST, other: against.freed };
    if (against.holder !== null) return { ...HELD.E_DUP_HISTORY, other: against.holder };
    if (twin !== null) return { ...HELD.E_DUP_LIKELY, other: twin };
    if (against.isBlocked) return { ...HELD.E_BLOCKED, other: null };
    const limit = ahead.count(row);
    if (limit === undefined) return undefined;
    const { kind: becomes, reason } = beyondLimit(limits, limit);
    return { code: 'E_LIMIT', becomes, reason, other: null };
  }

  return {
    async take(rows: readonly PayoutRow[]): Promise<void> {
      if (rows.length === 0) return;
      const asked = rows.map((row) => ({
        referenceHash: hashReference(row.reference),
        beneficiaryIdentityId: row.beneficiaryIdentityId,
        likeness: likenessOf(row),
      }));
      const [against] = await Promise.all([ledger.foresight.against(asked, rememberMs), ahead.prepare(rows)]);
      for (const [index, row] of rows.entries()) {
        for (const currency of new Set([row.sourceCurrency, row.destinationCurrency]))
          addNamed(currencies, currency, row);
        if (first.length < FIRST_ROWS) first.push(row);
        largest.add(row);
        const stop = whyStopped(row, against[index] ?? NOTHING_AGAINST);
        if (stop !== undefined) {
          stopped.add(row, stop);
          continue;
        }
        paid++;
        pays.add(row.amount);
      }
    },
    result: () => ({
      currencies,
      stopped: stopped.groups(),
      pays: { rows: paid, totals: pays.totals() },
      untold: ahead.untold(),
      first,
      largest: largest.result(),
    }),
  };
}

function addNamed(groups: Map<string, { rows: number; named: NamedRow[] }>, key: string, row: NamedRow): void {
  const group = groups.get(key) ?? { rows: 0, named: [] };
  groups.set(key, group);
  group.rows++;
  if (group.named.length < CURRENCY_ROWS) group.named.push(row);
}

const NOTHING_AGAINST: AgainstRow = { holder: null, freed: null, twin: null, isBlocked: false };

type Stop = Pick<StoppedRows, 'code' | 'becomes' | 'reason'> & { readonly other: string | null };

const HELD = {
  E_DIR_LOST: {
    code: 'E_DIR_LOST',
    becomes: 'held',
    reason: 'a data directory was written off that may have paid the reference',
  },
  E_DUP_HISTORY: { code: 'E_DUP_HISTORY', becomes: 'held', reason: 'the reference was used before' },
  E_DUP_LIKELY: {
    code: 'E_DUP_LIKELY',
    becomes: 'held',
    reason: 'another payout has the same beneficiary, amount and currency',
  },
  E_BLOCKED: { code: 'E_BLOCKED', becomes: 'held', reason: 'the beneficiary is blocked' },
} as const;

/** Gathers rows by code and reason. */
function openStopped() {
  const groups = new Map<string, { stop: Stop; rows: number; tally: ReturnType<typeof openTally>; named: Named[] }>();
  type Named = StoppedRows['named'][number];
  return {
    add(row: PayoutRow, stop: Stop): void {
      const key = `${stop.code} ${stop.reason}`;
      const group = groups.get(key) ?? { stop, rows: 0, tally: openTally(), named: [] };
      groups.set(key, group);
      group.rows++;
      group.tally.add(row.amount);
      if (group.named.length < NAMED_ROWS_MAX) group.named.push({ ...row, other: stop.other });
    },
    groups: (): StoppedRows[] =>
      Array.from(groups.values(), ({ stop: { code, becomes, reason }, rows, tally, named }) => ({
        code,
        becomes,
        reason,
        rows,
        totals: tally.totals(),
        named,
      })),
  };
}
