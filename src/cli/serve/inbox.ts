import { z } from 'zod';
import type { JobQueues } from '../../../jobs/open.ts';
import type { App } from '../../app.ts';
import { readConfig } from '../../config/config.ts';
import { duration } from '../../duration.ts';
import { removeOldCopies } from '../../inbox/copy.ts';
import { openInbox } from '../../inbox/inbox.ts';
import { openSource } from '../../inbox/open-source.ts';
import { prepareInbox } from '../../inbox/prepare-inbox.ts';
import type { InboxSource } from '../../inbox/source.ts';
import type { AtCrashPoint } from '../../pay/crash-point.ts';
import { requireReportFolder } from '../../runs/after/report.ts';
import { command, type GivenOptions } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { explain } from '../explain.ts';
import { actorOf, requireService, withApp } from '../open.ts';
import { NEW_LEDGER, personName } from '../options.ts';
import { safeText, say } from '../print.ts';
import { namedTemplate } from '../run/named-template.ts';
import { refuseRoot } from './as-root.ts';
import { lookUntilDone, lookUntilStopped } from './inbox-looking.ts';
import { openOutcome } from './inbox-outcome.ts';
import { endAtLast, payUntil, unattended } from './worker.ts';

const options = {
  withWorker: 'pay in this process too',
  allowRoot: 'with --with-worker: run as root',
  once: 'end when the inbox is empty and its runs have come to their end',
  wait: ['<duration>', 'with --once: how long to wait for unknown payouts', duration, '15m'],
  template: [
    '<file>',
    'how all files in it look, where they are not plain payout files',
    z.string().min(1, 'must name a file').optional(),
  ],
  skipInvalid: 'take the valid rows of a file although others are refused',
  sandbox: 'for the simulated service, when no service is configured',
  newLedger: NEW_LEDGER,
  as: ['<name>', 'who hands the files in; each of them, whoever puts it there', personName.optional()],
  json: 'print each answer as JSON',
} as const;
type InboxCommandOptions = GivenOptions<typeof options>;

const HELP = `Put a file into in/ under a name such as NAME.part and rename it when it is complete; a file without such a name is taken
once it has not changed for two seconds. reports/ then holds NAME.ack.json with the run, or NAME.nack.json with everything
that is wrong and, where rows can show it, NAME.marked-up.csv to correct and drop again. In the end there are
NAME.report.csv and NAME.report.json. The file itself goes to done/ or refused/.

--once also ends for a run that is paused or waits for approval (its report comes when the inbox is watched again), and
after --wait for one with unknown payouts. Without --with-worker somebody else has to pay: payrun worker. The exit code is
that of "payrun run", the worst of all files: 3 when one was refused.`;

/** `payrun inbox DIR`: pays what is dropped into a folder, and answers each file there. */
export const inboxCommand = command(
  'inbox',
  {
    takes: {
      '<dir>': 'the folder, with in/ claimed/ done/ refused/ reports/ below it; those that are missing are made',
    },
    options,
    help: HELP,
    examples: ['payrun inbox /srv/payouts --with-worker', 'payrun inbox /srv/payouts --once --with-worker --sandbox'],
  },
  async ({ dir, ...given }, at) => await watchInbox(dir, given, at),
);

async function watchInbox(dir: string, given: InboxCommandOptions, at: AtCrashPoint): Promise<ExitCode> {
  if (given.withWorker) refuseRoot(given);
  requireService(readConfig(), given);
  const opening = { ...unattended(given, 'hand in to'), ...(given.once ? { logLevel: 'error' as const } : {}), at };
  return await withApp(opening, async (app, stop) => {
    const source = openSource(app, dir);
    app.onClose(() => source.close());
    if (await prepareInbox(app, source))
      say(`payrun inbox made the folder ${safeText(source.name)}, which was not there`);
    await requireReportFolder(app.config.reportDir);
    await removeOldCopies(app.config, app.clock);
    stop.addEventListener('abort', endAtLast);
    return await watchUntil(app, { source, given, stop });
  });
}

interface Watch {
  readonly source: InboxSource;
  readonly given: InboxCommandOptions;
  readonly stop: AbortSignal;
}

/** Watches, and pays beside it if asked to; when the one ends, the other does. */
async function watchUntil(app: App<JobQueues>, { source, given, stop }: Watch): Promise<ExitCode> {
  const ended = new AbortController();
  const stopping = AbortSignal.any([stop, ended.signal]);
  const outcome = openOutcome(app, given);
  const template = given.template === undefined ? undefined : await namedTemplate(given.template);
  const inbox = openInbox(app, source, {
    actor: actorOf(given.as),
    dropper: given.as,
    skipInvalid: given.skipInvalid,
    intake: template === undefined ? undefined : { template },
    stopping,
    answered: (as, answer) => outcome.answered(as, answer),
    reported: (runId) => outcome.met(runId),
    describe: (error) => explain(error).text,
    say,
  });
  say(`payrun inbox ${process.pid} watches ${safeText(source.name)}`);
  const looking = { stopping, pollMs: source.pollMs };
  const watching = given.once
    ? lookUntilDone(app, inbox, { ...looking, outcome, waitMs: given.wait })
    : lookUntilStopped(app, inbox, looking);
  const parts = [watching, ...(given.withWorker ? [payUntil(app, stopping)] : [])];
  const results = await Promise.allSettled(parts.map((part) => part.finally(() => ended.abort())));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  if (!given.once) return EXIT.ok;
  return stop.aborted ? EXIT.interrupted : await outcome.exitCode();
}
