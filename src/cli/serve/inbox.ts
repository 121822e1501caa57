import { Command } from 'commander';
import { z } from 'zod';
import type { JobQueues } from '../../../jobs/open.ts';
import type { App } from '../../app.ts';
import { readConfig } from '../../config/config.ts';
import { duration } from '../../duration.ts';
import { removeOldCopies } from '../../inbox/copy.ts';
import { openInbox } from '../../inbox/inbox.ts';
import { openSource } from '../../inbox/open-source.ts';
import type { InboxSource } from '../../inbox/source.ts';
import type { AtCrashPoint } from '../../pay/crash-point.ts';
import { EXIT, type ExitCode } from '../../refusal.ts';
import { requireReportFolder } from '../../runs/report.ts';
import { explain } from '../explain.ts';
import { actorOf, requireService, withApp } from '../open.ts';
import { newLedgerOption, parseOptions, personName } from '../options.ts';
import { safeText, say } from '../print.ts';
import { namedTemplate } from '../run/named-template.ts';
import { refuseRoot } from './as-root.ts';
import { lookUntilDone, lookUntilStopped } from './inbox-looking.ts';
import { openOutcome } from './inbox-outcome.ts';
import { endAtLast, payUntil } from './worker.ts';

const schema = z.object({
  withWorker: z.boolean(),
  allowRoot: z.boolean(),
  once: z.boolean(),
  wait: duration,
  sandbox: z.boolean(),
  newLedger: z.boolean(),
  as: personName.optional(),
  skipInvalid: z.boolean(),
  template: z.string().min(1, 'must name a file').optional(),
  json: z.boolean(),
});
type InboxCommandOptions = z.infer<typeof schema>;

/** `payrun inbox DIR`: pays what is dropped into a folder, and answers each file there. */
export function inboxCommand(end: (code: ExitCode) => void, at: AtCrashPoint): Command {
  return new Command('inbox')
    .argument(
      '<dir>',
      'the folder, with in/ claimed/ done/ refused/ reports/ below it; those that are missing are made',
    )
    .option('--with-worker', 'pay in this process too', false)
    .option('--allow-root', 'with --with-worker: run as root', false)
    .option('--once', 'end when the inbox is empty and its runs have come to their end', false)
    .option('--wait <duration>', 'with --once: how long to wait for unknown payouts', '15m')
    .option('--template <file>', 'how all files in it look, where they are not plain payout files')
    .option('--skip-invalid', 'take the valid rows of a file although others are refused', false)
    .option('--sandbox', 'for the simulated service, when no service is configured', false)
    .addOption(newLedgerOption())
    .option('--as <name>', 'who hands the files in; each of them, whoever puts it there')
    .option('--json', 'print each answer as JSON', false)
    .addHelpText('after', HELP)
    .action(async (dir: string, raw: unknown) => end(await watchInbox(dir, parseOptions(schema, raw), at)));
}

const HELP = `
Put a file into in/ under a name such as NAME.part and rename it when it is complete; a file without such a name is taken
once it has not changed for two seconds. reports/ then holds NAME.ack.json with the run, or NAME.nack.json with everything
that is wrong and, where rows can show it, NAME.marked-up.csv to correct and drop again. In the end there are
NAME.report.csv and NAME.report.json. The file itself goes to done/ or refused/.

--once also ends for a run that is paused or waits for approval (its report comes when the inbox is watched again), and
after --wait for one with unknown payouts. Without --with-worker somebody else has to pay: payrun worker. The exit code is
that of "payrun run", the worst of all files: 3 when one was refused.

Examples:
  payrun inbox /srv/payouts --with-worker
  payrun inbox /srv/payouts --once --with-worker --sandbox`;

async function watchInbox(dir: string, options: InboxCommandOptions, at: AtCrashPoint): Promise<ExitCode> {
  if (options.withWorker) refuseRoot(options);
  requireService(readConfig(), options);
  const logLevel = options.once ? 'error' : 'info';
  const first = { makesLedger: options.sandbox || options.newLedger, purpose: 'hand in to' };
  return await withApp({ logLevel, at, endsItself: true, ...first }, async (app, stop) => {
    const source = openSource(app, dir);
    app.onClose(() => source.close());
    if (await source.prepare()) say(`payrun inbox made the folder ${safeText(source.name)}, which was not there`);
    await requireReportFolder(app.config.reportDir);
    await removeOldCopies(app.config, app.clock);
    stop.addEventListener('abort', endAtLast);
    return await watchUntil(app, { source, options, stop });
  });
}

interface Watch {
  readonly source: InboxSource;
  readonly options: InboxCommandOptions;
  readonly stop: AbortSignal;
}

/** Watches, and pays beside it if asked to; when the one ends, the other does. */
async function watchUntil(app: App<JobQueues>, { source, options, stop }: Watch): Promise<ExitCode> {
  const ended = new AbortController();
  const stopping = AbortSignal.any([stop, ended.signal]);
  const outcome = openOutcome(app, options);
  const template = options.template === undefined ? undefined : await namedTemplate(options.template);
  const inbox = openInbox(app, source, {
    actor: actorOf(options.as),
    dropper: options.as,
    skipInvalid: options.skipInvalid,
    intake: template === undefined ? undefined : { template },
    stopping,
    answered: (as, answer) => outcome.answered(as, answer),
    reported: (runId) => outcome.met(runId),
    describe: (error) => explain(error).text,
    say,
  });
  say(`payrun inbox ${process.pid} watches ${safeText(source.name)}`);
  const looking = { stopping, pollMs: source.pollMs };
  const watching = options.once
    ? lookUntilDone(app, inbox, { ...looking, outcome, waitMs: options.wait })
    : lookUntilStopped(app, inbox, looking);
  const parts = [watching, ...(options.withWorker ? [payUntil(app, stopping)] : [])];
  const results = await Promise.allSettled(parts.map((part) => part.finally(() => ended.abort())));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  if (!options.once) return EXIT.ok;
  return stop.aborted ? EXIT.interrupted : await outcome.exitCode();
}
