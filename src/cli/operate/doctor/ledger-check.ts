import { rfc3339, systemClock } from '../../../clock.ts';
import { nameOf } from '../../../config/config.ts';
import type { DataDir } from '../../../ledger/intents/data-dir.ts';
import type { Ledger } from '../../../ledger/ledger.ts';
import type { HeadFacts } from '../../../ledger/season/head-facts.ts';
import { dirsText, placesOf, waitedForRemedy } from '../../../runs/waited-for.ts';
import { WRITE_OFF } from '../../command-words.ts';
import { isRowless, rowlessText } from '../../look/awaiting-row.ts';
import { describeCapabilities } from './capability-check.ts';
import type { Found, Place } from './check.ts';

export interface LedgerPlace extends Place {
  /** This process's safety settings; undefined when they cannot be known. */
  readonly safety: string | undefined;
}

/** Whose the ledger is, and whether anything in it keeps payments from being sent. */
export async function examineLedger(ledger: Ledger, place: LedgerPlace): Promise<void> {
  const { check, capabilities, safety } = place;
  const facts = await check('ledger', () => checkIdentity(ledger, place));
  if (facts === undefined) return;
  if (safety !== undefined) await check('safety settings', async () => compareSafety(facts, safety));
  await check('season', () => checkSeason(ledger, { facts, folder: place.folder }));
  await check('halt', async () => describeHalt(facts));
  await check('clock', async () => describeClock(facts, systemClock.now()));
  if (capabilities !== undefined) {
    await check('capabilities', async () =>
      describeCapabilities(capabilities, {
        disproved: facts.disproved,
        environment: place.config.service?.environment,
      }),
    );
  }
}

async function checkIdentity(
  { state: head, runs }: Ledger,
  { folder, config, safety = '' }: LedgerPlace,
): Promise<Found & { value: HeadFacts }> {
  const value = await head.read();
  const service = nameOf(config.service);
  if (value.instance === '' && folder.instance === '') {
    const advice = 'Right before the first run. Later, load the settings that payrun runs with: this is another place.';
    return { found: 'none yet: the first run makes it', advice, value };
  }
  // Writes nothing: a ledger is made only for a directory that belongs to none.
  await head.open({
    knownInstance: folder.instance,
    newInstance: value.instance,
    service,
    safety,
    requireMatch: false,
  });
  const found = `${value.instance}, of ${service}, ${value.armings} armings`;
  const rowless = await rowlessRuns(runs);
  if (rowless.length === 0) return { found, value };
  return { found: [found, ...rowless].join('\n'), remedy: 'Hand the same files in again.', value };
}

async function rowlessRuns(runs: Ledger['runs']): Promise<string[]> {
  const all = await Promise.all((await runs.list()).map((id) => runs.read(id)));
  return all.flatMap((run) => (run !== undefined && isRowless(run) ? [rowlessText(run)] : []));
}

function compareSafety(facts: HeadFacts, safety: string): Found {
  if (facts.instance === '' || facts.safety === safety) return { found: safety };
  return {
    found: `ledger: ${facts.safety}\nthis process: ${safety}`,
    remedy: 'Start every process with the same settings, or run "payrun settings adopt" while no worker runs.',
  };
}

async function checkSeason(
  { state: head }: Ledger,
  { facts, folder }: { facts: HeadFacts; folder: DataDir },
): Promise<Found> {
  if (facts.instance === '') return { found: 'begins with the first run' };
  const { open, server, missing, strangers } = await head.season(folder.id);
  const proposed = proposedText(facts, server);
  if (open && strangers.length > 0) {
    return {
      found: `open, and nothing is sent from this data directory yet: ${strangers.length} others have to note it (${strangers.join(', ')})${proposed}`,
      remedy:
        'Start a worker on each of them. One that does not come back, as after a move of this directory to another disk, is given up by two people: "payrun write-off ID".',
    };
  }
  if (open) return { found: `open${proposed}` };
  const others = await placesOf(
    head,
    missing.filter((id) => id !== folder.id),
  );
  if (others.length === 0) {
    return { found: 'closed since Redis was started; the next worker compares its intent logs and opens it' };
  }
  return {
    found: `closed, and nothing is sent: Redis was restarted, and nobody has compared the intent logs of ${dirsText(others)}${proposed}`,
    remedy: waitedForRemedy(others, WRITE_OFF),
  };
}

/** What was proposed before Redis was restarted once more does not hold. */
function proposedText({ writeOffs }: HeadFacts, server: string): string {
  return writeOffs
    .filter((one) => one.server === server && one.agreed === '')
    .map(({ dataDirId, by }) => `; ${by} proposes to write ${dataDirId} off, and another person has to confirm it`)
    .join('');
}

function describeHalt({ halt, releaseBy }: HeadFacts): Found {
  if (halt === null) return { found: 'nothing is halted' };
  const proposed = releaseBy === null ? '' : `; ${releaseBy} proposes to release it`;
  return {
    found: `everything is halted: ${halt}${proposed}`,
    remedy: 'Two people release it: "payrun release --as NAME", then the same by another NAME.',
  };
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** A step back is told for a day. */
function describeClock({ clockStep }: HeadFacts, nowMs: number): Found {
  if (clockStep === null || nowMs - clockStep.at > DAY_MS) return { found: 'the clock of Redis went on evenly' };
  const seconds = Math.round(clockStep.ms / 1000);
  return {
    found: `the clock of Redis stepped back by ${seconds} s at ${rfc3339(clockStep.at)}`,
    remedy: 'Set up time synchronisation on the host of Redis. You do not have to do anything again.',
  };
}
