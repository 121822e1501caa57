import { describe, expect, test } from 'vitest';
import { CATALOG, JOB_NAMES, type JobName } from '../../jobs/catalog.ts';

const RUN = '20260131-k3f9xq';

test('every job of the catalog has its name in the list, once', () => {
  expect([...JOB_NAMES].toSorted()).toEqual(Object.keys(CATALOG).toSorted());
});

test('every kind of job is limited', () => {
  for (const name of JOB_NAMES) {
    const { atATime, attempts, backOffMs } = CATALOG[name];
    expect(atATime).toBeGreaterThan(0);
    expect(attempts).toBeGreaterThan(0);
    expect(backOffMs > 0).toBe(attempts > 1);
  }
});

test('what moves money is never tried again by the queue: the sweeper finds what is left', () => {
  for (const name of ['feed', 'pay', 'look-up', 'track', 'sweep'] as const) expect(CATALOG[name].attempts).toBe(1);
});

describe('a good payload is what is parsed', () => {
  test.each<[JobName, unknown]>([
    ['feed', { runId: RUN }],
    ['pay', { runId: RUN, from: 2, to: 51, stamp: '1769900000000' }],
    ['pay', { runId: RUN, from: 2, to: 2, stamp: '' }],
    ['look-up', { runId: RUN, lines: [2, 3, 900] }],
    ['track', { runId: RUN, lines: Array.from({ length: 50 }, (_value, index) => index + 2) }],
    ['watch', { runId: RUN }],
    ['report', { runId: RUN }],
    ['tick', { name: 'morning' }],
    ['scheduled', { name: 'morning', planned: 1_774_845_000_000 }],
    ['notify', { endpoint: 'books', queue: RUN }],
    ['sweep', { period: 884_950_000 }],
  ])('%s %j', (name, payload) => {
    expect(CATALOG[name].payload.parse(payload)).toEqual(payload);
    // As Redis gives it back.
    expect(CATALOG[name].payload.parse(JSON.parse(JSON.stringify(payload)))).toEqual(payload);
  });
});

describe('a payload that is not ours is refused', () => {
  test.each<[JobName, unknown]>([
    ...JOB_NAMES.flatMap((name): [JobName, unknown][] => [
      [name, {}],
      [name, null],
      [name, 'text'],
      [name, []],
    ]),
    ['feed', { runId: '' }],
    ['feed', { runId: 7 }],
    ['feed', { runId: RUN, amount: '100.00' }],
    ['pay', { runId: RUN, from: 2, to: 51 }],
    ['pay', { runId: RUN, from: 0, to: 51, stamp: '' }],
    ['pay', { runId: RUN, from: 2, to: -1, stamp: '' }],
    ['pay', { runId: RUN, from: 2.5, to: 3, stamp: '' }],
    ['pay', { runId: RUN, from: '2', to: '3', stamp: '' }],
    ['pay', { runId: RUN, from: 2, to: 3, stamp: 4 }],
    ['pay', { runId: RUN, from: 2, to: 3, stamp: '', reference: 'INV-1' }],
    ['look-up', { runId: RUN, lines: 2 }],
    ['look-up', { runId: RUN, lines: ['2'] }],
    ['look-up', { runId: RUN, lines: [0] }],
    ['look-up', { runId: RUN, lines: Array.from({ length: 51 }, (_value, index) => index + 1) }],
    ['track', { runId: RUN, lines: [2], token: 'x' }],
    ['report', { runId: RUN, folder: '/etc' }],
    ['sweep', { period: 1.5 }],
    ['sweep', { period: '1' }],
  ])('%s %j', (name, payload) => {
    expect(CATALOG[name].payload.safeParse(payload).success).toBe(false);
  });

  test('a range that no slice can have, which would make a worker walk a thousand million lines', () => {
    const payload = { runId: RUN, from: 2, to: 1_000_000_000, stamp: '' };
    expect(CATALOG.pay.payload.safeParse(payload).success).toBe(false);
  });
});
