import { Command } from 'commander';
import { Refusal } from '../refusal.ts';
import { columns } from './columns.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { print } from './print.ts';

const EXIT_CODES: readonly (readonly [code: ExitCode, about: string])[] = [
  [EXIT.ok, 'done; of "run": every row is paid or under way'],
  [EXIT.defect, 'a defect of payrun, a failed disk, or a sum that does not tie'],
  [EXIT.usage, 'the command line or a setting is wrong, or the ledger refuses it; nothing was sent'],
  [EXIT.fileRefused, 'the payout file is refused; nothing was recorded'],
  [EXIT.notPaid, 'the run ended, and some rows were not paid: see its report'],
  [EXIT.unsettled, 'some rows are held or unknown: people or time decide'],
  [EXIT.awaitingApproval, 'the run waits for approval'],
  [EXIT.unavailable, 'Redis or the payments service does not answer; the same command carries on'],
  [EXIT.interrupted, 'a signal ended it; the same command carries on'],
];

const TOPICS: Readonly<Record<string, () => string | Promise<string>>> = {
  'exit-codes': () => columns(EXIT_CODES.map(([code, about]) => [String(code), about])),
  settings: settingsHelp,
};
const SETTINGS_NOTE =
  'Each is a variable of the environment, or a line NAME=value in payrun.env or the file of --env-file; NAME_FILE names a\n' +
  'file with the value. "payrun settings show" shows the values in use and where they come from.';

/** `payrun help [TOPIC]`: help of a command, the exit codes, or the settings. */
export function helpCommand(program: Command): Command {
  return new Command('help')
    .description('show help for a command, for exit-codes or for settings')
    .argument('[topic...]', 'a command, exit-codes or settings')
    .addHelpText('after', '\nExamples:\n  payrun help run\n  payrun help exit-codes')
    .action(async (words: string[]) => {
      const topic = TOPICS[words.join(' ')];
      if (topic !== undefined) return print(await topic());
      commandAt(program, words).outputHelp();
    });
}

/** Loaded by then: other help needs nothing of it. */
async function settingsHelp(): Promise<string> {
  const { plainText, SETTINGS } = await import('../config/setting-lines.ts');
  const lines = SETTINGS.map(({ name, standard, description }) => [
    name,
    plainText(standard),
    firstSentence(plainText(description)),
  ]);
  return `${columns(lines)}\n\n${SETTINGS_NOTE}`;
}

function firstSentence(text: string): string {
  return text.split('. ', 1)[0]?.replace(/\.$/, '') ?? '';
}

function commandAt(program: Command, words: readonly string[]): Command {
  let command = program;
  for (const word of words) {
    const next = command.commands.find((one) => one.name() === word);
    if (next === undefined) {
      throw new Refusal(
        `There is no help of ${words.join(' ')}.`,
        'See "payrun --help" for the commands; "help settings" and "help exit-codes" are there too.',
      );
    }
    command = next;
  }
  return command;
}
