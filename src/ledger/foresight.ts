import type { Redis } from 'ioredis';
import { type LedgerKeys, spentKey } from './keys.ts';
import { freedAtLoss, holderAgainst, openClaimFacts, twinAgainst } from './payouts/duplicates.ts';
import { runScript, script, textsOf } from './script.ts';
import { KNOWN_RUN } from './scripts/hand-in.ts';

/** A row that was not handed in yet. */
export interface RowAhead {
  readonly referenceHash: string;
  readonly beneficiaryIdentityId: string;
  /** As in `RowRecord`. */
  readonly likeness?: { readonly hash: string; readonly withinMs: number } | undefined;
}

/** What the ledger knows against such a row. */
export interface AgainstRow {
  /** The payout that has its reference. */
  readonly holder: string | null;
  /** The payout that gave its reference free, and that a host that is lost may have paid again. */
  readonly freed: string | null;
  /** A payout of the same beneficiary, amount and currency. */
  readonly twin: string | null;
  readonly isBlocked: boolean;
}

/** What the ledger can say of a file before it is handed in. It reads, and writes nothing. */
export interface Foresight {
  /** The run of the same content, and whether its rows may be paid anew; undefined where there is none. */
  knownRun(file: {
    readonly sha256: string;
    readonly contentHash: string;
  }): Promise<{ readonly id: string; readonly isFree: boolean } | undefined>;
  /** In one call, in the order of the rows. */
  against(rows: readonly RowAhead[], rememberMs: number): Promise<readonly AgainstRow[]>;
  /** What was armed on a day (as `ArmingLimits` counts them), in minor units, for each field `CURRENCY` or `CURRENCY beneficiaryHash`. */
  spent(day: number, fields: readonly string[]): Promise<readonly bigint[]>;
}

export function openForesight(redis: Redis, keys: LedgerKeys): Foresight {
  const { prefix } = keys;
  const readFacts = openClaimFacts(redis, keys);
  const known = script(KNOWN_RUN);
  return {
    async knownRun({ sha256, contentHash }) {
      const [id = '', isFree] = textsOf(await runScript(redis, known, { prefix, args: [sha256, contentHash] }));
      return id === '' ? undefined : { id, isFree: isFree === '1' };
    },
    async against(rows, rememberMs) {
      const asked = rows.map(({ likeness, ...row }) => ({ ...row, line: 0, duplicateKey: likeness }));
      const { at, rows: facts } = await readFacts('', asked);
      return facts.map(({ holders, twins, isBlocked }, index) => {
        const rules = { own: '', at, rememberMs };
        return {
          holder: holderAgainst(holders, rules) ?? null,
          freed: freedAtLoss(holders, '') ?? null,
          twin: twinAgainst(twins, rows[index]?.likeness?.withinMs ?? 0, rules) ?? null,
          isBlocked,
        };
      });
    },
    async spent(day, fields) {
      if (fields.length === 0) return [];
      return (await redis.hmget(spentKey(prefix, day), ...fields)).map((text) => BigInt(text ?? '0'));
    },
  };
}
