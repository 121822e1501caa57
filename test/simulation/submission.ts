import { hashReference } from '../../src/intake/row/reference-hash.ts';
import { rowFields } from '../../src/ledger/payouts/record.ts';
import type { RowRecord } from '../../src/ledger/runs/recording.ts';
import type { PayoutRow } from '../../src/payout.ts';
import { ROW } from '../support/payout-row.ts';
import type { Process } from './process.ts';
import type { FakeRedis } from './redis.ts';
import { claimRun, moveRun, recordRows } from './runs.ts';

const CLAIM_TRIES_MAX = 5;
const REMEMBER_MS = 86_400_000;

/** A payout file as the intake has read it. */
export interface SimulatedFile {
  readonly sha256: string;
  readonly rows: readonly RowRecord[];
}

const BENEFICIARIES = [
  '11111111-2222-4333-8444-555555555551',
  '11111111-2222-4333-8444-555555555552',
  '11111111-2222-4333-8444-555555555553',
] as const;

/** Rows never change, so each is made and hashed once for all schedules; several may ask for the same amount. */
const ROWS: readonly RowRecord[] = BENEFICIARIES.map((beneficiaryIdentityId, index) => {
  const row: PayoutRow = {
    ...ROW,
    line: index + 2,
    reference: `INV-${index + 1}`,
    beneficiaryIdentityId,
  };
  return {
    line: row.line,
    state: 'ready',
    fields: rowFields(row, 'seal'),
    amount: row.amount,
    referenceHash: hashReference(row.reference),
  };
});

/** Files with the same rows, and so the same references: a retry file, a corrected one, or one too many. */
export function filesOf(files: number, payouts: number): readonly SimulatedFile[] {
  return ['f', 'e', 'd'].slice(0, files).map((digit) => ({ sha256: digit.repeat(64), rows: ROWS.slice(0, payouts) }));
}

/**
 * The steps of `submitRun` in src/runs/hand-in/submit.ts after the file was read: claim the content, record the rows, let the
 * run go. May be made by several processes at once.
 */
export async function submit(
  { ledger, seasonOfSubmitter, actor }: Process,
  redis: FakeRedis,
  { file, candidateId }: { file: SimulatedFile; candidateId: string },
): Promise<void> {
  const ask = <T>(label: string, run: Parameters<typeof redis.call<T>>[0]['run']): Promise<T> =>
    redis.call({ actor, label, kind: 'commands', run });
  const claim = {
    id: candidateId,
    fileName: 'payouts.csv',
    fileSha256: file.sha256,
    contentHash: file.sha256,
    rows: file.rows.length,
    fileTotals: [],
    createdBy: actor.name,
  };
  let runId = '';
  let isNew = false;
  for (let tries = 0; runId === '' && tries < CLAIM_TRIES_MAX; tries++) {
    const claimed = await ask('claim', (store, now) => claimRun(store, claim, now));
    isNew = claimed.result === 'new';
    if (claimed.result !== 'season') runId = claimed.id;
    else if ((await seasonOfSubmitter()).length > 0) return;
  }
  const details = { fileSha256: file.sha256, contentHash: file.sha256 };
  const action = isNew ? 'run.submitted' : 'run.attached';
  await ledger.audit.append({ actor: actor.name, action, target: runId, details });
  const lastLine = await ask('position', (store) => store.runs.get(runId)?.fields['lastLine']);
  const run = await ledger.runs.read(runId);
  const recorded = Object.values(run?.counts ?? {}).reduce((sum, count) => sum + count, 0);
  const isWhole = lastLine !== undefined && recorded === run?.rows;
  if (!isWhole && (run?.state === 'recording' || run?.state === 'cancelled')) {
    if ((await seasonOfSubmitter()).length > 0) return;
    for (const row of file.rows) {
      const result = await ask('record', (store, now) =>
        recordRows(store, runId, { rows: [row], rememberMs: REMEMBER_MS, now }),
      );
      if (result === 'season') return;
    }
    const isNoted = await ledger.runs.noteRecorded(runId, file.sha256, { lastLine: String(file.rows.length + 1) });
    if (!isNoted) return;
  }
  await ask('run to paying', (store, now) =>
    moveRun(store, runId, { move: { from: 'recording', to: 'paying', actor: actor.name, reason: 'submitted' }, now }),
  );
}
