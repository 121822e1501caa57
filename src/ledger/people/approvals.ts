import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { Approval } from '../../payout.ts';
import type { LedgerKeys } from '../keys.ts';
import { integerOf, LedgerFault, runScript, script, textsOf } from '../script.ts';
import { APPROVE_RUN, BLOCK } from '../scripts/approval.ts';
import { bySecondPerson } from './second-person.ts';

/** A person's approval of a run, as it was judged on the approvals that `seen` shows. */
export interface ApprovalEntry {
  readonly by: string;
  readonly digest: string;
  readonly seen: readonly Approval[];
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

/** A beneficiary to whom nothing is paid. */
export interface Blocked extends z.infer<typeof blockEntry> {
  readonly identityId: string;
}

/** What people put between a payout and its arming. */
export interface Approvals {
  approve(runId: string, entry: ApprovalEntry): Promise<ApprovalAnswer>;
  block(identityId: string, by: string, reason: string): Promise<void>;
  /** The first person proposes it, another one carries it out. */
  unblock(identityId: string, by: string): Promise<'proposed' | 'unblocked' | 'same-person' | 'not-blocked'>;
  blocked(): Promise<Blocked[]>;
}

const APPROVAL_RESULTS = ['approved', 'recorded', 'changed', 'forbidden'] as const;
const UNBLOCK_RESULTS = ['proposed', 'unblocked', 'same-person', 'not-blocked'] as const;

export function openApprovals(redis: Redis, keys: LedgerKeys): Approvals {
  const { prefix } = keys;
  const approveScript = script(APPROVE_RUN);
  const blockScript = script(BLOCK);
  const block = async (...args: string[]): Promise<string[]> =>
    textsOf(await runScript(redis, blockScript, { prefix, args }));
  return {
    async approve(runId, { by, digest, seen, needed, holdsMs }) {
      // Redis compares the text: it is written here as the script itself writes it.
      const stored = (await redis.hget(keys.run(runId), 'approvals')) ?? '';
      if (JSON.stringify(readApprovals(stored)) !== JSON.stringify(seen)) {
        return { result: 'changed', count: 0, state: '' };
      }
      const args = [runId, by, digest, stored, needed, holdsMs];
      const [word, count, state = ''] = textsOf(await runScript(redis, approveScript, { prefix, args }));
      const result = APPROVAL_RESULTS.find((known) => known === word);
      if (result === undefined) throw new LedgerFault('the approval script gave an unknown answer');
      return { result, count: integerOf(count), state };
    },
    async block(identityId, by, reason) {
      await block('block', identityId, by, reason);
    },
    async unblock(identityId, by) {
      const [word] = await bySecondPerson(by, (proposedBy) => block('unblock', identityId, by, proposedBy));
      const result = UNBLOCK_RESULTS.find((known) => known === word);
      if (result === undefined) throw new LedgerFault('the block script gave an unknown answer');
      return result;
    },
    async blocked() {
      const entries = Object.entries(await redis.hgetall(keys.blocked));
      return entries.map(([identityId, text]) => ({ identityId, ...blockEntry.parse(JSON.parse(text)) }));
    },
  };
}

const approvals = z.array(z.object({ by: z.string(), at: z.number(), digest: z.string() }));

/** A run's approvals as they are kept; none for an empty text. */
export function readApprovals(text: string): Approval[] {
  return text === '' ? [] : approvals.parse(JSON.parse(text));
}
