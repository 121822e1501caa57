import { Command, CommanderError, type HelpConfiguration } from 'commander';
import { completionVariables } from '../config/terminal-variables.ts';
import { type AtCrashPoint, noCrash } from '../pay/crash-point.ts';
import { VERSION } from '../version.ts';
import { COMMANDS } from './commands.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { helpCommand } from './help.ts';
import { repeatEnvFile, stderr, stdout } from './print.ts';

const ENV_FILE = '--env-file';
const WITHOUT_SETTINGS: ReadonlySet<string> = new Set(['init', 'help', 'completion', 'completion-server']);

/** What becomes of a command: `end` is given its exit code, `at` is called at each crash point. */
export interface ProgramHooks {
  readonly end: (code: ExitCode) => void;
  readonly at?: AtCrashPoint;
}

/** The command that a command line calls for, or asks help of; '' for none. */
export function wantedCommand(words: readonly string[]): string {
  const names = words.filter((word, index) => !word.startsWith('-') && words[index - 1] !== ENV_FILE);
  return (names[0] === 'help' ? names[1] : names[0]) ?? '';
}

/**
 * The program with the command that is wanted; of the others it has the name and what they are for, which is all that help
 * needs. Without `wanted` it has all of them.
 */
export async function openProgram({ end, at = noCrash }: ProgramHooks, wanted?: string): Promise<Command> {
  const program = new Command('payrun')
    .description('Pays a CSV file of payouts through a cross-border payments service, once each, and proves it.')
    .version(VERSION)
    .option(`${ENV_FILE} <file>`, 'a file with settings (default: payrun.env in this folder, when it is there)')
    .configureHelp({ ...HELP, ...ONE_WORD_EACH })
    .helpCommand(false)
    .addHelpText(
      'after',
      '\nExamples:\n  payrun validate payouts.csv\n  payrun run payouts.csv\n' +
        '\n"payrun COMMAND --help" explains a command. See also "payrun help settings" and "payrun help exit-codes".',
    );
  for (const [name, { group, about, load }] of Object.entries(COMMANDS)) {
    const isWanted = wanted === undefined || wanted === name;
    const command = isWanted ? (await load())(end, at) : new Command(name);
    program.addCommand(command.description(about).helpGroup(`${group}:`));
  }
  program.addCommand(helpCommand(program), { hidden: true });
  program.addCommand(completionServer(end), { hidden: true });
  program.hook('preAction', async (_program, command) => {
    const { envFile } = program.opts<{ envFile?: string }>();
    repeatEnvFile(envFile, Object.keys(COMMANDS));
    if (WITHOUT_SETTINGS.has(command.name())) return;
    const { loadSettings } = await import('../config/config.ts');
    loadSettings(envFile);
  });
  throwInstead(program, 'payrun');
  return program;
}

function completionServer(end: ProgramHooks['end']): Command {
  return new Command('completion-server')
    .description('answer the scripts that "payrun completion" prints')
    .argument('[words...]', 'the command line; what counts is in COMP_LINE and COMP_POINT')
    .addHelpText('after', '\nExample:\n  payrun completion-server -- payrun sandbox')
    .action(async () => {
      const { complete } = await import('./completion.ts');
      await complete(completionVariables(), (words) => openProgram({ end }, wantedCommand(words)));
    });
}

/** The exit code of what commander ended by itself and has told already: help, the version, a wrong command line. */
export function exitCodeOfUsage(error: unknown): ExitCode | undefined {
  if (!(error instanceof CommanderError)) return undefined;
  return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
}

/** Of a command that is not loaded, options and arguments are not known. */
const ONE_WORD_EACH: HelpConfiguration = { subcommandTerm: (command) => command.name() };
/** So that a narrow terminal breaks no word. */
const HELP: HelpConfiguration = { minWidthToWrap: 30 };

const OUTPUT = {
  writeOut: (text: string) => stdout().write(text),
  writeErr: (text: string) => stderr().write(text),
  outputError: (text: string, write: (text: string) => void) => write(plainWords(text)),
};

/** What commander says in words of its own. */
const PLAIN: readonly (readonly [theirs: RegExp, ours: string])[] = [
  [/^error: option '(\S+) (\S+)' argument missing/, '$1 needs a value: $2.'],
  [/^error: required option '([^']+)' not specified/, '$1 is needed.'],
  [/^error: too many arguments for '([^']+)'\. Expected 0 arguments/, '"$1" takes no words after it'],
  [/^error: too many arguments for '([^']+)'\. Expected 1 argument/, '"$1" takes 1 word after it'],
  [/^error: too many arguments for '([^']+)'\. Expected (\d+) arguments/, '"$1" takes $2 words after it'],
  [/(?<= after it) but got 1\./, ', and 1 was given.'],
  [/(?<= after it) but got (\d+)\./, ', and $1 were given.'],
];

function plainWords(text: string): string {
  return PLAIN.reduce((words, [theirs, ours]) => words.replace(theirs, ours), text);
}

/** Lets main.ts choose the exit code of what commander ends by itself, in nested commands too. */
function throwInstead(command: Command, path: string): void {
  const takesRun = command.registeredArguments.some((argument) => argument.name() === 'run' && argument.required);
  const runs = takesRun ? ' "payrun list" shows the runs.' : '';
  command.configureOutput(OUTPUT).exitOverride().showHelpAfterError(`See "${path} --help".${runs}`);
  for (const nested of command.commands) throwInstead(nested.configureHelp(HELP), `${path} ${nested.name()}`);
}
