import { hash } from 'node:crypto';
import { z } from 'zod';
import { digitsOf, moneyOfDecimal } from '../money.ts';

/** What is limited: one payout, the run, and all payouts of a day, or of a day to one beneficiary. */
export const LIMITS = ['payout', 'run', 'day', 'beneficiary'] as const;
export type Limit = (typeof LIMITS)[number];

/** The most money that may be armed, per currency: of what rows name, and of what leaves where that is another one. */
export interface Limits {
  /** The same for the same limits: all processes of a ledger must have it. */
  readonly name: string;
  /** IANA time zone in which a day begins. */
  readonly zone: string;
  /** What becomes of a payout beyond a limit. */
  readonly over: 'hold' | 'refuse';
  readonly currencies: ReadonlyMap<string, Readonly<Partial<Record<Limit, bigint>>>>;
}

/** Lua counts in doubles; beyond this they are not exact. */
const MINOR_MAX = 9_000_000_000_000_000n;

const zone = z.string().refine(isZone, 'must be a time zone such as Europe/Berlin');
const currency = z.string().refine((code) => digitsOf(code) !== undefined, 'must be a currency of ISO 4217');
const amounts = z.strictObject({
  payout: z.string().optional(),
  run: z.string().optional(),
  day: z.string().optional(),
  beneficiary: z.string().optional(),
});

/** The part `limits` of the file that PAYRUN_CONFIG names: amounts are decimals as text, `beneficiary` is a day's. */
export const limitsSetting = z
  .strictObject({
    zone: zone.default('UTC'),
    over: z.enum(['hold', 'refuse']).default('hold'),
    currencies: z.record(currency, amounts),
  })
  .transform(({ zone: dayZone, over, currencies }, context): Limits => {
    const read = new Map<string, Partial<Record<Limit, bigint>>>();
    for (const [code, texts] of Object.entries(currencies)) {
      const most: Partial<Record<Limit, bigint>> = {};
      for (const limit of LIMITS) {
        const text = texts[limit];
        if (text === undefined) continue;
        const money = moneyOfDecimal(text, code);
        if (money === undefined || money.minor > MINOR_MAX) {
          context.addIssue({
            code: 'custom',
            path: ['currencies', code, limit],
            message: `"${text}" is no amount in ${code}`,
          });
        } else most[limit] = money.minor;
      }
      read.set(code, most);
    }
    const limits = { zone: dayZone, over, currencies: read };
    return { ...limits, name: nameOf(limits) };
  });

function isZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

function nameOf({ zone: dayZone, over, currencies }: Omit<Limits, 'name'>): string {
  const entries = [...currencies].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const texts = entries.map(([code, most]) => `${code} ${LIMITS.map((limit) => most[limit] ?? '-').join(' ')}`);
  return hash('sha256', [dayZone, over, ...texts].join('\n'), 'hex').slice(0, 16);
}
