import { describe, expect, test } from 'vitest';
import type { PayoutState } from '../../src/payout.ts';
import { lastDays, yesterday } from '../../src/web/today/days.ts';
import { openUnpaid } from '../../src/web/today/unpaid.ts';
import { openZone } from '../../src/zone.ts';
import { beginRun, movePayout, recordRun } from '../runs/recorded-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { foreignParts } from './page-html.ts';
import { openWebRig } from './rig.ts';

const server = await useTestRedis();

/** The status of each run of a page with its tone, in the order of the page. */
function statuses(text: string): string[] {
  return [...text.matchAll(/<span class="badge tone-([a-z]+)"><span class="dot"><\/span>([^<]+)</g)].map(
    ([, tone, words]) => `${tone} ${words}`,
  );
}

/** The figure of a card of the first page. */
function figureOf(text: string, label: string): string | undefined {
  return new RegExp(`</svg> ${label}</span><span class="figure [^"]*">([^<]+)<`).exec(text)?.[1];
}

describe('the status of a run', () => {
  test.each<[string, PayoutState[][], string]>([
    [
      'all paid',
      [
        ['armed', 'accepted', 'completed'],
        ['armed', 'accepted', 'completed'],
      ],
      'good All 2 paid',
    ],
    ['one paid', [['armed', 'accepted', 'completed'], ['cancelled']], 'bad Finished: 1 paid, 1 not paid'],
    ['none paid', [['cancelled'], ['cancelled']], 'bad Finished: nothing was paid'],
    ['one held', [['armed', 'accepted', 'completed'], ['held']], 'wait Finished: 1 paid, 1 needs you'],
    [
      'one on the way',
      [
        ['armed', 'accepted', 'completed'],
        ['armed', 'accepted'],
      ],
      'busy Finished: 1 paid, 1 on the way',
    ],
  ])('tells what became of its rows where the run is over: %s', async (_name, moves, status) => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2, 3] });
    for (const [index, states] of moves.entries()) {
      for (const [at, to] of states.entries())
        await app.ledger.payouts.move({ runId: run, line: index + 2, to, actor: 'test', reason: `move ${at}` });
    }
    await app.ledger.runs.move(run, { to: 'finished', actor: 'test', reason: 'over' });
    const anna = await person('anna', 'viewer');
    expect(statuses((await anna.get('/runs')).text)).toEqual([status]);
    expect(statuses((await anna.get(`/runs/${run}`)).text)).toEqual([status]);
  });

  test('says nothing to be done of a run that waits for approval', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await beginRun(app.ledger, { lines: [2], refused: [3] });
    await app.ledger.runs.move(run, { to: 'awaiting-approval', actor: 'test', reason: 'test' });
    const { text } = await (await person('anna', 'viewer')).get(`/runs/${run}`);
    expect(statuses(text)).toEqual(['wait Waits for approval']);
    expect(text).not.toContain('rows done');
  });
});

describe('the first page', () => {
  test('shows three steps to a paid file where there is no run, and an example to begin with', async () => {
    const { person } = await openWebRig(server.url);
    const { text } = await (await person('anna', 'maker')).get('/');
    expect(text.match(/<li class="card card-body"><h2>/g)).toHaveLength(3);
    expect(text).toContain('href="/upload/example.csv"');
    expect(foreignParts(text)).toEqual([]);
  });

  test('shows what waits for whom, and the menu of each page how many', async () => {
    const { app, person } = await openWebRig(server.url);
    const waiting = await beginRun(app.ledger, { id: 'waiting', lines: [2, 3] });
    await app.ledger.runs.move(waiting, { to: 'awaiting-approval', actor: 'test', reason: 'test' });
    const paying = await recordRun(app.ledger, { id: 'paying', lines: [12, 13, 14] });
    await movePayout(app.ledger, { runId: paying, line: 12 }, 'held');
    await movePayout(app.ledger, { runId: paying, line: 13 }, 'cancelled');
    const [maker, checker] = [await person('anna', 'maker'), await person('bob', 'checker')];
    const [forMaker, forChecker] = [(await maker.get('/')).text, (await checker.get('/')).text];
    expect(figureOf(forMaker, 'To approve')).toBeUndefined();
    expect(figureOf(forChecker, 'To approve')).toBe('1');
    expect(forChecker).toContain('href="/runs/waiting/approve"');
    expect(figureOf(forMaker, 'To settle')).toBe('1');
    expect(forMaker).toContain('100.50 <abbr>USD</abbr>');
    expect(figureOf(forMaker, 'Paying now')).toBe('1');
    expect(figureOf(forMaker, 'Not paid since yesterday')).toBe('1');
    const users = (await checker.get('/schedules')).text;
    expect(users).toMatch(/>Approve<span class="badge tone-wait">1</);
    expect(users).toMatch(/>To settle<span class="badge tone-wait">1</);
    expect(foreignParts(forChecker)).toEqual([]);
  });

  test('counts payouts of which nobody knows what became among those to settle, and says how many of them', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2, 3, 4] });
    await movePayout(app.ledger, { runId: run, line: 2 }, 'held');
    await movePayout(app.ledger, { runId: run, line: 3 }, 'armed', 'unknown');
    const { text } = await (await person('anna', 'viewer')).get('/');
    expect(figureOf(text, 'To settle')).toBe('2');
    expect(text).toContain('1 not known yet');
    expect(text).toContain('1 payout needs a person, and payrun still looks what came of 1 payout.');
    expect(text).toMatch(/>To settle<span class="badge tone-wait">2</);
  });

  test('leads from each card to the one run, or to the list of those runs that the card counts', async () => {
    const { app, person } = await openWebRig(server.url);
    const anna = await person('anna', 'checker');
    const hrefs = async (): Promise<string[]> =>
      [...(await anna.get('/')).text.matchAll(/<a class="card card-body [^"]*" href="([^"]+)"/g)].map(([, href = '']) =>
        href.replaceAll('&amp;', '&'),
      );
    const listed = async (href: string): Promise<string[]> =>
      [...(await anna.get(href)).text.matchAll(/<th scope="row" class="run-file"[^>]*><a href="\/runs\/([^"]+)"/g)]
        .map(([, id = '']) => id)
        .toSorted();
    for (const id of ['a', 'b']) {
      const at = id === 'a' ? 0 : 100;
      const waits = await beginRun(app.ledger, { id: `waits-${id}`, lines: [at + 2] });
      await app.ledger.runs.move(waits, { to: 'awaiting-approval', actor: 'test', reason: 'test' });
      const paying = await recordRun(app.ledger, { id: `paying-${id}`, lines: [at + 12, at + 13] });
      await movePayout(app.ledger, { runId: paying, line: at + 12 }, 'cancelled');
      const later = await recordRun(app.ledger, { id: `later-${id}`, lines: [at + 22] });
      await app.ledger.runs.move(later, { to: 'paused', actor: 'test', reason: 'test' });
      await app.ledger.runs.note(later, { startAt: String(app.clock.now() + 60_000) });
      const paused = await recordRun(app.ledger, { id: `paused-${id}`, lines: [at + 32] });
      await app.ledger.runs.move(paused, { to: 'paused', actor: 'test', reason: 'test' });
    }
    const lists = [];
    for (const href of (await hrefs()).filter((one) => one.startsWith('/runs'))) lists.push(await listed(href));
    expect(lists).toEqual(['waits', 'paying', 'paying', 'later'].map((name) => [`${name}-a`, `${name}-b`]));
  });

  test('counts what came to be not paid since yesterday, also of a run of last week, and nothing that was so before', async () => {
    const { app, person } = await openWebRig(server.url);
    const lastWeek = String(app.clock.now() - 7 * 24 * 60 * 60_000);
    const run = await recordRun(app.ledger, { lines: [2, 3, 4], refused: [5] });
    await app.ledger.runs.note(run, { createdAt: lastWeek });
    const anna = await person('anna', 'viewer');
    expect(figureOf((await anna.get('/')).text, 'Not paid since yesterday')).toBe('0');
    await movePayout(app.ledger, { runId: run, line: 2 }, 'armed', 'accepted', 'completed', 'returned');
    const { text } = await anna.get('/');
    expect(figureOf(text, 'Not paid since yesterday')).toBe('1');
    expect(text).toMatch(new RegExp(`href="/runs/${run}">(?:(?!</a>).)*Not paid since yesterday`));
    const runs = [await app.ledger.runs.read(run)].filter((one) => one !== undefined);
    expect(await openUnpaid(app.ledger.runs)(runs, app.clock.now() + 60_000)).toEqual([]);
  });

  test('counts no run as waiting for whoever handed it in', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await beginRun(app.ledger, { lines: [2] });
    await app.ledger.runs.move(run, { to: 'awaiting-approval', actor: 'test', reason: 'test' });
    const own = (await (await person('test', 'checker')).get('/')).text;
    expect(figureOf(own, 'To approve')).toBe('0');
    expect(own).toContain('Nothing waits for you.');
  });

  test('has a chart with its figures as text and as a table', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { lines: [2, 3], refused: [4] });
    await movePayout(app.ledger, { runId: run, line: 2 }, 'held');
    const { text } = await (await person('anna', 'viewer')).get('/');
    expect(text).toContain('aria-label="3 rows were handed in within 30 days, 0 of them are paid."');
    const day = new Date(app.clock.now()).toISOString().slice(0, 10);
    const cells = [0, 1, 1, 1].map((count) => `<td class="number"[^>]*>${count}</td>`).join('');
    expect(text).toMatch(new RegExp(`<th scope="row">${day}</th>${cells}`));
  });
});

test('the days of the first page begin at midnight in the zone of the settings', async () => {
  const { app } = await openWebRig(server.url);
  const run = await app.ledger.runs.read(await recordRun(app.ledger, { lines: [2] }));
  if (run === undefined) throw new Error('there is no run');
  const tokyo = openZone('Asia/Tokyo');
  const late = { ...run, createdAt: Date.parse('2026-03-01T16:00:00Z') };
  const now = Date.parse('2026-03-02T03:00:00Z');
  const days = lastDays([late], now, tokyo).filter(({ open }) => open > 0);
  expect(days.map(({ at }) => new Date(at).toISOString().slice(0, 10))).toEqual(['2026-03-02']);
  expect(new Date(yesterday(now, tokyo)).toISOString()).toBe('2026-02-28T15:00:00.000Z');
});
