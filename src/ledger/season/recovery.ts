import type { Redis } from 'ioredis';
import { z } from 'zod';
import { isSamePerson } from '../../access/same-person.ts';
import { dayText } from '../../clock.ts';
import { Refusal } from '../../refusal.ts';
import type { LedgerKeys } from '../keys.ts';
import { type WordJudge, wordStands } from '../people/word.ts';
import { redisTime, runScript, script, textOf, textsOf, wordOf } from '../script.ts';
import { ADOPT, FORGET_DIRS, RESTORE_RUN, WRITE_OFF } from '../scripts/recovery.ts';
import type { Word } from '../seals.ts';
import { saidOnWriteOffs } from './head-facts.ts';
import { requireOurs, SCHEMA_VERSION } from './refuse-ledger.ts';

const TRIES_MAX = 20;
/** So long after the loss of a host a run may still be one that it had, whatever the clocks say. */
const LOST_DOUBT_MS = 7 * 24 * 60 * 60_000;

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
  /** By those of the lost ledger's keys that its people had. */
  readonly seal: string;
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
    /** The key under which it was handed in. */
    key?: string;
    /** When it was there, by Redis's clock, in ms since 1970. */
    seenAt?: number;
  }): Promise<void>;
  /** Notes an act that stops a run or a payout which is not known again yet: its rows count as given up when they come. */
  stopAhead(target: string, action: string): Promise<void>;
  /** Whether people stopped the run, or a row of it, before it was known again. */
  isStoppedAhead(runId: string): Promise<boolean>;
  /** It was done. */
  forgetStop(target: string): Promise<void>;
  /** What was noted so: the act by its target. */
  stopsAhead(): Promise<ReadonlyMap<string, string>>;
  /** The run as which this one is known. */
  knownAs(runId: string): Promise<KnownRun>;
  /** That entry; null for a run that Redis did not forget. */
  readOnRecord(runId: string): Promise<string | null>;
}

/** `judge` has the seals of the ledger; for an adoption, of the lost one. */
export function openRecovery(redis: Redis, keys: LedgerKeys, judge: WordJudge): Recovery {
  const scripts = {
    adopt: script(ADOPT),
    writeOff: script(WRITE_OFF),
    forget: script(FORGET_DIRS),
    restoreRun: script(RESTORE_RUN),
  };
  const { prefix } = keys;
  const run: Run = (name, ...args) => runScript(redis, scripts[name], { prefix, args });
  const readWords = async () => await wordsOnWriteOffs(await redis.hgetall(keys.head), judge);

  return {
    async adopt(adoption) {
      await requireOurs(redis, keys.head);
      return await againWhileChanged(() => adoptOnce({ redis, keys, run, judge }, adoption));
    },
    async readAdoption() {
      const fields = await redis.hmget(keys.head, 'instance', 'adopted', 'adoptedBy', 'adoptedSeal');
      const [instance, formerInstance, proposedBy = '', seal = ''] = fields.map((field) => field ?? '');
      if (!instance || !formerInstance) return null;
      return { instance, formerInstance, proposedBy, seal, dataDirIds: await redis.hkeys(keys.dirs) };
    },
    async noteAdoption() {
      await redis.hdel(keys.head, 'adoptionUnnoted');
    },
    async writeOff(dataDirId, actor) {
      let server = '';
      return await againWhileChanged(async () => {
        const words = await readWords();
        const word = words[dataDirId];
        const by = word?.by ?? '';
        const seals = {
          own: judge.seals.word(writeOffWord(actor, { server, dataDirId })),
          agreement: judge.seals.word(agreementWord(actor, { server, dataDirId, proposedBy: by })),
        };
        const isSecond = by !== '' && !isSamePerson(by, actor) ? '1' : '';
        const seen = [word?.said ?? '', isSecond, word?.seal ?? '', JSON.stringify(words)];
        const reply = await run('writeOff', dataDirId, actor, server, seals.own, seals.agreement, ...seen);
        const [result, proposedBy = '', ...missing] = textsOf(reply);
        if (result === 'changed') {
          server = proposedBy;
          return 'changed';
        }
        return { result: wordOf(WRITE_OFF_RESULTS, result), proposedBy, missing };
      });
    },
    async forgetDirs() {
      const lastDay = dayText((await redisTime(redis)) + LOST_DOUBT_MS);
      return textsOf(await run('forget', lastDay, JSON.stringify(await readWords())));
    },
    ...openStopsAhead(redis, keys),
    async knownAs(runId) {
      const [id = '', same] = (await redis.hget(keys.knownAs, runId))?.split(' ') ?? [runId, 'same'];
      const isOther = (await redis.hexists(keys.run(id), 'otherFile')) === 1;
      return { id, isSameFile: same === 'same' && !isOther };
    },
    readOnRecord: (runId) => redis.hget(keys.run(runId), 'onRecord'),
    async restoreRun({ id, fileSha256, contentHash, onRecord = '', key = '', seenAt }) {
      const day = seenAt === undefined ? '' : dayText(seenAt);
      await run('restoreRun', id, fileSha256, contentHash, onRecord, day, key);
    },
  };
}

/** What people stopped, and this Redis forgot, until it is known again. */
function openStopsAhead(
  redis: Redis,
  keys: LedgerKeys,
): Pick<Recovery, 'stopAhead' | 'isStoppedAhead' | 'forgetStop' | 'stopsAhead'> {
  return {
    async stopAhead(target, action) {
      await redis.hset(keys.stopsAhead, target, action);
    },
    async forgetStop(target) {
      await redis.hdel(keys.stopsAhead, target);
    },
    async isStoppedAhead(runId) {
      const [targets, fields] = await Promise.all([redis.hkeys(keys.stopsAhead), redis.hkeys(keys.run(runId))]);
      const isOfRun = (target: string): boolean => target === runId || target.startsWith(`${runId}-`);
      return targets.some(isOfRun) || fields.some((field) => field.startsWith('gaveUp:'));
    },
    stopsAhead: async () => new Map(Object.entries(await redis.hgetall(keys.stopsAhead))),
  };
}

type Run = (name: 'adopt' | 'writeOff' | 'forget' | 'restoreRun', ...args: (string | number)[]) => Promise<unknown>;

const WRITE_OFF_RESULTS = ['proposed', 'same-person', 'agreed', 'begun', 'retired', 'unknown', 'compared'] as const;

/** Asks again where somebody else was faster. */
async function againWhileChanged<T>(ask: () => Promise<T | 'changed'>): Promise<T> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const answer = await ask();
    if (answer !== 'changed') return answer;
  }
  throw new Refusal('Others do the same at this moment.', 'Look again, and try again.', { kind: 'unavailable' });
}

/** What people said of a directory, as it is kept, and what of it stands: who proposed and who agreed, or ''. */
interface WriteOffWords {
  readonly said: string;
  readonly by: string;
  readonly agreed: string;
  /** Of the proposal. */
  readonly seal: string;
}

function writeOffWord(by: string, { server, dataDirId }: { server: string; dataDirId: string }): Word {
  return { act: 'write off', by, about: [server, dataDirId] };
}

function agreementWord(by: string, about: { server: string; dataDirId: string; proposedBy: string }): Word {
  return { act: 'agree to write off', by, about: [about.server, about.dataDirId, about.proposedBy] };
}

async function wordsOnWriteOffs(
  head: Readonly<Record<string, string>>,
  judge: WordJudge,
): Promise<Record<string, WriteOffWords>> {
  const words: Record<string, WriteOffWords> = {};
  for (const { dataDirId, said, server, by, agreed, seal, agreedSeal } of saidOnWriteOffs(head)) {
    const about = { server, dataDirId, proposedBy: by };
    const isProposed = await wordStands(judge, seal, writeOffWord(by, about));
    const isAgreed = isProposed && agreed !== '' && (await wordStands(judge, agreedSeal, agreementWord(agreed, about)));
    words[dataDirId] = { said, by: isProposed ? by : '', agreed: isAgreed ? agreed : '', seal };
  }
  return words;
}

interface AdoptParts {
  readonly redis: Redis;
  readonly keys: LedgerKeys;
  readonly run: Run;
  readonly judge: WordJudge;
}

/** What somebody proposes to adopt: the lost ledger, service, settings and data directories. */
async function readProposedAdoption({ redis, keys, judge }: Omit<AdoptParts, 'run'>) {
  const stored = await redis.hmget(keys.adoption, 'seal', 'by', 'former', 'service', 'safety', 'dirs');
  const [seal = '', by = '', ...proposed] = stored.map((field) => field ?? '');
  const stands = seal !== '' && (await wordStands(judge, seal, { act: 'adopt ledger', by, about: proposed }));
  return { seal, by, proposed, stands };
}

async function adoptOnce(
  { redis, keys, run, judge }: AdoptParts,
  { formerInstance, newInstance, service, safety, dataDirIds, actor }: Adoption,
): Promise<'proposed' | 'adopted' | 'same-person' | 'there' | 'changed'> {
  const { seal, by, proposed, stands } = await readProposedAdoption({ redis, keys, judge });
  const about = [formerInstance, service, safety];
  const named = stands ? z.array(z.string()).parse(JSON.parse(proposed[3] ?? '[]')) : [];
  const dirs = JSON.stringify([...new Set([...named, ...dataDirIds])]);
  const how = !stands
    ? 'proposed'
    : about.some((part, at) => part !== proposed[at])
      ? 'other'
      : isSamePerson(by, actor)
        ? 'same-person'
        : 'adopted';
  const proposedBy = stands ? by : actor;
  const own: Word =
    how === 'adopted'
      ? adoptedWord({ formerInstance, instance: newInstance, proposedBy })
      : { act: 'adopt ledger', by: proposedBy, about: [...about, dirs] };
  const ledger = [formerInstance, newInstance, SCHEMA_VERSION, service, safety, dirs];
  const word = textOf(await run('adopt', actor, seal, ...ledger, how, judge.seals.word(own), proposedBy));
  if (word === 'other' || word === 'occupied') throw refuseAdoption(word);
  return wordOf(['proposed', 'adopted', 'same-person', 'there', 'changed'], word);
}

/** What says that a ledger stands for a lost one. */
export function adoptedWord({
  formerInstance,
  instance,
  proposedBy,
}: Pick<AdoptionFacts, 'formerInstance' | 'instance' | 'proposedBy'>): Word {
  return { act: 'adopted ledger', by: proposedBy, about: [formerInstance, instance] };
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
