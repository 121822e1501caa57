import { describe, expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { openIntentLog } from '../../src/ledger/intents/intent-log.ts';
import { refusedFields } from '../../src/ledger/payouts/record.ts';
import { ensureSeason } from '../../src/ledger/season/season.ts';
import { silentLog } from '../../src/log.ts';
import type { PayoutRow } from '../../src/payout.ts';
import { whyNotDecided } from '../../src/runs/decide/decision.ts';
import { armOn, hostOf, joinSeason, joinTogether } from '../ledger/recovery-desk.ts';
import {
  freshRows,
  movePayout,
  payingRun,
  REMEMBER_MS,
  readPayout,
  recordOf,
  recordRows,
} from '../ledger/test-ledger.ts';

import { newId, only, useHosts } from './hosts-desk.ts';

/* What a write-off, a late host and a yes of the service come to together. */

const hosts = useHosts();

describe('a host that was written off and comes back while Redis is being restarted', () => {
  test.each([
    ['paid since', ['accepted', 'completed']],
    ['under way when Redis ended', []],
  ] as const)(
    'does not make a row that is %s unknown under its own quote, so that it is sent once more',
    async (_, states) => {
      const runId = await payingRun(hosts.desk.ledger, freshRows(3));
      const sent = await hosts.forgotten(async () => {
        await armOn(hosts.host('dir-b'), runId, [3]);
        return await only(armOn(hosts.host('dir-b'), runId, [2]));
      });
      await hosts.writeOff('anna');
      await hosts.writeOff('bob');
      await hosts.releaseAndResume(runId);
      // A day later two people asked the service: it has no payment of that reference. The row is sent anew, and paid.
      await movePayout(hosts.desk.ledger, sent, { to: 'ready' });
      const again = await only(armOn(hosts.host('dir-a'), runId, [2]));
      expect(again.armingCounter).toBeLessThan(sent.armingCounter);
      for (const to of states) await movePayout(hosts.desk.ledger, sent, { to, dueMs: 1000 });

      // The power fails; all hosts start again, the old one too: its directory has a new id.
      await hosts.server.restart();
      await hosts.awaitRedis();
      const old = { ...hostOf(hosts.folder, hosts.desk.in('dir-d'), 'dir-d'), path: hosts.host('dir-b').path };
      await joinTogether([hosts.host('dir-a'), hosts.host('dir-c'), old]);
      expect((await hosts.desk.ledger.state.season()).open).toBe(true);
      const payout = await readPayout(hosts.desk.ledger, sent);
      expect.soft([payout.state, payout.quoteId]).not.toEqual(['unknown', sent.quoteId]);

      // The quote that was never paid is proven dead, two people release, and the row is sent a second time.
      await movePayout(hosts.desk.ledger, sent, { to: 'ready', dropQuote: 'proven-dead' });
      await hosts.releaseAndResume(runId);
      await expect(armOn(hosts.host('dir-a'), runId, [2])).rejects.toThrow(/not armed/);
    },
  );
});

test('a host that was written off, paid a row that was paid again, and comes back while Redis is being restarted, shows a breach', async () => {
  const runId = await payingRun(hosts.desk.ledger, freshRows(2));
  const sent = await hosts.forgotten(() => only(armOn(hosts.host('dir-b'), runId, [2])));
  await hosts.writeOff('anna');
  await hosts.writeOff('bob');
  await hosts.releaseAndResume(runId);
  // Two people were wrong: the lost host had sent it.
  await movePayout(hosts.desk.ledger, sent, { to: 'ready' });
  const again = await only(armOn(hosts.host('dir-a'), runId, [2]));
  expect(again.armingCounter).toBe(sent.armingCounter);
  for (const to of ['accepted', 'completed'] as const) await movePayout(hosts.desk.ledger, sent, { to, dueMs: 1000 });
  await hosts.server.restart();
  await hosts.awaitRedis();
  const old = { ...hostOf(hosts.folder, hosts.desk.in('dir-d'), 'dir-d'), path: hosts.host('dir-b').path };
  await joinTogether([hosts.host('dir-a'), hosts.host('dir-c'), old]);
  expect((await hosts.desk.ledger.state.season()).open).toBe(true);
  // As where it comes back into an open season (test/runs/write-off.test.ts).
  expect.soft(await readPayout(hosts.desk.ledger, sent)).toMatchObject({ state: 'held', reasonCode: 'E_BREACH' });
  expect((await hosts.desk.ledger.state.read()).halt).not.toBeNull();
});

describe('a yes of the service to a quote that two hosts sent', () => {
  test.each([['a host that sent it first'], ['a host that sent nothing']])(
    'is kept, where %s learned of it and compares before the one that sent it last',
    async (who) => {
      const runId = await payingRun(hosts.desk.ledger, freshRows(1));
      const place = { runId, line: 2 };
      const learned = who === 'a host that sent nothing' ? 'dir-b' : 'dir-a';
      const sent = await hosts.forgotten(async () => {
        // Refused with 401 or 429, it may come again with the same quote; the other host sends it, and has no answer.
        await armOn(hosts.host('dir-a'), runId, [2]);
        await movePayout(hosts.desk.ledger, place, { to: 'quoted', dueMs: 0 });
        const again = await only(armOn(hosts.host('dir-c'), runId, [2]));
        await movePayout(hosts.desk.ledger, place, { to: 'unknown', dueMs: 0 });
        // A look-up finds the payment.
        const log = openIntentLog(hosts.host(learned).path, { clock: systemClock, random: systemRandom });
        await log.noteAnswer({ quoteId: again.quoteId ?? '', paymentId: again.quoteId });
        await log.close();
        await movePayout(hosts.desk.ledger, place, { to: 'accepted', quoteId: again.quoteId ?? '', dueMs: 1000 });
        return again;
      }, ['dir-a', 'dir-b', 'dir-c']);
      expect((await hosts.desk.ledger.state.season()).open).toBe(true);
      // While the service hides its newest payments, a quote without it is proven dead, and the row is paid twice.
      expect(await readPayout(hosts.desk.ledger, place)).toMatchObject({
        state: 'unknown',
        quoteId: sent.quoteId,
        seen2xx: true,
      });
    },
  );
});

test('a payment that the service forgot, and that two people settled as not paid, halts nothing when Redis is restarted', async () => {
  const runId = await payingRun(hosts.desk.ledger, freshRows(2));
  const paid = await only(armOn(hosts.host('dir-a'), runId, [2]));
  const log = openIntentLog(hosts.host('dir-a').path, { clock: systemClock, random: systemRandom });
  await log.noteAnswer({ quoteId: paid.quoteId ?? '', paymentId: paid.quoteId });
  await log.close();
  await movePayout(hosts.desk.ledger, paid, { to: 'accepted', quoteId: paid.quoteId ?? '', dueMs: 1000 });
  // What src/pay/track/track.ts and src/runs/decide/decide.ts write.
  const gone = {
    reasonCode: 'E_PAYMENT_GONE',
    reason: 'the service does not know it any more',
    notFoundAt: null,
    seen2xx: true,
  } as const;
  await movePayout(hosts.desk.ledger, paid, { to: 'held', dueMs: 86_400_000, values: gone });
  const notPaid = { reasonCode: 'E_NOT_PAID', reason: 'no money moved', rejectionConfirmed: true } as const;
  const known = { foundQuoteId: paid.quoteId ?? '' };
  await movePayout(hosts.desk.ledger, paid, { to: 'rejected', dueMs: 86_400_000, values: notPaid, ...known });

  await hosts.restart(['dir-a', 'dir-b', 'dir-c']);
  expect((await hosts.desk.ledger.state.season()).open).toBe(true);
  expect.soft((await readPayout(hosts.desk.ledger, paid)).state).toBe('rejected');
  expect((await hosts.desk.ledger.state.read()).halt).toBeNull();
});

test('after a host was retired in an open season, rows of a file that came after a later copy are not said to be of a lost host', async () => {
  // Years ago a host was moved: nothing of it was in doubt.
  await hosts.writeOff('anna');
  expect(await hosts.writeOff('bob')).toMatchObject({ result: 'retired' });
  // Redis goes back; all hosts that there are compare; the file that came after the copy is handed in again.
  await hosts.restart();
  const runId = await hosts.knownByAuditLog(newId());
  const rows = freshRows(2);
  expect(await recordRows(hosts.desk.ledger, runId, rows)).toBe('recorded');
  expect(await hosts.statesOf(runId)).toEqual(['ready', 'ready']);
});

async function doubtedRun(): Promise<string> {
  await hosts.restart();
  const runId = await hosts.knownByAuditLog(newId());
  await hosts.writeOff('anna');
  expect(await hosts.writeOff('bob')).toMatchObject({ result: 'done', missing: [] });
  return runId;
}

test('a file that was handed in long after a host was lost is in no doubt, although Redis forgot it', async () => {
  await hosts.restart();
  await hosts.writeOff('anna');
  expect(await hosts.writeOff('bob')).toMatchObject({ result: 'done' });
  // A run's id begins with the day on which it was handed in first.
  const [early, late] = [6, 8].map((days) => {
    const day = new Date(Date.now() + days * 24 * 60 * 60_000).toISOString().slice(0, 10);
    return newId().replace(/^[0-9]+/, day.replaceAll('-', ''));
  }) as [string, string];
  for (const id of [early, late]) {
    await hosts.desk.ledger.recovery.restoreRun({ id, fileSha256: id.repeat(8), contentHash: `c-${id}` });
    expect(await recordRows(hosts.desk.ledger, id, freshRows(1))).toBe('recorded');
  }
  expect([await hosts.statesOf(early), await hosts.statesOf(late)]).toEqual([['held'], ['ready']]);
});

describe('a row of a file that a lost host may have sent', () => {
  test('is held, and its reference is taken, although intake refuses it now: its beneficiary is not on the list any more', async () => {
    const runId = await doubtedRun();
    const [row, ...rest] = freshRows(2) as [PayoutRow, ...PayoutRow[]];
    const { line, amount } = row;
    const refused = { line, amount, cells: {}, code: 'E_BENEFICIARY', message: 'is unknown' };
    const record = { line, state: 'refused', fields: refusedFields(refused), amount, referenceHash: null } as const;
    const records = [{ ...record, sound: recordOf(row) }, ...rest.map(recordOf)];
    expect(await hosts.desk.ledger.runs.record(runId, records, REMEMBER_MS)).toBe('recorded');
    expect.soft(await hosts.statesOf(runId)).toEqual(['held', 'held']);
    // The list is put right, and the row that was refused is handed in by a file of its own.
    expect(await hosts.statesOf(await payingRun(hosts.desk.ledger, [row]))).toEqual(['held']);
  });

  test('is not dropped at once because it was given up after the copy: the lost host may have paid it in a retry file', async () => {
    const runId = await doubtedRun();
    await hosts.desk.ledger.runs.note(runId, { 'gaveUp:2': '1' });
    expect(await recordRows(hosts.desk.ledger, runId, freshRows(1))).toBe('recorded');
    const payout = await readPayout(hosts.desk.ledger, { runId, line: 2 });
    expect.soft(payout).toMatchObject({ state: 'held', reasonCode: 'E_DIR_LOST' });
    expect(whyNotDecided(payout, 'drop')).toContain('the lost host may have sent it');
  });

  test('is held, although its file is known again only while the write-off is under way', async () => {
    await hosts.restart();
    await hosts.writeOff('anna');
    expect((await hosts.desk.ledger.recovery.writeOff('dir-b', 'bob')).result).toBe('begun');
    // Payouts are being held, one by one. Meanwhile a host of the office starts, and has the hand-in in its copies.
    const runId = await hosts.knownByAuditLog(newId());
    expect(await hosts.writeOff('bob')).toMatchObject({ result: 'done' });
    const second = await hosts.knownByAuditLog(newId());
    for (const id of [runId, second]) expect(await recordRows(hosts.desk.ledger, id, freshRows(1))).toBe('recorded');
    expect([await hosts.statesOf(runId), await hosts.statesOf(second)]).toEqual([['held'], ['held']]);
  });

  test('is held, although its file is known again between the holding and the end of the write-off', async () => {
    await hosts.restart();
    await hosts.writeOff('anna');
    expect((await hosts.desk.ledger.recovery.writeOff('dir-b', 'bob')).result).toBe('begun');
    const runId = await hosts.knownByAuditLog(newId());
    expect(await hosts.desk.ledger.recovery.forgetDirs()).toEqual([]);
    expect((await hosts.desk.ledger.state.season()).open).toBe(true);
    expect(await recordRows(hosts.desk.ledger, runId, freshRows(1))).toBe('recorded');
    expect(await hosts.statesOf(runId)).toEqual(['held']);
  });
});

test('a reference that came free before a write-off is held although the rows that freed it were removed since', async () => {
  const rows = freshRows(1);
  const runId = await payingRun(hosts.desk.ledger, rows);
  await movePayout(hosts.desk.ledger, { runId, line: 2 }, { to: 'rejected' });
  await hosts.desk.ledger.runs.move(runId, { to: 'finished', actor: 'payrun', reason: '' });
  await hosts.restart();
  await hosts.writeOff('anna');
  expect(await hosts.writeOff('bob')).toMatchObject({ result: 'done', missing: [] });
  // The nightly schedule removes what is old enough.
  await hosts.desk.ledger.runs.leave(runId);
  await hosts.desk.ledger.runs.takeWatch(-1, Date.now());
  const { changes } = (await hosts.desk.ledger.runs.read(runId)) ?? { changes: 0 };
  await hosts.desk.ledger.runs.note(runId, { reportedChanges: String(changes) });
  expect(await hosts.desk.ledger.purging.begin(runId, 0, Date.now())).toBe('purging');
  const purged = rows.map((row) => ({ line: row.line, referenceHash: recordOf(row).referenceHash }));
  await hosts.desk.ledger.purging.rows(runId, [purged]);
  await hosts.desk.ledger.purging.end(runId);
  // The retry file that the lost host may have paid is handed in again.
  expect(await hosts.statesOf(await payingRun(hosts.desk.ledger, rows))).toEqual(['held']);
});

test('a host for commands, whose directory armed nothing, keeps no later season closed because a look-up for people found a payment there', async () => {
  // Two people settled a payment as paid from the office: the service's yes is in a log there.
  const office = hosts.host('dir-office');
  const log = openIntentLog(office.path, { clock: systemClock, random: systemRandom });
  await log.noteAnswer({ quoteId: 'some-quote', paymentId: 'some-quote' });
  await log.close();
  // Redis is restarted, and somebody releases, approves or hands in from there before the workers have compared.
  await hosts.server.restart();
  await hosts.awaitRedis();
  const place = { state: office.ledger.state, dataDir: office.path, dataDirId: 'dir-office', armDeadlineMs: 20 };
  const others = { arms: false, compareDecisions: async () => {}, clock: systemClock, log: silentLog };
  const joined = ensureSeason({ ...place, ...others });
  await new Promise((resolve) => setTimeout(resolve, 300));
  await joinTogether(['dir-a', 'dir-b', 'dir-c'].map((id) => hosts.host(id)));
  await joined;
  await joinTogether(['dir-a', 'dir-b', 'dir-c'].map((id) => hosts.host(id)));
  expect((await hosts.desk.ledger.state.season()).open).toBe(true);
  // At the next restart the office (a container, say) is not there, and its folder is a new one.
  await hosts.restart(['dir-a', 'dir-b', 'dir-c']);
  expect(await hosts.desk.ledger.state.season()).toMatchObject({ open: true, missing: [] });
});

test('a host that was cut off, is written off and goes on running, closes the season of all others once, not again and again', async () => {
  const runId = await payingRun(hosts.desk.ledger, freshRows(3));
  // Its process goes on; it remembers the armings that Redis forgot.
  const frozen = hosts.desk.in('dir-b');
  await hosts.forgotten(async () => {
    for (const { armingCounter } of await armOn({ ...hosts.host('dir-b'), ledger: frozen }, runId, [2, 3, 4]))
      frozen.payouts.sawCounter(armingCounter);
  });
  await hosts.writeOff('anna');
  expect(await hosts.writeOff('bob')).toMatchObject({ result: 'done' });
  expect((await hosts.desk.ledger.state.season()).open).toBe(true);
  const isOpen: boolean[] = [];
  for (let sweeps = 0; sweeps < 3; sweeps++) {
    // Every 2 s it looks at the season (src/ledger/season/season.ts, refreshSeason); the others compare again.
    await frozen.state.season();
    isOpen.push((await hosts.desk.ledger.state.season()).open);
    for (const dataDirId of ['dir-a', 'dir-c']) await joinSeason(hosts.host(dataDirId));
    expect((await hosts.desk.ledger.state.season()).open).toBe(true);
  }
  expect(isOpen.slice(1)).toEqual([true, true]);
});
