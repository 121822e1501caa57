import { Command } from 'commander';
import { type AtCrashPoint, noCrash } from '../pay/crash-point.ts';
import type { ExitCode } from '../refusal.ts';
import { VERSION } from '../version.ts';

type MakeCommand = (end: (code: ExitCode) => void, at: AtCrashPoint) => Command;

/** In the order of a run's life. Each is loaded when it is called for: most need neither the queue nor the web app. */
const COMMANDS: Readonly<Record<string, () => Promise<MakeCommand>>> = {
  validate: async () => (await import('./run/validate.ts')).validateCommand,
  preview: async () => (await import('./run/preview.ts')).previewCommand,
  template: async () => (await import('./operate/template.ts')).templateCommand,
  run: async () => (await import('./run/run.ts')).runCommand,
  submit: async () => (await import('./run/submit.ts')).submitCommand,
  worker: async () => (await import('./serve/worker.ts')).workerCommand,
  serve: async () => (await import('./serve/serve.ts')).serveCommand,
  inbox: async () => (await import('./serve/inbox.ts')).inboxCommand,
  list: async () => (await import('./look/list.ts')).listCommand,
  status: async () => (await import('./look/status.ts')).statusCommand,
  watch: async () => (await import('./look/watch.ts')).watchCommand,
  show: async () => (await import('./look/show.ts')).showCommand,
  report: async () => (await import('./look/report.ts')).reportCommand,
  reconcile: async () => (await import('./look/reconcile.ts')).reconcileCommand,
  verify: async () => (await import('./look/verify.ts')).verifyCommand,
  'retry-file': async () => (await import('./run/retry-file.ts')).retryFileCommand,
  approve: async () => (await import('./decide/approve.ts')).approveCommand,
  pause: async () => (await import('./decide/control.ts')).pauseCommand,
  resume: async () => (await import('./decide/control.ts')).resumeCommand,
  cancel: async () => (await import('./decide/control.ts')).cancelCommand,
  allow: async () => (await import('./decide/decide.ts')).allowCommand,
  drop: async () => (await import('./decide/decide.ts')).dropCommand,
  resolve: async () => (await import('./decide/decide.ts')).resolveCommand,
  block: async () => (await import('./decide/approve.ts')).blockCommand,
  unblock: async () => (await import('./decide/approve.ts')).unblockCommand,
  schedule: async () => (await import('./operate/schedule.ts')).scheduleCommand,
  notifications: async () => (await import('./operate/notify.ts')).notificationsCommand,
  user: async () => (await import('./operate/user.ts')).userCommand,
  key: async () => (await import('./operate/key.ts')).keyCommand,
  halt: async () => (await import('./decide/halt.ts')).haltCommand,
  release: async () => (await import('./decide/halt.ts')).releaseCommand,
  'write-off': async () => (await import('./operate/recovery.ts')).writeOffCommand,
  'adopt-ledger': async () => (await import('./operate/recovery.ts')).adoptLedgerCommand,
  audit: async () => (await import('./look/audit.ts')).auditCommand,
  backup: async () => (await import('./operate/backup.ts')).backupCommand,
  purge: async () => (await import('./operate/purge.ts')).purgeCommand,
  doctor: async () => (await import('./operate/doctor.ts')).doctorCommand,
  probe: async () => (await import('./operate/probe.ts')).probeCommand,
  settings: async () => (await import('./operate/settings.ts')).settingsCommand,
  sandbox: async () => (await import('./serve/sandbox.ts')).sandboxCommand,
};

/** What becomes of a command: `end` is given its exit code, `at` is called at each crash point. */
export interface ProgramHooks {
  readonly end: (code: ExitCode) => void;
  readonly at?: AtCrashPoint;
}

/** The program with the command that is wanted, or with all of them where it is none of those. */
export async function openProgram({ end, at = noCrash }: ProgramHooks, wanted?: string): Promise<Command> {
  const program = new Command('payrun')
    .description('Pays a CSV file of payouts through a cross-border payments service, once each, and proves it.')
    .version(VERSION)
    .addHelpText(
      'after',
      '\nExamples:\n  payrun validate payouts.csv\n  payrun run payouts.csv\n\n"payrun COMMAND --help" explains each.',
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
