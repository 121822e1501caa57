import { Argument, Command } from 'commander';
import { print } from './print.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** What can follow each command: "" for payrun itself, else "run" or "user add". */
type Words = ReadonlyMap<string, readonly string[]>;

/** `payrun completion SHELL`: a script for that shell, with everything in it, so that no key starts payrun. */
export function completionCommand(): Command {
  return new Command('completion')
    .addArgument(new Argument('<shell>', 'which shell').choices(SHELLS))
    .addHelpText(
      'after',
      '\nExamples:\n  source <(payrun completion bash)\n  payrun completion zsh > ~/.zfunc/_payrun' +
        '\n  payrun completion fish > ~/.config/fish/completions/payrun.fish',
    )
    .action((shell: Shell, _raw: unknown, self: Command) => {
      if (self.parent !== null) print(SCRIPTS[shell](wordsOf(self.parent, [])));
    });
}

function wordsOf(command: Command, path: readonly string[]): Words {
  const nested = command.commands.filter((one) => path.length > 0 || one.name() !== 'help');
  const options = command.options.flatMap(({ long }) => (long === undefined || long === null ? [] : [long]));
  const own = [...nested.map((one) => one.name()), ...options, '--help'];
  return new Map([[path.join(' '), own], ...nested.flatMap((one) => [...wordsOf(one, [...path, one.name()])])]);
}

const SCRIPTS: Readonly<Record<Shell, (words: Words) => string>> = {
  bash: (words) => `${walkOf(words)}
complete -o default -F _payrun payrun`,
  zsh: (words) => `#compdef payrun
autoload -U +X bashcompinit && bashcompinit
${walkOf(words)}
complete -o default -F _payrun payrun`,
  fish: fishOf,
};

/** Goes along the words to the command that they name, and offers what can follow it. */
function walkOf(words: Words): string {
  const cases = [...words].map(([path, own]) => `    '${path}') words='${own.join(' ')}';;`);
  const known = [...words.keys()].filter((path) => path !== '').map((path) => `'${path}'`);
  return `_payrun() {
  local at='' word words=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${at:+$at }$word" in
      ${known.join('|')}) at="\${at:+$at }$word";;
    esac
  done
  case "$at" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}`;
}

function fishOf(words: Words): string {
  const lines = [...words].flatMap(([path, own]) => {
    const condition = path === '' ? '__fish_use_subcommand' : conditionOf(path.split(' '));
    return own.map((word) => {
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a ${word}`;
      return `complete -c payrun -n '${condition}' ${what}`;
    });
  });
  return lines.join('\n');
}

function conditionOf(path: readonly string[]): string {
  return path.map((word) => `__fish_seen_subcommand_from ${word}`).join('; and ');
}
