import type { JobQueues } from '../../../jobs/open.ts';
import type { PayWorker } from '../../../jobs/worker.ts';
import type { App } from '../../app.ts';
import { STOP_MS } from '../stop.ts';

const LEAVE_MS_MAX = 1000;

/** Ends a worker of this process, which counts no more as one that lives, even where something that hangs keeps it from ending. */
export async function stopWorker({ jobs, clock }: App<JobQueues>, worker: PayWorker): Promise<void> {
  await worker.stop(STOP_MS);
  const left = new AbortController();
  // With its Redis away nobody sees the list either.
  await Promise.race([jobs.living.leave().catch(() => {}), clock.sleep(LEAVE_MS_MAX, left.signal)]);
  left.abort();
}
