import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { refusedFields } from '../../src/ledger/payouts/record.ts';
import type { AtCrashPoint } from '../../src/pay/crash-point.ts';
import { noCrash } from '../../src/pay/crash-point.ts';
import type { Payout, PayoutRow, RefusedRow } from '../../src/payout.ts';
import { cancelRun } from '../../src/runs/decide/control.ts';
import { type SubmitDeps, submitRun } from '../../src/runs/hand-in/submit.ts';
import { file, line } from '../intake/payout-text.ts';
import { changeStored } from '../support/records.ts';
import { useTestRedis } from '../support/redis.ts';
import {
  allRows,
  armPayout,
  claimRun,
  countersOf,
  dumpOf,
  freshRows,
  LIFE_MS,
  linesIn,
  movePayout,
  newLedger,
  PATIENCE,
  payingRun,
  REMEMBER_MS,
  readPayout,
  recordOf,
  recordRows,
  recount,
  rowOf,
  sendTo,
  type TestLedger,
  useArming,
} from './test-ledger.ts';

const server = await useTestRedis();
const arming = await useArming(server);
let desk: TestLedger;
let folder: string;

beforeEach(async () => {
  desk = await newLedger({ redis: server.redis, arming });
  folder = mkdtempSync(join(tmpdir(), 'payrun-test-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function pathOf(text: string): string {
  const path = join(folder, `${systemRandom.uuid()}.csv`);
  writeFileSync(path, text);
  return path;
}

interface Woken {
  readonly deps: SubmitDeps;
  readonly runs: string[];
}

function submitDeps(at: AtCrashPoint = noCrash): Woken {
  const runs: string[] = [];
  const wake = async (runId: string): Promise<void> => {
    runs.push(runId);
  };
  const config = { rememberMs: REMEMBER_MS };
  const given = { clock: systemClock, random: systemRandom, at, wake, ensureSeason: async () => [] };
  return { runs, deps: { ledger: desk.ledger, config, ...given } };
}

async function submit(
  path: string,
  at: AtCrashPoint = noCrash,
): Promise<{ id: string; isNew: boolean; state: string }> {
  const submitted = await submitRun(submitDeps(at).deps, { path, actor: 'anna', skipInvalid: false });
  if (submitted.kind !== 'submitted') throw new Error('the file was refused');
  return { id: submitted.run.id, state: submitted.run.state, isNew: submitted.isNew };
}

async function referencesOf(runId: string): Promise<string[]> {
  return (await allRows(desk.ledger, runId)).map((row) => ('row' in row ? row.row.reference : '')).toSorted();
}

describe('recording', () => {
  test('may be done again and again, in any order and by many, and every row is there once', async () => {
    const rows = freshRows(100);
    const runId = await claimRun(desk.ledger, rows);
    await Promise.all(
      [rows, rows.toReversed(), rows.slice(50), rows.slice(0, 70)].map((part) => recordRows(desk.ledger, runId, part)),
    );
    const once = await dumpOf(desk);
    expect(await recordRows(desk.ledger, runId, rows)).toBe('recorded');
    expect(await dumpOf(desk)).toEqual(once);
    expect(await countersOf(desk.ledger, runId)).toEqual(await recount(desk.ledger, runId));
    expect((await desk.ledger.runs.read(runId))?.counts).toMatchObject({ ready: 100, held: 0 });
  });

  test('counts a refused row once, with and without an amount', async () => {
    const runId = await claimRun(desk.ledger, []);
    const refused: RefusedRow[] = [
      { line: 2, cells: { reference: 'a' }, amount: { minor: 5n, currency: 'USD' }, code: 'E_X', message: 'no' },
      { line: 3, cells: {}, amount: null, code: 'E_Y', message: 'no' },
    ];
    const records = refused.map((row) => ({
      line: row.line,
      state: 'refused' as const,
      fields: refusedFields(row),
      amount: row.amount,
      referenceHash: null,
    }));
    await desk.ledger.runs.record(runId, records, REMEMBER_MS);
    await desk.ledger.runs.record(runId, records, REMEMBER_MS);
    const unnamed = { beneficiaryName: null, originatorName: null };
    expect(await allRows(desk.ledger, runId)).toEqual(refused.map((row) => ({ ...row, ...unnamed })));
    expect(await countersOf(desk.ledger, runId)).toEqual(await recount(desk.ledger, runId));
  });

  test.each(['paying', 'awaiting-approval'] as const)(
    'is closed once the run is %s: nothing is written',
    async (to) => {
      const rows = freshRows(3);
      const runId = await claimRun(desk.ledger, rows.slice(0, 2));
      await recordRows(desk.ledger, runId, rows.slice(0, 2));
      await desk.ledger.runs.move(runId, { to, actor: 'anna', reason: '' });
      const before = await dumpOf(desk);
      expect(await recordRows(desk.ledger, runId, rows)).toBe('closed');
      expect(await dumpOf(desk)).toEqual(before);
    },
  );

  test('of a run that was cancelled meanwhile keeps every row, as cancelled, until its end was noted', async () => {
    const rows = freshRows(3);
    const runId = await claimRun(desk.ledger, rows);
    await recordRows(desk.ledger, runId, rows.slice(0, 1));
    await desk.ledger.runs.move(runId, { to: 'cancelled', actor: 'anna', reason: '' });
    expect(await recordRows(desk.ledger, runId, rows)).toBe('recorded');
    expect(await linesIn(desk.ledger, runId, 'cancelled')).toEqual([3, 4]);
    expect(await countersOf(desk.ledger, runId)).toEqual(await recount(desk.ledger, runId));
    await desk.ledger.runs.note(runId, { lastLine: '4' });
    expect(await recordRows(desk.ledger, runId, rows)).toBe('closed');
  });

  test('is noted as done only where each row is there: Redis may have gone back meanwhile', async () => {
    const rows = freshRows(2);
    const runId = await claimRun(desk.ledger, rows);
    const { fileSha256 } = (await desk.ledger.runs.read(runId)) ?? {};
    const note = (): Promise<boolean> => desk.ledger.runs.noteRecorded(runId, fileSha256 ?? '', { lastLine: '3' });
    await recordRows(desk.ledger, runId, rows.slice(0, 1));
    expect(await note()).toBe(false);
    expect((await desk.ledger.slices.position(runId)).lastLine).toBe(0);
    await recordRows(desk.ledger, runId, rows);
    expect(await note()).toBe(true);
    expect((await desk.ledger.slices.position(runId)).lastLine).toBe(3);
  });

  test('of a run that was cancelled meanwhile holds every row that a lost host may have sent', async () => {
    const rows = freshRows(3);
    const runId = await claimRun(desk.ledger, rows);
    await recordRows(desk.ledger, runId, rows.slice(0, 1));
    await desk.ledger.runs.note(runId, { doubted: '1' });
    await desk.ledger.runs.move(runId, { to: 'cancelled', actor: 'anna', reason: '' });
    await recordRows(desk.ledger, runId, rows);
    expect(await linesIn(desk.ledger, runId, 'held')).toEqual([3, 4]);
    expect(await countersOf(desk.ledger, runId)).toEqual(await recount(desk.ledger, runId));
  });

  test('of a run that a lost host may have paid keeps the same reference of another run from being sent', async () => {
    const rows = freshRows(1);
    const doubted = await claimRun(desk.ledger, rows);
    await desk.ledger.runs.note(doubted, { doubted: '1' });
    const other = await payingRun(desk.ledger, rows);
    await recordRows(desk.ledger, doubted, rows);
    expect(await linesIn(desk.ledger, doubted, 'held')).toEqual([2]);
    await expect(armPayout(desk.ledger, { runId: other, line: 2 })).rejects.toThrow(/reference/);
    // People give it the reference.
    const held = { runId: doubted, line: 2 };
    const sawHolders = [{ id: `${other}-2`, state: 'ready' }];
    const { fileSha256 = '' } = (await desk.ledger.runs.read(doubted)) ?? {};
    await desk.ledger.runs.noteRecorded(doubted, fileSha256, { lastLine: '2' });
    await desk.ledger.runs.move(doubted, { to: 'paying', actor: 'anna', reason: '' });
    await desk.ledger.payouts.move({ ...held, to: 'ready', actor: 'anna and bob', reason: '', sawHolders });
    await armPayout(desk.ledger, held);
    await expect(armPayout(desk.ledger, { runId: other, line: 2 })).rejects.toThrow(/reference/);
  });

  test.each(['paying', 'awaiting-approval'] as const)(
    'does not end before each row of the file has a record: a run without some goes not to %s',
    async (to) => {
      const rows = freshRows(3);
      const runId = await claimRun(desk.ledger, rows);
      await recordRows(desk.ledger, runId, rows.slice(0, 2));
      await desk.ledger.runs.note(runId, { lastLine: '4' });
      const move = { to, actor: 'anna', reason: '' };
      expect(await desk.ledger.runs.move(runId, move)).toEqual({ result: 'incomplete', state: 'recording' });
      await recordRows(desk.ledger, runId, rows);
      expect((await desk.ledger.runs.move(runId, move)).result).toBe('moved');
    },
  );

  test('does not end in a closed season: what this Redis lost has to be restored first', async () => {
    const rows = freshRows(2);
    const runId = await claimRun(desk.ledger, rows);
    await recordRows(desk.ledger, runId, rows);
    await desk.redis.hset(`${desk.prefix}:head`, 'season', 'another');
    const move = { to: 'paying', actor: 'anna', reason: '' } as const;
    expect((await desk.ledger.runs.move(runId, move)).result).toBe('season');
  });

  test('goes on while somebody asks to pause the run, and loses no row', async () => {
    const rows = freshRows(3);
    const runId = await claimRun(desk.ledger, rows);
    await recordRows(desk.ledger, runId, rows.slice(0, 1));
    expect((await desk.ledger.runs.move(runId, { to: 'paused', actor: 'anna', reason: '' })).result).toBe('forbidden');
    expect(await recordRows(desk.ledger, runId, rows)).toBe('recorded');
    expect(await linesIn(desk.ledger, runId, 'ready')).toEqual([2, 3, 4]);
  });

  test('never overwrites what was paid while a slow submit was still recording', async () => {
    const rows = freshRows(3);
    const runId = await payingRun(desk.ledger, rows);
    await sendTo(desk.ledger, { runId, line: 2 }, 'completed');
    const before = await dumpOf(desk);
    expect(await recordRows(desk.ledger, runId, rows)).toBe('closed');
    expect(await dumpOf(desk)).toEqual(before);
  });

  test('of a file that was changed while it was recorded, and is as it was again, is refused: nothing else is paid', async () => {
    const rows = freshRows(2);
    const runId = await claimRun(desk.ledger, rows);
    await recordRows(desk.ledger, runId, [{ ...rowOf(2), amount: { minor: 9925n, currency: 'USD' } }]);
    const before = await dumpOf(desk);
    expect(await recordRows(desk.ledger, runId, rows)).toBe('other-rows');
    expect(await dumpOf(desk)).toEqual(before);
  });

  test.each([
    ['originator', { originatorIdentityId: '7d9f1c1e-5f0a-4c56-9f5e-2b1d3c4a5e6f' }],
    ['purpose', { purposeCode: 'GIFT' }],
    ['category', { payoutCategory: 'WALLET' }],
    ['country', { destinationCountry: 'BR' }],
  ])('of a file that had another %s while it was recorded is refused', async (_what, other) => {
    const rows = freshRows(2);
    const runId = await claimRun(desk.ledger, rows);
    const changed = rows.map((row) => ({ ...row, ...other }));
    await recordRows(desk.ledger, runId, changed.slice(0, 1));
    expect(await recordRows(desk.ledger, runId, rows)).toBe('other-rows');
  });

  test.each([
    ['was refused for what it says', { code: 'E_AMOUNT', message: 'no amount' }, 'other-rows'],
    ['was refused by the list of identities', { code: 'E_BENEFICIARY', message: 'is unknown' }, 'recorded'],
  ])('of a row that %s while it was recorded', async (_how, refused, result) => {
    const rows = freshRows(2);
    const runId = await claimRun(desk.ledger, rows);
    const row = { line: 2, amount: null, cells: { reference: 'A' }, ...refused };
    const record = {
      line: 2,
      state: 'refused',
      fields: refusedFields(row),
      amount: null,
      referenceHash: null,
    } as const;
    await desk.ledger.runs.record(runId, [record], REMEMBER_MS);
    expect(await recordRows(desk.ledger, runId, rows)).toBe(result);
  });

  test('of a run that this Redis does not know writes nothing', async () => {
    const before = await dumpOf(desk);
    expect(await recordRows(desk.ledger, '20260131-nobody', freshRows(1))).toBe('season');
    expect(await dumpOf(desk)).toEqual(before);
  });
});

async function second(reference: string): Promise<Payout> {
  const runId = await payingRun(desk.ledger, [rowOf(2, { reference })]);
  return await readPayout(desk.ledger, { runId, line: 2 });
}

async function first(day?: string): Promise<{ place: { runId: string; line: number }; reference: string }> {
  const rows = freshRows(1);
  const runId = await payingRun(desk.ledger, rows, day);
  return { place: { runId, line: 2 }, reference: rows[0]?.reference ?? '' };
}

describe('a reference', () => {
  test.each(['quoted', 'unknown', 'held', 'accepted', 'completed'] as const)(
    'of a payout that is %s holds the next payout, with a link to the earlier one',
    async (state) => {
      const { place, reference } = await first();
      await sendTo(desk.ledger, place, state);
      const held = await second(reference);
      expect(held).toMatchObject({ state: 'held', reasonCode: 'E_DUP_HISTORY', quoteId: null });
      expect(held.reason).toContain(`${place.runId}-${place.line}`);
      expect(await countersOf(desk.ledger, held.runId)).toEqual(await recount(desk.ledger, held.runId));
    },
  );

  test('of a payout that nobody has begun to pay holds the next one', async () => {
    const { reference } = await first();
    expect((await second(reference)).state).toBe('held');
  });

  test('is the same in other letter case', async () => {
    const { reference } = await first();
    expect((await second(reference.toUpperCase())).state).toBe('held');
  });

  test.each(['failed', 'returned'] as const)('of a payout that is %s is free again', async (state) => {
    const { place, reference } = await first();
    await sendTo(desk.ledger, place, state);
    expect((await second(reference)).state).toBe('ready');
  });

  test('of a payout that was cancelled is free again', async () => {
    const { place, reference } = await first();
    await movePayout(desk.ledger, place, { to: 'cancelled' });
    expect((await second(reference)).state).toBe('ready');
  });

  test('of a payout whose quote was refused for good is free again', async () => {
    const { place, reference } = await first();
    await movePayout(desk.ledger, place, { to: 'rejected' });
    expect((await second(reference)).state).toBe('ready');
  });

  test('of a payout whose payment was refused is free only once that is confirmed', async () => {
    const { place, reference } = await first();
    await sendTo(desk.ledger, place, 'rejected');
    expect((await second(reference)).state).toBe('held');
    await movePayout(desk.ledger, place, { values: { rejectionConfirmed: true } });
    expect((await second(reference)).state).toBe('ready');
  });

  test('belongs to the payout that used it last', async () => {
    const { place, reference } = await first();
    await sendTo(desk.ledger, place, 'failed');
    const retry = await second(reference);
    expect(retry.state).toBe('ready');
    expect((await second(reference)).reason).toContain(retry.runId);
  });

  test('belongs to a held payout that a person allowed, also when the earlier one then failed', async () => {
    const { place, reference } = await first();
    await sendTo(desk.ledger, place, 'accepted');
    const allowed = await second(reference);
    await movePayout(desk.ledger, allowed, { to: 'ready', dueMs: 0 });
    await sendTo(desk.ledger, allowed, 'completed');
    await movePayout(desk.ledger, place, { to: 'failed' });
    expect((await second(reference)).state).toBe('held');
  });

  test('is not given to one that people allowed while the other one moved on', async () => {
    const earlier = await first();
    const place = await second(earlier.reference);
    const id = `${earlier.place.runId}-${earlier.place.line}`;
    for (const sawHolders of [[{ id, state: 'held' }], []]) {
      expect((await movePayout(desk.ledger, place, { to: 'ready', sawHolders })).result).toBe('changed');
    }
    const sawHolders = [{ id, state: 'ready' }];
    expect((await movePayout(desk.ledger, place, { to: 'ready', sawHolders })).result).toBe('moved');
  });

  test('is free again when its payout ended as long ago as references are remembered, however long ago it was handed in', async () => {
    const { place, reference } = await first('20200801');
    const { keys, redis } = desk;
    await sendTo(desk.ledger, place, 'unknown');
    await redis.hset(keys.run(place.runId), 'createdAt', 1_600_000_000_000);
    expect((await second(reference)).state).toBe('held');
    await movePayout(desk.ledger, place, { to: 'accepted', dueMs: LIFE_MS });
    await movePayout(desk.ledger, place, { to: 'completed' });
    expect((await second(reference)).state).toBe('held');
    await changeStored({ redis, prefix: keys.prefix, ...place }, { st: '1600000000000' });
    expect((await second(reference)).state).toBe('ready');
  });

  test('that one file has twice is paid once; the other payout is held', async () => {
    const reference = freshRows(1)[0]?.reference ?? '';
    const rows: PayoutRow[] = [rowOf(2, { reference }), rowOf(3, { reference })];
    const runId = await payingRun(desk.ledger, rows);
    expect(await linesIn(desk.ledger, runId, 'ready')).toEqual([2]);
    expect(await linesIn(desk.ledger, runId, 'held')).toEqual([3]);
  });

  test('in two files that are recorded at once is paid in one of them', async () => {
    const rows = freshRows(50);
    const runIds = await Promise.all([payingRun(desk.ledger, rows), payingRun(desk.ledger, rows)]);
    const ready = await Promise.all(runIds.map((runId) => linesIn(desk.ledger, runId, 'ready')));
    expect(ready.flat().toSorted((a, b) => a - b)).toEqual(rows.map((row) => row.line));
  });
});

const crashAtC16: AtCrashPoint = (point) => {
  if (point === 'C16') throw new Error('killed at C16');
};

/** The first batch of 500 rows is recorded, then the process ends. */
async function crashInRecording(path: string): Promise<void> {
  await expect(submit(path, crashAtC16)).rejects.toThrow('killed');
  const [id = ''] = await desk.ledger.runs.list();
  await expect.poll(async () => (await desk.ledger.runs.read(id))?.counts.ready, PATIENCE).toBe(500);
}

describe('submitting a file', () => {
  const references = Array.from({ length: 1200 }, (_value, index) => `r-${index}`);
  const lines = references.map((reference, index) => line({ reference, amount: String(100 + index) }));

  test('20 times at once makes one run with each row once, and wakes the workers', async () => {
    const path = pathOf(file(...lines));
    const woken = submitDeps();
    const all = await Promise.all(
      Array.from({ length: 20 }, () => submitRun(woken.deps, { path, actor: 'anna', skipInvalid: false })),
    );
    const runs = all.map((one) => (one.kind === 'submitted' ? one : undefined));
    const [id = ''] = new Set(runs.map((one) => one?.run.id));
    expect(new Set(runs.map((one) => one?.run.id)).size).toBe(1);
    expect(runs.filter((one) => one?.isNew)).toHaveLength(1);
    expect(await desk.ledger.runs.list()).toEqual([id]);
    expect(await referencesOf(id)).toEqual(references.toSorted());
    expect(await countersOf(desk.ledger, id)).toEqual(await recount(desk.ledger, id));
    expect((await desk.ledger.runs.read(id))?.counts.ready).toBe(1200);
    expect(new Set(woken.runs)).toEqual(new Set([id]));
  });

  test('is carried on after a crash in mid-recording, and nothing of it was payable meanwhile', async () => {
    const path = pathOf(file(...lines));
    await crashInRecording(path);
    const [id = ''] = await desk.ledger.runs.list();
    await expect(armPayout(desk.ledger, { runId: id, line: 2 })).rejects.toThrow('run');
    expect(await submit(path)).toEqual({ id, isNew: false, state: 'paying' });
    expect(await referencesOf(id)).toEqual(references.toSorted());
    expect(await countersOf(desk.ledger, id)).toEqual(await recount(desk.ledger, id));
  });

  test('that was changed while it was recorded is paid as it is, once its run was cancelled and it came anew', async () => {
    const path = pathOf(file(...lines));
    await crashInRecording(path);
    const [id = ''] = await desk.ledger.runs.list();
    await changeStored({ redis: desk.redis, prefix: desk.prefix, runId: id, line: 2 }, { amt: '9925' });
    await expect(submit(path)).rejects.toThrow('changed while it was recorded');
    await cancelRun({ ledger: desk.ledger, wake: async () => {} }, id, { actor: 'anna', reason: 'other rows' });
    const { deps } = submitDeps(noCrash);
    const again = await submitRun(deps, { path, actor: 'anna', skipInvalid: false, again: true });
    if (again.kind !== 'submitted') throw new Error('the file was refused');
    expect([again.isNew, again.run.counts.ready, again.run.state]).toEqual([true, lines.length, 'paying']);
  });

  test.each([
    ['other line ends', (text: string) => text.replaceAll('\n', '\r\n')],
    ['a byte order mark', (text: string) => `\uFEFF${text}`],
    ['its rows in another order', (text: string) => reordered(text)],
  ])('again with %s comes to the run that is there, and changes nothing of its rows', async (_what, change) => {
    const text = file(...lines.slice(0, 20));
    const { id } = await submit(pathOf(text));
    await sendTo(desk.ledger, { runId: id, line: 2 }, 'accepted');
    const before = await allRows(desk.ledger, id);
    expect(await submit(pathOf(change(text)))).toEqual({ id, isNew: false, state: 'paying' });
    expect(await desk.ledger.runs.list()).toEqual([id]);
    expect(await allRows(desk.ledger, id)).toEqual(before);
  });

  test('with its rows in another order, after a crash in mid-recording, never mixes the two', async () => {
    const text = file(...lines);
    await crashInRecording(pathOf(text));
    const [id = ''] = await desk.ledger.runs.list();
    await submit(pathOf(reordered(text))).catch(() => {});
    await submit(pathOf(text)).catch(() => {});
    const recorded = await referencesOf(id);
    expect([recorded.length, new Set(recorded).size]).toEqual([references.length, references.length]);
  });

  test('with its rows in another order is told that they are being recorded; a minute after a crash it takes them over', async () => {
    const text = file(...lines);
    await crashInRecording(pathOf(text));
    const [begun = ''] = await desk.ledger.runs.list();
    await expect(submit(pathOf(reordered(text)))).rejects.toThrow('being recorded at this moment');
    await desk.ledger.runs.note(begun, { recordedAt: String(Date.now() - 61_000) });
    const taker = await submit(pathOf(reordered(text)));
    expect(taker).toMatchObject({ isNew: true, state: 'paying' });
    expect(await desk.ledger.runs.read(begun)).toMatchObject({ state: 'cancelled' });
    expect(new Set((await allRows(desk.ledger, begun)).map((row) => ('row' in row ? row.state : '')))).toEqual(
      new Set(['cancelled']),
    );
    const taken = await allRows(desk.ledger, taker.id);
    expect(taken.map((row) => ('row' in row ? row.state : ''))).toEqual(references.map(() => 'ready'));
    expect(await submit(pathOf(text))).toMatchObject({ id: taker.id, isNew: false });
  });

  test('with its rows in another order takes nothing over of which a payment request may have left', async () => {
    const text = file(...lines);
    await crashInRecording(pathOf(text));
    const [begun = ''] = await desk.ledger.runs.list();
    await desk.ledger.runs.note(begun, { recordedAt: '0', 'n:unknown': '1' });
    await expect(submit(pathOf(reordered(text)))).rejects.toThrow('was interrupted');
    expect((await desk.ledger.runs.read(begun))?.state).toBe('recording');
  });

  test('with its rows in another order takes nothing over that a lost host may have sent', async () => {
    const text = file(...lines);
    await crashInRecording(pathOf(text));
    const [begun = ''] = await desk.ledger.runs.list();
    await desk.ledger.runs.note(begun, { recordedAt: '0', doubted: '1' });
    await expect(submit(pathOf(reordered(text)))).rejects.toThrow('was interrupted');
    expect((await desk.ledger.runs.read(begun))?.state).toBe('recording');
    await desk.ledger.runs.note(begun, { state: 'recording', 'n:held': '1' });
    await expect(submit(pathOf(reordered(text)))).rejects.toThrow('was interrupted');
    expect((await desk.ledger.runs.read(begun))?.state).toBe('recording');
  });

  test('another sheet of it, which is another content of the same bytes, makes another run', async () => {
    const claim = { fileName: 'a.xlsx', fileSha256: 'f'.repeat(64), rows: 1, fileTotals: [], createdBy: 'anna' };
    const of = (id: string, contentHash: string) => desk.ledger.runs.claim({ ...claim, id, contentHash });
    expect(await of('R1', 'june')).toEqual({ id: 'R1', result: 'new' });
    expect(await of('R2', 'july')).toEqual({ id: 'R2', result: 'new' });
    expect(await of('R3', 'june')).toEqual({ id: 'R1', result: 'known' });
    expect(await of('R4', 'july')).toEqual({ id: 'R2', result: 'known' });
  });

  test('with another content makes another run', async () => {
    const { id } = await submit(pathOf(file(line({ reference: 'a-1' }))));
    const other = await submit(pathOf(file(line({ reference: 'a-1', amount: '101' }))));
    expect(other.id).not.toBe(id);
    expect((await readPayout(desk.ledger, { runId: other.id, line: 2 })).state).toBe('held');
  });

  test('takes another id when the one it drew is taken', async () => {
    const drawn = [Buffer.alloc(6, 1), Buffer.alloc(6, 1), Buffer.alloc(6, 2)];
    const random = { ...systemRandom, bytes: () => drawn.shift() ?? Buffer.alloc(6, 3) };
    const ids: string[] = [];
    for (const reference of ['b-1', 'b-2']) {
      const path = pathOf(file(line({ reference })));
      const submitted = await submitRun({ ...submitDeps().deps, random }, { path, actor: 'anna', skipInvalid: false });
      if (submitted.kind === 'submitted') ids.push(submitted.run.id);
    }
    expect(new Set(ids).size).toBe(2);
  });
});

function reordered(text: string): string {
  const [header = '', ...rest] = text.trimEnd().split('\n');
  return [header, ...rest.toReversed(), ''].join('\n');
}

test('a claim that two make at once for one content gives both the same run', async () => {
  const claims = ['aaaaaa', 'bbbbbb'].map((letters) => ({
    id: `20260131-${letters}`,
    fileName: 'payouts.csv',
    fileSha256: letters,
    contentHash: 'same',
    rows: 1,
    fileTotals: [{ minor: 150n, currency: 'USD' }],
    createdBy: 'anna',
  }));
  const answers = await Promise.all(claims.map((claim) => desk.ledger.runs.claim(claim)));
  expect(answers).toEqual([
    { id: '20260131-aaaaaa', result: 'new' },
    { id: '20260131-aaaaaa', result: 'known' },
  ]);
  expect(await desk.ledger.runs.read('20260131-bbbbbb')).toBeUndefined();
  expect(await desk.ledger.runs.read('20260131-aaaaaa')).toMatchObject({
    state: 'recording',
    fileSha256: 'aaaaaa',
    fileTotals: [{ minor: 150n, currency: 'USD' }],
  });
});

test('a record that is given twice in one call is there once', async () => {
  const rows = freshRows(1);
  const runId = await claimRun(desk.ledger, rows);
  await desk.ledger.runs.record(runId, [...rows, ...rows].map(recordOf), REMEMBER_MS);
  expect((await desk.ledger.runs.read(runId))?.counts.ready).toBe(1);
});
