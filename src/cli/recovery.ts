import { Command } from 'commander';
import { z } from 'zod';
import { openQueues } from '../../jobs/open.ts';
import { adoptLedger } from '../app.ts';
import { systemClock, systemRandom } from '../clock.ts';
import { readConfig } from '../config.ts';
import { openLog } from '../log.ts';
import { goOn } from '../pay/crash-point.ts';
import { EXIT, type ExitCode, Refusal } from '../refusal.ts';
import { writeOffDataDir } from '../runs/write-off.ts';
import { withLedger } from './open.ts';
import { parseOptions, personName, reasonText } from './options.ts';
import { print, printJson, say } from './print.ts';

const schema = z.object({ as: personName, reason: reasonText, json: z.boolean() });

const NEXT_PERSON = 'Still needed: another person, with the same command and their own --as NAME.';

/** `payrun adopt-ledger`: goes on after a Redis was lost, by two people. */
export function adoptLedgerCommand(end: (code: ExitCode) => void): Command {
  return new Command('adopt-ledger')
    .description('make a ledger on an empty Redis for data directories whose own Redis is gone; two people')
    .requiredOption('--reason <text>', 'why, for the audit log')
    .requiredOption('--as <name>', 'who says so')
    .option('--json', 'print the answer as JSON', false)
    .addHelpText(
      'after',
      '\nEverything that the intent logs tell of is then unknown until it is looked up, and everything is halted.' +
        '\nFirst try to get the lost Redis back: see docs/operation.md.' +
        '\n\nExample:\n  payrun adopt-ledger --reason "the disk of Redis is gone" --as anna',
    )
    .action(async (raw: unknown) => end(await adopt(parseOptions(schema, raw))));
}

/** `payrun write-off`: gives up a data directory that does not come back, by two people. */
export function writeOffCommand(end: (code: ExitCode) => void): Command {
  return new Command('write-off')
    .description('give up a data directory that does not come back after Redis was restarted or replaced; two people')
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
    at: goOn,
    report: say,
    openJobs: openQueues,
  };
  const answer = await adoptLedger(options, as);
  if (answer.result === 'same-person')
    throw refuseAdoption(`${as} has proposed it`, 'Ask another person to confirm it.');
  if (answer.result === 'there') {
    throw refuseAdoption('this Redis holds a ledger', 'Nothing is lost here; start payrun as usual.');
  }
  if (answer.result === 'adopted') await recordAdoption({ as, reason });
  if (json) printJson(answer);
  else print(`${answer.result}: ${answer.dataDirIds.length} data directories (${answer.dataDirIds.join(', ')})`);
  if (answer.result === 'proposed') say(NEXT_PERSON);
  else {
    say('Start a worker once with each of them: it compares its intent logs. Then hand the same files in again.');
    say('Everything is halted until two people release it: "payrun release --as NAME", then the same by another NAME.');
  }
  return EXIT.ok;
}

async function recordAdoption({ as, reason }: { as: string; reason: string }): Promise<void> {
  await withLedger(async ({ ledger }) => {
    await ledger.audit.append({ actor: as, action: 'ledger.adopted', target: 'ledger', details: { reason } });
    return EXIT.ok;
  });
}

function refuseAdoption(why: string, remedy: string): Refusal {
  return new Refusal(`No ledger was adopted: ${why}.`, { exitCode: EXIT.usage, remedy });
}

async function writeOff(dataDirId: string, { as, reason, json }: z.infer<typeof schema>): Promise<ExitCode> {
  return await withLedger(async (app) => {
    const { result, held, missing } = await writeOffDataDir(app, dataDirId, { actor: as, reason });
    if (json) printJson({ result, held, missing });
    else if (result === 'done') print(`written off; ${held} payouts are held, and everything is halted`);
    if (result === 'proposed') say(NEXT_PERSON);
    if (missing.length > 0) say(`Still missing: ${missing.join(', ')}`);
    return EXIT.ok;
  });
}
