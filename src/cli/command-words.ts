import { type Remedy, remedyText, type StepWords } from '../refusal.ts';

/** Gives up the data directory of an `ID`. */
export const WRITE_OFF = '"payrun write-off ID --reason TEXT --as NAME"';

/** The commands that do each step. */
const COMMANDS: StepWords = {
  'see-run': '"payrun status RUN"',
  'see-payout': '"payrun show RUN REFERENCE"',
  'see-runs': '"payrun list"',
  'see-users': '"payrun user list"',
  'see-keys': '"payrun key list"',
  'see-schedules': '"payrun schedule list"',
  'see-notifications': '"payrun notifications"',
  'see-doctor': '"payrun doctor"',
  'see-switches': '"payrun sandbox switches"',
  drop: '"payrun drop RUN REFERENCE"',
  release: '"payrun release --as NAME", then the same by another NAME',
  'do-the-same': 'run the same command',
  'remove-schedule': '"payrun schedule remove NAME"',
  'adopt-settings': '"payrun settings adopt"',
  'adopt-ledger': '"payrun adopt-ledger"',
  'write-off': WRITE_OFF,
  'check-template': '"payrun template check"',
  'add-admin': 'payrun user add NAME --role admin --as NAME',
  'run-file': '"payrun run"',
  'start-sandbox': '"payrun worker --sandbox", or "payrun serve --with-worker --sandbox"',
  'make-ledger':
    '"payrun run" makes a ledger, and so does "payrun worker" or "payrun serve" with --new-ledger, or with --sandbox',
};

/** What to do about a refusal, at a command line. */
export function remedyInCommands(remedy: Remedy): string {
  return remedyText(remedy, COMMANDS);
}
