import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { REHEARSALS } from '../../../src/sandbox/faults/rehearsals.ts';
import { type BookEntry, paidTwice, readBook, rowsOf } from '../../support/paid-once.ts';
import { type Figure, figure, type Round, ratioFigure, type Target } from '../figures.ts';
import { runRate } from '../pay-rounds.ts';
import { referenceOf } from '../payout-file.ts';
import { type Environment, openRig, openStuck, type Rig, ratePerSecond } from '../rig.ts';
import type { Effort, Section } from '../section.ts';
import { startSimulatedService } from '../simulated-service.ts';
import type { TextbookEnd, TextbookOrder } from '../textbook.ts';

const IN_FLIGHT = 64;
/** As in a rehearsal. */
const REQUEST_TIMEOUT_MS = 3000;

/** The usual BullMQ way (textbook.ts) on the same input. */
export const textbook: Section = {
  name: 'textbook',
  title: 'The usual BullMQ way',
  async measure(effort) {
    return {
      figures: [...(await measureSpeed(effort)), ...(await measureFaults(effort))],
      notes: [
        'The same Redis settings for both, each round with a new process of each; the textbook keeps no intent log, no history, no index and no report.',
        `Fault mix \`storm\` (docs/rehearsals.md) of the simulated service, both with time-outs of ${REQUEST_TIMEOUT_MS} ms and ${IN_FLIGHT} in flight; the simulated service's own book is what counts. Lost: a row that is not in the book, or that is told as failed although it was paid.`,
      ],
    };
  },
};

async function measureSpeed({ pick, rounds, say }: Effort): Promise<Figure[]> {
  const rig = await openRig();
  try {
    const payouts = pick(2000, 20_000);
    const measured: Round[] = [];
    for (let round = 1; round <= rounds; round++) {
      const worker = await rig.worker({ PAYRUN_CONCURRENCY: String(IN_FLIGHT) });
      const ours = await runRate(rig, `ours-${round}`, payouts);
      await worker.kill('SIGTERM');
      const file = await rig.file(`textbook-${round}`, payouts);
      await rig.service.reset();
      await payByTextbook(rig, { file, url: rig.service.url });
      const limit = ratePerSecond(await rig.service.counts());
      measured.push({ ours, limit });
      say(`round ${round}: ${Math.round(ours)} payouts/s, textbook ${Math.round(limit)}`);
    }
    const about = { name: `one worker, ${IN_FLIGHT} in flight`, unit: 'payouts/s', limit: 'textbook' };
    return [ratioFigure({ ...about, target: { by: 'ratio', atLeast: 5 } }, measured)];
  } finally {
    await rig.close();
  }
}

type TextbookInput = Pick<TextbookOrder, 'file' | 'url'> & Partial<TextbookOrder>;

async function payByTextbook(rig: Rig, input: TextbookInput): Promise<TextbookEnd> {
  const order: TextbookOrder = {
    redisSocket: rig.redis.socket,
    prefix: '{textbook}',
    clientId: 'bench',
    clientSecret: 'bench-secret',
    audience: 'urn:servicexcurrent-test:bench-tenant',
    inFlight: IN_FLIGHT,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    ...input,
  };
  const child = rig.child('textbook', [JSON.stringify(order)]);
  try {
    return await child.told<TextbookEnd>();
  } finally {
    await child.stop();
  }
}

/** What became of a file under faults. */
interface Damage {
  readonly twice: number;
  readonly lost: number;
  readonly seconds: number;
}

async function measureFaults({ pick, say }: Effort): Promise<Figure[]> {
  const rows = pick(200, 2000);
  const ours: Damage[] = [];
  const theirs: Damage[] = [];
  const seeds = pick([1], [1, 2, 3, 4, 5]);
  for (const seed of seeds) {
    ours.push(await damageOf(seed, rows, payByPayrun));
    theirs.push(await damageOf(seed, rows, payStormByTextbook));
    say(`seed ${seed}: ours ${JSON.stringify(ours.at(-1))}, textbook ${JSON.stringify(theirs.at(-1))}`);
  }
  const lines = (who: string, damage: readonly Damage[], target?: Target): Figure[] => [
    figure(
      { name: `storm, ${who}: paid twice`, unit: `of ${rows} rows`, target },
      damage.map(({ twice }) => twice),
    ),
    figure(
      { name: `storm, ${who}: lost`, unit: `of ${rows} rows`, target },
      damage.map(({ lost }) => lost),
    ),
    figure(
      { name: `storm, ${who}: until the last row is settled`, unit: 's' },
      damage.map(({ seconds }) => seconds),
    ),
  ];
  return [...lines('payrun', ours, { by: 'value', atMost: 0, always: true }), ...lines('textbook', theirs)];
}

interface Stormy {
  readonly rig: Rig;
  readonly file: string;
  readonly name: string;
  readonly rows: number;
  /** Settings of the simulated service that storms. */
  readonly settings: Environment;
}

/** Gives the references that it holds for not paid. */
type PayStorm = (stormy: Stormy) => Promise<ReadonlySet<string>>;

async function damageOf(seed: number, rows: number, payAll: PayStorm): Promise<Damage> {
  const rig = await openRig();
  try {
    const { settings, folder } = await startSimulatedService(rig, { ...REHEARSALS.storm.switches, faultSeed: seed });
    const name = `storm-${seed}`;
    const file = await rig.file(name, rows);
    const started = performance.now();
    const unpaid = await payAll({ rig, file, name, rows, settings });
    const seconds = (performance.now() - started) / 1000;
    const book = readBook(folder);
    return { twice: paidTwice(book).length, lost: lostOf({ name, rows, book, unpaid }), seconds };
  } finally {
    await rig.close();
  }
}

/** Rows that are not in the book, and rows that are told as not paid although they are in it. */
function lostOf(of: { name: string; rows: number; book: readonly BookEntry[]; unpaid: ReadonlySet<string> }): number {
  const paid = new Set(of.book.map(({ internalId }) => internalId));
  const references = Array.from({ length: of.rows }, (_, row) => referenceOf(of.name, row));
  return references.filter((reference) => !paid.has(reference) || of.unpaid.has(reference)).length;
}

const LOOK_MS = 200;

async function payByPayrun({ rig, file, settings }: Stormy): Promise<ReadonlySet<string>> {
  const env = {
    ...settings,
    PAYRUN_CONCURRENCY: String(IN_FLIGHT),
    PAYRUN_REQUEST_TIMEOUT: `${REQUEST_TIMEOUT_MS}ms`,
    PAYRUN_QUOTE_GRACE: '1s',
    PAYRUN_NOT_FOUND_GAP: '1s',
  };
  await rig.worker(env);
  const runId = await rig.submit(file, env);
  const idle = openStuck('the storm');
  for (;;) {
    const run = await rig.runs.read(runId);
    if (run?.state === 'finished') break;
    idle(JSON.stringify(run?.counts));
    await delay(LOOK_MS);
  }
  const path = join(rig.folder, 'storm-report.csv');
  await rig.start(['report', runId, '--output', path], env).ended();
  const told = rowsOf(readFileSync(path, 'utf8'));
  return new Set(
    told.filter(({ outcome }) => outcome !== 'paid' && outcome !== 'pending').map(({ reference = '' }) => reference),
  );
}

async function payStormByTextbook({ rig, file, settings }: Stormy): Promise<ReadonlySet<string>> {
  const tenantId = settings['PAYRUN_TENANT_ID'] ?? '';
  await payByTextbook(rig, {
    file,
    url: settings['PAYRUN_SERVICE_URL'] ?? '',
    clientId: settings['PAYRUN_CLIENT_ID'] ?? '',
    clientSecret: settings['PAYRUN_CLIENT_SECRET'] ?? '',
    audience: `urn:servicexcurrent-test:${tenantId}`,
  });
  const told = await rig.redis.redis.hgetall('{textbook}:textbook-status');
  return new Set(Object.keys(told).filter((reference) => told[reference]?.startsWith('failed') === true));
}
