import { Command } from 'commander';
import { type At, goOn } from '../pay/crash-point.ts';
import type { ExitCode } from '../refusal.ts';
import { VERSION } from '../version.ts';

type MakeCommand = (end: (code: ExitCode) => void, at: At) => Command;

/** In the order of a run's life. Each is loaded when it is called for: most need neither the queue nor the web app. */
const COMMANDS: Readonly<Record<string, () => Promise<MakeCommand>>> = {
  validate: async () => (await import('./validate.ts')).validateCommand,
  preview: async () => (await import('./preview.ts')).previewCommand,
  template: async () => (await import('./template.ts')).templateCommand,
  run: async () => (await import('./run.ts')).runCommand,
  submit: async () => (await import('./submit.ts')).submitCommand,
  worker: async () => (await import('./worker.ts')).workerCommand,
  serve: async () => (await import('./serve.ts')).serveCommand,
  inbox: async () => (await import('./inbox.ts')).inboxCommand,
  list: async () => (await import('./list.ts')).listCommand,
  status: async () => (await import('./status.ts')).statusCommand,
  watch: async () => (await import('./watch.ts')).watchCommand,
  show: async () => (await import('./show.ts')).showCommand,
  report: async () => (await import('./report.ts')).reportCommand,
  'retry-file': async () => (await import('./retry-file.ts')).retryFileCommand,
  approve: async () => (await import('./approve.ts')).approveCommand,
  pause: async () => (await import('./control.ts')).pauseCommand,
  resume: async () => (await import('./control.ts')).resumeCommand,
  cancel: async () => (await import('./control.ts')).cancelCommand,
  allow: async () => (await import('./decide.ts')).allowCommand,
  drop: async () => (await import('./decide.ts')).dropCommand,
  resolve: async () => (await import('./decide.ts')).resolveCommand,
  block: async () => (await import('./approve.ts')).blockCommand,
  unblock: async () => (await import('./approve.ts')).unblockCommand,
  schedule: async () => (await import('./schedule.ts')).scheduleCommand,
  notifications: async () => (await import('./notify.ts')).notificationsCommand,
  user: async () => (await import('./user.ts')).userCommand,
  key: async () => (await import('./key.ts')).keyCommand,
  halt: async () => (await import('./halt.ts')).haltCommand,
  release: async () => (await import('./halt.ts')).releaseCommand,
  'write-off': async () => (await import('./recovery.ts')).writeOffCommand,
  'adopt-ledger': async () => (await import('./recovery.ts')).adoptLedgerCommand,
  audit: async () => (await import('./audit.ts')).auditCommand,
  backup: async () => (await import('./backup.ts')).backupCommand,
  purge: async () => (await import('./purge.ts')).purgeCommand,
  doctor: async () => (await import('./doctor.ts')).doctorCommand,
  probe: async () => (await import('./probe.ts')).probeCommand,
  settings: async () => (await import('./settings.ts')).settingsCommand,
  sandbox: async () => (await import('./sandbox.ts')).sandboxCommand,
};

/** What becomes of a command: `end` is given its exit code, `at` is called at each crash point. */
export interface ProgramHooks {
  readonly end: (code: ExitCode) => void;
  readonly at?: At;
}

/** The program with the command that is wanted, or with all of them where it is none of those. */
export async function openProgram({ end, at = goOn }: ProgramHooks, wanted?: string): Promise<Command> {
  const program = new Command('payrun')
    .description('Pays a CSV file of payouts through a cross-border payments service, once each, and proves it.')
    .version(VERSION)
    .addHelpText(
      'after',
      '\nExamples:\n  payrun validate payouts.csv\n  payrun run payouts.csv\n\n"payrun COMMAND --help" tells more of each.',
    );
  const one = wanted !== undefined && Object.hasOwn(COMMANDS, wanted) ? COMMANDS[wanted] : undefined;
  const makers = await Promise.all((one === undefined ? Object.values(COMMANDS) : [one]).map((load) => load()));
  for (const make of makers) program.addCommand(make(end, at));
  throwInstead(program, 'payrun');
  return program;
}

/** Lets main.ts choose the exit code of what commander ends by itself, in nested commands too. */
function throwInstead(command: Command, path: string): void {
  command.exitOverride().showHelpAfterError(`See "${path} --help".`);
  for (const nested of command.commands) throwInstead(nested, `${path} ${nested.name()}`);
}
