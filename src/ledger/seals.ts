import type { ListedName } from '../access/listed-name.ts';
import { type LedgerKeySource, openLedgerKeys } from '../ledger-key.ts';
import { formatAmount } from '../money.ts';
import type { Approval, CostLimit, Payout, PayoutRow, Proposal, Run } from '../payout.ts';
import { Refusal } from '../refusal.ts';
import { rowFields } from './payouts/record.ts';

/**
 * What a seal says of what it stands beside: it is as payrun wrote it; it is not; or none of this process's keys made it, so
 * that nobody can tell here.
 */
export type SealVerdict = 'true' | 'false' | 'unknown-key';

type Place = Pick<Payout, 'runId' | 'line'>;
/** What a proposal was made for: after any move it is none. */
type ProposedFor = Pick<Payout, 'runId' | 'line' | 'history'>;

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
  proposal(payout: ProposedFor, proposal: Proposal): string;
  /** `record`: the session as it is kept, under the SHA-256 of its id. */
  session(hash: string, record: string): string;
  schedule(schedule: SealedSchedule): string;
  /** All users, keys of programs and what is proposed of them, as they are kept. */
  people(version: number, entries: ReadonlyMap<string, string>): string;
  word(word: Word): string;
  /** Of what the service called an identity. */
  name(id: string, listed: ListedName): string;
  /** Of a payout as the ledger gives it: a proposal whose seal is not true is left out, and makes this false. */
  judgePayout(payout: ProposedFor & Pick<Payout, 'row' | 'costLimit' | 'seals' | 'proposal'>): SealVerdict;
  /** Of the payout's present quote. */
  judgeQuote(payout: Pick<Payout, 'runId' | 'line' | 'quoteId' | 'quoteExpiresAt' | 'seals'>): SealVerdict;
  judgeRun(run: SealedRun & Pick<Run, 'seal'>): SealVerdict;
  judgeApproval(runId: string, approval: Approval): SealVerdict;
  judgeBlockList(seal: string, version: number, entries: ReadonlyMap<string, string>): SealVerdict;
  judgeProposal(seal: string, payout: ProposedFor, proposal: Proposal): SealVerdict;
  judgeSession(seal: string, hash: string, record: string): SealVerdict;
  judgeSchedule(seal: string, schedule: SealedSchedule): SealVerdict;
  judgePeople(seal: string, version: number, entries: ReadonlyMap<string, string>): SealVerdict;
  judgeWord(seal: string, word: Word): SealVerdict;
  judgeName(seal: string, id: string, listed: ListedName): SealVerdict;
}

/** What one of two people says about the ledger as a whole: what is to be done, and all that it depends on. */
export interface Word {
  readonly act: 'release' | 'adopt settings' | 'write off' | 'agree to write off' | 'adopt ledger' | 'adopted ledger';
  readonly by: string;
  readonly about: readonly string[];
}

/** What of a schedule decides what it does, when, and who is behind it. */
export interface SealedSchedule {
  readonly name: string;
  readonly definition: string;
  readonly setBy: string;
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
 * `ledger`: its instance; under the same key the seals of another one are none here. Sealing throws where there is no key.
 */
export function openSeals(source: LedgerKeySource = SANDBOX_KEY, ledger = ''): Seals {
  const keys = openLedgerKeys(source, 'row', { digits: SEAL_DIGITS, ledger });

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
    blockList: (version, entries) => seal(...listParts('blocked', version, entries)),
    proposal: (payout, proposal) => seal(...proposalParts(payout, proposal)),
    session: (hash, record) => seal('session', hash, record),
    schedule: (schedule) => seal(...scheduleParts(schedule)),
    people: (version, entries) => seal(...listParts('people', version, entries)),
    word: ({ act, by, about }) => seal(act, by, ...about),
    name: (id, { name, listedAt }) => seal('name', id, name, String(listedAt)),
    judgePayout({ seals, row, costLimit, proposal, ...place }) {
      const verdicts = [judge(seals.row, ...rowParts(place, row, seals.costLimit !== null))];
      if (seals.costLimit !== null) verdicts.push(judge(seals.costLimit, ...costParts(place, costLimit)));
      if (seals.beyondLimits !== null) verdicts.push(judge(seals.beyondLimits, ...beyondParts(place)));
      if (seals.proposal !== null) {
        verdicts.push(judge(seals.proposal, ...(proposal === null ? ['left out'] : proposalParts(place, proposal))));
      }
      return worstOf(verdicts);
    },
    judgeQuote: ({ seals, quoteId, quoteExpiresAt, ...place }) =>
      judge(seals.quote, ...quoteParts(place, { quoteId: quoteId ?? '', expiresAt: quoteExpiresAt })),
    judgeRun: (run) => judge(run.seal, ...runParts(run)),
    judgeApproval: (runId, approval) => judge(approval.seal, ...approvalParts(runId, approval)),
    judgeBlockList: (given, version, entries) => judge(given, ...listParts('blocked', version, entries)),
    judgeProposal: (given, payout, proposal) => judge(given, ...proposalParts(payout, proposal)),
    judgeSession: (given, hash, record) => judge(given, 'session', hash, record),
    judgeSchedule: (given, schedule) => judge(given, ...scheduleParts(schedule)),
    judgePeople: (given, version, entries) => judge(given, ...listParts('people', version, entries)),
    judgeWord: (given, { act, by, about }) => judge(given, act, by, ...about),
    judgeName: (given, id, { name, listedAt }) => judge(given, 'name', id, name, String(listedAt)),
  };
}

function noKey(): Refusal {
  return new Refusal(
    'This process has no key of the ledger, so nothing that it says of a payment would be believed.',
    'Load the settings that payrun runs with: PAYRUN_CLIENT_SECRET_FILE, or PAYRUN_LEDGER_KEY_FILE where it is set.',
  );
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

function proposalParts(
  { runId, line, history }: ProposedFor,
  { decision, by, at, paymentId, reason, seen }: Proposal,
): string[] {
  const moves = String(history.length);
  return ['proposal', runId, String(line), moves, decision, by, String(at), paymentId, reason, seen];
}

function scheduleParts({ name, definition, setBy }: SealedSchedule): string[] {
  return ['schedule', name, definition, setBy];
}

function listParts(kind: 'blocked' | 'people', version: number, entries: ReadonlyMap<string, string>): string[] {
  const sorted = [...entries].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return [kind, String(version), ...sorted.flat()];
}
