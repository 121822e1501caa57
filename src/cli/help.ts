import { Command } from 'commander';
import { Refusal } from '../refusal.ts';
import { columns } from './columns.ts';
import { COMMANDS } from './commands.ts';
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
  codes: codesHelp,
};
const SETTINGS_NOTE =
  'Each is a variable of the environment, or a line NAME=value in payrun.env or the file of --env-file; NAME_FILE names a\n' +
  'file with the value. "payrun settings show" shows the values in use and where they come from.';

/** `payrun help [TOPIC]`: help of a command, the exit codes, the settings, or the codes of rows. */
export function helpCommand(program: Command): Command {
  return new Command('help')
    .description('show help for a command, a group of commands, exit-codes, settings or codes')
    .argument('[topic...]', 'a command, a group such as emergency, exit-codes, settings, codes, or one of these codes')
    .addHelpText('after', '\nExamples:\n  payrun help run\n  payrun help exit-codes\n  payrun help E_DUP_LIKELY')
    .action(async (words: string[]) => {
      const topic = TOPICS[words.join(' ')];
      if (topic !== undefined) return print(await topic());
      const [code = ''] = words;
      const group = commandsIn(words.join(' '));
      if (group.length > 0) return print(columns(group));
      if (CODE.test(code)) return print(await codeHelp(code));
      commandAt(program, words).outputHelp();
    });
}

/** The commands of a group of `payrun --help`, and what each is for. */
function commandsIn(name: string): string[][] {
  return Object.entries(COMMANDS).flatMap(([command, { group, about }]) =>
    group.toLowerCase() === name.toLowerCase() ? [[command, about]] : [],
  );
}

/** Codes of rows look so. */
const CODE = /^[EW]_[A-Z_]+$/;

/** What each code of a row says: those of files and rows that are not taken, then those of payouts. */
async function codesHelp(): Promise<string> {
  return columns((await readCodes()).map(([code, about]) => [code, firstSentence(about)]));
}

async function codeHelp(code: string): Promise<string> {
  const found = (await readCodes()).find(([one]) => one === code);
  if (found !== undefined) return found.slice(1).join('\n');
  throw new Refusal(`There is no code ${code}.`, 'See "payrun help codes".');
}

async function readCodes(): Promise<(readonly [code: string, about: string, remedy: string])[]> {
  const [{ PROBLEM_KINDS }, { REASONS }] = await Promise.all([
    import('../intake/problems/problem-kinds.ts'),
    import('../runs/decide/reason-words.ts'),
  ]);
  const problems = Object.entries(PROBLEM_KINDS).map(
    ([code, { message, remedy }]) => [code, said(message), said(remedy)] as const,
  );
  const reasons = Object.entries(REASONS).map(
    ([code, words]) => [code, `The payout waits or was not paid: ${words}.`, SHOWN] as const,
  );
  return [...problems, ...reasons.filter(([code]) => CODE.test(code))];
}

/** Without the facts of a case. */
function said(text: string): string {
  return text.replaceAll(/\{[a-z]+\}/gi, '...');
}

const SHOWN = 'What is known of it, and what two people may decide: payrun show RUN REFERENCE';

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
        `There is no help for ${words.join(' ')}.`,
        'See "payrun --help" for the commands and their groups; "help settings", "help exit-codes" and "help codes" are there too.',
      );
    }
    command = next;
  }
  return command;
}
