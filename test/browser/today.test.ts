import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endSessionsOf } from '../../src/people/sessions.ts';
import { movePayout, recordRun } from '../runs/recorded-run.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { hasBrowser, openBrowser } from './browser.ts';
import { openDesk } from './desk.ts';

describe.skipIf(!hasBrowser())('the first page', () => {
  let server: TestRedis;
  let browser: Browser;
  beforeAll(async () => {
    [server, browser] = await Promise.all([startTestRedis(), openBrowser()]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('follows what is paid and what comes, without being loaded again, and leaves the focus where it is', async () => {
    const { app, browse } = await openDesk(server.url, browser);
    const run = await recordRun(app.ledger, { lines: [2, 3, 4] });
    const { page, loads, strays } = await browse('anna', 'viewer');
    await page.goto('/');
    const card = page.getByRole('link', { name: /Paying now/ });
    await card.getByText('0 of 3 rows paid').waitFor();
    await card.focus();
    const before = loads();
    await movePayout(app.ledger, { runId: run, line: 2 }, 'armed', 'accepted', 'completed');
    await movePayout(app.ledger, { runId: run, line: 3 }, 'held');
    await card.getByText('1 of 3 rows paid').waitFor();
    await page.getByText('1 payout needs a person.').waitFor();
    await recordRun(app.ledger, { id: 'second', lines: [12] });
    await page.getByRole('link', { name: 'second.csv' }).waitFor();
    expect(await page.locator(':focus').textContent()).toContain('Paying now');
    expect(loads()).toBe(before);
    expect(strays).toEqual([]);
  });

  test('says that it is no longer followed once its reader has been signed out', async () => {
    const { app, browse } = await openDesk(server.url, browser);
    await recordRun(app.ledger, { lines: [2] });
    const { page } = await browse('anna', 'viewer');
    await page.goto('/');
    await endSessionsOf(app, { name: 'anna', actor: 'test' });
    const note = page.getByText('You have been signed out. Reload the page to go on.');
    await note.waitFor();
    expect(await note.count()).toBe(1);
  });
});
