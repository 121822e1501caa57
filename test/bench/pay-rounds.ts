import type { LoopOrder } from './bare-loop.ts';
import type { Child } from './child.ts';
import { type Rig, ratePerSecond } from './rig.ts';

/** Starts the bare loop. */
export async function openBareLoop(rig: Rig): Promise<Child> {
  const loop = rig.child('bare-loop');
  await loop.told();
  return loop;
}

/** Payments per second of the bare loop. */
export async function loopRate(rig: Rig, loop: Child, how: Omit<LoopOrder, 'url'>): Promise<number> {
  await rig.service.reset();
  await loop.ask({ url: rig.service.url, ...how } satisfies LoopOrder);
  return ratePerSecond(await rig.service.counts());
}

/** Payments per second of payrun's worker, which must be running: a run of a new file, recorded before it is paid. */
export async function runRate(rig: Rig, name: string, rows: number): Promise<number> {
  const path = await rig.file(name, rows);
  await rig.service.reset();
  const runId = await rig.submit(path);
  const rate = ratePerSecond(await rig.service.paid(rows));
  await rig.finished(runId);
  return rate;
}
