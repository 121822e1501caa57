import type { Living } from '../../../../jobs/living.ts';
import { rfc3339 } from '../../../clock.ts';
import type { Found } from './check.ts';

const REMEDY =
  'Check that host. Workers on other hosts go on with what it was paying; after a restart of Redis its data directory is needed. This is shown for a day.';

/** Which workers live, and which hosts were lost: their workers did not shut down properly, and none lives there now. */
export async function checkWorkers(workers: Living): Promise<Found> {
  const living = await workers.all();
  const lost = await workers.lostHosts();
  const found = [
    living.length === 0 ? 'none lives' : living.map(({ host, pid }) => `${host} (process ${pid})`).join(', '),
    ...lost.map(
      ({ host, seenAt }) => `host ${host} was last seen at ${rfc3339(seenAt)}, and did not shut down properly`,
    ),
  ].join('\n');
  return lost.length === 0 ? { found } : { found, advice: REMEDY };
}
