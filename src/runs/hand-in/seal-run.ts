import { type AuditRecord, entryText, readEntry } from '../../audit/entry.ts';
import type { ApprovalRules } from '../../config/approval.ts';
import type { CheckedFile } from '../../intake/check-file.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Run } from '../../payout.ts';
import { approvalsNeeded } from '../decide/approval.ts';
import type { HandedIn } from './handed-in.ts';

/** What the audit log tells of how a run was handed in. */
export type OnRecord = HandedIn & Pick<Run, 'stagePlan'> & { readonly maxCostDriftBp: bigint | undefined };

/** What is told of a plan there. */
export function planDetails(plan: Run['stagePlan'] | undefined): Record<string, string> {
  if (plan === undefined || plan === null) return {};
  return { stages: plan.sizes, goesOnIfPaid: plan.goesOnIfPaid ? 'yes' : 'no' };
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
  const { droppedBy: dropper = null, stages, goesOnIfPaid, maxCostDriftBp: bound } = details;
  const stagePlan = stages === undefined ? null : { sizes: stages, goesOnIfPaid: goesOnIfPaid === 'yes' };
  return { createdBy, dropper, stagePlan, maxCostDriftBp: bound === undefined ? undefined : BigInt(bound) };
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
