import { durationFrom } from '../../duration.ts';
import { Refusal } from '../../refusal.ts';
import { purgeRuns } from '../../runs/after/purge.ts';
import { columns } from '../columns.ts';
import { ledgerCommand } from '../ledger-command.ts';
import { actorOf } from '../open.ts';
import { personName } from '../options.ts';
import { print, printJson } from '../print.ts';

/** `payrun purge`: removes the rows of runs that are final and ended long ago. */
export const purgeCommand = ledgerCommand(
  'purge',
  {
    purpose: 'purge',
    options: {
      olderThan: [
        '<duration>',
        'how long ago a run must have ended (default: PAYRUN_RETENTION)',
        durationFrom('1d', '36500d').optional(),
      ],
      as: ['<name>', 'who does it', personName.optional()],
      json: 'print what was done as JSON',
    },
    help: 'A run in which anything is held, under way or watched for returns is kept.',
    examples: ['payrun purge --older-than 400d --as anna'],
  },
  async (app, { olderThan: olderThanMs = app.config.retentionMs, as, json }) => {
    if (olderThanMs === undefined) {
      throw new Refusal('No retention period is set.', 'Give --older-than, or set PAYRUN_RETENTION, for example 400d.');
    }
    // The private Redis, which this command may have started, is open only to whoever joins.
    await app.ensureSeason();
    const answers = await purgeRuns(app, { actor: actorOf(as), olderThanMs });
    if (json) printJson(answers);
    else if (answers.length === 0) print('There is nothing to purge.');
    else print(columns(answers.map(({ runId, result }) => [runId, result])));
  },
);
