import { judgeRun } from '../support/paid-once.ts';
import { DEPTH } from './depth.ts';
import type { Rig, Stopped } from './rig.ts';

/*
 * The common oracle of the matrix (faults.md): O1 to O4 from the payout file, the service's book on disk and the report;
 * O5 by the clock; O6 from everything that the processes said; O7 by
 * payrun's own check of its audit chain.
 */

const OPEN_STATES = ['ready', 'armed', 'quoted', 'unknown', 'accepted'];
const OUTCOME_OF_STATE: Readonly<Record<string, string>> = {
  ready: 'waiting',
  armed: 'unknown',
  quoted: 'unknown',
  accepted: 'pending',
  completed: 'paid',
};

/** What one try came to. */
export interface Judged {
  readonly twice: number;
  readonly lost: number;
  readonly settledMs: number;
  readonly boundMs: number;
  readonly outcomes: Readonly<Record<string, number>>;
  /** Everything that the matrix promises and that is not so; empty when all is well. */
  readonly faults: readonly string[];
}

/**
 * How often the bound may have passed before O5 is broken. The short rows run several at a time beside a whole suite: there
 * the time is shown, and only what does not settle at all is a fault. The promise itself is judged by the whole matrix.
 */
const BOUNDS_MAX = DEPTH === 'short' ? 4 : 1;

/** How long it took until no payout was open any more (O5). What still is much later is left to the judge. */
export async function settle(rig: Rig): Promise<number> {
  const from = performance.now();
  const isSettled = async (): Promise<boolean> => {
    const states = await rig.states();
    return OPEN_STATES.every((state) => (states[state] ?? 0) === 0);
  };
  await rig.until('the end of all payouts', isSettled, (BOUNDS_MAX + 1) * rig.boundMs).catch(() => {});
  return performance.now() - from;
}

interface Expected {
  readonly settledMs: number;
  readonly outcomes: Readonly<Record<string, number>> | 'any' | undefined;
}

/** Takes the reports, ends all processes and judges. */
export async function judge(rig: Rig, { settledMs, outcomes: wanted }: Expected): Promise<Judged> {
  const faults: string[] = [];
  const outcomes: Record<string, number> = {};
  let twice = 0;
  let lost = 0;
  const states = await rig.states();
  for (const { runId, file } of rig.runs) {
    const report = await rig.payrun(['report', runId, '--format', 'csv']);
    if (report.code !== 0) faults.push(`payrun report ended with ${report.code}: ${report.stderr}`);
    const verdict = judgeRun(file, rig.book(), report.stdout);
    twice += verdict.twice.length;
    lost += verdict.lost.length;
    for (const reference of verdict.twice) faults.push(`O1 ${reference}: paid more than once`);
    for (const reference of verdict.lost) faults.push(`O2 O3 ${reference}: lost`);
    faults.push(...verdict.faults.map((fault) => `O4 ${fault}`));
    for (const [outcome, count] of Object.entries(verdict.outcomes))
      outcomes[outcome] = (outcomes[outcome] ?? 0) + count;
  }
  faults.push(...foreignPayments(rig), ...ledgerFaults(states, outcomes), ...(await auditFaults(rig)));
  if (settledMs > BOUNDS_MAX * rig.boundMs) {
    faults.push(`O5 settled after ${Math.round(settledMs)} ms, not within ${rig.boundMs}: ${JSON.stringify(states)}`);
  }
  const expected = wanted ?? { paid: rig.runs.length * rig.rows };
  if (expected !== 'any' && !isSame(expected, outcomes)) {
    faults.push(`outcomes are ${JSON.stringify(outcomes)}, not ${JSON.stringify(expected)}`);
  }
  for (const stopped of await rig.stopAll()) {
    faults.push(...processFaults(rig, stopped).map((fault) => `${stopped.name}: ${fault}`));
  }
  return { twice, lost, settledMs, boundMs: rig.boundMs, outcomes, faults };
}

function processFaults(rig: Rig, { ended, wasReady, wasLate }: Stopped): string[] {
  const secrets = secretsIn(rig, `${ended.stdout}${ended.stderr}`).map((fault) => `O6 ${fault}`);
  if (wasLate) return [...secrets, 'it did not end after SIGTERM'];
  const endedWrongly = wasReady && typeof ended.code === 'number' && ended.code !== 0;
  return endedWrongly ? [...secrets, `it ended with ${ended.code}: ${ended.stderr.slice(-500)}`] : secrets;
}

function foreignPayments(rig: Rig): string[] {
  const files = rig.runs.map(({ file }) => file).join('\n');
  return rig
    .book()
    .filter(({ internalId = '' }) => internalId === '' || !files.includes(internalId))
    .map(({ internalId, paymentId }) => `O4 payment ${paymentId} of "${internalId}" is in no file`);
}

function ledgerFaults(states: Readonly<Record<string, number>>, outcomes: Readonly<Record<string, number>>): string[] {
  const ledger: Record<string, number> = {};
  for (const [state, count] of Object.entries(states)) {
    const outcome = OUTCOME_OF_STATE[state] ?? state;
    if (count > 0) ledger[outcome] = (ledger[outcome] ?? 0) + count;
  }
  return isSame(ledger, outcomes)
    ? []
    : [`O4 the ledger has ${JSON.stringify(ledger)}, the report ${JSON.stringify(outcomes)}`];
}

function isSame(one: Readonly<Record<string, number>>, other: Readonly<Record<string, number>>): boolean {
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].every(
    (key) => (one[key] ?? 0) === (other[key] ?? 0),
  );
}

const FORBIDDEN: readonly (readonly [string, RegExp])[] = [
  ['an access token', /eyJ[\w-]{8,}\.[\w-]+/],
  ['a stack trace of ours', /^\s*at .*\/(src|jobs)\/.*:\d+:\d+/m],
  ['a bearer header', /bearer [\w-]{8,}/i],
];

function secretsIn({ secrets }: Rig, text: string): string[] {
  return [
    ...(secrets.some((secret) => text.includes(secret)) ? ['a secret stands in the log'] : []),
    ...FORBIDDEN.filter(([, sign]) => sign.test(text)).map(([what]) => `${what} stands in the log`),
  ];
}

/** The audit chain verifies (O7). */
async function auditFaults(rig: Rig): Promise<string[]> {
  const { code, stderr } = await rig.payrun(['audit', 'verify']);
  return code === 0 ? [] : [`O7 payrun audit verify ended with ${code}: ${stderr}`];
}
