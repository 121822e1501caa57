import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { App } from '../../src/app.ts';
import { parseSchedule } from '../../src/inbox/parse-schedule.ts';
import { createKey } from '../../src/people/keys.ts';
import { startSession } from '../../src/people/sessions.ts';
import { addUser } from '../../src/people/users.ts';
import { blockBeneficiary } from '../../src/runs/block.ts';
import { setSchedule } from '../../src/schedules/set.ts';
import { movePayout, recordRun } from '../runs/recorded-run.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { giveUp } from '../web/given-up.ts';
import { hasBrowser, openBrowser } from './browser.ts';
import { openDesk } from './desk.ts';

vi.setConfig({ testTimeout: 300_000 });

const SCREENS_MAX = 8;
/** Of a phone, what stands above the title of a page. */
const HEAD_PIXELS_MAX = 120;
const SIZES = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
] as const;
const MANY = 60;
/** Of one person; more would end the oldest one. */
const SESSIONS = 15;
const PROBLEM = { column: 'amount', value: 'twelve', message: 'This is no amount.', remedy: 'Write it as 12.50.' };

/** More of everything than a page shows. */
async function fillAll(app: App): Promise<void> {
  vi.spyOn(app.jobs, 'workers').mockResolvedValue([{ host: 'a', pid: 7 }]);
  await fillRuns(app);
  for (let n = 10; n < 10 + MANY; n++) {
    await blockBeneficiary(app, `9a6ee577-1d2f-42c8-a8de-fe56e6868a${n}`, { actor: 'anna', reason: 'it asked for it' });
    await giveUp(app, { id: `n-${n}`, endpoint: 'books' });
    for (const actor of ['ada', 'eve']) await createKey(app, { name: `program-${n}`, role: 'maker', actor });
    await schedule(app, `daily-${n}`, { kind: 'start' });
  }
}

async function schedule(app: App, name: string, act: Parameters<typeof parseSchedule>[0]['act']): Promise<void> {
  const asked = { cron: '30 6 * * 1-5', zone: 'Europe/Berlin', act, windowMs: 3_600_000 };
  await setSchedule(app, await parseSchedule(asked, app.config), { name, actor: 'ada' });
}

async function fillRuns(app: App): Promise<void> {
  const lines = Array.from({ length: 400 }, (_, at) => at + 2);
  const many = await recordRun(app.ledger, { id: 'many', lines });
  for (const line of lines.slice(0, 150)) await movePayout(app.ledger, { runId: many, line }, 'held');
  for (const line of lines.slice(150, 250)) await movePayout(app.ledger, { runId: many, line }, 'armed', 'unknown');
  for (let n = 0; n < MANY; n++) {
    const small = await recordRun(app.ledger, { id: `run-${n}`, lines: [1000 + n], refused: [2000 + n] });
    await movePayout(app.ledger, { runId: small, line: 1000 + n }, n % 2 === 0 ? 'held' : 'cancelled');
  }
}

/** An inbox in which all kinds of files lie. */
function fillInbox(dir: string): void {
  for (const folder of ['in', 'claimed', 'reports']) mkdirSync(join(dir, folder), { recursive: true });
  for (let n = 0; n < MANY; n++) {
    writeFileSync(join(dir, 'in', `waiting-${n}.csv`), 'x');
    writeFileSync(join(dir, 'claimed', `taken-${n}.csv`), 'x');
    const problems = Array.from({ length: 300 }, (_, at) => ({ ...PROBLEM, code: 'E_AMOUNT', line: at + 2 }));
    writeFileSync(
      join(dir, 'reports', `bad-${n}.csv.nack.json`),
      JSON.stringify({ problems, problemsTotal: problems.length }),
    );
    writeFileSync(join(dir, 'reports', `good-${n}.csv.ack.json`), JSON.stringify({ runId: `run-${n}` }));
  }
}

function pathsWith(inbox: string): string[] {
  return [
    '/',
    '/runs',
    '/runs/many/payouts',
    '/runs/many/payouts/2',
    '/to-settle',
    '/search?text=INV',
    '/period',
    '/block-list',
    '/upload',
    '/reconcile',
    '/schedules',
    '/inbox',
    `/inbox/refused?${new URLSearchParams({ inbox, file: 'bad-1.csv' })}`,
    '/notifications',
    '/settings',
    '/users',
    '/keys',
    '/audit',
    '/password',
    '/second-factor',
    '/sessions',
  ];
}

async function screensOf(page: Page, path: string): Promise<number> {
  const answer = await page.goto(path);
  expect([answer?.url(), answer?.status()]).toEqual([new URL(path, page.url()).href, 200]);
  const pixels = await page.evaluate('document.documentElement.scrollHeight');
  return Number(pixels) / (page.viewportSize()?.height ?? 1);
}

describe.skipIf(!hasBrowser())('with more of everything than fits', () => {
  let server: TestRedis;
  let browser: Browser;
  beforeAll(async () => {
    [server, browser] = await Promise.all([startTestRedis(), openBrowser()]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('no page is longer than eight screens, on a desk and on a phone', async () => {
    const desk = await openDesk(server.url, browser);
    await desk.person('eve', 'admin');
    const { page } = await desk.browse('ada', 'admin');
    for (let n = 0; n < SESSIONS; n++) await startSession(desk.app, 'ada');
    for (let n = 0; n < MANY; n++)
      for (const actor of ['ada', 'eve'])
        await addUser({ ...desk.app, passwords: desk.passwords }, { name: `user-${n}`, role: 'maker', actor });
    await fillAll(desk.app);
    await page.goto('/');
    const inbox = join(desk.app.dir, 'inbox');
    fillInbox(inbox);
    await schedule(desk.app, 'inbox', { kind: 'inbox', dir: inbox });
    const long: string[] = [];
    for (const size of SIZES) {
      await page.setViewportSize(size);
      for (const path of pathsWith(inbox)) {
        const screens = await screensOf(page, path);
        if (screens > SCREENS_MAX) long.push(`${path} at ${size.width}: ${screens.toFixed(1)} screens`);
      }
    }
    expect(long).toEqual([]);
  });

  test('the frame of a page leaves most of a phone to its content', async () => {
    const { browse } = await openDesk(server.url, browser);
    const { page } = await browse('ada', 'admin', { viewport: SIZES[1] });
    await page.goto('/runs');
    const top = (await page.locator('main').boundingBox())?.y;
    expect(top).toBeLessThanOrEqual(HEAD_PIXELS_MAX);
  });
});
