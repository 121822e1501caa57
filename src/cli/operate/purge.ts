import { Command } from 'commander';
import { z } from 'zod';
import type { App } from '../../app.ts';
import { durationFrom } from '../../duration.ts';
import { EXIT, type ExitCode, Refusal } from '../../refusal.ts';
import { purgeRuns } from '../../runs/purge.ts';
import { columns } from '../columns.ts';
import { actorOf, withLedger } from '../open.ts';
import { parseOptions, personName } from '../options.ts';
import { print, printJson } from '../print.ts';

const schema = z.object({
  olderThan: durationFrom('1d', '36500d').optional(),
  as: personName.optional(),
  json: z.boolean(),
});

/** `payrun purge`: removes the rows of runs that are final and ended long ago. */
export function purgeCommand(end: (code: ExitCode) => void): Command {
  return new Command('purge')
    .option('--older-than <duration>', 'how long ago a run must have ended (default: PAYRUN_RETENTION)')
    .option('--as <name>', 'who does it')
    .option('--json', 'print what was done as JSON', false)
    .addHelpText(
      'after',
      '\nA run in which anything is held, under way or watched for returns is kept.' +
        '\n\nExamples:\n  payrun purge --older-than 400d --as anna',
    )
    .action(async (raw: unknown) => {
      const { olderThan, as, json } = parseOptions(schema, raw);
      end(
        await withLedger((app) => purge(app, { olderThanMs: olderThan, actor: actorOf(as), json }), {
          purpose: 'purge',
          tellsPlace: true,
        }),
      );
    });
}

async function purge(
  app: App,
  {
    olderThanMs = app.config.retentionMs,
    actor,
    json,
  }: { olderThanMs?: number | undefined; actor: string; json: boolean },
): Promise<ExitCode> {
  if (olderThanMs === undefined) {
    throw new Refusal('No retention period is set.', {
      exitCode: EXIT.usage,
      remedy: 'Give --older-than, or set PAYRUN_RETENTION, for example 400d.',
    });
  }
  const answers = await purgeRuns(app, { actor, olderThanMs });
  if (json) printJson(answers);
  else if (answers.length === 0) print('There is nothing to purge.');
  else print(columns(answers.map(({ runId, result }) => [runId, result])));
  return EXIT.ok;
}
