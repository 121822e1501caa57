import { type LedgerKeySource, openLedgerKeys } from '../ledger-key.ts';
import { formatAmount } from '../money.ts';
import type { Approval, CostLimit, Payout, PayoutRow, Run } from '../payout.ts';
import { EXIT, Refusal } from '../refusal.ts';
import { rowFields } from './record.ts';

/**
 * What a seal says of what it stands beside: it is as payrun wrote it; it is not; or none of this process's keys made it, so
 * that nobody can tell here.
 */
export type SealVerdict = 'true' | 'false' | 'unknown-key';

type Place = Pick<Payout, 'runId' | 'line'>;

/** Seals of what people and files say, under keys that are not in Redis: whoever can write to Redis cannot make one. */
export interface Seals {
  row(place: Place, row: PayoutRow, isCostLimited: boolean): string;
  /** `limit` null: people lifted it. */
  costLimit(place: Place, limit: CostLimit | null): string;
  beyondLimits(place: Place): string;
  /** Of a quote that was given for the payout, and when it ends. */
  quote(place: Place, quote: SealedQuote): string;
  run(run: SealedRun): string;
  approval(runId: string, approval: Omit<Approval, 'seal'>): string;
  blockList(version: number, entries: ReadonlyMap<string, string>): string;
  judgePayout(payout: Pick<Payout, 'runId' | 'line' | 'row' | 'costLimit' | 'seals'>): SealVerdict;
  /** Of the payout's present quote. */
  judgeQuote(payout: Pick<Payout, 'runId' | 'line' | 'quoteId' | 'quoteExpiresAt' | 'seals'>): SealVerdict;
  judgeRun(run: SealedRun & Pick<Run, 'seal'>): SealVerdict;
  judgeApproval(runId: string, approval: Approval): SealVerdict;
  judgeBlockList(seal: string, version: number, entries: ReadonlyMap<string, string>): SealVerdict;
}

/** `expiresAt`: milliseconds since 1970. */
export interface SealedQuote {
  readonly quoteId: string;
  readonly expiresAt: number | null;
}

/** What of a run decides who has to agree to it, and to what. */
export type SealedRun = Pick<
  Run,
  'id' | 'fileSha256' | 'contentHash' | 'rows' | 'fileTotals' | 'createdBy' | 'dropper' | 'rowsDigest'
>;

/** The play money of a sandbox needs no secret: any payrun reads its ledger. */
const SANDBOX_KEY = { ledgerKey: ['the public key of sandboxes'], service: undefined };

/** A seal has 112 bits of the HMAC, so that Redis keeps a record as a listpack. */
const SEAL_DIGITS = 28;

/** Why nobody can tell whether something is as payrun wrote it, and what to do. */
export const UNKNOWN_KEY =
  'it was sealed with a key that this process does not have; put the key, or the client secret it was made from, ' +
  'into the file that PAYRUN_LEDGER_KEY_FILE names';

/**
 * Seals by the ledger's keys, over a JSON array, which has one reading only; without a source by the public key of sandboxes.
 * Sealing throws where there is no key.
 */
export function openSeals(source: LedgerKeySource = SANDBOX_KEY): Seals {
  const keys = openLedgerKeys(source, 'row', SEAL_DIGITS);

  function seal(...parts: readonly string[]): string {
    if (keys === undefined) throw noKey();
    return keys.sign(JSON.stringify(parts));
  }

  function judge(given: string | null, ...parts: readonly string[]): SealVerdict {
    if (given === null || given === '') return 'false';
    const check = keys?.check(JSON.stringify(parts), given) ?? 'unknown-key';
    return check === 'holds' ? 'true' : check === 'differs' ? 'false' : 'unknown-key';
  }

  return {
    row: (place, row, isCostLimited) => seal(...rowParts(place, row, isCostLimited)),
    costLimit: (place, limit) => seal(...costParts(place, limit)),
    beyondLimits: (place) => seal(...beyondParts(place)),
    quote: (place, quote) => seal(...quoteParts(place, quote)),
    run: (run) => seal(...runParts(run)),
    approval: (runId, approval) => seal(...approvalParts(runId, approval)),
    blockList: (version, entries) => seal(...blockParts(version, entries)),
    judgePayout({ seals, row, costLimit, ...place }) {
      const verdicts = [judge(seals.row, ...rowParts(place, row, seals.costLimit !== null))];
      if (seals.costLimit !== null) verdicts.push(judge(seals.costLimit, ...costParts(place, costLimit)));
      if (seals.beyondLimits !== null) verdicts.push(judge(seals.beyondLimits, ...beyondParts(place)));
      return worstOf(verdicts);
    },
    judgeQuote: ({ seals, quoteId, quoteExpiresAt, ...place }) =>
      judge(seals.quote, ...quoteParts(place, { quoteId: quoteId ?? '', expiresAt: quoteExpiresAt })),
    judgeRun: (run) => judge(run.seal, ...runParts(run)),
    judgeApproval: (runId, approval) => judge(approval.seal, ...approvalParts(runId, approval)),
    judgeBlockList: (given, version, entries) => judge(given, ...blockParts(version, entries)),
  };
}

function noKey(): Refusal {
  return new Refusal('This process has no key of the ledger, so nothing that it says of a payment would be believed.', {
    exitCode: EXIT.usage,
    remedy:
      'Load the settings that payrun runs with: PAYRUN_CLIENT_SECRET_FILE, or PAYRUN_LEDGER_KEY_FILE where it is set.',
  });
}

function worstOf(verdicts: readonly SealVerdict[]): SealVerdict {
  if (verdicts.includes('false')) return 'false';
  return verdicts.includes('unknown-key') ? 'unknown-key' : 'true';
}

function rowParts({ runId, line }: Place, row: PayoutRow, isCostLimited: boolean): string[] {
  return [
    'row',
    runId,
    String(line),
    isCostLimited ? 'cost limited' : '',
    ...Object.entries(rowFields(row, '')).flat(),
  ];
}

function costParts({ runId, line }: Place, limit: CostLimit | null): string[] {
  const parts = limit === null ? ['lifted'] : [limit.debited, limit.arrives, limit.driftBp].map(String);
  return ['cost limit', runId, String(line), ...parts];
}

function beyondParts({ runId, line }: Place): string[] {
  return ['beyond limits', runId, String(line)];
}

function quoteParts({ runId, line }: Place, { quoteId, expiresAt }: SealedQuote): string[] {
  return ['quote', runId, String(line), quoteId, String(expiresAt)];
}

function runParts(run: SealedRun): string[] {
  const totals = run.fileTotals.map((total) => `${total.currency} ${formatAmount(total)}`);
  const { id, fileSha256, contentHash, rows, createdBy, dropper, rowsDigest } = run;
  const words = [id, fileSha256, contentHash, String(rows), createdBy, dropper ?? '', rowsDigest ?? ''];
  return ['run', ...words, JSON.stringify(totals)];
}

function approvalParts(runId: string, { by, at, digest }: Omit<Approval, 'seal'>): string[] {
  return ['approval', runId, by, String(at), digest];
}

function blockParts(version: number, entries: ReadonlyMap<string, string>): string[] {
  const sorted = [...entries].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return ['blocked', String(version), ...sorted.flat()];
}
