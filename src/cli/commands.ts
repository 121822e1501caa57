import type { MakeCommand } from './command.ts';

/** What `--help` tells of a command, and how to load the rest of it: help and version need none of it. */
interface CommandEntry {
  readonly group: 'Pay' | 'Look' | 'Decide' | 'Emergency' | 'Serve' | 'Maintain';
  readonly about: string;
  readonly load: () => Promise<MakeCommand>;
}

/** By group; in each, in the order in which they are needed. */
export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  validate: {
    group: 'Pay',
    about: 'show everything that is wrong with a payout file; touches nothing',
    load: async () => (await import('./run/validate.ts')).validateCommand,
  },
  preview: {
    group: 'Pay',
    about: 'show what paying a file would cost, from live quotes that are never used; records and pays nothing',
    load: async () => (await import('./run/preview.ts')).previewCommand,
  },
  run: {
    group: 'Pay',
    about: 'pay a payout file and write its report; the same file again carries on and pays nothing twice',
    load: async () => (await import('./run/run.ts')).runCommand,
  },
  submit: {
    group: 'Pay',
    about: 'record a payout file as a run, for workers to pay',
    load: async () => (await import('./run/submit.ts')).submitCommand,
  },
  'retry-file': {
    group: 'Pay',
    about: 'write the rows of a run that may be sent again as a new payout file',
    load: async () => (await import('./run/retry-file.ts')).retryFileCommand,
  },
  list: {
    group: 'Look',
    about: 'list the runs, the newest first, or the rows of one run',
    load: async () => (await import('./look/list.ts')).listCommand,
  },
  status: {
    group: 'Look',
    about: 'show how far a run is',
    load: async () => (await import('./look/status.ts')).statusCommand,
  },
  watch: {
    group: 'Look',
    about: 'print a line each time something changes, until the run is over or stopped',
    load: async () => (await import('./look/watch.ts')).watchCommand,
  },
  show: {
    group: 'Look',
    about: "show one payout's whole story with its evidence",
    load: async () => (await import('./look/show.ts')).showCommand,
  },
  report: {
    group: 'Look',
    about: 'write the report of a run, or of a period, as it stands now',
    load: async () => (await import('./look/report.ts')).reportCommand,
  },
  reconcile: {
    group: 'Look',
    about: 'match the payments of runs with a statement of the account that paid them',
    load: async () => (await import('./look/reconcile.ts')).reconcileCommand,
  },
  verify: {
    group: 'Look',
    about: 'check signed reports and audit exports on any machine, with the public key alone',
    load: async () => (await import('./look/verify.ts')).verifyCommand,
  },
  audit: {
    group: 'Look',
    about: 'the log of what people did, a chain of hashes: prove it, or list it',
    load: async () => (await import('./look/audit.ts')).auditCommand,
  },
  approve: {
    group: 'Decide',
    about: 'approve a run that waits for it: this file, these rows and totals; whoever handed it in cannot',
    load: async () => (await import('./decide/approve.ts')).approveCommand,
  },
  allow: {
    group: 'Decide',
    about: 'let a held payout that was never sent go; two people',
    load: async () => (await import('./decide/decide.ts')).allowCommand,
  },
  drop: {
    group: 'Decide',
    about: 'give up a held payout that was never sent; two people',
    load: async () => (await import('./decide/decide.ts')).dropCommand,
  },
  resolve: {
    group: 'Decide',
    about: 'settle a payout of which nobody knows whether it was paid; two people',
    load: async () => (await import('./decide/decide.ts')).resolveCommand,
  },
  block: {
    group: 'Decide',
    about: 'stop all payouts to a beneficiary before they are sent; without one, show who is blocked',
    load: async () => (await import('./decide/approve.ts')).blockCommand,
  },
  unblock: {
    group: 'Decide',
    about: 'end a block: one person proposes it, another one does the same',
    load: async () => (await import('./decide/approve.ts')).unblockCommand,
  },
  halt: {
    group: 'Emergency',
    about: 'stop everything: nothing is sent for any run until two people release it',
    load: async () => (await import('./decide/halt.ts')).haltCommand,
  },
  release: {
    group: 'Emergency',
    about: 'end a halt: one person proposes it, another one does the same',
    load: async () => (await import('./decide/halt.ts')).releaseCommand,
  },
  pause: {
    group: 'Emergency',
    about: 'stop a run from sending anything more',
    load: async () => (await import('./decide/control.ts')).pauseCommand,
  },
  resume: {
    group: 'Emergency',
    about: 'let a paused run go on',
    load: async () => (await import('./decide/control.ts')).resumeCommand,
  },
  cancel: {
    group: 'Emergency',
    about: 'give up a run, or one payout of it that was never sent',
    load: async () => (await import('./decide/control.ts')).cancelCommand,
  },
  'write-off': {
    group: 'Emergency',
    about: 'give up a data directory that does not come back after Redis was restarted or replaced; two people',
    load: async () => (await import('./operate/recovery.ts')).writeOffCommand,
  },
  'adopt-ledger': {
    group: 'Emergency',
    about: 'make a ledger on an empty Redis for data directories whose own Redis is gone; two people',
    load: async () => (await import('./operate/recovery.ts')).adoptLedgerCommand,
  },
  worker: {
    group: 'Serve',
    about: 'work on all runs until SIGTERM or SIGINT',
    load: async () => (await import('./serve/worker.ts')).workerCommand,
  },
  serve: {
    group: 'Serve',
    about: 'serve the web app and its API until SIGTERM or SIGINT',
    load: async () => (await import('./serve/serve.ts')).serveCommand,
  },
  inbox: {
    group: 'Serve',
    about: 'take payout files from a drop folder, and answer each of them there',
    load: async () => (await import('./serve/inbox.ts')).inboxCommand,
  },
  schedule: {
    group: 'Serve',
    about: 'what payrun does by the clock: read an inbox, start runs, look unknown payouts up, purge',
    load: async () => (await import('./operate/schedule.ts')).scheduleCommand,
  },
  sandbox: {
    group: 'Serve',
    about: 'run a simulated payments service',
    load: async () => (await import('./serve/sandbox.ts')).sandboxCommand,
  },
  init: {
    group: 'Maintain',
    about: 'ask for the settings of the payments service, write them into a file and look whether they work',
    load: async () => (await import('./operate/init.ts')).initCommand,
  },
  settings: {
    group: 'Maintain',
    about: 'show where the settings of this process come from, and those that the ledger depends on',
    load: async () => (await import('./operate/settings.ts')).settingsCommand,
  },
  doctor: {
    group: 'Maintain',
    about: 'check everything that paying needs, and say how to fix it',
    load: async () => (await import('./operate/doctor.ts')).doctorCommand,
  },
  probe: {
    group: 'Maintain',
    about: 'ask the service’s test environment, with payments of amount 1, what payrun may rely on',
    load: async () => (await import('./operate/probe.ts')).probeCommand,
  },
  template: {
    group: 'Maintain',
    about: 'check the templates that describe payout files',
    load: async () => (await import('./operate/template.ts')).templateCommand,
  },
  notifications: {
    group: 'Maintain',
    about: 'show the endpoints of notifications, what waits for them and what was given up',
    load: async () => (await import('./operate/notify.ts')).notificationsCommand,
  },
  user: {
    group: 'Maintain',
    about: 'who may sign in to the web app, and in which role',
    load: async () => (await import('./operate/user.ts')).userCommand,
  },
  key: {
    group: 'Maintain',
    about: 'keys for programs that use the API of the web app, and the key that signs reports',
    load: async () => (await import('./operate/key.ts')).keyCommand,
  },
  backup: {
    group: 'Maintain',
    about: 'copy the ledger and this data directory while payrun runs; without --to, show what to copy',
    load: async () => (await import('./operate/backup.ts')).backupCommand,
  },
  purge: {
    group: 'Maintain',
    about: 'delete the rows and report files of runs that ended long ago; totals and hashes stay',
    load: async () => (await import('./operate/purge.ts')).purgeCommand,
  },
  completion: {
    group: 'Maintain',
    about: 'print what lets a shell complete the words of payrun',
    load: async () => (await import('./completion.ts')).completionCommand,
  },
};
