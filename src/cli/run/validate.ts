import { extname } from 'node:path';
import { Readable } from 'node:stream';
import { Command } from 'commander';
import { z } from 'zod';
import { systemClock } from '../../clock.ts';
import { readFileLimits } from '../../config/config.ts';
import { type CheckedFile, checkPayoutFile } from '../../intake/check-file.ts';
import { writeMarkedUpCopy } from '../../intake/problems/marked-up.ts';
import { describeProblems, problemsDocument } from '../../intake/problems/problem-text.ts';
import { EXIT, type ExitCode } from '../../refusal.ts';
import { problemsCsv } from '../../report/problems-csv.ts';
import { writeWholeFile } from '../../report/whole-file.ts';
import { problemsXlsx } from '../../report/xlsx/problems-xlsx.ts';
import { columns } from '../columns.ts';
import { parseOptions } from '../options.ts';
import { print, printJson, safeText, say } from '../print.ts';
import { fileTotals } from './file-totals.ts';
import { addIntakeOptions, intakeOptionsOf, intakeSchema } from './intake-options.ts';

const path = z.string().min(1, 'must name a file').optional();
const schema = intakeSchema.extend({ json: z.boolean(), markedUp: path, problems: path });

/** `payrun validate`: everything wrong with a payout file. Touches neither Redis nor the service; of the settings it reads the limits of files. */
export function validateCommand(end: (code: ExitCode) => void): Command {
  return addIntakeOptions(new Command('validate'))
    .argument('<file>', 'the payout file: CSV, a workbook (.xlsx) or a payment message (.xml)')
    .option(
      '--marked-up <path>',
      'write the file again with two more columns: the problems of each row, how to fix them',
    )
    .option('--problems <path>', 'write what was found as a table: CSV, or a workbook under a name in .xlsx')
    .option('--json', 'print what was found as JSON, with at most 1,000 problems', false)
    .addHelpText(
      'after',
      '\nThe limits of files are those of the file that PAYRUN_CONFIG names, where it is set; no other setting counts.' +
        '\n\nExamples:\n  payrun validate payouts.csv\n  payrun validate payouts.csv --marked-up to-correct.csv' +
        '\n  payrun validate export.csv --template semicolon.json --expect-rows 250 --expect-total EUR=1234.56',
    )
    .action(async (file: string, raw: unknown) => {
      const options = parseOptions(schema, raw);
      const checked = await checkPayoutFile(file, { limits: readFileLimits(), ...(await intakeOptionsOf(options)) });
      if (options.json) printJson(problemsDocument(checked));
      else print(describeChecked(checked));
      if (options.problems !== undefined) await writeProblems(checked, options.problems);
      if (options.markedUp !== undefined) await markUp(file, checked, options.markedUp);
      end(checked.problemsTotal === 0 ? EXIT.ok : EXIT.fileRefused);
    });
}

async function writeProblems(checked: CheckedFile, target: string): Promise<void> {
  const isWorkbook = extname(target).toLowerCase() === '.xlsx';
  const about = { name: checked.name, createdAt: systemClock.now() };
  await writeWholeFile(target, isWorkbook ? problemsXlsx(checked, about) : Readable.from([problemsCsv(checked)]));
  say(`wrote ${safeText(target)}`);
}

async function markUp(file: string, checked: CheckedFile, target: string): Promise<void> {
  if (await writeMarkedUpCopy(file, checked, target)) {
    say(`"${target}" is the file with its problems in two more columns; corrected, it can be handed in.`);
  } else {
    say(`"${target}" was not written: what is wrong concerns the whole file, and no row can show it.`);
  }
}

function describeChecked(checked: CheckedFile): string {
  const facts = columns([
    ['file', checked.name],
    ['rows', `${checked.rows}, ${checked.valid} of them valid`],
  ]);
  return [facts, fileTotals(checked), describeProblems(checked)].filter((part) => part !== '').join('\n\n');
}
