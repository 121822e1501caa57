import { z } from 'zod';
import { readConfig } from '../../config/config.ts';
import { problemsDocument } from '../../intake/problems/document.ts';
import type { AtCrashPoint } from '../../pay/crash-point.ts';
import type { Run } from '../../payout.ts';
import { hasEnded } from '../../runs/decide/control.ts';
import { costPreviewOf, requireCostPreview, startOf } from '../../runs/hand-in/submission-options.ts';
import { submitRun } from '../../runs/hand-in/submit.ts';
import { command, type GivenOptions } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { tellOutages } from '../look/outages.ts';
import { actorOf, requireService, withApp } from '../open.ts';
import { NEW_LEDGER, personName } from '../options.ts';
import { printJson, say } from '../print.ts';
import { printRun, workerCommand } from '../print-run.ts';
import { intakeOptionsOf } from './intake-options.ts';
import { handedInBefore } from './next-steps.ts';
import { describeProblems } from './problem-text.ts';
import { openPatience } from './redis-wait.ts';
import { remarksOn, stagePlanOf, submitOptions } from './submit-options.ts';

/** As long as `payrun run` waits for a Redis that is away, unless told. */
const REDIS_WAIT_MS = 15 * 60_000;

const options = {
  ...submitOptions,
  at: [
    '<time>',
    'when it is to start: an RFC 3339 time, HH:MM with --zone, or schedule (default: at once)',
    z.string().optional(),
  ],
  zone: ['<zone>', 'time zone of --at, such as Europe/Berlin', z.string().optional()],
  sandbox: 'for the simulated service, when no service is configured',
  newLedger: NEW_LEDGER,
  as: ['<name>', 'who hands the file in', personName.optional()],
  json: 'print the run as JSON',
} as const;

/** `payrun submit`: records a run for workers to pay, and returns. */
export const submitCommand = command(
  'submit',
  {
    takes: { '<file>': 'the payout file' },
    options,
    examples: [
      'payrun submit payouts.csv --as anna',
      'payrun submit payouts.csv --sandbox --skip-invalid',
      'payrun submit payouts.csv --stage 10,rest',
      'payrun submit payouts.csv --at 06:30 --zone Europe/Berlin',
    ],
  },
  async ({ file, ...given }, at) => await submitFile(file, given, at),
);

async function submitFile(path: string, given: GivenOptions<typeof options>, at: AtCrashPoint): Promise<ExitCode> {
  requireService(readConfig(), given);
  const first = { makesLedger: given.sandbox || given.newLedger, purpose: 'hand in to' };
  return await withApp({ logLevel: 'error', at, ...first }, async (app, stop) => {
    tellOutages(app, { stop, redisWaitMs: REDIS_WAIT_MS });
    const patiently = openPatience(app, { waitMs: REDIS_WAIT_MS, stop });
    const { skipInvalid, json, maxCostDrift: maxCostDriftBp } = given;
    requireCostPreview(maxCostDriftBp, app.asker);
    const submission = {
      path,
      actor: actorOf(given.as),
      skipInvalid,
      again: given.again,
      intake: await intakeOptionsOf(given),
      startAt: startOf(given, app.clock),
      maxCostDriftBp,
      stages: stagePlanOf(given),
    };
    const deps = { ...app, previewCost: costPreviewOf(app.asker, app) };
    const submitted = await patiently(() => submitRun(deps, submission));
    if (submitted.kind === 'refused') {
      say(describeProblems(submitted.checked));
      if (json) printJson(problemsDocument(submitted.checked));
      return EXIT.fileRefused;
    }
    const { run, isNew } = submitted;
    for (const remark of remarksOn(submitted, submission)) say(remark);
    if (!isNew) say(`This file is run ${run.id} already; it was not recorded again.`);
    await printRun(app, run, { json });
    if (!isNew && hasEnded(run)) say(handedInBefore(run, app.clock.now()));
    else {
      say(`"payrun watch ${run.id}" shows how far it is; workers pay it: ${workerCommand(app)}`);
    }
    return exitCodeOfSubmitted(run);
  });
}

function exitCodeOfSubmitted({ state, counts }: Run): ExitCode {
  if (state === 'awaiting-approval') return EXIT.awaitingApproval;
  return counts.refused > 0 ? EXIT.notPaid : EXIT.ok;
}
