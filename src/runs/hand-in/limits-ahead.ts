import type { Limits } from '../../config/limits.ts';
import type { Foresight } from '../../ledger/foresight.ts';
import type { ArmingLimits, BrokenLimit, LimitedSum } from '../../ledger/payouts/acts.ts';
import { armingLimits } from '../../pay/limits.ts';
import type { PayoutRow } from '../../payout.ts';

const DAY_MS = 24 * 60 * 60_000;

/** Counts rows as arming would count them one after the other, in a run of their own that begins now. */
export interface LimitsAhead {
  /** Reads what was armed today of all that these rows count for; before any of them is counted. */
  prepare(rows: readonly PayoutRow[]): Promise<void>;
  /** Counts a row, or gives the limit that it would pass. */
  count(row: PayoutRow): BrokenLimit | undefined;
  /** Rows of which only a quote tells what leaves in a currency that has limits. */
  readonly untold: () => number;
}

/** The rules are those of `ARM`: a row that would pass a limit counts for nothing. */
export function openLimitsAhead(ledger: Pick<Foresight, 'spent'>, limits: Limits | null, nowMs: number): LimitsAhead {
  const ofDay = new Map<string, bigint>();
  const ofRun = new Map<string, bigint>();
  let untold = 0;
  const limitsOf = (row: PayoutRow): ArmingLimits | null => armingLimits(limits, { row, sourceAmount: null, nowMs });

  function broken({ currency, most }: LimitedSum, minor: bigint, beneficiary: string): BrokenLimit | undefined {
    const passes = (limit: bigint | undefined, counted = 0n): boolean => limit !== undefined && counted + minor > limit;
    if (passes(most.payout)) return { which: 'payout', currency };
    if (passes(most.run, ofRun.get(currency))) return { which: 'run', currency };
    if (passes(most.day, ofDay.get(currency))) return { which: 'day', currency };
    return passes(most.beneficiary, ofDay.get(beneficiary)) ? { which: 'beneficiary', currency } : undefined;
  }

  return {
    async prepare(rows) {
      const counted = rows.flatMap((row) => limitsOf(row) ?? []);
      const [first] = counted;
      if (first === undefined) return;
      const all = counted.flatMap((one) => one.sums.flatMap((sum) => [sum.currency, fieldOf(sum, one)]));
      const fields = [...new Set(all)].filter((field) => !ofDay.has(field));
      const spent = await ledger.spent(Math.floor((nowMs + first.dayOffsetMs) / DAY_MS), fields);
      for (const [index, field] of fields.entries()) ofDay.set(field, spent[index] ?? 0n);
    },
    count(row) {
      const counted = limitsOf(row);
      if (counted === null) return undefined;
      const told = counted.sums.flatMap((sum) => (sum.minor === null ? [] : [{ ...sum, minor: sum.minor }]));
      if (told.length < counted.sums.length) untold++;
      for (const sum of told) {
        const limit = broken(sum, sum.minor, fieldOf(sum, counted));
        if (limit !== undefined) return limit;
      }
      for (const sum of told) {
        add(ofRun, sum.currency, sum.minor);
        add(ofDay, sum.currency, sum.minor);
        add(ofDay, fieldOf(sum, counted), sum.minor);
      }
      return undefined;
    },
    untold: () => untold,
  };
}

function fieldOf({ currency }: LimitedSum, { beneficiaryHash }: ArmingLimits): string {
  return `${currency} ${beneficiaryHash}`;
}

function add(sums: Map<string, bigint>, key: string, minor: bigint): void {
  sums.set(key, (sums.get(key) ?? 0n) + minor);
}
