import { isSamePerson } from '../../access/same-person.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { wordStands } from '../../ledger/people/word.ts';
import type { Word } from '../../ledger/seals.ts';
import { Refusal } from '../../refusal.ts';

/** What came of adopting settings; `there`: the ledger had them. */
export type Adopted = 'there' | 'proposed' | 'adopted' | 'same-person';

/** A process that pays, on whatever host. */
export interface LivingWorker {
  readonly host: string;
  readonly pid: number;
}

interface AdoptDeps {
  readonly ledger: Pick<Ledger, 'state' | 'audit' | 'seals' | 'people'>;
  /** What the safety rule depends on, as this process is set. */
  readonly safety: string;
  readonly jobs: { readonly workers: () => Promise<readonly LivingWorker[]> };
}

const ADOPT_TRIES_MAX = 20;

/** Settings in the order in which the ledger keeps them. */
export function settingsIn(safety: string): string[] {
  return safety.split(', ');
}

/** Whether the change of settings takes two people: one of limits, of approval or of references (src/ledger/intents/safety.ts). */
export function takesTwo(before: string, after: string): boolean {
  return controlsIn(before) !== controlsIn(after);
}

const CONTROLS = /(?:^|, )(?:limits|approval|references|likely duplicates) [^,]*/g;

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
  const result = takesTwo(before, safety) ? await adoptByTwo(ledger, safety, actor) : 'adopted';
  if (result === 'same-person') return result;
  if (!takesTwo(before, safety) && !(await ledger.state.swapSafety(before, safety))) throw refuseChanged();
  const action = result === 'adopted' ? 'settings.adopted' : 'settings.proposed';
  await ledger.audit.append({ actor, action, target: 'ledger', details: { before, after: safety } });
  return result;
}

/** Proposes it under a seal, or confirms another person's proposal, if that stands: of these settings, in place of the same ones. */
async function adoptByTwo(
  ledger: AdoptDeps['ledger'],
  safety: string,
  actor: string,
): Promise<Exclude<Adopted, 'there'>> {
  for (let tries = 0; tries < ADOPT_TRIES_MAX; tries++) {
    const { safety: before, proposedSafety: proposed } = await ledger.state.read();
    const wordBy = (by: string): Word => ({ act: 'adopt settings', by, about: [before, safety] });
    const isProposed = proposed?.safety === safety && (await wordStands(ledger, proposed.seal, wordBy(proposed.by)));
    if (isProposed && isSamePerson(proposed.by, actor)) return 'same-person';
    const seals = { own: ledger.seals.word(wordBy(actor)), seen: proposed?.seal ?? '', isSecond: isProposed };
    const result = await ledger.state.adoptSafetyByTwo({ before, safety }, actor, seals);
    if (result !== 'changed') return result;
  }
  throw refuseChanged();
}

function refuseChanged(): Refusal {
  return new Refusal('Others adopt settings at this moment.', 'Look again, and try again.', { kind: 'unavailable' });
}

function refuseWhileWorking(workers: readonly LivingWorker[]): Refusal {
  const named = workers.map(({ host, pid }) => `process ${pid} on ${host}`).join(', ');
  return new Refusal(
    `The settings cannot be changed while a worker runs: ${named}.`,
    'Stop it with SIGTERM, wait until it has ended, and try again. A killed worker counts for 10 s more.',
  );
}
