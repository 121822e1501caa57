import type { Redis } from 'ioredis';
import { requireOurs, SCHEMA_VERSION } from './head.ts';
import type { LedgerKeys } from './keys.ts';
import { LedgerFault, runScript, script, textOf, textsOf } from './script.ts';
import { ADOPT, FORGET_DIR, WRITE_OFF } from './scripts/recovery.ts';

/** A ledger to be made for data directories whose Redis is gone. */
export interface Adoption {
  /** The ledger that the directories belonged to, and the one that is made. */
  readonly formerInstance: string;
  readonly newInstance: string;
  readonly service: string;
  readonly safety: string;
  /** All data directories that may have armed. */
  readonly dataDirIds: readonly string[];
  readonly actor: string;
}

const ADOPT_RESULTS = ['proposed', 'adopted', 'same-person', 'there'] as const;
const WRITE_OFF_RESULTS = ['proposed', 'agreed', 'same-person', 'open', 'unknown', 'compared'] as const;

/** What two people do to a ledger when a part of it is lost for good. */
export interface Recovery {
  adopt(adoption: Adoption): Promise<(typeof ADOPT_RESULTS)[number]>;
  /** Who proposes to write off a data directory. */
  proposedWriteOff(dataDirId: string): Promise<string | null>;
  /** `agreed`: two people want it, everything is halted, and the payouts in doubt are to be held now. */
  writeOff(dataDirId: string, actor: string): Promise<(typeof WRITE_OFF_RESULTS)[number]>;
  /** Takes a directory out of the season; gives those that keep it closed still. */
  forgetDir(dataDirId: string): Promise<string[]>;
}

export function openRecovery(redis: Redis, keys: LedgerKeys): Recovery {
  const scripts = { adopt: script(ADOPT), writeOff: script(WRITE_OFF), forget: script(FORGET_DIR) };
  const { prefix } = keys;
  return {
    async adopt({ formerInstance, newInstance, service, safety, dataDirIds, actor }) {
      await requireOurs(redis, keys.head);
      const args = [formerInstance, newInstance, SCHEMA_VERSION, service, safety, actor, ...dataDirIds];
      return wordOf(ADOPT_RESULTS, await runScript(redis, scripts.adopt, { prefix, args }));
    },
    proposedWriteOff: (dataDirId) => redis.hget(keys.head, `writeOff:${dataDirId}`),
    async writeOff(dataDirId, actor) {
      const args = [dataDirId, actor];
      return wordOf(WRITE_OFF_RESULTS, await runScript(redis, scripts.writeOff, { prefix, args }));
    },
    async forgetDir(dataDirId) {
      return textsOf(await runScript(redis, scripts.forget, { prefix, args: [dataDirId] }));
    },
  };
}

function wordOf<Word extends string>(words: readonly Word[], reply: unknown): Word {
  const word = words.find((known) => known === textOf(reply));
  if (word === undefined) throw new LedgerFault('a script gave an unknown answer');
  return word;
}
