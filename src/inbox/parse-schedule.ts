import { resolve } from 'node:path';
import type { InboxSettings } from '../config/inbox.ts';
import { isAddress } from '../config/inbox.ts';
import type { StagePlan } from '../payout.ts';
import { Refusal } from '../refusal.ts';
import { readCron } from '../schedules/cron.ts';
import type { Act, Schedule } from '../schedules/schedule.ts';
import { openZone } from '../zone.ts';
import { requireAllowed } from './allowed.ts';
import { requireFolder } from './open-source.ts';

/**
 * A schedule as somebody asks for it, as it is kept, with the stages that they ask for. Throws a Refusal for a cron or a zone that is none, and for
 * what would only fail at its time, when nobody looks on.
 */
export async function parseSchedule(
  { cron, zone, act: asked, windowMs, stages }: Schedule & { readonly stages?: StagePlan | undefined },
  { retentionMs, inbox }: { readonly retentionMs: number | undefined; readonly inbox: Pick<InboxSettings, 'allowed'> },
): Promise<Schedule> {
  const act = absolute(withStages(asked, stages));
  const schedule = { cron: readCron(cron), zone: openZone(zone).name, act, windowMs };
  if (act.kind === 'inbox') {
    await requireAllowed(act.dir, inbox.allowed);
    await requireFolder(act.dir);
  }
  if (act.kind !== 'purge' || retentionMs !== undefined) return schedule;
  throw new Refusal(
    'No retention period is set (PAYRUN_RETENTION).',
    'Set it here and for the workers, for example PAYRUN_RETENTION=400d, and set the schedule again.',
  );
}

function withStages(act: Act, stages: StagePlan | undefined): Act {
  if (stages === undefined) return act;
  if (act.kind === 'inbox') return { ...act, stages };
  throw new Refusal(
    'Only a schedule that reads an inbox has stages.',
    'Leave its stages out: a run has those that were named when its file was handed in.',
  );
}

/** Workers have another folder to work in than whoever sets the schedule. */
function absolute(act: Act): Act {
  return act.kind === 'inbox' && !isAddress(act.dir) ? { ...act, dir: resolve(act.dir) } : act;
}
