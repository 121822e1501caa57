import { Command } from 'commander';
import { z } from 'zod';
import { type CheckedFile, checkPayoutFile } from '../intake/check-file.ts';
import { describeProblems, problemsDocument } from '../intake/problem-text.ts';
import { formatAmount } from '../money.ts';
import { EXIT, type ExitCode } from '../refusal.ts';
import { columns } from './columns.ts';
import { parseOptions } from './options.ts';
import { print, printJson } from './print.ts';

const schema = z.object({ json: z.boolean() });

/** `payrun validate`: everything wrong with a payout file. Touches nothing: no settings, no Redis, no service. */
export function validateCommand(end: (code: ExitCode) => void): Command {
  return new Command('validate')
    .description('tell everything that is wrong with a payout file; touches nothing')
    .argument('<file>', 'the payout file')
    .option('--json', 'print what was found as JSON, every problem included', false)
    .addHelpText('after', '\nExamples:\n  payrun validate payouts.csv\n  payrun validate payouts.csv --json')
    .action(async (file: string, raw: unknown) => {
      const { json } = parseOptions(schema, raw);
      const checked = await checkPayoutFile(file);
      if (json) printJson(problemsDocument(checked));
      else print(describeChecked(checked));
      end(checked.problemsTotal === 0 ? EXIT.ok : EXIT.fileRefused);
    });
}

function describeChecked(checked: CheckedFile): string {
  const found = describeProblems(checked);
  const facts = columns(
    [
      ['file', checked.name],
      ['rows', String(checked.rows)],
      ['valid', String(checked.valid)],
      ...checked.totals.map((total) => [total.currency, formatAmount(total)]),
    ],
    { rightFrom: 2 },
  );
  return found === '' ? facts : `${facts}\n\n${found}`;
}
