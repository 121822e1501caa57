import type { Redis } from 'ioredis';
import { Refusal } from '../../refusal.ts';
import type { LedgerKeys } from '../keys.ts';
import { bySecondPerson } from '../people/second-person.ts';
import { runScript, script, textsOf, wordOf } from '../script.ts';
import { ADOPT, FORGET_DIRS, RESTORE_RUN, WRITE_OFF } from '../scripts/recovery.ts';
import { requireOurs, SCHEMA_VERSION } from './refuse-ledger.ts';

/** A ledger to be made for data directories whose Redis is gone. */
export interface Adoption {
  /** The ledger that the directories belonged to, and the one that is made. */
  readonly formerInstance: string;
  readonly newInstance: string;
  readonly service: string;
  readonly safety: string;
  /** All data directories that may have armed, as far as this one was told. */
  readonly dataDirIds: readonly string[];
  readonly actor: string;
}

/** How a ledger was adopted. */
export interface AdoptionFacts {
  readonly instance: string;
  readonly formerInstance: string;
  readonly proposedBy: string;
  readonly dataDirIds: readonly string[];
}

export interface WriteOffAnswer {
  /**
   * `agreed`: two people want it, and other directories have to compare their logs first. `begun`: everything is halted, and
   * the payouts in doubt are to be held now. `retired`: the season is open, and nobody waits for the directory any more.
   */
  readonly result: 'proposed' | 'same-person' | 'agreed' | 'begun' | 'retired' | 'unknown' | 'compared';
  readonly proposedBy: string;
  /** Data directories that keep the season closed besides those on which two people agreed. */
  readonly missing: readonly string[];
}

/** The run as which a forgotten one is known: itself, or another one of the same content that was not over in the copy. */
export interface KnownRun {
  readonly id: string;
  /** Whether its rows are those of the very same file, so that each stands on its line. */
  readonly isSameFile: boolean;
}

/** What two people do to a ledger when a part of it is lost for good. */
export interface Recovery {
  adopt(adoption: Adoption): Promise<'proposed' | 'adopted' | 'same-person' | 'there'>;
  /** Null for a ledger that was not adopted. */
  readAdoption(): Promise<AdoptionFacts | null>;
  /** Notes that the audit log tells of the adoption: it cannot be repeated any more. */
  noteAdoption(): Promise<void>;
  writeOff(dataDirId: string, actor: string): Promise<WriteOffAnswer>;
  /** Takes the directories that were agreed on out of the season; gives those that keep it closed still. */
  forgetDirs(): Promise<string[]>;
  /** Makes a run known again that this Redis forgot, by its file (in hexadecimal); its rows come back with it. */
  restoreRun(run: {
    id: string;
    fileSha256: string;
    contentHash: string;
    /** The entry of the audit log that tells how it was handed in. */
    onRecord?: string;
  }): Promise<void>;
  /** Notes an act that stops a run or a payout which is not known again yet: its rows count as given up when they come. */
  stopAhead(target: string, action: string): Promise<void>;
  /** It was done. */
  forgetStop(target: string): Promise<void>;
  /** What was noted so: the act by its target. */
  stopsAhead(): Promise<ReadonlyMap<string, string>>;
  /** The run as which this one is known. */
  knownAs(runId: string): Promise<KnownRun>;
  /** That entry; null for a run that Redis did not forget. */
  readOnRecord(runId: string): Promise<string | null>;
}

export function openRecovery(redis: Redis, keys: LedgerKeys): Recovery {
  const scripts = {
    adopt: script(ADOPT),
    writeOff: script(WRITE_OFF),
    forget: script(FORGET_DIRS),
    restoreRun: script(RESTORE_RUN),
  };
  const { prefix } = keys;
  const run = async (name: keyof typeof scripts, ...args: (string | number)[]): Promise<string[]> =>
    textsOf(await runScript(redis, scripts[name], { prefix, args }));

  return {
    async adopt({ formerInstance, newInstance, service, safety, dataDirIds, actor }) {
      await requireOurs(redis, keys.head);
      const ledger = [formerInstance, newInstance, SCHEMA_VERSION, service, safety, ...dataDirIds];
      const [word] = await bySecondPerson(actor, (proposedBy) => run('adopt', actor, proposedBy, ...ledger));
      if (word === 'other' || word === 'occupied') throw refuseAdoption(word);
      return wordOf(['proposed', 'adopted', 'same-person', 'there'], word);
    },
    async readAdoption() {
      const fields = await redis.hmget(keys.head, 'instance', 'adopted', 'adoptedBy');
      const [instance, formerInstance, proposedBy] = fields.map((field) => field ?? '');
      if (!instance || !formerInstance) return null;
      return { instance, formerInstance, proposedBy: proposedBy ?? '', dataDirIds: await redis.hkeys(keys.dirs) };
    },
    async noteAdoption() {
      await redis.hdel(keys.head, 'adoptionUnnoted');
    },
    async writeOff(dataDirId, actor) {
      const answer = await bySecondPerson(actor, (proposedBy) => run('writeOff', dataDirId, actor, proposedBy));
      const [word, proposedBy = '', ...missing] = answer;
      const words = ['proposed', 'same-person', 'agreed', 'begun', 'retired', 'unknown', 'compared'] as const;
      return { result: wordOf(words, word), proposedBy, missing };
    },
    forgetDirs: () => run('forget'),
    async stopAhead(target, action) {
      await redis.hset(keys.stopsAhead, target, action);
    },
    async forgetStop(target) {
      await redis.hdel(keys.stopsAhead, target);
    },
    stopsAhead: async () => new Map(Object.entries(await redis.hgetall(keys.stopsAhead))),
    async knownAs(runId) {
      const [known, isOther] = await Promise.all([
        redis.hget(keys.knownAs, runId),
        redis.hexists(keys.run(runId), 'otherFile'),
      ]);
      const [id = '', same] = known?.split(' ') ?? [runId, isOther === 1 ? '' : 'same'];
      return { id, isSameFile: same === 'same' };
    },
    readOnRecord: (runId) => redis.hget(keys.run(runId), 'onRecord'),
    async restoreRun({ id, fileSha256, contentHash, onRecord = '' }) {
      await run('restoreRun', id, fileSha256, contentHash, onRecord);
    },
  };
}

function refuseAdoption(why: 'other' | 'occupied'): Refusal {
  return why === 'other'
    ? new Refusal(
        'The proposal is for another ledger, or for other settings.',
        'Both people must run it with the same settings, and with data directories of the same ledger.',
      )
    : new Refusal(
        'No ledger was adopted: this Redis has another ledger, or a part of one.',
        'Use an empty Redis or another PAYRUN_PREFIX. What is here is not the ledger of this data directory.',
      );
}
