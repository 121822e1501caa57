import { type AuditAct, type AuditRecord, entryText, readEntry } from '../../audit/entry.ts';
import { rfc3339 } from '../../clock.ts';
import type { ApprovalRules } from '../../config/approval.ts';
import type { CheckedFile } from '../../intake/check-file.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Run, RunStart, StagePlan } from '../../payout.ts';
import { approvalsNeeded } from '../decide/approval.ts';
import type { HandedIn } from './handed-in.ts';

/** What the audit log tells of how a run was handed in. */
export type OnRecord = HandedIn &
  Pick<Run, 'stagePlan' | 'askedStart'> & { readonly maxCostDriftBp: bigint | undefined };

/** What is told of a plan there. */
function planDetails(plan: Run['stagePlan'] | undefined): Record<string, string> {
  if (plan === undefined || plan === null) return {};
  return { stages: plan.sizes, goesOnIfPaid: plan.goesOnIfPaid ? 'yes' : 'no' };
}

/** What is told of the time to start. */
function startDetails(startAt: RunStart | undefined): Record<string, string> {
  if (startAt === undefined) return {};
  return { startAt: startAt === 'schedule' ? startAt : rfc3339(startAt) };
}

function readAskedStart(text: string | undefined): RunStart | null {
  if (text === undefined || text === 'schedule') return text ?? null;
  return Date.parse(text);
}

/** What of a hand-in goes on record. */
export interface AskedFor {
  /** Who hands the file in. */
  readonly actor: string;
  /** Who put the file into an inbox, '' where nobody is named; left out for a file that came another way. */
  readonly dropper?: string | undefined;
  /** When the run is to start; at once unless given. */
  readonly startAt?: RunStart | undefined;
  /** Hold a payout whose quote costs so many basis points more than one at its recording. */
  readonly maxCostDriftBp?: bigint | undefined;
  /** Release the rows in stages; as a whole unless given. */
  readonly stages?: StagePlan | undefined;
  /** Names this one handing in: done again under the same name, it finds its own run, and that is no duplicate. */
  readonly key?: string | undefined;
}

/** What the audit log tells of a hand-in: one that made the run, or one that came to it. */
export function entryOf(
  { id, isNew }: { readonly id: string; readonly isNew: boolean },
  {
    sha256: fileSha256,
    contentHash,
    acceptedHash,
    rows,
  }: Pick<CheckedFile, 'sha256' | 'contentHash' | 'acceptedHash' | 'rows'>,
  { actor, dropper, stages, maxCostDriftBp, key, startAt }: AskedFor,
): AuditAct {
  const dropped: Record<string, string> = dropper === undefined ? {} : { droppedBy: dropper };
  const details = { fileSha256, contentHash, acceptedHash, rows: String(rows), ...dropped };
  if (!isNew) return { actor, action: 'run.attached', target: id, details };
  const asked: Record<string, string> = {
    ...(maxCostDriftBp === undefined ? {} : { maxCostDriftBp: String(maxCostDriftBp) }),
    ...(key === undefined ? {} : { key }),
  };
  return {
    actor,
    action: 'run.submitted',
    target: id,
    details: { ...details, ...asked, ...planDetails(stages), ...startDetails(startAt) },
  };
}

/** By whom, and with what, a run is handed in that nobody had begun before. */
export function byOf({ actor, dropper, stages, maxCostDriftBp, startAt }: AskedFor): OnRecord {
  const askedStart = startAt ?? null;
  return { createdBy: actor, dropper: dropper ?? null, stagePlan: stages ?? null, maxCostDriftBp, askedStart };
}

/**
 * Who handed a run in, by the entry of the audit log that tells of it: the run's own fields lie in Redis until they are
 * sealed, and could be changed there. A Redis that went back may have lost it: this directory's copies have it too, and whoever
 * compared copies noted it on the run. An entry without a true code counts for nothing, where this process has the key.
 * Undefined when there is none.
 */
export async function handedInOnRecord(
  {
    audit,
    recovery,
  }: {
    readonly audit: Pick<Ledger['audit'], 'lines' | 'copies' | 'keys'>;
    readonly recovery: Pick<Ledger['recovery'], 'readOnRecord'>;
  },
  runId: Run['id'],
): Promise<OnRecord | undefined> {
  const isIt = (entry: AuditRecord | undefined): entry is AuditRecord =>
    entry?.action === 'run.submitted' && entry.target === runId && isCoded(audit, entry);
  for await (const line of audit.lines()) {
    const entry = line.includes(`"target":"${runId}"`) ? readEntry(line) : undefined;
    if (isIt(entry)) return onRecord(entry);
  }
  const noted = readEntry((await recovery.readOnRecord(runId)) ?? '');
  const copied = (await audit.copies()).find(isIt) ?? (isIt(noted) ? noted : undefined);
  return copied && onRecord(copied);
}

function onRecord({ actor: createdBy, details }: AuditRecord): OnRecord {
  const { droppedBy: dropper = null, stages, goesOnIfPaid, maxCostDriftBp: bound, startAt } = details;
  const stagePlan = stages === undefined ? null : { sizes: stages, goesOnIfPaid: goesOnIfPaid === 'yes' };
  const maxCostDriftBp = bound === undefined ? undefined : BigInt(bound);
  return { createdBy, dropper, stagePlan, maxCostDriftBp, askedStart: readAskedStart(startAt) };
}

function isCoded({ keys }: Pick<Ledger['audit'], 'keys'>, entry: AuditRecord): boolean {
  return keys === undefined || keys.check(entryText(entry), entry.code ?? '') === 'holds';
}

interface Recorded {
  readonly checked: Pick<CheckedFile, 'sha256' | 'contentHash' | 'rows' | 'totals'>;
  readonly by: HandedIn;
  readonly lastLine: number;
}

/** What is noted of a recorded run: it is bound to its file, to who handed it in and, where people have to agree to it, to its rows. */
export async function sealOfRun(
  deps: {
    readonly ledger: Pick<Ledger, 'runs' | 'seals'>;
    readonly config: { readonly approval?: ApprovalRules | null };
  },
  runId: Run['id'],
  { checked, by, lastLine }: Recorded,
): Promise<Record<string, string>> {
  const { sha256: fileSha256, contentHash, rows, totals: fileTotals } = checked;
  const isApproved = approvalsNeeded(deps.config.approval ?? null, fileTotals) > 0;
  const rowsDigest = isApproved ? await deps.ledger.runs.digestRows(runId, lastLine) : null;
  const run = { id: runId, fileSha256, contentHash, rows, fileTotals, ...by, rowsDigest };
  return {
    seal: deps.ledger.seals.run(run),
    createdBy: by.createdBy,
    ...(by.dropper === null ? {} : { dropper: by.dropper }),
    ...(rowsDigest === null ? {} : { rowsDigest }),
  };
}
