import type { Living } from '../../../../jobs/living.ts';
import { rfc3339 } from '../../../clock.ts';
import type { Found } from './check.ts';

const REMEDY =
  'Look after that host. What it was paying goes on elsewhere, where a worker lives; its data directory is needed when Redis is restarted. This is shown for a day.';

/** Which workers live, and which hosts were lost: workers ended there without a word, and none lives there now. */
export async function checkWorkers(workers: Living): Promise<Found> {
  const living = await workers.all();
  const lost = await workers.lostHosts();
  const found = [
    living.length === 0 ? 'none lives' : living.map(({ host, pid }) => `${host} (process ${pid})`).join(', '),
    ...lost.map(({ host, seenAt }) => `host ${host} was last seen at ${rfc3339(seenAt)}, and did not stop by itself`),
  ].join('\n');
  return lost.length === 0 ? { found } : { found, advice: REMEDY };
}
