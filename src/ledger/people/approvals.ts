import type { Redis } from 'ioredis';
import { z } from 'zod';
import { isAnyBehind, isSamePerson } from '../../access/same-person.ts';
import type { Approval } from '../../payout.ts';
import type { LedgerKeys } from '../keys.ts';
import { BlockListFault, integerOf, LedgerFault, redisTime, runScript, script, textsOf } from '../script.ts';
import { APPROVE_RUN, CHANGE_BLOCK_LIST } from '../scripts/approval.ts';
import type { Seals, SealVerdict } from '../seals.ts';
import { digestOfEntries } from './people-list.ts';

/** A person's approval of a run, as it was judged on the approvals that `seen` shows. */
export interface ApprovalEntry {
  readonly by: string;
  readonly digest: string;
  readonly seen: readonly Approval[];
  /** Those of `seen` who may not approve any more. */
  readonly void: readonly string[];
  readonly needed: number;
  readonly holdsMs: number;
}

export interface ApprovalAnswer {
  readonly result: 'approved' | 'recorded' | 'changed' | 'forbidden';
  /** Approvals that hold, this one included. */
  readonly count: number;
  readonly state: string;
}

const blockEntry = z.object({
  by: z.string(),
  at: z.number(),
  reason: z.string(),
  unblockBy: z.string().optional(),
});
type BlockEntry = z.infer<typeof blockEntry>;

/** A beneficiary to whom nothing is paid. */
export interface Blocked extends BlockEntry {
  readonly identityId: string;
}

/** The block list at one moment. */
export interface KeptBlockList {
  /** Its version and seal as Redis keeps them: an arming compares them. Empty for a list that never was. */
  readonly kept: string;
  readonly version: number;
  readonly verdict: SealVerdict;
  readonly identityIds: ReadonlySet<string>;
}

/** What came of asking to end a block. */
export type Unblocked = 'proposed' | 'unblocked' | 'same-person' | 'not-blocked';

/** What people put between a payout and its arming. */
export interface Approvals {
  approve(runId: string, entry: ApprovalEntry): Promise<ApprovalAnswer>;
  /** The first reason for a block stands. Throws a BlockListFault when the list is not as payrun wrote it. */
  block(identityId: string, block: { by: string; reason: string; act?: string }): Promise<boolean>;
  /** The first person proposes it, another one carries it out; a proposal of a disabled person counts no more. Throws like `block`. */
  unblock(identityId: string, by: string, disabled: readonly string[]): Promise<Unblocked>;
  blocked(): Promise<Blocked[]>;
  /** The list as it stands, for whoever pays by it. */
  blockList(): Promise<KeptBlockList>;
  /** Of the block list as it stands. */
  blockListDigest(): Promise<string>;
  /** Seals it, on the word of people who saw this digest of it: it is the latest one for all that saw another. */
  sealBlockList(digest: string): Promise<void>;
}

/** Why everything is halted, as the halt says it. */
export const BLOCK_LIST_CHANGED = 'the block list was changed in Redis by something else than payrun';

const APPROVAL_RESULTS = ['approved', 'recorded', 'changed', 'forbidden'] as const;
const TRIES_MAX = 20;

export function openApprovals(redis: Redis, keys: LedgerKeys, seals: Seals): Approvals {
  const { prefix } = keys;
  const approveScript = script(APPROVE_RUN);
  return {
    async approve(runId, { by, digest, seen, void: without, needed, holdsMs }) {
      // Redis compares the text: it is written here as the script itself writes it.
      const stored = (await redis.hget(keys.run(runId), 'approvals')) ?? '';
      if (JSON.stringify(readApprovals(stored)) !== JSON.stringify(seen)) {
        return { result: 'changed', count: 0, state: '' };
      }
      const at = await redisTime(redis);
      const seal = seals.approval(runId, { by, at, digest });
      const args = [runId, by, digest, stored, needed, holdsMs, at, seal, JSON.stringify(without)];
      const [word, count, state = ''] = textsOf(await runScript(redis, approveScript, { prefix, args }));
      const result = APPROVAL_RESULTS.find((known) => known === word);
      if (result === undefined) throw new LedgerFault('the approval script gave an unknown answer');
      return { result, count: integerOf(count), state };
    },
    ...openBlockList(redis, keys, seals),
  };
}

const approvals = z.array(
  z.object({ by: z.string(), at: z.number(), digest: z.string(), seal: z.string().default('') }),
);

/** A run's approvals as they are kept; none for an empty text. */
export function readApprovals(text: string): Approval[] {
  return text === '' ? [] : approvals.parse(JSON.parse(text));
}

/** The list at one moment: its entries as they are kept, its seal, and how often it was changed. */
interface BlockList {
  readonly entries: ReadonlyMap<string, string>;
  readonly kept: string;
  readonly version: number;
  readonly verdict: SealVerdict;
}

type BlockChange<Answer> = { readonly answer: Answer; readonly entry?: BlockEntry | null; readonly act?: string };

async function readBlockList(redis: Redis, keys: LedgerKeys, seals: Seals): Promise<BlockList> {
  const replies = (await redis.multi().hgetall(keys.blocked).get(keys.blockedSeal).exec()) ?? [];
  const [found, sealText] = replies.map(([error, reply]) => {
    if (error !== null) throw error;
    return reply;
  });
  const entries = new Map(Object.entries(z.record(z.string(), z.string()).parse(found)));
  return judgeList(seals, entries, typeof sealText === 'string' ? sealText : '');
}

/** The list is sealed as a whole: an entry that somebody takes out of Redis is missed. */
function openBlockList(redis: Redis, keys: LedgerKeys, seals: Seals): Omit<Approvals, 'approve'> {
  const changeScript = script(CHANGE_BLOCK_LIST);

  const read = (): Promise<BlockList> => readBlockList(redis, keys, seals);

  /** Whether the list was still the one that was read. */
  async function write(
    { entries, kept, version }: BlockList,
    identityId: string,
    { entry, act = '' }: { entry: string; act?: string },
  ): Promise<boolean> {
    const next = new Map(entries);
    if (entry === '') next.delete(identityId);
    else next.set(identityId, entry);
    const seal = `${version + 1} ${seals.blockList(version + 1, next)}`;
    const args = [kept, seal, identityId, entry, act];
    return (await runScript(redis, changeScript, { prefix: keys.prefix, args })) === 'written';
  }

  async function change<Answer>(
    identityId: string,
    decide: (before: BlockEntry | undefined, at: number) => BlockChange<Answer>,
  ): Promise<Answer> {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const list = await read();
      if (list.verdict !== 'true') throw new BlockListFault('the block list is not as payrun wrote it');
      const { answer, entry, act = '' } = decide(readEntry(list.entries.get(identityId)), await redisTime(redis));
      if (entry === undefined) return answer;
      if (await write(list, identityId, { entry: entry === null ? '' : JSON.stringify(entry), act })) return answer;
    }
    throw new LedgerFault('others change the block list all the time');
  }

  return {
    async block(identityId, { by, reason, act = '' }) {
      return await change<boolean>(identityId, (before, at) => {
        if (before === undefined) return { answer: true, entry: { by, at, reason }, act };
        // Nothing changes but that nobody proposes to end it any more.
        const { unblockBy, ...kept } = before;
        return unblockBy === undefined ? { answer: false } : { answer: true, entry: kept, act };
      });
    },
    async unblock(identityId, by, disabled) {
      return await change<Unblocked>(identityId, (before) => {
        if (before === undefined) return { answer: 'not-blocked' };
        if (before.unblockBy === undefined || isAnyBehind(disabled, before.unblockBy))
          return { answer: 'proposed', entry: { ...before, unblockBy: by } };
        if (isSamePerson(before.unblockBy, by)) return { answer: 'same-person' };
        return { answer: 'unblocked', entry: null };
      });
    },
    async blocked() {
      const { entries } = await read();
      return [...entries].map(([identityId, text]) => ({ identityId, ...blockEntry.parse(JSON.parse(text)) }));
    },
    async blockList() {
      const { kept, version, verdict, entries } = await read();
      return { kept, version, verdict, identityIds: new Set(entries.keys()) };
    },
    blockListDigest: async () => digestOfEntries((await read()).entries),
    async sealBlockList(digest) {
      for (let tries = 0; tries < TRIES_MAX; tries++) {
        const list = await read();
        if (digestOfEntries(list.entries) !== digest) return;
        const [first] = list.entries;
        // Above any version that a worker has seen, also where Redis went back or the seal was taken away.
        const version = Math.max(list.version, await redisTime(redis));
        if (await write({ ...list, version }, first?.[0] ?? '-', { entry: first?.[1] ?? '' })) return;
      }
    },
  };
}

/** `kept`: version and seal, with a blank between them. A list that nobody ever wrote has none. */
function judgeList(seals: Seals, entries: ReadonlyMap<string, string>, kept: string): BlockList {
  if (kept === '' && entries.size === 0) return { entries, kept, version: 0, verdict: 'true' };
  const [version = '', seal = ''] = kept.split(' ');
  const number = kept === '' ? 0 : integerOf(version);
  return { entries, kept, version: number, verdict: seals.judgeBlockList(seal, number, entries) };
}

function readEntry(text: string | undefined): BlockEntry | undefined {
  return text === undefined ? undefined : blockEntry.parse(JSON.parse(text));
}
