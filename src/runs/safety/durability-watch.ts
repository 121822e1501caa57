import { type Clock, rfc3339 } from '../../clock.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { WeakTime } from '../../ledger/season/head-facts.ts';
import type { Log } from '../../log.ts';
import type { Run } from '../../payout.ts';
import type { DurabilityFinding } from '../../redis/durability.ts';
import { haltAll } from '../decide/control.ts';

const LOOK_EVERY_MS = 60_000;

export interface DurabilityWatch {
  /** Looks once a minute, or at once after the server changed. */
  look(changed?: boolean): Promise<void>;
}

/**
 * Halts everything when Redis becomes less durable than it was, and notes from when to when it was so. `accepted`: settings
 * that were overridden at the start.
 */
export function openDurabilityWatch(parts: {
  readonly read: () => Promise<readonly DurabilityFinding[]>;
  readonly accepted: readonly string[];
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Log;
}): DurabilityWatch {
  const { ledger, clock, log } = parts;
  let lookedAt = clock.monotonic();
  return {
    async look(changed = false) {
      if (!changed && clock.monotonic() - lookedAt < LOOK_EVERY_MS) return;
      lookedAt = clock.monotonic();
      // A server that is no master any more takes no write: the connection finds the new one.
      const weaker = (await parts.read()).filter(
        ({ setting }) => setting !== 'role' && !parts.accepted.includes(setting),
      );
      await ledger.state.noteDurability(weaker.map(({ setting }) => setting));
      if (weaker.length === 0 || (await ledger.state.read()).halt !== null) return;
      const found = weaker.map(({ setting, found: is, wanted }) => `${setting} is ${is}, must be ${wanted}`).join(', ');
      log.error('Redis became less durable: everything is halted', { reason: found });
      await haltAll({ ledger }, { actor: 'payrun', reason: `Redis became less durable: ${found}` });
    },
  };
}

/** The times of a run in which Redis was less durable than payrun asks for, as the report says them. */
export function weakTimesOf(
  { createdAt, finishedAt }: Pick<Run, 'createdAt' | 'finishedAt'>,
  times: readonly WeakTime[],
): string[] {
  return times
    .filter(({ from, to }) => from <= (finishedAt ?? from) && (to ?? createdAt) >= createdAt)
    .map(({ from, to, settings }) => {
      const until = to === null ? 'on' : `to ${rfc3339(to)}`;
      return `redis ${settings.join(' ')} from ${rfc3339(from)} ${until}`;
    });
}
