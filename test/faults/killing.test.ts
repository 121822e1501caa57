import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { type FaultName, WIRE_FAULTS } from '../../src/sandbox/faults/table.ts';
import { readValues } from '../support/records.ts';
import { PART_ROWS, underFire } from './fire.ts';
import type { Rig, RigProcess } from './rig.ts';
import { faultRow } from './row.ts';

/*
 * Everything at once (F2, F60): workers are killed, Redis is restarted, and the service fails some of its calls in every
 * way that needs no person. FAULTS_SOAK_MINUTES and FAULTS_LONG_SOAK_MINUTES say for how long.
 */

const MINUTE_MS = 60_000;
const SOAK_MS = minutes('FAULTS_SOAK_MINUTES', 10);
const LONG_SOAK_MS = minutes('FAULTS_LONG_SOAK_MINUTES', 60);
/** The faults go on until so few are open: no backlog of work is left for the time in which all must settle. */
const OPEN_AT_END_MAX = 100;
/** As far as rows may be held or rejected, because the service refused or failed them again and again. */
const PAID_SHARE_MIN = 0.95;
const MEBIBYTE = 1024 * 1024;

function minutes(name: string, otherwise: number): number {
  return Number.parseFloat(process.env[name] ?? String(otherwise)) * MINUTE_MS;
}

/** Faults with rows of their own: those after which people have to go on (F34, F41), and those that end a payout. */
const LEFT_OUT = /^lookUpOther|^((quote|token)?(forbidden|paymentRequired)|refused|badRequest|quoteRefused)$/i;

/** All other faults of the service, so that each operation fails this share of its calls. */
function failing(share: number): Partial<Record<FaultName, number>> {
  const faults = WIRE_FAULTS.filter(({ name }) => !LEFT_OUT.test(name));
  return Object.fromEntries(
    faults.map(({ name, on }) => [name, share / faults.filter((other) => other.on === on).length]),
  );
}

async function mostArePaid(rig: Rig): Promise<void> {
  const states = await rig.states();
  console.log(`states at the end: ${JSON.stringify(states)}`);
  const all = Object.values(states).reduce((sum, count) => sum + count, 0);
  expect(all).toBe(rig.runs.length * PART_ROWS);
  expect((states['completed'] ?? 0) / all).toBeGreaterThanOrEqual(PAID_SHARE_MIN);
}

/** What else happens at a service now and then. */
const SOMETIMES = { revokeTokensEveryMs: 20_000, visibilityDelayMs: 300, dripMs: 100 };

function calm(rig: Rig): void {
  const faults = Object.fromEntries(WIRE_FAULTS.map(({ name }) => [name, 0]));
  rig.service.switches.set({ ...faults, revokeTokensEveryMs: 0, visibilityDelayMs: 0 });
}

/** Workers that are killed and started all the time keep the machine busy, and a dead one leaves less behind. */
const PATIENT = { PAYRUN_REQUEST_TIMEOUT: '5s', PAYRUN_ARM_DEADLINE: '2s', PAYRUN_CONCURRENCY: '16' };

/** Those that the matrix names for what settles after all faults together (O5). */
const MATRIX_TIMES = { quoteLifeMs: 5000, graceMs: 1000, gapMs: 1000 };

const TOLERANT = {
  times: MATRIX_TIMES,
  settings: { ...PATIENT, PAYRUN_LOG_LEVEL: 'info' },
  outcomes: 'any',
} as const;

faultRow({
  ids: ['F2'],
  fault: 'two workers are killed with -9 at random moments',
  tries: { short: 1, long: 3 },
  switches: { answerDelayMs: { payments: 50 } },
  settings: PATIENT,
  times: MATRIX_TIMES,
  outcomes: 'any',
  tryMsMax: 5 * MINUTE_MS,
  async body(rig) {
    const forMs = 12_000;
    await underFire(rig, {
      forMs,
      rowsMax: PART_ROWS,
      killed: ['one', 'two'],
      killEveryMs: [500, 3000],
      redisEveryMs: forMs,
      openAtEndMax: 150,
    });
  },
  async after(rig) {
    expect(await rig.states()).toMatchObject({ completed: PART_ROWS });
  },
});

faultRow({
  ids: ['F2'],
  fault: `two workers are killed every 0.5 to 3 s for ${SOAK_MS / MINUTE_MS} min, Redis is restarted each minute, 15 % of the service's calls fail`,
  tries: { soak: 1 },
  ...TOLERANT,
  tryMsMax: SOAK_MS + 10 * MINUTE_MS,
  async body(rig) {
    rig.service.switches.set({
      ...failing(0.15),
      faultSeed: Math.floor(rig.random() * 1e6),
      lateCommitMs: 1500,
      ...SOMETIMES,
    });
    await underFire(rig, {
      forMs: SOAK_MS,
      rowsMax: 20_000,
      killed: ['one', 'two'],
      killEveryMs: [500, 3000],
      redisEveryMs: MINUTE_MS,
      openAtEndMax: OPEN_AT_END_MAX,
    });
    calm(rig);
  },
  after: mostArePaid,
});

faultRow({
  ids: ['F60'],
  fault: `all faults at 1 % for ${LONG_SOAK_MS / MINUTE_MS} min, one of two workers killed now and then: the other one's memory does not grow`,
  tries: { soak: 1 },
  ...TOLERANT,
  tryMsMax: LONG_SOAK_MS + 10 * MINUTE_MS,
  async body(rig) {
    rig.service.switches.set({
      ...allAt(0.01),
      faultSeed: Math.floor(rig.random() * 1e6),
      lateCommitMs: 1500,
      ...SOMETIMES,
    });
    const steady = await rig.startWorker('steady');
    const early = delay(LONG_SOAK_MS / 3).then(() => residentBytes(steady));
    await underFire(rig, {
      forMs: LONG_SOAK_MS,
      rowsMax: 10_000,
      killed: ['one'],
      killEveryMs: [20_000, 40_000],
      redisEveryMs: 10 * MINUTE_MS,
      openAtEndMax: OPEN_AT_END_MAX,
    });
    const [before, after] = [await early, residentBytes(steady)];
    console.log(
      `memory: ${Math.round(before / MEBIBYTE)} MiB after a third, ${Math.round(after / MEBIBYTE)} at the end`,
    );
    expect(after).toBeLessThan(1.3 * before + 32 * MEBIBYTE);
    calm(rig);
  },
  after: mostArePaid,
});

function allAt(share: number): Partial<Record<FaultName, number>> {
  const faults = WIRE_FAULTS.filter(({ name }) => !LEFT_OUT.test(name));
  return Object.fromEntries(faults.map(({ name }) => [name, share]));
}

function residentBytes({ pid }: RigProcess): number {
  const [, kibibytes = '0'] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number.parseInt(kibibytes, 10) * 1024;
}

/** Promised for a worker with the settings that payrun has by itself. */
const MOVES_AGAIN_MS_MAX = 15_000;

faultRow({
  ids: ['F1'],
  fault: `a worker is killed with -9: its payouts move again within ${MOVES_AGAIN_MS_MAX / 1000} s, with default settings`,
  tries: { short: 1, long: 3 },
  rows: 100,
  times: { quoteLifeMs: 5000 },
  switches: { answerDelayMs: { payments: 2000 } },
  // Its own: the rig's are shorter.
  settings: { PAYRUN_REQUEST_TIMEOUT: '45s', PAYRUN_ARM_DEADLINE: '2s' },
  async body(rig) {
    await rig.startWorker('two');
    const dying = await rig.startWorker('one');
    await rig.submit();
    const armedByIt = async (): Promise<number> =>
      (await armers(rig)).filter((armer) => armer === intentOwner(rig, 'one')).length;
    await rig.until('payouts in flight', async () => (await armedByIt()) >= 5);
    dying.kill('SIGKILL');
    const killedAt = performance.now();
    await dying.ended;
    rig.service.switches.set({ answerDelayMs: { payments: 0 } });
    const left = await armedByIt();
    expect(left).toBeGreaterThan(0);
    await rig.until('the first move', async () => (await armedByIt()) < left);
    const firstMs = performance.now() - killedAt;
    await rig.until('a move of each', async () => (await armedByIt()) === 0);
    const lastMs = performance.now() - killedAt;
    console.log(`recovery: payouts of a killed worker moved again after ${seconds(firstMs)} to ${seconds(lastMs)}`);
    expect(lastMs).toBeLessThanOrEqual(MOVES_AGAIN_MS_MAX);
  },
});

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

/** As which a worker signs its armings, once there is one. */
function intentOwner(rig: Rig, name: string): string | undefined {
  const folder = join(rig.folder, name, 'intents');
  const texts = existsSync(folder) ? readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8')) : [];
  return /"owner":"([^"]+)"/.exec(texts.join('\n'))?.[1];
}

/** Who armed each payout that is armed now. */
async function armers(rig: Rig): Promise<string[]> {
  const runId = rig.runs[0]?.runId ?? '';
  const lines = Array.from({ length: rig.rows }, (_, index) => index + 2);
  const records = await Promise.all(
    lines.map((line) => readValues({ redis: rig.redis.client, prefix: '{payrun}', runId, line })),
  );
  return records.flatMap(({ s: state, by: armer }) => (state === 'armed' && armer !== undefined ? [armer] : []));
}
