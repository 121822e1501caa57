import type { App } from '../../app.ts';
import { writeAtomically } from '../../files.ts';
import { Refusal } from '../../refusal.ts';
import { changesCsv } from '../../report/changes.ts';
import { reportChanges } from '../../runs/after/report-changes.ts';
import { readRun } from '../../runs/read-run.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { withLedger } from '../open.ts';
import { printAll, safeText, say } from '../print.ts';

interface Wanted {
  /** The version to begin with. */
  readonly since: number;
  readonly output?: string | undefined;
  readonly format?: string | undefined;
  readonly json: boolean;
}

/** `payrun report RUN --changes-since VERSION`: a row for each cell that changed between two written reports. */
export async function writeChanges(runId: string, { since, output, format, json }: Wanted): Promise<ExitCode> {
  if (json || (format !== undefined && format !== 'csv')) {
    throw new Refusal('--changes-since writes CSV.', 'Leave --json and --format out.');
  }
  const write = async (app: App): Promise<ExitCode> => {
    const { version, changes } = await reportChanges(app.config.reportDir, await readRun(app, runId), since);
    const text = changesCsv(changes);
    if (output === undefined) await printAll(text);
    else await writeAtomically(output, text);
    say(`The newest report is v${version}.`);
    if (output !== undefined) say(`wrote ${safeText(output)}`);
    return EXIT.ok;
  };
  return await withLedger(write, { tellsPlace: true });
}
