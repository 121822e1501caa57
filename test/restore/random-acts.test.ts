import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Dice, openDice } from '../simulation/dice.ts';
import { buildProcesses, type Processes, type Started } from '../support/payrun-processes.ts';
import { openSite, rowsByReference, type Site, stopped, TEST_MS_MAX } from './site.ts';

/** How many seeds; RANDOM_ACTS_FROM is the first. */
const SEEDS = Number.parseInt(process.env['RANDOM_ACTS'] ?? '2', 10);
const FROM = Number.parseInt(process.env['RANDOM_ACTS_FROM'] ?? '1', 10);
const ACTS_BEFORE = 6;
const ACTS_AFTER = 12;
const LATER = `${new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10)}T06:00:00.000Z`;
/** Each file has some of the references that the others have. */
const FILES: readonly (readonly string[])[] = [
  ['R-1', 'R-2', 'R-3'],
  ['R-2', 'R-3', 'R-4'],
  ['R-1', 'R-4', 'R-5'],
];

let processes: Processes;
beforeAll(() => {
  processes = buildProcesses();
});
afterAll(() => processes.remove());

/** People who do what the pages tell them, in any order. */
interface Office {
  readonly site: Site;
  readonly dice: Dice;
  /** What was done, for whoever has to understand a failure. */
  readonly done: string[];
}

type Act = (office: Office) => Promise<void>;

async function say(office: Office, words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await office.site.run(words);
  office.done.push(`${words.join(' ')}: ${code}`);
  return stdout + stderr;
}

async function anyRun({ site, dice }: Office): Promise<string | undefined> {
  const runs = await site.listed();
  return runs.length === 0 ? undefined : dice.pick(runs).runId;
}

const handIn: Act = async (office) => {
  const { site, dice } = office;
  const which = dice.between(0, FILES.length - 1);
  const more = dice.chance(0.4) ? ['--at', LATER] : [];
  office.done.push(`file ${which} ${more.join(' ')}`);
  await site.submit(`file-${which}.csv`, FILES[which] ?? [], ...more).catch(() => {});
};

const cancel: Act = async (office) => {
  const runId = await anyRun(office);
  if (runId !== undefined) await say(office, ['cancel', runId, '--reason', 'wrong', '--as', 'anna']);
};

const resume: Act = async (office) => {
  const runId = await anyRun(office);
  if (runId !== undefined) await say(office, ['resume', runId]);
};

const halt: Act = async (office) => void (await say(office, ['halt', '--reason', 'a doubt', '--as', 'anna']));

const release: Act = async (office) => {
  for (const name of ['anna', 'bob']) await say(office, ['release', '--as', name]);
};

/** Nobody confirms what would pay a second time: the words at the proposal say so. */
const allow: Act = async (office) => {
  const runId = await anyRun(office);
  if (runId === undefined) return;
  const rows = [...(await rowsByReference(office.site, runId).catch(() => new Map<string, Record<string, string>>()))];
  const held = rows.filter(([, row]) => row['outcome'] === 'held').map(([reference]) => reference);
  if (held.length === 0) return;
  const words = ['allow', runId, office.dice.pick(held), '--reason', 'looked at', '--as'];
  const told = await say(office, [...words, 'anna']);
  if (!told.includes('both are paid then') && told.includes('it was never sent')) await say(office, [...words, 'bob']);
};

const ACTS: readonly Act[] = [handIn, handIn, cancel, resume, resume, allow, halt, release, release];

async function actAtRandom(office: Office, times: number): Promise<void> {
  for (let act = 0; act < times; act++) await office.dice.pick(ACTS)(office);
}

/** What is known from intent logs alone waits for its file. */
async function handInAgain({ site, done }: Office): Promise<void> {
  if ((await site.listed()).every(({ file }) => file.rows > 0)) return;
  for (const [which, references] of FILES.entries()) {
    done.push(`file ${which} again`);
    await site.submit(`file-${which}.csv`, references).catch(() => {});
  }
}

/** Everything is let go, until nothing waits or is unknown that could still be paid. */
async function letGo(office: Office): Promise<void> {
  await release(office);
  for (const { runId, state } of await office.site.listed()) {
    if (state === 'paused') await say(office, ['resume', runId]);
  }
}

test.each(Array.from({ length: SEEDS }, (_, index) => FROM + index))(
  'whatever people do before and after a restore, seed %i, no reference is paid twice',
  async (seed) => {
    const office: Office = { site: await openSite(processes), dice: openDice(seed), done: [] };
    const { site } = office;
    let worker: Started = await site.worker();
    await handIn(office);
    await actAtRandom(office, office.dice.between(0, 2));
    site.copy();
    office.done.push('copy');
    await actAtRandom(office, ACTS_BEFORE);
    await stopped(worker);
    await site.putBack();
    office.done.push('put back');
    worker = await site.worker();
    await actAtRandom(office, ACTS_AFTER);
    await handInAgain(office);
    await letGo(office);
    await vi.waitUntil(
      async () => {
        await letGo(office);
        const open = (await site.listed()).map(
          ({ outcomes }) => (outcomes['waiting'] ?? 0) + (outcomes['unknown'] ?? 0),
        );
        return open.every((count) => count === 0);
      },
      { timeout: TEST_MS_MAX, interval: 500 },
    );
    expect({ paidTwice: site.paidTwice(), done: office.done }).toMatchObject({ paidTwice: [] });
    for (const { runId } of await site.listed()) {
      const { code, stdout, stderr } = await site.run(['report', runId, '--format', 'summary']);
      expect({ code, ties: !(stdout + stderr).includes('DOES NOT TIE'), done: office.done }).toMatchObject({
        ties: true,
      });
    }
    await stopped(worker);
  },
  2 * TEST_MS_MAX,
);
