import { openQueues } from '../../../jobs/open.ts';
import { adoptLedger } from '../../app.ts';
import { systemClock, systemRandom } from '../../clock.ts';
import { readConfig } from '../../config/config.ts';
import { openLog } from '../../log.ts';
import { noCrash } from '../../pay/crash-point.ts';
import { Refusal } from '../../refusal.ts';
import { writeOffDataDir } from '../../runs/safety/write-off.ts';
import { command } from '../command.ts';
import { ledgerCommand } from '../ledger-command.ts';
import { withLedger } from '../open.ts';
import { personName, reasonText } from '../options.ts';
import { print, printJson, say } from '../print.ts';

const options = {
  reason: ['<text>', 'why, for the audit log', reasonText],
  as: ['<name>', 'who says so', personName],
  json: 'print the answer as JSON',
} as const;

const NEXT_PERSON = 'Still needed: another person, with the same command and their own --as NAME.';
const UNTIL_RELEASED =
  'Everything is halted until two people release it: "payrun release --as NAME", then the same by another NAME.';
const AFTER_WRITE_OFF =
  '"payrun list RUN --outcome held" shows what is held. Two people settle it, after a day: docs/operation.md, "Host lost", step 4.';
const AFTER_ADOPTION =
  'Start a worker once with each of them: it compares its intent logs. Then hand the same files in again.\n' +
  UNTIL_RELEASED;

/** `payrun adopt-ledger`: goes on after a Redis was lost, by two people. */
export const adoptLedgerCommand = command(
  'adopt-ledger',
  {
    options,
    help:
      'Everything in the intent logs is then unknown until it is looked up, and everything is halted.' +
      '\nFirst try to get the lost Redis back: see docs/operation.md.',
    examples: ['payrun adopt-ledger --reason "the disk of Redis is gone" --as anna'],
  },
  async ({ as, reason, json }) => {
    const config = readConfig();
    const system = { clock: systemClock, random: systemRandom, at: noCrash, report: say, openJobs: openQueues };
    const log = openLog(config.logLevel ?? 'error');
    const { result, dataDirIds } = await adoptLedger({ config, log, ...system }, as);
    if (result === 'same-person') throw refuseAdoption(`${as} has proposed it`, 'Ask another person to confirm it.');
    if (result === 'there') {
      throw refuseAdoption('this Redis holds the ledger of this data directory', 'Start payrun as usual.');
    }
    const known = result === 'adopted' ? await recordAdoption({ as, reason }) : dataDirIds;
    if (json) printJson({ result, dataDirIds: known });
    else print(`${result}: ${known.length} data directories (${known.join(', ')})`);
    say(result === 'proposed' ? NEXT_PERSON : AFTER_ADOPTION);
  },
);

/** `payrun write-off`: gives up a data directory that does not come back, by two people. */
export const writeOffCommand = ledgerCommand(
  'write-off',
  {
    takes: { '<directory>': 'its id, as "payrun doctor" and a waiting worker name it' },
    options,
    help:
      'Each payout that it may have sent without this Redis knowing is held, and everything is halted.' +
      '\nFiles of which this Redis knows nothing are not covered: settle by hand what that host may have sent of them.',
    examples: ['payrun write-off 2f6c… --reason "the host burnt down" --as anna'],
  },
  async (app, { directory, as, reason, json }) => {
    const { result, held, missing } = await writeOffDataDir(app, directory, { actor: as, reason });
    if (json) printJson({ result, held, missing });
    else print(writeOffWords({ result, held }));
    if (result === 'proposed') say(NEXT_PERSON);
    if (result === 'done' && held > 0) say(AFTER_WRITE_OFF);
    if (result === 'done') say(UNTIL_RELEASED);
    if (missing.length > 0) say(`Still missing: ${missing.join(', ')}`);
    if (result === 'agreed') say('Start payrun with each of them, or write it off too; then give this command again.');
  },
);

/** Puts the adoption on the audit log, which begins with the ledger. Gives all data directories that it waits for. */
async function recordAdoption({ as, reason }: { as: string; reason: string }): Promise<readonly string[]> {
  return await withLedger(async ({ ledger }) => {
    const facts = await ledger.recovery.readAdoption();
    if (facts === null) throw new Error('an adopted ledger does not know that it is one');
    const { proposedBy, formerInstance, instance, dataDirIds } = facts;
    const details = { reason, proposedBy, formerInstance, instance, dataDirs: dataDirIds.join(' ') };
    await ledger.audit.append({ actor: as, action: 'ledger.adopted', target: 'ledger', details });
    await ledger.recovery.noteAdoption();
    return dataDirIds;
  });
}

function refuseAdoption(why: string, remedy: string): Refusal {
  return new Refusal(`No ledger was adopted: ${why}.`, remedy);
}

function writeOffWords({ result, held }: { result: string; held: number }): string {
  if (result === 'done') return `written off: ${held} payouts are held, and everything is halted`;
  return result === 'retired' ? 'given up: no other data directory waits for it any more' : result;
}
