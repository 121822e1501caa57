import {
  type CompletionItem,
  getCompletionScript,
  getShellFromEnv,
  log,
  logFiles,
  parseEnv,
  type SupportedShell,
} from '@pnpm/tabtab';
import { Argument, Command, type Option } from 'commander';
import type { EnvironmentVariables } from '../config/config.ts';
import { print } from './print.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const satisfies readonly SupportedShell[];

/** `payrun completion SHELL`: a script for that shell, which asks payrun for the words that can follow. */
export function completionCommand(): Command {
  return new Command('completion')
    .addArgument(new Argument('<shell>', 'which shell').choices(SHELLS))
    .addHelpText(
      'after',
      '\nExamples:\n  source <(payrun completion bash)\n  payrun completion zsh > ~/.zfunc/_payrun' +
        '\n  payrun completion fish > ~/.config/fish/completions/payrun.fish',
    )
    .action(async (shell: SupportedShell) => {
      print(await getCompletionScript({ name: 'payrun', completer: 'payrun', shell }));
    });
}

/** Gives the shell what can follow the words before the cursor: `env` is as its script sets it (COMP_LINE, COMP_POINT, SHELL). */
export async function complete(
  env: EnvironmentVariables,
  open: (words: readonly string[]) => Promise<Command>,
): Promise<void> {
  const words = parseEnv(env).partial.split(/ +/).slice(1);
  const current = words.pop() ?? '';
  const program = await open(words);
  const command = words.reduce((at, word) => at.commands.find((one) => one.name() === word) ?? at, program);
  const offered = wordsAfter({ program, command, before: words.at(-1) ?? '', isOption: current.startsWith('-') });
  if (offered === undefined) logFiles();
  else log([...offered], getShellFromEnv(env));
}

interface Place {
  readonly program: Command;
  readonly command: Command;
  /** The word before the one that is completed. */
  readonly before: string;
  readonly isOption: boolean;
}

/** Undefined where payrun does not know the words: the shell offers files. */
function wordsAfter({ program, command, before, isOption }: Place): readonly CompletionItem[] | undefined {
  const named = [...program.options, ...command.options].find(({ long }) => long === before);
  if (named !== undefined && takesValue(named)) return named.argChoices?.map((name) => ({ name }));
  const help = command.createHelp();
  const [argument] = command.registeredArguments;
  const commands = help.visibleCommands(command);
  if (isOption || (commands.length === 0 && argument === undefined))
    return help.visibleOptions(command).flatMap(({ long, description }) => (long ? [{ name: long, description }] : []));
  if (commands.length > 0) return commands.map((one) => ({ name: one.name(), description: one.description() }));
  return argument?.argChoices?.map((name) => ({ name }));
}

function takesValue({ required, optional }: Option): boolean {
  return required || optional;
}
