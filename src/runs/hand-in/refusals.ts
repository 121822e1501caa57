import type { Run } from '../../payout.ts';
import { Refusal } from '../../refusal.ts';

/** Rows that another file began to record are recorded by that very file. */
export function refuseInterrupted({ id, fileName, fileSha256 }: Run): Refusal {
  return new Refusal(
    `The recording of the same rows from ${fileName} was interrupted (run ${id}).`,
    `Submit that same file again (SHA-256 ${fileSha256}): payrun carries it on.`,
  );
}

/** What people stopped is not begun anew by the same rows in another file. */
export function refuseCancelled({ id, fileName }: Run): Refusal {
  return new Refusal(
    `The same rows came in ${fileName}, and people cancelled that run (${id}) before it was recorded.`,
    'If they are to be paid after all, ask for a new run of them when you hand them in.',
  );
}

/** `quietMs`: how long nobody may have recorded rows of the run before another file takes them over. */
export function refuseBusy({ id, fileName }: Run, quietMs: number): Refusal {
  return new Refusal(
    `The same rows are being recorded at this moment from ${fileName} (run ${id}).`,
    `Wait for that run. If it does not go on, submit this file again after ${quietMs / 1000} s.`,
  );
}

/** The file was changed while it was recorded, and is now as it was, or is another one. */
export function refuseOtherRows(runId: string): Refusal {
  return new Refusal(
    `Run ${runId} has rows that are not in this file: it was changed while it was recorded.`,
    'Nothing of it was paid. Cancel that run, then hand this file in anew (--again).',
  );
}

/** The season closed in the middle of recording. */
export function refuseRestarted(): Refusal {
  return new Refusal(
    'Redis was restarted while the file was being recorded.',
    'Submit the same file again: payrun carries it on.',
    { kind: 'unavailable' },
  );
}
