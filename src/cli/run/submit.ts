import { Command } from 'commander';
import { z } from 'zod';
import { readConfig } from '../../config/config.ts';
import { describeProblems, problemsDocument } from '../../intake/problems/problem-text.ts';
import type { AtCrashPoint } from '../../pay/crash-point.ts';
import type { Run } from '../../payout.ts';
import { EXIT, type ExitCode } from '../../refusal.ts';
import { hasEnded } from '../../runs/decide/control.ts';
import { costPreviewOf, requireCostPreview, startOf } from '../../runs/hand-in/submission-options.ts';
import { submitRun } from '../../runs/hand-in/submit.ts';
import { tellOutages } from '../look/outages.ts';
import { actorOf, requireService, withApp } from '../open.ts';
import { newLedgerOption, parseOptions, personName } from '../options.ts';
import { printJson, say } from '../print.ts';
import { printRun } from '../print-run.ts';
import { intakeOptionsOf } from './intake-options.ts';
import { handedInBefore } from './next-steps.ts';
import { addSubmitOptions, remarksOn, submitSchema } from './submit-options.ts';

const schema = submitSchema.extend({
  sandbox: z.boolean(),
  newLedger: z.boolean(),
  at: z.string().optional(),
  zone: z.string().optional(),
  as: personName.optional(),
  json: z.boolean(),
});
type SubmitOptions = z.infer<typeof schema>;

/** `payrun submit`: records a run for workers to pay, and returns. */
export function submitCommand(end: (code: ExitCode) => void, at: AtCrashPoint): Command {
  return addSubmitOptions(new Command('submit'))
    .argument('<file>', 'the payout file')
    .option('--at <time>', 'when it is to start: an RFC 3339 time, HH:MM with --zone, or schedule (default: at once)')
    .option('--zone <zone>', 'time zone of --at, such as Europe/Berlin')
    .option('--sandbox', 'for the simulated service, when no service is configured', false)
    .addOption(newLedgerOption())
    .option('--as <name>', 'who hands the file in')
    .option('--json', 'print the run as JSON', false)
    .addHelpText(
      'after',
      '\nExamples:\n  payrun submit payouts.csv --as anna\n  payrun submit payouts.csv --sandbox --skip-invalid' +
        '\n  payrun submit payouts.csv --at 06:30 --zone Europe/Berlin',
    )
    .action(async (file: string, raw: unknown) => end(await submitFile(file, parseOptions(schema, raw), at)));
}

async function submitFile(path: string, options: SubmitOptions, at: AtCrashPoint): Promise<ExitCode> {
  requireService(readConfig(), options);
  const first = { makesLedger: options.sandbox || options.newLedger, purpose: 'hand in to' };
  return await withApp({ logLevel: 'error', at, ...first }, async (app, stop) => {
    tellOutages(app, { stop });
    const { skipInvalid, json, maxCostDrift: maxCostDriftBp } = options;
    requireCostPreview(maxCostDriftBp, app.asker);
    const submitted = await submitRun(
      { ...app, previewCost: costPreviewOf(app.asker, app) },
      {
        path,
        actor: actorOf(options.as),
        skipInvalid,
        again: options.again,
        intake: await intakeOptionsOf(options),
        startAt: startOf(options, app.clock),
        maxCostDriftBp,
      },
    );
    if (submitted.kind === 'refused') {
      say(describeProblems(submitted.checked));
      if (json) printJson(problemsDocument(submitted.checked));
      return EXIT.fileRefused;
    }
    const { run, isNew } = submitted;
    for (const remark of remarksOn(submitted, options)) say(remark);
    if (!isNew) say(`This file is run ${run.id} already; it was not recorded again.`);
    await printRun(app, run, { json });
    if (!isNew && hasEnded(run)) say(handedInBefore(run, app.clock.now()));
    else {
      say(
        `"payrun watch ${run.id}" shows how far it is; workers pay it: payrun worker${options.sandbox ? ' --sandbox' : ''}`,
      );
    }
    return exitCodeOfSubmitted(run);
  });
}

function exitCodeOfSubmitted({ state, counts }: Run): ExitCode {
  if (state === 'awaiting-approval') return EXIT.awaitingApproval;
  return counts.refused > 0 ? EXIT.notPaid : EXIT.ok;
}
