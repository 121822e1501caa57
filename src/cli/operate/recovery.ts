import { Command } from 'commander';
import { z } from 'zod';
import { openQueues } from '../../../jobs/open.ts';
import { adoptLedger } from '../../app.ts';
import { systemClock, systemRandom } from '../../clock.ts';
import { readConfig } from '../../config/config.ts';
import { openLog } from '../../log.ts';
import { noCrash } from '../../pay/crash-point.ts';
import { EXIT, type ExitCode, Refusal } from '../../refusal.ts';
import { writeOffDataDir } from '../../runs/safety/write-off.ts';
import { withLedger } from '../open.ts';
import { parseOptions, personName, reasonText } from '../options.ts';
import { print, printJson, say } from '../print.ts';

const schema = z.object({ as: personName, reason: reasonText, json: z.boolean() });

const NEXT_PERSON = 'Still needed: another person, with the same command and their own --as NAME.';
const AFTER_ADOPTION =
  'Start a worker once with each of them: it compares its intent logs. Then hand the same files in again.' +
  '\nEverything is halted until two people release it: "payrun release --as NAME", then the same by another NAME.';

/** `payrun adopt-ledger`: goes on after a Redis was lost, by two people. */
export function adoptLedgerCommand(end: (code: ExitCode) => void): Command {
  return new Command('adopt-ledger')
    .requiredOption('--reason <text>', 'why, for the audit log')
    .requiredOption('--as <name>', 'who says so')
    .option('--json', 'print the answer as JSON', false)
    .addHelpText(
      'after',
      '\nEverything in the intent logs is then unknown until it is looked up, and everything is halted.' +
        '\nFirst try to get the lost Redis back: see docs/operation.md.' +
        '\n\nExample:\n  payrun adopt-ledger --reason "the disk of Redis is gone" --as anna',
    )
    .action(async (raw: unknown) => end(await adopt(parseOptions(schema, raw))));
}

/** `payrun write-off`: gives up a data directory that does not come back, by two people. */
export function writeOffCommand(end: (code: ExitCode) => void): Command {
  return new Command('write-off')
    .argument('<directory>', 'its id, as "payrun doctor" and a waiting worker name it')
    .requiredOption('--reason <text>', 'why, for the audit log')
    .requiredOption('--as <name>', 'who says so')
    .option('--json', 'print the answer as JSON', false)
    .addHelpText(
      'after',
      '\nEach payout that it may have sent without this Redis knowing is held, and everything is halted.' +
        '\nFiles of which this Redis knows nothing are not covered: settle by hand what that host may have sent of them.' +
        '\n\nExample:\n  payrun write-off 2f6c… --reason "the host burnt down" --as anna',
    )
    .action(async (dataDirId: string, raw: unknown) => end(await writeOff(dataDirId, parseOptions(schema, raw))));
}

async function adopt({ as, reason, json }: z.infer<typeof schema>): Promise<ExitCode> {
  const config = readConfig();
  const options = {
    config,
    clock: systemClock,
    random: systemRandom,
    log: openLog(config.logLevel ?? 'error'),
    at: noCrash,
    report: say,
    openJobs: openQueues,
  };
  const { result, dataDirIds } = await adoptLedger(options, as);
  if (result === 'same-person') throw refuseAdoption(`${as} has proposed it`, 'Ask another person to confirm it.');
  if (result === 'there') {
    throw refuseAdoption('this Redis holds the ledger of this data directory', 'Start payrun as usual.');
  }
  const known = result === 'adopted' ? await recordAdoption({ as, reason }) : dataDirIds;
  if (json) printJson({ result, dataDirIds: known });
  else print(`${result}: ${known.length} data directories (${known.join(', ')})`);
  say(result === 'proposed' ? NEXT_PERSON : AFTER_ADOPTION);
  return EXIT.ok;
}

/** Puts the adoption on the audit log, which begins with the ledger. Gives all data directories that it waits for. */
async function recordAdoption({ as, reason }: { as: string; reason: string }): Promise<readonly string[]> {
  let dataDirIds: readonly string[] = [];
  await withLedger(async ({ ledger }) => {
    const facts = await ledger.recovery.readAdoption();
    if (facts === null) throw new Error('an adopted ledger does not know that it is one');
    const { proposedBy, formerInstance, instance } = facts;
    dataDirIds = facts.dataDirIds;
    const details = { reason, proposedBy, formerInstance, instance, dataDirs: dataDirIds.join(' ') };
    await ledger.audit.append({ actor: as, action: 'ledger.adopted', target: 'ledger', details });
    await ledger.recovery.noteAdoption();
    return EXIT.ok;
  });
  return dataDirIds;
}

function refuseAdoption(why: string, remedy: string): Refusal {
  return new Refusal(`No ledger was adopted: ${why}.`, { exitCode: EXIT.usage, remedy });
}

async function writeOff(dataDirId: string, { as, reason, json }: z.infer<typeof schema>): Promise<ExitCode> {
  return await withLedger(async (app) => {
    const { result, held, missing } = await writeOffDataDir(app, dataDirId, { actor: as, reason });
    if (json) printJson({ result, held, missing });
    else print(writeOffWords({ result, held }));
    if (result === 'proposed') say(NEXT_PERSON);
    if (missing.length > 0) say(`Still missing: ${missing.join(', ')}`);
    if (result === 'agreed') say('Start payrun with each of them, or write it off too; then give this command again.');
    return EXIT.ok;
  });
}

function writeOffWords({ result, held }: { result: string; held: number }): string {
  if (result === 'done') return `written off: ${held} payouts are held, and everything is halted`;
  return result === 'retired' ? 'given up: no other data directory waits for it any more' : result;
}
