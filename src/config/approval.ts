import { hash } from 'node:crypto';
import { z } from 'zod';
import { durationFrom } from '../duration.ts';
import { digitsOf, moneyOfDecimal } from '../money.ts';

/** From which total of a run in a currency how many people must approve it. */
export interface ApprovalTier {
  readonly from: bigint;
  readonly approvals: number;
}

/** Who has to agree before a run is paid; docs/security.md. */
export interface ApprovalRules {
  /** The same for the same rules: all processes of a ledger must have it. */
  readonly name: string;
  /** Null: each run needs one approval, whatever its totals. */
  readonly tiers: ReadonlyMap<string, readonly ApprovalTier[]> | null;
  /** How long an approval holds. */
  readonly holdsMs: number;
}

const APPROVALS_MAX = 5;
/** How long an approval holds unless the rules say otherwise. */
export const APPROVAL_HOLDS_MS = 3 * 24 * 60 * 60 * 1000;

const tier = z.strictObject({ from: z.string(), approvals: z.int().min(0).max(APPROVALS_MAX) });
const currency = z.string().refine((code) => digitsOf(code) !== undefined, 'must be a currency of ISO 4217');

/**
 * The part `approval` of the file that PAYRUN_CONFIG names: `off`; `on`, one approval for each run; or `tiers`: the highest
 * tier that a run's total reaches in any of its currencies, one approval for a currency that has no tiers.
 */
export const approvalSetting = z
  .strictObject({
    mode: z.enum(['off', 'on', 'tiers']),
    holds: durationFrom('1m', '90d').default(APPROVAL_HOLDS_MS),
    tiers: z.record(currency, z.array(tier).min(1)).default({}),
  })
  .transform(({ mode, holds: holdsMs, tiers }, context): ApprovalRules | null => {
    if (mode !== 'tiers' && Object.keys(tiers).length > 0) context.addIssue('has tiers, but the mode is not tiers');
    if (mode === 'off') return null;
    const read = mode === 'on' ? null : readTiers(tiers, (message) => context.addIssue(message));
    return { name: nameOf(read, holdsMs), tiers: read, holdsMs };
  });

function readTiers(
  tiers: Readonly<Record<string, readonly z.infer<typeof tier>[]>>,
  tell: (message: string) => void,
): ReadonlyMap<string, readonly ApprovalTier[]> {
  const read = new Map<string, readonly ApprovalTier[]>();
  for (const [code, list] of Object.entries(tiers)) {
    const own = list.flatMap(({ from, approvals }) => {
      const money = moneyOfDecimal(from, code);
      if (money === undefined) tell(`"${from}" is no amount in ${code}`);
      return money === undefined ? [] : [{ from: money.minor, approvals }];
    });
    read.set(
      code,
      own.toSorted((one, other) => (one.from < other.from ? -1 : 1)),
    );
  }
  return read;
}

function nameOf(tiers: ApprovalRules['tiers'], holdsMs: number): string {
  const entries = [...(tiers ?? [])].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const texts = entries.map(([code, list]) => `${code} ${list.map((one) => `${one.from}:${one.approvals}`).join(' ')}`);
  return hash('sha256', [tiers === null ? 'on' : 'tiers', String(holdsMs), ...texts].join('\n'), 'hex').slice(0, 16);
}
