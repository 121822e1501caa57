import type { App } from '../../app.ts';
import { type Answer, isLateRefusal } from '../../inbox/answer.ts';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import { summariseRun } from '../../runs/after/report.ts';
import { readRun } from '../../runs/read-run.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { print, printJson } from '../print.ts';
import { exitCodeOf } from '../run-end.ts';

/** The worst first. */
const BY_WEIGHT: readonly ExitCode[] = [
  EXIT.defect,
  EXIT.fileRefused,
  EXIT.unsettled,
  EXIT.notPaid,
  EXIT.awaitingApproval,
  EXIT.ok,
];

/** What became of the files and runs that a watcher met. */
export interface Outcome {
  /** Prints the answer. */
  answered(as: string, answer: Answer): void;
  met(runId: string): void;
  /** That of `payrun run` for the worst of them. */
  exitCode(): Promise<ExitCode>;
}

export function openOutcome(app: App, { json }: { json: boolean }): Outcome {
  const runIds = new Set<string>();
  let refused = 0;
  return {
    answered(as, answer) {
      if (json) printJson({ as, ...answer });
      else print(`${escapeUnseen(as)}: ${describe(answer)}`);
      if (answer.kind === 'ack') runIds.add(answer.document.runId);
      else refused++;
    },
    met: (runId) => void runIds.add(runId),
    async exitCode() {
      const codes: ExitCode[] = refused > 0 ? [EXIT.fileRefused] : [];
      for (const id of runIds) {
        const { state } = await readRun(app, id);
        const { outcomes, ties } = await summariseRun(app, id);
        codes.push(exitCodeOf({ state, outcomes, ties }));
      }
      return BY_WEIGHT.find((code) => codes.includes(code)) ?? EXIT.ok;
    },
  };
}

function describe(answer: Answer): string {
  if (isLateRefusal(answer)) return 'changed after it was taken; the .nack.json in reports/ says what to do';
  if (answer.kind === 'nack') return 'refused; the .nack.json in reports/ says why';
  const { runId, duplicate, file, waits } = answer.document;
  const told = duplicate ? `handed in before: run ${runId}` : `run ${runId}, ${file.rows} rows`;
  if (waits === null) return told;
  const until = waits.until === null ? '' : ` (it starts by itself at ${waits.until})`;
  return `${told}; it waits: ${escapeUnseen(waits.reason)}${until}`;
}
