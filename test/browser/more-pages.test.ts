import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { App } from '../../src/app.ts';
import { parseSchedule } from '../../src/inbox/parse-schedule.ts';
import { startSession } from '../../src/people/sessions.ts';
import { setSchedule } from '../../src/schedules/set.ts';
import { codeAt } from '../people/authenticator.ts';
import { beginRun, movePayout, recordRun } from '../runs/recorded-run.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { configured } from '../web/api-rig.ts';
import { giveUp } from '../web/given-up.ts';
import { openWholeSite } from '../web/whole-site.ts';
import { pageFaults, shownFaults } from './axe.ts';
import { hasBrowser, openBrowser } from './browser.ts';
import { browsing, openDesk, signedIn } from './desk.ts';

vi.setConfig({ testTimeout: 300_000 });

const PROBLEM = { code: 'E_AMOUNT', line: 2, column: 'amount', value: 'twelve' };

async function fillRuns(app: App): Promise<void> {
  const held = await recordRun(app.ledger, { id: 'held', lines: [2, 3, 4] });
  for (const line of [2, 3]) {
    const values = { reasonCode: 'E_LIMIT', reason: 'it would pass the limit' };
    await app.ledger.payouts.move({ runId: held, line, to: 'held', actor: 'test', reason: 'held', values });
  }
  await movePayout(app.ledger, { runId: held, line: 4 }, 'armed', 'unknown');
  const over = await recordRun(app.ledger, { id: 'over', lines: [12, 13], refused: [14] });
  await movePayout(app.ledger, { runId: over, line: 12 }, 'armed', 'accepted', 'completed');
  await movePayout(app.ledger, { runId: over, line: 13 }, 'armed', 'accepted', 'failed');
  await app.ledger.runs.move(over, { to: 'finished', actor: 'test', reason: 'over' });
  await beginRun(app.ledger, { id: 'being-recorded', lines: [22] });
}

/** An inbox that a schedule reads, with a file of each kind. */
async function fillInbox(app: App & { readonly dir: string }): Promise<string> {
  const dir = join(app.dir, 'inbox');
  for (const folder of ['in', 'claimed', 'reports']) mkdirSync(join(dir, folder), { recursive: true });
  writeFileSync(join(dir, 'in', 'waiting.csv'), 'x');
  writeFileSync(join(dir, 'claimed', 'taken.csv'), 'x');
  writeFileSync(join(dir, 'reports', 'good.csv.ack.json'), JSON.stringify({ runId: 'over' }));
  const problems = [{ ...PROBLEM, message: 'This is no amount.', remedy: 'Write it as 12.50.' }];
  writeFileSync(join(dir, 'reports', 'bad.csv.nack.json'), JSON.stringify({ problems, problemsTotal: 1 }));
  const asked = { cron: '30 6 * * *', zone: 'UTC', act: { kind: 'inbox', dir } as const, windowMs: 3_600_000 };
  await setSchedule(app, await parseSchedule(asked, app.config), { name: 'morning', actor: 'test' });
  return dir;
}

async function faultsOf(page: Page, paths: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const path of paths) found.push(...(await pageFaults(page, path)));
  return found;
}

describe.skipIf(!hasBrowser())('axe-core finds no fault, light and dark, on a phone and on a desk, with', () => {
  let server: TestRedis;
  let browser: Browser;
  beforeAll(async () => {
    [server, browser] = await Promise.all([startTestRedis(), openBrowser()]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('what is searched, reported of a period, reconciled and settled together', async () => {
    const { app, browse } = await openDesk(server.url, browser);
    const { page } = await browse('ada', 'admin');
    expect(await faultsOf(page, ['/'])).toEqual([]);
    await fillRuns(app);
    const month = new Date().toISOString().slice(0, 7);
    const paths = [
      '/',
      '/search',
      '/search?text=INV',
      '/search?text=over',
      '/search?text=nothing',
      '/period',
      `/period?month=${month}`,
      '/reconcile',
      '/reconcile?run=over',
      '/runs/held/settle/E_LIMIT',
      '/runs/being-recorded',
      '/runs?outcome=not-paid',
      '/to-settle?reason=E_LIMIT',
      '/audit',
    ];
    expect(await faultsOf(page, paths)).toEqual([]);
  });

  test('files of an inbox, one that was refused, endpoints and what was given up', async () => {
    const desk = await openDesk(server.url, browser);
    const inbox = await fillInbox(desk.app);
    const { page: inboxPage } = await desk.browse('ada', 'admin');
    const refused = `/inbox/refused?${new URLSearchParams({ inbox, file: 'bad.csv' })}`;
    expect(await faultsOf(inboxPage, ['/inbox', refused, '/schedules'])).toEqual([]);
    const hooks = [{ name: 'books', url: 'https://books.example.com', secretFile: 's' }];
    const env = await configured({ webhooks: hooks });
    writeFileSync(join(dirname(env['PAYRUN_CONFIG'] ?? ''), 's'), 'a secret of this test', { mode: 0o600 });
    const { app, browse } = await openDesk(server.url, browser, { env });
    await giveUp(app, { id: 'n-1', endpoint: 'books' });
    const { page } = await browse('ada', 'admin');
    expect(await faultsOf(page, ['/notifications'])).toEqual([]);
  });

  test('a sign-in that waits for the second factor, and one whose session is lost', async () => {
    const { app, base, person } = await openDesk(server.url, browser);
    const anna = await person('anna', 'maker');
    await anna.post('/second-factor/begin');
    const secret = /<dt>Secret<\/dt><dd><code>([A-Z2-7 ]+)<\/code>/.exec((await anna.get('/second-factor')).text)?.[1];
    await anna.post('/second-factor', { typed: codeAt(secret?.replaceAll(' ', '') ?? '', Date.now()) });
    const { page } = await signedIn(browser, { base, sessionId: await startSession(app, 'anna') });
    expect(await faultsOf(page, ['/sign-in/second-factor', '/sign-in?next=%2Fruns'])).toEqual([]);
  });

  test('the menu above the queues, which leads back', async () => {
    const rig = await openWholeSite(server);
    const { page } = await browsing(rig, browser)('ada', 'admin');
    await page.goto('/admin/queues');
    await page.getByRole('link', { name: 'pay', exact: true }).first().waitFor();
    expect(await shownFaults(page, 'the queues', 'div.border-bottom')).toEqual([]);
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Runs' }).click();
    await page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor();
  });
});
