import { Command } from 'commander';
import type { ExitCode } from '../refusal.ts';
import { VERSION } from '../version.ts';
import { runCommand } from './run.ts';
import { sandboxCommand } from './sandbox.ts';

/** All commands. `end` is given the exit code of the one that ran. */
export function openProgram(end: (code: ExitCode) => void): Command {
  const program = new Command('payrun')
    .description('Pays a CSV file of payouts through a cross-border payments service, once each, and proves it.')
    .version(VERSION);
  for (const command of [runCommand(end), sandboxCommand()]) program.addCommand(command);
  for (const command of [program, ...program.commands]) command.exitOverride();
  return program;
}
