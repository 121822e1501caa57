import type { AuditRecord } from '../../src/audit/entry.ts';
import type { Clock } from '../../src/clock.ts';
import type { AnswerLine, IntentLine } from '../../src/ledger/intents/intent-line.ts';
import { type IntentLog, IntentLogFault } from '../../src/ledger/intents/intent-log.ts';
import { latencyMs } from './plan.ts';
import type { Setting } from './setting.ts';

/** The intent logs of a host: what was written, and whether it survives a loss of power. */
export interface FakeDisk {
  readonly lines: { readonly line: IntentLine; isSynced: boolean }[];
  readonly answers: { readonly answer: AnswerLine; isSynced: boolean }[];
  /** The other data directories, as this one has noted them. */
  peers: readonly string[];
  /** The copies of the audit log, by their hashes. */
  readonly audit: Map<string, AuditRecord>;
}

export function emptyDisk(): FakeDisk {
  return { lines: [], answers: [], peers: [], audit: new Map() };
}

/** What a copy of the directory has; what was not synced may be in it. */
export function copyDisk({ lines, answers, peers, audit }: FakeDisk): FakeDisk {
  return {
    lines: lines.map((line) => ({ ...line })),
    answers: answers.map((answer) => ({ ...answer })),
    peers,
    audit: new Map(audit),
  };
}

/** The intent log of a process on its host's disk. A torn line is one that is not there. */
export function openFakeIntents(
  { world, plan, isCalm }: Setting,
  { clock, disk }: { clock: Clock; disk: FakeDisk },
): IntentLog {
  const { dice } = world;
  const fault = (share: number): boolean => !isCalm() && plan.faults.has('disk') && dice.chance(share);
  const lag = (): number => Math.max(1, latencyMs(dice, plan, isCalm()));
  let isPoisoned = false;
  return {
    async append(line) {
      await clock.sleep(lag());
      if (isPoisoned) throw new IntentLogFault('not synced before', { poisoned: true, cause: 'EIO' });
      if (fault(0.06)) throw new IntentLogFault('not written', { poisoned: false, cause: 'ENOSPC' });
      const written = { line, isSynced: false };
      disk.lines.push(written);
      await clock.sleep(lag());
      if (fault(0.04)) {
        isPoisoned = true;
        throw new IntentLogFault('not synced', { poisoned: true, cause: 'EIO' });
      }
      written.isSynced = true;
      for (const one of disk.answers) one.isSynced = true;
    },
    async noteAnswer(answer) {
      await clock.sleep(lag());
      if (isPoisoned) throw new IntentLogFault('not synced before', { poisoned: true, cause: 'EIO' });
      if (fault(0.06)) throw new IntentLogFault('not written', { poisoned: false, cause: 'ENOSPC' });
      disk.answers.push({ answer, isSynced: false });
    },
    hasRoom: async () => true,
    close: async () => {},
  };
}
