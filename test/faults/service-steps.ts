import { expect } from 'vitest';
import type { SwitchSettings } from '../../src/sandbox/faults/switches.ts';
import { rowsOf } from '../support/paid-once.ts';
import type { Moment } from '../support/proxy-moment.ts';
import type { Rig, RigProcess } from './rig.ts';

/** How a request for a payment begins, as the proxy sees it. */
export const PAYMENT = 'POST /v2/payments';
const PREFIX = '{payrun}';
const FAULT_SEEDS = 1_000_000;

/** The name of a fault of the sandbox. */
export type Fault = Extract<keyof SwitchSettings, string>;

/** Each of the faults with this probability; all of them off again with 0. */
export function odds(faults: readonly Fault[], probability: number): SwitchSettings {
  return Object.fromEntries(faults.map((name) => [name, probability]));
}

/** Every request meets one of the faults, each as often as the others; named in the order of the sandbox's table, whose first lot counts. */
export function allOf(faults: readonly Fault[]): SwitchSettings {
  return Object.fromEntries(faults.map((name, index) => [name, 1 / (faults.length - index)]));
}

/** The service's faults are drawn from the row's seed. */
export function seedFaults(rig: Rig): void {
  rig.service.switches.set({ faultSeed: Math.floor(rig.random() * FAULT_SEEDS) });
}

/** Submits, starts a worker, and switches the faults off when the service was asked for so many payments. */
export async function struck(rig: Rig, faults: readonly Fault[], payments = rig.rows): Promise<void> {
  seedFaults(rig);
  await rig.submit();
  await rig.startWorker('one');
  await rig.until(`${payments} payment requests`, () => rig.service.counters().payments >= payments);
  rig.service.switches.set(odds(faults, 0));
}

/** A worker that is busy with the run. */
export async function busy(rig: Rig, payments = 8): Promise<RigProcess> {
  await rig.submit();
  const worker = await rig.startWorker('one');
  await rig.booked(payments);
  return worker;
}

/** A payment request that reached the proxy whole. */
interface PaymentRequest {
  readonly reference: string;
  readonly quoteId: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** All payment requests from now on; any other toxic ends it. */
export function watchPayments({ serviceLink }: Rig): readonly PaymentRequest[] {
  const seen: PaymentRequest[] = [];
  serviceLink.set({
    do: 'pass',
    when({ way, request }: Moment) {
      const [, quoteId = ''] = /"quoteId":"([^"]+)"/.exec(request) ?? [];
      const [, reference = ''] = /"internalId":"([^"]+)"/.exec(request) ?? [];
      if (way === 'request' && request.startsWith(PAYMENT) && reference !== '') {
        seen.push({ reference, quoteId, at: Date.now() });
      }
      return undefined;
    },
  });
  return seen;
}

/** Nobody took "not found", silence or a refusal for "not paid": a row that was paid was not asked for again. */
export function nothingAskedTwice(rig: Rig, requests: readonly PaymentRequest[]): void {
  expect(requests.length).toBeGreaterThanOrEqual(rig.rows);
  const paidAt = new Map(rig.book().map(({ internalId = '', initiatedAt }) => [internalId, initiatedAt]));
  const late = requests.filter(({ reference, at }) => at > (paidAt.get(reference) ?? Number.POSITIVE_INFINITY));
  expect(late).toEqual([]);
}

/** Some requests came to nothing, and their rows were paid under further quotes. */
export function askedAgain(rig: Rig): void {
  expect(rig.service.counters().payments).toBeGreaterThan(rig.rows);
  expect(rig.book()).toHaveLength(rig.rows);
}

export async function stateOf({ redis, runs }: Rig): Promise<{ state: string; pauseReason: string }> {
  const [state, pauseReason] = await redis.client.hmget(`${PREFIX}:run:${runs[0]?.runId}`, 'state', 'pauseReason');
  return { state: state ?? '', pauseReason: pauseReason ?? '' };
}

/** Until the run has paused itself; why, as an operator reads it. */
export async function pausedReason(rig: Rig): Promise<string> {
  await rig.until('a paused run', async () => (await stateOf(rig)).state === 'paused');
  const { stdout } = await rig.payrun(['status', rig.runs[0]?.runId ?? '']);
  const { pauseReason } = await stateOf(rig);
  expect(stdout).toContain(pauseReason);
  return pauseReason;
}

export async function resumed(rig: Rig): Promise<void> {
  expect(await rig.payrun(['resume', rig.runs[0]?.runId ?? ''])).toMatchObject({ code: 0 });
}

/** Ends a worker in order, and waits for it. */
export async function ended(worker: RigProcess): Promise<void> {
  worker.kill('SIGTERM');
  expect(await worker.ended).toMatchObject({ code: 0 });
}

/** The report's lines, by their column names. */
export async function reported(rig: Rig): Promise<ReturnType<typeof rowsOf>> {
  const { code, stdout, stderr } = await rig.payrun(['report', rig.runs[0]?.runId ?? '', '--format', 'csv']);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return rowsOf(stdout);
}

/** All requests to the service so far, tokens among them. */
export function requestsTo({ service }: Rig): number {
  return Object.values(service.counters()).reduce((sum, count) => sum + count, 0);
}

/** Requests of one kind that are in flight at a time, as the proxy before the service sees them. */
interface Flights {
  readonly peak: number;
}

/** Watches the requests that hold the text, from now on; any other toxic ends it. */
export function watchFlights({ serviceLink }: Rig, text: string): Flights {
  const open = new Set<number>();
  let peak = 0;
  serviceLink.set({
    do: 'pass',
    when({ way, connection, request }: Moment) {
      if (way === 'reply') open.delete(connection);
      else if (request.startsWith(text)) open.add(connection);
      peak = Math.max(peak, open.size);
      return undefined;
    },
  });
  return {
    get peak() {
      return peak;
    },
  };
}
