import { hash } from 'node:crypto';
import type { Limit, Limits } from '../config/limits.ts';
import type { Counted } from '../ledger/intents/intent-line.ts';
import type { ArmingLimits, BrokenLimit } from '../ledger/payouts/acts.ts';
import { formatAmount, type Money } from '../money.ts';
import type { PayoutRow } from '../payout.ts';

/**
 * What the ledger is to check when it arms the payout by a quote; null where nothing is limited. A payout counts as the amount
 * of its row and, where that is what arrives, as what leaves by the quote.
 */
export function armingLimits(
  limits: Limits | null,
  { row, sourceAmount, nowMs }: { row: PayoutRow; sourceAmount: Money | null; nowMs: number },
): ArmingLimits | null {
  if (limits === null) return null;
  const { amount, sourceCurrency } = row;
  const leaves = { currency: sourceCurrency, minor: sourceAmount?.minor ?? null };
  const counted = sourceCurrency === amount.currency ? [amount] : [amount, leaves];
  const sums = counted.flatMap(({ currency: code, minor }) => {
    const most = limits.currencies.get(code);
    return most === undefined ? [] : [{ currency: code, minor, most }];
  });
  if (sums.length === 0) return null;
  return {
    sums,
    beneficiaryHash: hash('sha256', row.beneficiaryIdentityId, 'hex').slice(0, 16),
    dayOffsetMs: offsetOf(limits.zone, nowMs),
  };
}

const DAY_MS = 24 * 60 * 60_000;

/** What a payout counts as that was armed under these limits at a time, as the ledger counts it; undefined for nothing. */
export function countedAs(limits: ArmingLimits | null, { amount }: PayoutRow, armedAt: number): Counted | undefined {
  if (limits === null) return undefined;
  const sums = limits.sums.flatMap(({ currency: code, minor }) => {
    const counted = code === amount.currency ? amount.minor : minor;
    return counted === null ? [] : [`${code} ${counted}`];
  });
  const day = Math.floor((armedAt + limits.dayOffsetMs) / DAY_MS);
  return { day: String(day), beneficiaryHash: limits.beneficiaryHash, sums: sums.join(',') };
}

/** By how much the zone's clocks are ahead of UTC at a time. */
function offsetOf(timeZone: string, nowMs: number): number {
  const parts = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' }).formatToParts(nowMs);
  const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? 'GMT';
  const [, sign = '+', hours = '0', minutes = '0'] = /^GMT([+-])([0-9]{2}):([0-9]{2})/.exec(name) ?? [];
  const offsetMs = (Number.parseInt(hours, 10) * 60 + Number.parseInt(minutes, 10)) * 60_000;
  return sign === '-' ? -offsetMs : offsetMs;
}

const WORDS: Readonly<Record<Limit, string>> = {
  payout: 'a payout',
  run: 'a run',
  day: 'a day',
  beneficiary: 'a beneficiary on one day',
};

/** What becomes of a payout that would pass a limit, in words for people. */
export function beyondLimit(
  limits: Limits | null,
  { which, currency: code }: BrokenLimit,
): { kind: 'held' | 'rejected'; code: string; reason: string } {
  if (which === 'amount') {
    const unknown = `the quote does not say what leaves in ${code}, for which there are limits`;
    return { kind: 'held', code: 'E_LIMIT', reason: unknown };
  }
  const minor = limits?.currencies.get(code)?.[which] ?? 0n;
  const reason = `it would pass the limit of ${formatAmount({ minor, currency: code })} ${code} for ${WORDS[which]}`;
  return { kind: limits?.over === 'refuse' ? 'rejected' : 'held', code: 'E_LIMIT', reason };
}
