import { extname } from 'node:path';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { systemClock } from '../../clock.ts';
import { readFileLimits } from '../../config/config.ts';
import { writeAtomically } from '../../files.ts';
import { type CheckedFile, checkPayoutFile } from '../../intake/check-file.ts';
import { problemsDocument } from '../../intake/problems/document.ts';
import { writeMarkedUpCopy } from '../../intake/problems/marked-up.ts';
import { problemsCsv } from '../../report/problems-csv.ts';
import { problemsXlsx } from '../../report/xlsx/problems-xlsx.ts';
import { columns } from '../columns.ts';
import { command } from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { print, printJson, safeText, say } from '../print.ts';
import { onStop, unlessStopped } from '../stop.ts';
import { fileTotals } from './file-totals.ts';
import { intakeOptions, intakeOptionsOf } from './intake-options.ts';
import { fileCommand, payingStep, stepLines } from './next-steps.ts';
import { describeProblems } from './problem-text.ts';

const path = z.string().min(1, 'must name a file').optional();

/** `payrun validate`: everything wrong with a payout file. Touches neither Redis nor the service; of the settings it reads the limits of files. */
export const validateCommand = command(
  'validate',
  {
    takes: { '<file>': 'the payout file: CSV, a workbook (.xlsx) or a payment message (.xml)' },
    options: {
      ...intakeOptions,
      markedUp: [
        '<path>',
        'write the file again with two more columns: the problems of each row, how to fix them',
        path,
      ],
      problems: ['<path>', 'write what was found as a table: CSV, or a workbook under a name in .xlsx', path],
      json: 'print what was found as JSON, with at most 1,000 problems',
    },
    help: 'The limits of files are those of the file that PAYRUN_CONFIG names, where it is set; no other setting counts.',
    examples: [
      'payrun validate payouts.csv',
      'payrun validate payouts.csv --marked-up to-correct.csv',
      'payrun validate export.csv --template semicolon.json --expect-rows 250 --expect-total EUR=1234.56',
    ],
  },
  async ({ file, json, problems, markedUp, ...intake }) => {
    const options = { limits: readFileLimits(), ...(await intakeOptionsOf(intake)) };
    const stop = onStop();
    const checked = await unlessStopped(checkPayoutFile(file, options), stop.signal).finally(() => stop.release());
    if (json) printJson(problemsDocument(checked));
    else print(describeChecked(checked, { file, markedUp, template: intake.template }));
    if (problems !== undefined) await writeProblems(checked, problems);
    if (markedUp !== undefined) await markUp(file, checked, markedUp);
    return checked.problemsTotal === 0 ? EXIT.ok : EXIT.fileRefused;
  },
);

async function writeProblems(checked: CheckedFile, target: string): Promise<void> {
  const isWorkbook = extname(target).toLowerCase() === '.xlsx';
  const about = { name: checked.name, createdAt: systemClock.now() };
  await writeAtomically(target, isWorkbook ? problemsXlsx(checked, about) : Readable.from([problemsCsv(checked)]));
  say(`wrote ${safeText(target)}`);
}

async function markUp(file: string, checked: CheckedFile, target: string): Promise<void> {
  if (await writeMarkedUpCopy(file, checked, target)) {
    say(`"${target}" is the file with its problems in two more columns; corrected, it can be handed in.`);
  } else {
    say(`"${target}" was not written: what is wrong concerns the whole file, and no row can show it.`);
  }
}

interface Looked {
  readonly file: string;
  readonly template: string | undefined;
  readonly markedUp: string | undefined;
}

function describeChecked(checked: CheckedFile, looked: Looked): string {
  const facts = columns([
    ['file', checked.name],
    ['rows', `${checked.rows}, ${checked.valid} of them valid`],
  ]);
  const parts = [facts, fileTotals(checked), describeProblems(checked), nextText(checked, looked)];
  return parts.filter((part) => part !== '').join('\n\n');
}

/** The commands that come next for the file. */
function nextText(checked: CheckedFile, looked: Looked): string {
  const isSound = checked.problemsTotal === 0;
  const isToMark = !isSound && checked.isMarkable && looked.markedUp === undefined;
  return stepLines([
    isToMark
      ? `write the problems beside their rows -> ${fileCommand('validate', looked, ['--marked-up', 'COPY'])}`
      : undefined,
    isSound ? `see what it would cost -> ${fileCommand('preview', looked)}` : undefined,
    payingStep(checked, looked),
  ]);
}
