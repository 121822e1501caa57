import type { Ledger } from '../../ledger/ledger.ts';
import { Refusal } from '../../refusal.ts';

/** What came of adopting settings; `there`: the ledger had them. */
export type Adopted = 'there' | 'proposed' | 'adopted' | 'same-person';

/** A process that pays, on whatever host. */
export interface LivingWorker {
  readonly host: string;
  readonly pid: number;
}

interface AdoptDeps {
  readonly ledger: { readonly state: Pick<Ledger['state'], 'read' | 'adoptSafety' | 'adoptSafetyByTwo'> } & Pick<
    Ledger,
    'audit'
  >;
  /** What the safety rule depends on, as this process is set. */
  readonly safety: string;
  readonly jobs: { readonly workers: () => Promise<readonly LivingWorker[]> };
}

/** Settings in the order in which the ledger keeps them. */
export function settingsIn(safety: string): string[] {
  return safety.split(', ');
}

/** Whether the change of settings takes two people: one of limits or of approval (src/ledger/intents/safety.ts). */
export function takesTwo(before: string, after: string): boolean {
  return controlsIn(before) !== controlsIn(after);
}

const CONTROLS = /(?:^|, )(?:limits|approval) [^,]*/g;

function controlsIn(safety: string): string {
  return (safety.match(CONTROLS) ?? []).join();
}

/**
 * Makes this process's safety settings those of the ledger; a change of limits or approval only when a second person asks
 * for it too. Throws a Refusal while a worker lives, which would go on with the settings that it was started with.
 */
export async function adoptSettings({ ledger, safety, jobs }: AdoptDeps, actor: string): Promise<Adopted> {
  const { safety: before } = await ledger.state.read();
  if (before === safety) return 'there';
  const workers = await jobs.workers();
  if (workers.length > 0) throw refuseWhileWorking(workers);
  const result = takesTwo(before, safety) ? await ledger.state.adoptSafetyByTwo(safety, actor) : 'adopted';
  if (result === 'same-person') return result;
  if (!takesTwo(before, safety)) await ledger.state.adoptSafety(safety);
  const action = result === 'adopted' ? 'settings.adopted' : 'settings.proposed';
  await ledger.audit.append({ actor, action, target: 'ledger', details: { before, after: safety } });
  return result;
}

function refuseWhileWorking(workers: readonly LivingWorker[]): Refusal {
  const named = workers.map(({ host, pid }) => `process ${pid} on ${host}`).join(', ');
  return new Refusal(
    `The settings cannot be changed while a worker runs: ${named}.`,
    'Stop it with SIGTERM, wait until it has ended, and try again. A killed worker counts for 30 s more.',
  );
}
