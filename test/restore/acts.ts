import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Dice } from '../simulation/dice.ts';
import type { Company, Listed, Row, Told } from './company.ts';

const LATER = `${new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10)}T06:00:00.000Z`;

/** People who do what the pages tell them, in any order. */
export interface Office {
  readonly company: Company;
  readonly dice: Dice;
  /** The rows of its files; each file has some of the references that the others have. */
  readonly files: readonly (readonly Row[])[];
  readonly references: readonly string[];
  /** Paths of what was handed in, in the order in which it came first. */
  readonly handedIn: Set<string>;
}

type Act = (office: Office) => Promise<void>;

export function openOffice(company: Company, dice: Dice, seed: number): Office {
  const row = (number: number, amount = `${10 + number}.25`): Row => ({
    reference: `S${seed}-${number}`,
    // Two payouts to the same beneficiary, of the same amount: likely duplicates.
    amount: number === 6 ? '15.25' : amount,
    beneficiary: `00000000-0000-4000-8000-${String(100 * seed + Math.min(number, 5)).padStart(12, '0')}`,
  });
  const files = [
    [row(1), row(2), row(3)],
    [row(2), row(3), row(4), row(5)],
    [row(1), row(4), row(5), row(6)],
    // The first one, corrected.
    [row(1, '12.75'), row(2, '13.75'), row(3, '14.75')],
    [1, 2, 3, 4, 5, 6].map((number) => row(number)),
  ];
  const references = [1, 2, 3, 4, 5, 6].map((number) => row(number).reference);
  return { company, dice, files, references, handedIn: new Set() };
}

async function anyRun({ company, dice }: Office): Promise<Listed | undefined> {
  const runs = await company.listed();
  return runs.length === 0 ? undefined : dice.pick(runs);
}

async function submit(office: Office, path: string, ...more: readonly string[]): Promise<void> {
  const { company, handedIn } = office;
  if (await isPaidUnseen(office, path)) return;
  handedIn.add(path);
  await company.say(['submit', path, '--as', 'hans', ...more]);
}

/**
 * After a host burnt nobody hands in a file that Redis has no rows of and the service has payments of: what was sent of it
 * stands nowhere else ("What cannot be promised").
 */
async function isPaidUnseen({ company, references }: Office, path: string): Promise<boolean> {
  if (company.lost === undefined) return false;
  const text = readFileSync(path);
  const sha256 = hash('sha256', text, 'hex');
  if ((await company.listed()).some(({ file }) => file.sha256 === sha256 && file.rows > 0)) return false;
  return company.booked(references.filter((reference) => text.includes(`${reference},`))).length > 0;
}

function anyFile({ company, dice, files }: Office): string {
  const which = dice.between(0, files.length - 1);
  return company.write(`file-${which}.csv`, files[which] ?? []);
}

export const handIn: Act = async (office) => {
  await submit(office, anyFile(office), ...(office.dice.chance(0.3) ? ['--at', LATER] : []));
};

/** Somebody ends the command while it records, and cancels what there is of the run, or does not. */
const handInCutShort: Act = async (office) => {
  const { company, dice, handedIn } = office;
  const path = anyFile(office);
  if (await isPaidUnseen(office, path)) return;
  handedIn.add(path);
  await company.say(['submit', path, '--as', 'hans'], 'C16');
  const recording = (await company.listed()).find(({ state }) => state === 'recording');
  if (recording !== undefined && dice.chance(0.5)) await company.say(['cancel', recording.runId, '--as', 'anna']);
};

/** The rows of a run that were refused, failed or cancelled, once more. */
const retry: Act = async (office) => {
  const { company, dice } = office;
  const run = await anyRun(office);
  if (run === undefined) return;
  const path = company.write(`retry-${run.runId}-${dice.hex(4)}.csv`, []);
  const { said } = await company.say(['retry-file', run.runId, '--output', path]);
  if (said.includes(`wrote ${path}`)) await submit(office, path, ...(dice.chance(0.5) ? ['--again'] : []));
};

const onRun =
  (...words: readonly string[]): Act =>
  async (office) => {
    const run = await anyRun(office);
    const [command = '', ...more] = words;
    if (run !== undefined) await office.company.say([command, run.runId, ...more]);
  };

const cancelOne: Act = async ({ company, dice, ...office }) => {
  const run = await anyRun({ company, dice, ...office });
  if (run !== undefined) await company.say(['cancel', run.runId, dice.pick(office.references)]);
};

const halt: Act = async ({ company }) => void (await company.say(['halt', '--reason', 'a doubt', '--as', 'anna']));

const release: Act = async ({ company }) => {
  const { said } = await company.say(['release', '--as', 'anna']);
  if (!said.includes('Nothing is halted')) await company.say(['release', '--as', 'bob']);
};

async function approveAll({ company }: Office, runs: readonly Listed[]): Promise<void> {
  for (const { runId, state, file } of runs) {
    if (state === 'awaiting-approval') await company.say(['approve', runId, '--sha256', file.sha256, '--as', 'carol']);
  }
}

const approve: Act = async (office) => await approveAll(office, await office.company.listed());

const block: Act = async ({ company, dice, files }) => {
  const { beneficiary } = dice.pick(dice.pick(files));
  await company.say(['block', beneficiary, '--reason', 'fraud', '--as', 'anna']);
};

const unblock: Act = async ({ company, dice, files }) => {
  const { beneficiary } = dice.pick(dice.pick(files));
  for (const name of ['anna', 'bob']) await company.say(['unblock', beneficiary, '--as', name]);
};

/** Two people settle what is held. Neither confirms what would pay a second time: the words at the proposal say so. */
const settleHeld: Act = async (office) => {
  const { company, dice } = office;
  const run = await anyRun(office);
  const held = run === undefined ? [] : (await company.rowsOf(run.runId)).filter(({ outcome }) => outcome === 'held');
  if (run === undefined || held.length === 0) return;
  const row = dice.pick(held);
  const words = wordsFor(office, row);
  const about = [words[0] ?? '', run.runId, row.reference, ...words.slice(1), '--reason', 'looked at', '--as'];
  const { code, said } = await company.say([...about, 'anna']);
  if (code !== 0 || said.includes('both are paid then') || mayBeThere(office, said, row)) return;
  await company.say([...about, 'bob', '--yes']);
};

/** What the console of the service says decides, where anything was sent. */
function wordsFor({ company, dice }: Office, { reference, quoteId }: Told): readonly string[] {
  if (quoteId === null) return [dice.chance(0.7) ? 'allow' : 'drop'];
  const payment = company.booked([reference]).find(({ paymentId }) => paymentId === quoteId);
  return ['resolve', ...(payment === undefined ? ['--not-paid'] : ['--paid', payment.paymentId])];
}

function mayBeThere({ company }: Office, said: string, { reference }: Told): boolean {
  return said.includes('look for its reference at the service') && company.booked([reference]).length > 0;
}

const workersDie: Act = async ({ company, dice }) => {
  await company.stop(dice.pick(company.hosts), dice.chance(0.5) ? 'kill' : 'stop');
  company.work();
};

const burn: Act = async ({ company, dice }) => {
  if (company.hosts.includes('two') && company.lost === undefined && dice.chance(0.4)) await company.lose('two');
};

const writeOff: Act = async ({ company }) => {
  if (company.lost === undefined) return;
  for (const name of ['anna', 'bob']) await company.say(['write-off', company.lost, '--reason', 'burnt', '--as', name]);
};

const ACTS: readonly (readonly [act: Act, weight: number])[] = [
  [handIn, 5],
  [handInCutShort, 1],
  [retry, 3],
  [onRun('cancel', '--reason', 'wrong', '--as', 'anna'), 2],
  [cancelOne, 1],
  [onRun('pause', '--reason', 'a look', '--as', 'anna'), 1],
  [onRun('resume', '--as', 'anna'), 4],
  [approve, 2],
  [settleHeld, 5],
  [halt, 1],
  [release, 3],
  [block, 1],
  [unblock, 1],
  [workersDie, 2],
  [burn, 1],
  [writeOff, 1],
];
const WEIGHED = ACTS.flatMap(([act, weight]) => Array.from({ length: weight }, () => act));

/** Some acts, one after the other or two at once. */
export async function actAtRandom(office: Office, times: number): Promise<void> {
  const { company, dice } = office;
  for (let act = 0; act < times; act++) {
    if (dice.chance(0.15)) {
      company.done.push('at once:');
      await Promise.all([dice.pick(WEIGHED)(office), dice.pick(WEIGHED)(office)]);
    } else await dice.pick(WEIGHED)(office);
  }
}

/** Of what is known from intent logs alone, and of what was never recorded to its end, rows are missing. */
function isWhole({ file, outcomes, state }: Listed): boolean {
  const rows = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
  const isCutShort = state === 'recording' || (state === 'cancelled' && (outcomes['unknown'] ?? 0) > 0);
  return file.rows > 0 && rows === file.rows && !isCutShort;
}

function isOver({ outcomes, state }: Listed): boolean {
  return (outcomes['waiting'] ?? 0) + (outcomes['unknown'] ?? 0) === 0 && state !== 'recording';
}

/** What is not whole waits for its file. */
async function handInAgain(office: Office, runs: readonly Listed[]): Promise<void> {
  if (runs.every(isWhole)) return;
  for (const path of office.handedIn) await submit(office, path);
}

/** People let everything go; gives whether nothing is left that could still be paid. */
export async function letGo(office: Office): Promise<boolean> {
  const { company } = office;
  company.work();
  await writeOff(office);
  await release(office);
  const runs = await company.listed();
  await approveAll(office, runs);
  await handInAgain(office, runs);
  for (const { runId } of runs.filter(({ state }) => state === 'paused')) {
    await company.say(['resume', runId, '--as', 'anna']);
  }
  // After a host burnt, a file that nobody may hand in again stays open.
  return runs.length > 0 && runs.every((run) => isOver(run) || (company.lost !== undefined && !isWhole(run)));
}

/** All that contradicts "each reference is paid at most once, and each payment is told". */
export async function faultsOf(office: Office): Promise<string[]> {
  const { company, references } = office;
  const runs = await company.listed();
  const rows = (await Promise.all(runs.map(({ runId }) => company.rowsOf(runId)))).flat();
  const book = company.booked(references);
  const faults: string[] = [];
  for (const reference of references) {
    const paid = book.filter(({ internalId }) => internalId === reference);
    if (paid.length > 1) faults.push(`${reference} was paid ${paid.length} times`);
    const own = rows.filter((row) => row.reference === reference);
    const claims = own.filter(({ outcome }) => outcome === 'paid' || outcome === 'pending');
    for (const { paymentId } of claims)
      if (!paid.some((payment) => payment.paymentId === paymentId))
        faults.push(`${reference} is told as ${paymentId}, which the service does not have`);
    const isOpen = company.lost !== undefined || own.some(({ outcome }) => outcome === 'held');
    for (const { paymentId } of paid)
      if (!isOpen && claims.filter((row) => row.paymentId === paymentId).length !== 1)
        faults.push(
          `${reference} was paid by ${paymentId}, and told are ${own.map((row) => JSON.stringify(row)).join()}`,
        );
  }
  for (const run of runs) {
    const { said } = await company.say(['report', run.runId, '--format', 'summary']);
    // Nor can one of a file that nobody may hand in again.
    if (said.includes('DOES NOT TIE') && (company.lost === undefined || isWhole(run)))
      faults.push(`a report does not tie: ${JSON.stringify(run)}`);
  }
  return faults;
}
