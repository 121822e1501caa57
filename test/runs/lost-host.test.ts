import { describe, expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { openIntentLog } from '../../src/ledger/intents/intent-log.ts';
import type { Payout } from '../../src/payout.ts';
import { purgeRun } from '../../src/runs/after/purge.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { armOn, joinSeason, joinTogether } from '../ledger/recovery-desk.ts';
import {
  allRows,
  freshRows,
  movePayout,
  payingRun,
  readPayout,
  recordRows,
  reportDeps,
} from '../ledger/test-ledger.ts';
import { newId, only, useHosts } from './hosts-desk.ts';

const hosts = useHosts();

/** What src/pay/settle-answer.ts and facts.ts do with a 201 that comes for a quote which the payout left behind. */
async function lateYes({ runId, line, quoteId }: Payout): Promise<void> {
  const log = openIntentLog(hosts.host('dir-a').path, { clock: systemClock, random: systemRandom });
  await log.noteAnswer({ quoteId: quoteId ?? '', paymentId: quoteId });
  await log.close();
  const inA = hosts.desk.in('dir-a');
  const values = {
    reasonCode: 'E_BREACH',
    reason: 'a payment exists for the quote, which the payout left behind',
  } as const;
  const spent = { spentQuoteId: quoteId ?? '', dueMs: 86_400_000 };
  await movePayout(inA, { runId, line }, { ...spent, to: 'held', breach: true, values });
  await inA.state.halt('process w', 'breach');
}

describe('a purge while the season is closed', () => {
  test('does not free a reference that the host which is written off afterwards may have used', async () => {
    const rows = freshRows(1);
    const runId = await payingRun(hosts.desk.ledger, rows);
    await movePayout(hosts.desk.ledger, { runId, line: 2 }, { to: 'rejected' });
    await hosts.desk.ledger.runs.move(runId, { to: 'finished', actor: 'payrun', reason: '' });
    await hosts.desk.ledger.runs.leave(runId);
    await hosts.desk.ledger.runs.takeWatch(-1, Date.now());
    const { changes } = (await hosts.desk.ledger.runs.read(runId)) ?? { changes: 0 };
    await hosts.desk.ledger.runs.note(runId, { reportedChanges: String(changes) });
    // The retry file is handed in and paid by dir-b alone. Redis goes back; dir-b burns.
    await hosts.forgotten(async () => {
      const retry = await payingRun(hosts.desk.ledger, rows);
      await armOn(hosts.host('dir-b'), retry, [2]);
      await movePayout(hosts.desk.in('dir-b'), { runId: retry, line: 2 }, { to: 'accepted', dueMs: 1000 });
    });
    expect((await hosts.desk.ledger.state.season()).open).toBe(false);
    // The nightly schedule removes what is old enough, before people have come to write the host off.
    const order = { actor: 'schedule nightly', olderThanMs: 0 };
    const purged = await purgeRun(reportDeps(hosts.desk.ledger, hosts.folder), runId, order);
    expect.soft(purged).not.toBe('purged');
    await hosts.loseHost();
    expect(await releaseHalt({ ledger: hosts.desk.ledger }, 'anna')).toBe('proposed');
    expect(await releaseHalt({ ledger: hosts.desk.ledger }, 'bob')).toBe('released');
    // The retry file that the lost host has paid is handed in again.
    expect(await hosts.statesOf(await payingRun(hosts.desk.ledger, rows))).toEqual(['held']);
  });
});

describe('what two people settled as not paid after a write-off', () => {
  test.each([
    ['into an open season', false],
    ['while Redis is being restarted', true],
  ])('is not sent because the lost host comes back %s', async (_, isRestarted) => {
    const runId = await payingRun(hosts.desk.ledger, freshRows(3));
    const sent = await hosts.forgotten(() => only(armOn(hosts.host('dir-b'), runId, [2])));
    await hosts.loseHost();
    await hosts.releaseAndResume(runId);
    const held = await readPayout(hosts.desk.ledger, sent);
    expect(held).toMatchObject({ state: 'held', reasonCode: 'E_DIR_LOST', quoteId: null });
    // A day later two people settle it as not paid (src/runs/decide/decide.ts, notPaidMove).
    await movePayout(hosts.desk.ledger, sent, {
      to: 'cancelled',
      values: { reasonCode: 'E_NOT_PAID', reason: 'paid by hand', rejectionConfirmed: true },
    });
    // The host comes back with its disk, under a new id.
    if (isRestarted) {
      await hosts.server.restart();
      await hosts.awaitRedis();
    }
    await joinTogether([hosts.host('dir-a'), hosts.host('dir-c'), hosts.returned()]);
    expect((await hosts.desk.ledger.state.season()).open).toBe(true);
    const back = await readPayout(hosts.desk.ledger, sent);
    // Its request never reached the service: a look-up proves the quote dead.
    if (back.state === 'unknown') await movePayout(hosts.desk.ledger, sent, { to: 'ready', dropQuote: 'proven-dead' });
    await hosts.releaseAndResume(runId);
    // Two people gave it up, and nobody allowed it since.
    await expect(armOn(hosts.host('dir-a'), runId, [2])).rejects.toThrow(/not armed/);
  });

  test('what one person cancelled after two had allowed it is not sent because the lost host comes back', async () => {
    const runId = await payingRun(hosts.desk.ledger, freshRows(3));
    const sent = await hosts.forgotten(() => only(armOn(hosts.host('dir-b'), runId, [2])));
    await hosts.loseHost();
    await hosts.releaseAndResume(runId);
    await movePayout(hosts.desk.ledger, sent, { to: 'ready' });
    await movePayout(hosts.desk.ledger, sent, { to: 'cancelled' });
    await joinTogether([hosts.host('dir-a'), hosts.host('dir-c'), hosts.returned()]);
    const back = await readPayout(hosts.desk.ledger, sent);
    if (back.state === 'unknown') await movePayout(hosts.desk.ledger, sent, { to: 'ready', dropQuote: 'proven-dead' });
    await hosts.releaseAndResume(runId);
    await expect(armOn(hosts.host('dir-a'), runId, [2])).rejects.toThrow(/not armed/);
  });
});

test('a file that the lost host had, and that was handed in again more than a week after the loss, is in doubt after one more restore', async () => {
  await hosts.restart();
  await hosts.loseHost();
  expect((await hosts.desk.ledger.state.season()).open).toBe(true);
  // Before the loss the office had handed the file in, and dir-b had paid it; nobody else has that entry. Nine days after the loss
  // the office asks for it, and hands it in again ("run.attached"): its rows were held. Then Redis goes back to the copy of the night before.
  const id = newId();
  const run = { id, fileSha256: id.repeat(8), contentHash: `c-${id}` };
  // A worker compares first: of its copies (src/runs/safety/missed-decisions.ts, stopAndRedo).
  await hosts.desk.ledger.recovery.restoreRun({ ...run });
  // The office comes then, with both entries, in the order of their times.
  await hosts.desk.ledger.recovery.restoreRun({ ...run });
  await hosts.desk.ledger.recovery.restoreRun({ ...run });
  expect(await recordRows(hosts.desk.ledger, id, freshRows(2))).toBe('recorded');
  const states = (await allRows(hosts.desk.ledger, id)).map((row) => ('row' in row ? row.state : 'refused'));
  expect(states).toEqual(['held', 'held']);
});

describe('a quote to which the service said yes', () => {
  test.each([
    ['another worker that looked it up', 'at once'],
    ['another worker that looked it up', 'after a restart of Redis'],
    ['people who settled it as paid', 'at once'],
    ['people who settled it as paid', 'after a restart of Redis'],
  ])(
    'is never proven dead, as %s learned, where the host that sent it was written off and comes back %s',
    async (who, when) => {
      const rows = freshRows(1);
      // After the copy: a file is handed in, dir-b sends its row, and the answer is lost. The payment is found.
      const { runId, quote, run } = await hosts.forgotten(async () => {
        const inB = hosts.desk.in('dir-b');
        const id = await payingRun(inB, rows);
        const [armed] = await armOn(hosts.host('dir-b'), id, [2]);
        const quoteId = armed?.quoteId ?? '';
        if (who.startsWith('another')) {
          const log = openIntentLog(hosts.host('dir-c').path, { clock: systemClock, random: systemRandom });
          await log.noteAnswer({ quoteId, paymentId: quoteId });
          await log.close();
        }
        return { runId: id, quote: quoteId, run: await inB.runs.read(id) };
      });
      // What src/runs/safety/missed-decisions.ts does first, by the copies of the audit log.
      const redo = async () => {
        const { fileSha256 = '', contentHash = '' } = run ?? {};
        await hosts.desk.ledger.recovery.restoreRun({ id: runId, fileSha256, contentHash });
        if (who.startsWith('another')) return;
        const { server: now } = await hosts.desk.ledger.state.season();
        const json = JSON.stringify([{ y: quote, p: quote, n: true }]);
        await hosts.desk.ledger.state.compare({ dataDirId: '', server: now, last: false, json, peers: [] });
      };
      await redo();
      for (const id of ['dir-a', 'dir-c']) await joinSeason(hosts.host(id));
      await hosts.loseHost();
      if (when !== 'at once') {
        // Maintenance, a week later: nothing is missing any more, so nothing is done again.
        await hosts.server.restart();
        await hosts.awaitRedis();
        for (const id of ['dir-a', 'dir-c']) await joinSeason(hosts.host(id));
      }
      expect((await hosts.desk.ledger.state.season()).open).toBe(true);
      // The host is repaired: its directory has a new id.
      await joinTogether([hosts.host('dir-a'), hosts.host('dir-c'), hosts.returned()]);
      expect((await hosts.desk.ledger.state.season()).open).toBe(true);
      // Its file comes again.
      expect(await recordRows(hosts.desk.ledger, runId, rows)).toBe('recorded');
      expect(await releaseHalt({ ledger: hosts.desk.ledger }, 'anna')).toBe('proposed');
      // While the service does not show it (it hides its newest payments, or keeps old ones in an archive), it would be sent again.
      expect(await readPayout(hosts.desk.ledger, { runId, line: 2 })).toMatchObject({
        state: 'unknown',
        quoteId: quote,
        seen2xx: true,
      });
    },
  );
});

describe('a yes of the service to a quote that was proven dead before the copy', () => {
  test('holds its payout again, which the copy has as one that waits', async () => {
    const runId = await payingRun(hosts.desk.ledger, freshRows(1));
    const dead = await only(armOn(hosts.host('dir-a'), runId, [2]));
    await movePayout(hosts.desk.ledger, dead, { to: 'unknown', dueMs: 0 });
    await movePayout(hosts.desk.ledger, dead, { to: 'ready', dropQuote: 'proven-dead', dueMs: 0 });
    await hosts.forgotten(() => lateYes(dead));
    expect.soft((await readPayout(hosts.desk.ledger, dead)).state).toBe('held');
    await hosts.desk.ledger.state.read();
    await expect(armOn(hosts.host('dir-c'), runId, [2])).rejects.toThrow(/not armed/);
  });

  test('is not forgotten where the payout was sent under another quote since, and all of it is known from intent lines alone', async () => {
    const runId = await payingRun(hosts.desk.ledger, freshRows(1));
    const place = { runId, line: 2 };
    const second = await hosts.forgotten(async () => {
      const dead = await only(armOn(hosts.host('dir-a'), runId, [2]));
      const inA = hosts.desk.in('dir-a');
      await movePayout(inA, place, { to: 'unknown', dueMs: 0 });
      await movePayout(inA, place, { to: 'ready', dropQuote: 'proven-dead', dueMs: 0 });
      const again = await only(armOn(hosts.host('dir-a'), runId, [2]));
      await movePayout(inA, place, { to: 'unknown', dueMs: 0 });
      await lateYes(dead);
      return again;
    });
    const payout = await readPayout(hosts.desk.ledger, place);
    expect(payout.quoteId).toBe(second.quoteId);
    // The second quote never reached the service, and is proven dead: the row is sent a third time, although its first quote was paid.
    if (payout.state === 'unknown')
      await movePayout(hosts.desk.ledger, place, { to: 'ready', dropQuote: 'proven-dead', dueMs: 0 });
    await hosts.server.redis.hdel(`${hosts.desk.prefix}:head`, 'halt');
    await hosts.desk.ledger.runs.move(runId, { to: 'paying', actor: 'anna', reason: '' });
    await expect(armOn(hosts.host('dir-c'), runId, [2])).rejects.toThrow(/not armed/);
  });
});

test('a file that was handed in on a host whose clock was ahead, before another host was lost, is in doubt', async () => {
  await hosts.restart();
  await hosts.loseHost();
  // Handed in today by the clock of Redis; the id has the day of the host's own clock, which is ten days ahead.
  const day = new Date(Date.now() + 10 * 86_400_000).toISOString().slice(0, 10).replaceAll('-', '');
  const id = newId().replace(/^\d{8}/, day);
  await hosts.desk.ledger.recovery.restoreRun({
    id,
    fileSha256: id.slice(0, 8).repeat(8),
    contentHash: `c-${id}`,
    seenAt: Date.now() - 3_600_000,
  });
  expect(await recordRows(hosts.desk.ledger, id, freshRows(2))).toBe('recorded');
  expect(await hosts.statesOf(id)).toEqual(['held', 'held']);
});

test('a run that is known as one whose file was replaced is not known by its lines', async () => {
  const { recovery, runs } = hosts.desk.ledger;
  const [a, b] = [newId(), newId()];
  await recovery.restoreRun({ id: a, fileSha256: 'f1'.repeat(32), contentHash: 'c-1' });
  await recovery.restoreRun({ id: b, fileSha256: 'f1'.repeat(32), contentHash: 'c-1' });
  expect(await recovery.knownAs(b)).toEqual({ id: a, isSameFile: true });
  expect(await runs.takeFile(a, { sha256: 'f2'.repeat(32), name: 'other.csv' })).toBe(true);
  expect.soft((await recovery.knownAs(a)).isSameFile).toBe(false);
  expect(await recovery.knownAs(b)).toEqual({ id: a, isSameFile: false });
});
