import { describe, expect, test, vi } from 'vitest';
import type { App } from '../../src/app.ts';
import { readEntry } from '../../src/audit/entry.ts';
import { readToSettle } from '../../src/runs/decide/to-settle.ts';
import { armPayout, movePayout, payoutAt, recordRun } from '../runs/recorded-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { openWebRig } from './rig.ts';
import { paySecretly, runSandbox } from './secretly-paid.ts';
import type { Answer } from './visitor.ts';

vi.setConfig({ testTimeout: 180_000 });

const server = await useTestRedis();

const LINES = Array.from({ length: 18 }, (_, index) => index + 2);

async function holdAll({ ledger }: App, runId: string): Promise<void> {
  for (const line of LINES) {
    const values = { reasonCode: 'E_LIMIT', reason: 'it would pass the limit' };
    await ledger.payouts.move({ runId, line, to: 'held', actor: 'test', reason: 'held', values });
  }
}

const ticks = (lines: readonly number[]) => Object.fromEntries(lines.map((line) => [`line-${line}`, 'on']));

function linkIn({ text }: Answer, words: string): string {
  const link = new RegExp(`href="([^"]+)"[^>]*>${words}<`).exec(text)?.[1];
  if (link === undefined) throw new Error(`the page has no link "${words}"`);
  return link;
}

test('18 held payouts of one reason are settled by two people with three pages each, and each has entries of its own', async () => {
  const { app, person } = await openWebRig(server.url);
  const runId = await recordRun(app.ledger, { lines: LINES });
  await holdAll(app, runId);
  const mia = await person('mia', 'maker');
  const carl = await person('carl', 'checker');

  const group = linkIn(await mia.get('/to-settle'), 'Settle together');
  const page = await mia.get(group);
  expect(page.text.match(/type="checkbox"/g)).toHaveLength(LINES.length);
  const form = { ...ticks(LINES), decision: 'allow', reason: 'agreed with treasury' };
  expect((await mia.post(group, form)).text).toContain('18 proposed.');

  // Somebody else settles one of them meanwhile.
  await app.ledger.payouts.move({ runId, line: 2, to: 'cancelled', actor: 'test', reason: 'dropped' });
  expect((await carl.get(group)).text).toContain('mia proposed to allow 17 of them: agreed with treasury');
  const confirmed = await carl.post(group, { ...form, reason: 'looked at each' });
  expect(confirmed.text).toContain('17 confirmed by two people');
  expect(confirmed.text).toContain('Left out: 1');
  expect(confirmed.text).toMatch(/>INV-2<.*It has changed meanwhile: it is cancelled now/);
  const states = await Promise.all(LINES.map(async (line) => (await payoutAt(app.ledger, { runId, line })).state));
  expect(states).toEqual(['cancelled', ...LINES.slice(1).map(() => 'ready')]);
  const entries: string[] = [];
  for await (const line of app.ledger.audit.lines()) {
    const entry = readEntry(line);
    if (entry?.action.startsWith('payout.allow')) entries.push(`${entry.actor} ${entry.action}`);
  }
  expect(entries.filter((entry) => entry === 'mia payout.allow-proposed')).toHaveLength(18);
  expect(entries.filter((entry) => entry === 'carl payout.allow-confirmed')).toHaveLength(17);
});

test('one person alone settles none of them, and a payout that is not ticked stays as it is', async () => {
  const { app, person } = await openWebRig(server.url);
  const runId = await recordRun(app.ledger, { lines: LINES });
  await holdAll(app, runId);
  const mia = await person('mia', 'maker');
  const group = `/runs/${runId}/settle/E_LIMIT`;
  const form = { ...ticks([2, 3]), decision: 'drop', reason: 'sent by hand' };
  expect((await mia.post(group, form)).text).toContain('2 proposed.');
  const again = await mia.post(group, form);
  expect(again.text).toContain('Left out: 2');
  expect(again.text).toContain('mia has proposed this');
  expect((await payoutAt(app.ledger, { runId, line: 4 })).proposal).toBeNull();
  expect((await mia.post(group, { decision: 'drop', reason: 'none is ticked' })).status).toBe(422);
  const vera = await person('vera', 'viewer');
  expect((await vera.get(group)).text).not.toContain('name="decision"');
  expect((await vera.post(group, form)).status).toBe(403);
});

test('a ticked payout that waits for another reason meanwhile, or that the run does not have, is left out and named', async () => {
  const { app, person } = await openWebRig(server.url);
  const runId = await recordRun(app.ledger, { lines: LINES });
  await holdAll(app, runId);
  const mia = await person('mia', 'maker');
  await movePayout(app.ledger, { runId, line: 3 }, 'ready');
  const values = { reasonCode: 'E_BLOCKED', reason: 'blocked' };
  await app.ledger.payouts.move({ runId, line: 3, to: 'held', actor: 'test', reason: 'held', values });
  await mia.get(`/runs/${runId}/settle/E_LIMIT`);
  const form = { ...ticks([2, 3, 900]), decision: 'drop', reason: 'sent by hand' };
  const { text } = await mia.post(`/runs/${runId}/settle/E_LIMIT`, form);
  expect(text).toContain('1 proposed.');
  expect(text).toContain('Left out: 2');
  expect(text).toMatch(/>INV-3<.*it is held for another reason now, E_BLOCKED/);
  expect(text).toMatch(/>line 900<.*The run has no payout on line 900/);
  expect((await payoutAt(app.ledger, { runId, line: 3 })).proposal).toBeNull();
});

test('of many payouts the first 200 are ticked, the page and the list say that more wait, and all of them are taken together', async () => {
  const { app, person } = await openWebRig(server.url);
  const lines = Array.from({ length: 502 }, (_, index) => index + 2);
  const runId = await recordRun(app.ledger, { lines });
  for (const line of lines) {
    const values = { reasonCode: 'E_LIMIT', reason: 'it would pass the limit' };
    await app.ledger.payouts.move({ runId, line, to: 'held', actor: 'test', reason: 'held', values });
  }
  const mia = await person('mia', 'maker');
  expect((await mia.get('/to-settle')).text).toContain('of the first 500 payouts: more of them wait');
  const group = `/runs/${runId}/settle/E_LIMIT`;
  const page = await mia.get(group);
  expect(page.text.match(/name="line-/g)).toHaveLength(200);
  expect(page.text).toContain('more than 200 payouts wait for people');
  expect(page.text).toContain('502 of this file are held');
  const form = { all: 'yes', decision: 'drop', reason: 'sent by hand' };
  expect((await mia.post(group, form)).text).toContain('502 proposed.');
  const carl = await person('carl', 'checker');
  await carl.get(group);
  expect((await carl.post(group, form)).text).toContain('502 confirmed by two people');
  expect((await payoutAt(app.ledger, { runId, line: 503 })).state).toBe('cancelled');
});

/** Two that the service has paid and one that it has not, all unknown here. */
async function openUnknown() {
  const rig = await openWebRig(server.url);
  const { app } = rig;
  const pay = await runSandbox(app);
  const runId = await recordRun(app.ledger, { lines: [2, 3, 4] });
  for (const line of [2, 3, 4]) {
    const payout = await payoutAt(app.ledger, { runId, line });
    const quoteId = line === 4 ? '9b2f7a31-0c3d-4f57-8a86-2f3c5c1d7e94' : await paySecretly(pay, payout);
    await armPayout(app.ledger, { runId, line }, quoteId);
    await app.ledger.payouts.move({ runId, line, to: 'unknown', actor: 'test', reason: 'HTTP_503' });
  }
  const statesOf = () =>
    Promise.all([2, 3, 4].map(async (line) => (await payoutAt(app.ledger, { runId, line })).state));
  return { ...rig, runId, statesOf };
}

describe('payouts of which nobody knows what came', () => {
  test('are ticked and settled together by two people, each as paid by its own payment that the service shows', async () => {
    const { app, person, runId, statesOf } = await openUnknown();
    const mia = await person('mia', 'maker');
    const carl = await person('carl', 'checker');
    const link = linkIn(await mia.get('/to-settle'), 'Settle together');
    expect(link).toBe(`/runs/${runId}/settle/unknown?reason=HTTP_503`);
    const page = await mia.get(link);
    expect(page.text.match(/type="checkbox"/g)).toHaveLength(3);
    expect([...page.text.matchAll(/type="radio" name="decision" value="([^"]+)"/g)].map(([, value]) => value)).toEqual([
      'paid',
    ]);
    const group = `/runs/${runId}/settle/unknown`;
    const form = { ...ticks([2, 3, 4]), decision: 'paid', reason: 'on the statement of the bank' };
    const proposed = await mia.post(group, form);
    expect(proposed.text).toContain('2 proposed.');
    expect(proposed.text).toMatch(/>INV-4<.*the service knows no payment/);
    expect(await statesOf()).toEqual(['unknown', 'unknown', 'unknown']);
    expect((await carl.get(group)).text).toContain('mia proposed to settle as paid 2 of them');
    expect((await carl.post(group, form)).text).toContain('2 confirmed by two people');
    expect(await statesOf()).toEqual(['accepted', 'accepted', 'unknown']);
    const entries: string[] = [];
    for await (const line of app.ledger.audit.lines()) {
      const entry = readEntry(line);
      if (entry?.action.startsWith('payout.paid')) entries.push(`${entry.actor} ${entry.action}`);
    }
    expect(entries.toSorted()).toEqual([
      ...Array.from({ length: 2 }, () => 'carl payout.paid-confirmed'),
      ...Array.from({ length: 2 }, () => 'mia payout.paid-proposed'),
    ]);
  });

  test('are not settled together as not paid: the quote of each may still be paid', async () => {
    const { person, runId, statesOf } = await openUnknown();
    const mia = await person('mia', 'maker');
    await mia.get(`/runs/${runId}/settle/unknown`);
    const form = { ...ticks([2, 3, 4]), decision: 'not-paid', reason: 'the bank says no' };
    expect((await mia.post(`/runs/${runId}/settle/unknown`, form)).text).toContain('Left out: 3');
    expect(await statesOf()).toEqual(['unknown', 'unknown', 'unknown']);
  });
});

/** The lines of a run that a page lists. */
function rowsIn({ text }: Answer, runId: string): number[] {
  return [...text.matchAll(new RegExp(`<th scope="row"><a href="/runs/${runId}/payouts/([0-9]+)"`, 'g'))].map(
    ([, line]) => Number(line),
  );
}

describe('what is to settle of a run', () => {
  test('is one click away: the payouts together where they have one reason, else those of this run alone', async () => {
    const { app, person } = await openWebRig(server.url);
    const older = await recordRun(app.ledger, { id: 'older', lines: [102, 103] });
    const runId = await recordRun(app.ledger, { id: 'newer', lines: LINES });
    await holdAll(app, runId);
    for (const line of [102, 103]) await movePayout(app.ledger, { runId: older, line }, 'held');
    const mia = await person('mia', 'maker');
    const settle = `/runs/${runId}/settle`;
    expect((await mia.get(`/runs/${runId}`)).text).toMatch(
      new RegExp(`<a [^>]*href="${settle}">(?:(?!</a>).)* Settle 18</a>`),
    );
    const answer = await mia.get(settle);
    expect([answer.status, answer.headers.get('location')]).toEqual([303, `/runs/${runId}/settle/E_LIMIT`]);

    const values = { reasonCode: 'E_DUPLICATE', reason: 'it looks like another one' };
    await movePayout(app.ledger, { runId, line: 2 }, 'ready');
    await app.ledger.payouts.move({ runId, line: 2, to: 'held', actor: 'test', reason: 'held', values });
    const list = (await mia.get(settle)).headers.get('location') ?? '';
    const page = await mia.get(list);
    expect(rowsIn(page, runId)).toEqual(LINES);
    expect(rowsIn(page, older)).toEqual([]);
    expect(linkIn(page, 'Settle together')).toBe(`/runs/${runId}/settle/E_LIMIT`);
  });

  test('is narrowed down by reason, by state and by how long it has waited, and the API has the same', async () => {
    const { app, person } = await openWebRig(server.url);
    const runId = await recordRun(app.ledger, { lines: [2, 3, 4, 5, 6] });
    const hold = (line: number, reasonCode: string) =>
      app.ledger.payouts.move({
        runId,
        line,
        to: 'held',
        actor: 'test',
        reason: 'held',
        values: { reasonCode, reason: reasonCode },
      });
    for (const line of [2, 3]) await hold(line, 'E_LIMIT');
    await hold(4, 'E_DUPLICATE');
    for (const line of [5, 6]) {
      await armPayout(app.ledger, { runId, line }, `9b2f7a31-0c3d-4f57-8a86-2f3c5c1d7e9${line}`);
      await app.ledger.payouts.move({ runId, line, to: 'unknown', actor: 'test', reason: 'HTTP_503' });
    }
    const mia = await person('mia', 'maker');
    const listed = async (query: string) => rowsIn(await mia.get(`/to-settle?${query}`), runId);
    expect(await listed('reason=E_LIMIT')).toEqual([2, 3]);
    expect(await listed('state=unknown')).toEqual([5, 6]);
    expect(await listed('reason=HTTP_503&run=other')).toEqual([]);
    expect(await listed(`hours=1&run=${runId}`)).toEqual([]);
    const soon = { from: null, most: 50, before: Date.now() + 60_000 };
    expect((await readToSettle(app.ledger, soon)).payouts).toHaveLength(5);
    const page = await mia.get('/to-settle?run=&state=&reason=&hours=');
    expect(rowsIn(page, runId)).toEqual([2, 3, 4, 5, 6]);
    // People choose among the reasons there are, in words.
    const chosen = await mia.get('/to-settle?reason=E_LIMIT');
    const options = [...chosen.text.matchAll(/<option value="([A-Z][A-Z0-9_]+)"( selected)?>([^<]+)</g)];
    expect(options.map(([, code, isChosen = '', words]) => `${code}${isChosen}: ${words}`).toSorted()).toEqual([
      'E_DUPLICATE: E_DUPLICATE',
      'E_LIMIT selected: it would pass a limit',
      'HTTP_503: the service answered with status 503',
    ]);
  });

  test('comes in pages of the filter, however few of the rows are wanted', async () => {
    const { app } = await openWebRig(server.url);
    const lines = Array.from({ length: 250 }, (_, index) => index + 2);
    const runId = await recordRun(app.ledger, { lines });
    for (const line of lines) {
      const values = { reasonCode: line % 50 === 0 ? 'E_LIMIT' : 'E_DUPLICATE', reason: 'held' };
      await app.ledger.payouts.move({ runId, line, to: 'held', actor: 'test', reason: 'held', values });
    }
    const first = await readToSettle(app.ledger, { from: null, most: 3, reason: 'E_LIMIT' });
    expect(first.payouts.map(({ line }) => line)).toEqual([50, 100, 150]);
    const rest = await readToSettle(app.ledger, { from: first.next, most: 3, reason: 'E_LIMIT' });
    expect([rest.payouts.map(({ line }) => line), rest.next]).toEqual([[200, 250], null]);
  });
});
