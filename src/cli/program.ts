import { Command } from 'commander';
import { type At, goOn } from '../pay/crash-point.ts';
import type { ExitCode } from '../refusal.ts';
import { VERSION } from '../version.ts';
import { auditCommand } from './audit.ts';
import { backupCommand } from './backup.ts';
import { cancelCommand, pauseCommand, resumeCommand } from './control.ts';
import { allowCommand, dropCommand, resolveCommand } from './decide.ts';
import { doctorCommand } from './doctor.ts';
import { haltCommand, releaseCommand } from './halt.ts';
import { listCommand } from './list.ts';
import { probeCommand } from './probe.ts';
import { adoptLedgerCommand, writeOffCommand } from './recovery.ts';
import { reportCommand } from './report.ts';
import { runCommand } from './run.ts';
import { sandboxCommand } from './sandbox.ts';
import { settingsCommand } from './settings.ts';
import { showCommand } from './show.ts';
import { statusCommand } from './status.ts';
import { submitCommand } from './submit.ts';
import { validateCommand } from './validate.ts';
import { watchCommand } from './watch.ts';
import { workerCommand } from './worker.ts';

/** In the order of a run's life. */
const COMMANDS: readonly ((end: (code: ExitCode) => void, at: At) => Command)[] = [
  validateCommand,
  runCommand,
  submitCommand,
  workerCommand,
  listCommand,
  statusCommand,
  watchCommand,
  showCommand,
  reportCommand,
  pauseCommand,
  resumeCommand,
  cancelCommand,
  allowCommand,
  dropCommand,
  resolveCommand,
  haltCommand,
  releaseCommand,
  writeOffCommand,
  adoptLedgerCommand,
  auditCommand,
  backupCommand,
  doctorCommand,
  probeCommand,
  settingsCommand,
  sandboxCommand,
];

/** All commands. `end` is given the exit code of the one that ran; `at` is called at each crash point. */
export function openProgram(end: (code: ExitCode) => void, at: At = goOn): Command {
  const program = new Command('payrun')
    .description('Pays a CSV file of payouts through a cross-border payments service, once each, and proves it.')
    .version(VERSION)
    .addHelpText(
      'after',
      '\nExamples:\n  payrun validate payouts.csv\n  payrun run payouts.csv\n\n"payrun COMMAND --help" tells more of each.',
    );
  for (const command of COMMANDS) program.addCommand(command(end, at));
  throwInstead(program, 'payrun');
  return program;
}

/** Lets main.ts choose the exit code of what commander ends by itself, in nested commands too. */
function throwInstead(command: Command, path: string): void {
  command.exitOverride().showHelpAfterError(`See "${path} --help".`);
  for (const nested of command.commands) throwInstead(nested, `${path} ${nested.name()}`);
}
