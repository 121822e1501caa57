import type { Ledger } from '../ledger/ledger.ts';
import { SCHEDULES_MAX } from '../ledger/schedules.ts';
import { Refusal, withSteps } from '../refusal.ts';
import { openZone } from '../zone.ts';
import { nextTimes } from './cron.ts';
import { actWords, doesWords, type Schedule, stagesOfAct, writeSchedule } from './schedule.ts';

type SetDeps = { readonly ledger: Pick<Ledger, 'schedules' | 'audit'> };

/**
 * Sets a schedule under a name, in the place of the one that has it. The very same again changes nothing. Throws a Refusal
 * when there are too many.
 */
export async function setSchedule(
  { ledger }: SetDeps,
  schedule: Schedule,
  { name, actor }: { name: string; actor: string },
): Promise<'set' | 'there'> {
  const { now } = await ledger.schedules.read();
  const [next] = nextTimes(schedule.cron, openZone(schedule.zone), { afterMs: now, count: 1 });
  if (next === undefined) throw new Error(`the cron ${schedule.cron} plans nothing`);
  const result = await ledger.schedules.set({ name, definition: writeSchedule(schedule), next, setBy: actor });
  if (result === 'full') {
    throw new Refusal(
      `There are ${SCHEDULES_MAX} schedules already.`,
      withSteps`Remove one: ${{ to: 'see-schedules' }} shows them, ${{ to: 'remove-schedule' }} removes one.`,
    );
  }
  const { cron, zone, act, windowMs } = schedule;
  const details = { cron, zone, do: doesWords(actWords(act), stagesOfAct(act)), window: `${windowMs} ms` };
  await ledger.audit.append({ actor, action: 'schedule.set', target: `schedule ${name}`, details });
  return result;
}

/** Removes a schedule; what it planned is not done any more. Throws a Refusal when there is none of this name. */
export async function removeSchedule(
  { ledger }: SetDeps,
  { name, actor }: { name: string; actor: string },
): Promise<void> {
  if (!(await ledger.schedules.remove(name))) {
    throw new Refusal(`There is no schedule ${name}.`, withSteps`See ${{ to: 'see-schedules' }} for the schedules.`);
  }
  await ledger.audit.append({ actor, action: 'schedule.removed', target: `schedule ${name}`, details: {} });
}
