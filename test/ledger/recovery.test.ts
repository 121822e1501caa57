import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import type { Adoption } from '../../src/ledger/season/recovery.ts';
import { noCrash } from '../../src/pay/crash-point.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { type Submitted, submitRun } from '../../src/runs/hand-in/submit.ts';
import { file, line } from '../intake/payout-text.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';
import { armOn, type Host, hostOf, joinSeason, joinTogether } from './recovery-desk.ts';
import {
  allRows,
  armPayout,
  claimOf,
  dumpOf,
  movePayout,
  newLedger,
  readPayout,
  SAFETY,
  SERVICE,
  type TestLedger,
  useArming,
} from './test-ledger.ts';

const FILE = file(...['r-1', 'r-2', 'r-3', 'r-4'].map((reference) => line({ reference })));

const server = await useTestRedis();
const arming = await useArming(server);
let folder: string;
/** The ledger whose Redis is lost. */
let lost: TestLedger;
/** Stands for the empty Redis: names of its own in the same server. */
let prefix: string;

beforeEach(async () => {
  lost = await newLedger({ redis: server.redis, arming });
  folder = mkdtempSync(join(tmpdir(), 'payrun-test-'));
  prefix = freshPrefix();
});
afterEach(() => rmSync(folder, { recursive: true }));

function found(dataDirId = 'dir-a'): Ledger {
  return openLedger({ redis: server.redis, arming }, { prefix, dataDirId });
}

function hostFound(dataDirId: string): Host {
  return hostOf(folder, found(dataDirId), dataDirId);
}

function adoption(actor: string, other: Partial<Adoption> = {}): Adoption {
  return {
    formerInstance: lost.instance,
    newInstance: systemRandom.uuid(),
    service: SERVICE,
    safety: SAFETY,
    dataDirIds: ['dir-a'],
    actor,
    ...other,
  };
}

async function adoptByTwo(dataDirIds: readonly string[] = ['dir-a']): Promise<Ledger> {
  const ledger = found();
  expect(await ledger.recovery.adopt(adoption('anna', { dataDirIds }))).toBe('proposed');
  expect(await ledger.recovery.adopt(adoption('bob', { dataDirIds }))).toBe('adopted');
  return ledger;
}

async function submitted(ledger: Ledger, text = FILE): Promise<Extract<Submitted, { kind: 'submitted' }>> {
  const path = join(folder, 'payouts.csv');
  writeFileSync(path, text);
  const deps = { ledger, clock: systemClock, random: systemRandom, at: noCrash, config: { rememberMs: 86_400_000 } };
  const door = { ...deps, wake: async () => {}, ensureSeason: async () => [] };
  const answer = await submitRun(door, { path, actor: 'anna', skipInvalid: false });
  if (answer.kind !== 'submitted') throw new Error('the file was refused');
  return answer;
}

async function statesOf(ledger: Ledger, runId: string): Promise<string[]> {
  return (await allRows(ledger, runId)).map((row) => ('row' in row ? row.state : 'refused'));
}

describe('a ledger that was adopted', () => {
  test('has every payout of the intent logs as unknown, knows their files and references, and is halted', async () => {
    const { run } = await submitted(lost.ledger);
    const own = hostOf(folder, lost.ledger, 'dir-a');
    const [paid, dead] = await armOn(own, run.id, [2, 3]);
    if (paid === undefined || dead === undefined) throw new Error('not armed');
    await movePayout(lost.ledger, paid, { to: 'accepted' });
    await movePayout(lost.ledger, dead, { to: 'unknown' });
    await movePayout(lost.ledger, dead, { to: 'ready', dropQuote: 'proven-dead' });
    const [again] = await armOn(own, run.id, [3]);

    const ledger = await adoptByTwo();
    await expect(ledger.state.open(claimOf(lost.instance))).resolves.not.toBe(lost.instance);
    expect(await joinSeason(hostFound('dir-a'))).toEqual([]);
    expect((await ledger.state.read()).halt).toContain('restored as unknown');
    const back = await submitted(ledger);
    expect([back.run.id, back.isNew, back.run.state]).toEqual([run.id, false, 'paused']);
    expect(await statesOf(ledger, run.id)).toEqual(['unknown', 'unknown', 'ready', 'ready']);
    expect(await readPayout(ledger, paid)).toMatchObject({ quoteId: paid.quoteId, row: { reference: 'r-1' } });
    // Its first quote was proven dead, or the second one could never have been armed.
    expect(await readPayout(ledger, dead)).toMatchObject({ quoteId: again?.quoteId, attempts: 2 });
    const other = await submitted(ledger, file(line({ reference: 'r-2' }), line({ reference: 'r-9' })));
    expect(other.run.state).toBe('paused');
    expect(await statesOf(ledger, other.run.id)).toEqual(['held', 'ready']);
    await expect(armPayout(ledger, { runId: run.id, line: 4 })).rejects.toThrow('halted');
  });

  test.each([
    ['the first file', 'the second'],
    ['the second file', 'the first'],
  ])('pays no reference again that an earlier run had given free: %s is handed in before %s', async (first) => {
    const again = file(line({ reference: 'r-1' }), line({ reference: 'r-7' }));
    const { run } = await submitted(lost.ledger);
    const own = hostOf(folder, lost.ledger, 'dir-a');
    const [rejected] = await armOn(own, run.id, [2]);
    if (rejected === undefined) throw new Error('nothing was armed');
    await movePayout(lost.ledger, rejected, { to: 'rejected', values: { rejectionConfirmed: true } });
    const { run: retried } = await submitted(lost.ledger, again);
    const [paid] = await armOn(own, retried.id, [2]);
    if (paid === undefined) throw new Error('nothing was armed');
    await movePayout(lost.ledger, paid, { to: 'accepted' });
    const ledger = await adoptByTwo();
    await joinSeason(hostFound('dir-a'));
    for (const text of first === 'the first file' ? [FILE, again] : [again, FILE]) await submitted(ledger, text);
    await movePayout(ledger, rejected, { to: 'ready', dropQuote: 'proven-dead' });
    for (const by of ['anna', 'ben']) await releaseHalt({ ledger }, by);
    await ledger.runs.move(rejected.runId, { to: 'paying', actor: 'anna', reason: 'looked at' });
    await expect(armPayout(ledger, rejected)).rejects.toThrow('not armed: reference');
  });

  test('arms nothing, and takes no file, before the logs were compared', async () => {
    const ledger = await adoptByTwo();
    expect(await ledger.state.season()).toMatchObject({ open: false, missing: ['dir-a'] });
    expect(await releaseHalt({ ledger }, 'anna')).toBe('season');
    const claim = {
      id: 'r1',
      fileName: 'f.csv',
      fileSha256: 's',
      contentHash: 'c',
      rows: 1,
      fileTotals: [],
      createdBy: 'a',
    };
    expect(await ledger.runs.claim(claim)).toMatchObject({ result: 'season' });
  });

  test('waits for each directory that either person named, and restores what each of them has', async () => {
    const { run } = await submitted(lost.ledger);
    const hosts = ['dir-a', 'dir-b'].map((dataDirId) => hostOf(folder, lost.in(dataDirId), dataDirId));
    await joinTogether(hosts);
    for (const [index, host] of hosts.entries()) await armOn(host, run.id, [index + 2]);
    const ledger = found();
    expect(await ledger.recovery.adopt(adoption('anna', { dataDirIds: ['dir-b', 'dir-a'] }))).toBe('proposed');
    expect(await ledger.recovery.adopt(adoption('bob', { dataDirIds: ['dir-a'] }))).toBe('adopted');
    expect(await joinSeason(hostFound('dir-a'))).toEqual(['dir-b']);
    expect((await ledger.state.season()).open).toBe(false);
    expect(await joinSeason(hostFound('dir-b'))).toEqual([]);
    await submitted(ledger);
    expect(await statesOf(ledger, run.id)).toEqual(['unknown', 'unknown', 'ready', 'ready']);
  });

  test('opens without a directory that two people wrote off', async () => {
    const ledger = await adoptByTwo(['dir-a', 'dir-b']);
    expect(await joinSeason(hostFound('dir-a'))).toEqual(['dir-b']);
    expect(await ledger.recovery.writeOff('dir-b', 'anna')).toMatchObject({ result: 'proposed' });
    expect(await ledger.recovery.writeOff('dir-b', 'bob')).toMatchObject({ result: 'begun' });
    expect((await ledger.state.season()).open).toBe(false);
    expect(await ledger.recovery.forgetDirs()).toEqual([]);
    expect((await ledger.state.season()).open).toBe(true);
  });

  test('can be adopted again by the one who confirmed it, and by nobody else, until it is noted', async () => {
    const ledger = await adoptByTwo();
    const before = await ledger.recovery.readAdoption();
    expect(before).toMatchObject({ formerInstance: lost.instance, proposedBy: 'anna', dataDirIds: ['dir-a'] });
    expect(await ledger.recovery.adopt(adoption('bob'))).toBe('adopted');
    expect(await ledger.recovery.adopt(adoption('carol'))).toBe('there');
    expect(await ledger.recovery.readAdoption()).toEqual(before);
    await ledger.recovery.noteAdoption();
    expect(await ledger.recovery.adopt(adoption('bob'))).toBe('there');
  });
});

describe('nothing is adopted', () => {
  test.each(['anna', 'Anna', ' anna ', 'ａnna'])('by one person, who is anna and %s', async (name) => {
    const ledger = found();
    expect(await ledger.recovery.adopt(adoption('anna'))).toBe('proposed');
    expect(await ledger.recovery.adopt(adoption(name))).toBe('same-person');
    expect((await ledger.state.read()).instance).toBe('');
  });

  test('by one person who gives both commands at the same moment', async () => {
    const ledger = found();
    const both = await Promise.all(['anna', 'Anna'].map((name) => ledger.recovery.adopt(adoption(name))));
    expect(both.toSorted()).toEqual(['proposed', 'same-person']);
  });

  test('where this Redis holds the ledger, or another one; nothing is written', async () => {
    const before = await dumpOf(lost);
    expect(await lost.ledger.recovery.adopt(adoption('anna'))).toBe('there');
    const other = adoption('anna', { formerInstance: 'another' });
    await expect(lost.ledger.recovery.adopt(other)).rejects.toThrow('has another ledger');
    expect(await dumpOf(lost)).toEqual(before);
  });

  test('where this Redis holds a ledger without its head', async () => {
    await submitted(lost.ledger);
    await server.redis.del(lost.keys.head);
    await expect(lost.ledger.recovery.adopt(adoption('anna'))).rejects.toThrow('a part of one');
  });

  test.each([{ formerInstance: 'another' }, { service: 'another' }, { safety: 'another' }])(
    'when the second person confirms something else: %o',
    async (other) => {
      const ledger = found();
      expect(await ledger.recovery.adopt(adoption('anna'))).toBe('proposed');
      await expect(ledger.recovery.adopt(adoption('bob', other))).rejects.toThrow(
        'another ledger, or for other settings',
      );
      expect((await ledger.state.read()).instance).toBe('');
      expect(await ledger.recovery.adopt(adoption('bob'))).toBe('adopted');
    },
  );
});
