import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createKey } from '../../src/people/keys.ts';
import { movePayout, recordRun } from '../runs/recorded-run.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { hasBrowser, openBrowser } from './browser.ts';
import { openDesk } from './desk.ts';
import { payoutFile, seeTitle } from './steps.ts';

vi.setConfig({ testTimeout: 180_000 });

const BLOCKED = '9a6ee577-1d2f-42c8-a8de-fe56e6868a6d';

describe.skipIf(!hasBrowser())('a browser without scripts', () => {
  let server: TestRedis;
  let browser: Browser;
  beforeAll(async () => {
    [server, browser] = await Promise.all([startTestRedis(), openBrowser()]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  async function openPage() {
    const desk = await openDesk(server.url, browser);
    return { ...desk, ...(await desk.browse('ada', 'admin', { javaScriptEnabled: false })) };
  }

  test('shows on the first page what waits, and as it is now when it is loaded again', async () => {
    const { app, page } = await openPage();
    const run = await recordRun(app.ledger, { lines: [2, 3] });
    await page.goto('/');
    await page
      .getByRole('link', { name: /Paying now/ })
      .getByText('0 of 2 rows paid')
      .waitFor();
    await movePayout(app.ledger, { runId: run, line: 2 }, 'armed', 'accepted', 'completed');
    await page.reload();
    await page.getByRole('link', { name: /Paying now/ }).click();
    await seeTitle(page, 'r1.csv');
    expect(new URL(page.url()).pathname).toBe('/runs/r1');
  });

  test('searches all runs from any page', async () => {
    const { app, page } = await openPage();
    await recordRun(app.ledger, { lines: [2, 3] });
    await page.goto('/schedules');
    await page.getByLabel('Search all runs').fill('inv-3');
    await page.keyboard.press('Enter');
    await seeTitle(page, 'Search');
    await page.getByRole('table', { name: 'Payouts' }).getByRole('link', { name: 'INV-3' }).click();
    await seeTitle(page, 'Payout INV-3');
    expect(new URL(page.url()).pathname).toBe('/runs/r1/payouts/3');
  });

  test('opens the menus, and filters and sorts lists', async () => {
    const { app, page } = await openPage();
    const failed = await recordRun(app.ledger, { id: 'failed', lines: [2] });
    await movePayout(app.ledger, { runId: failed, line: 2 }, 'cancelled');
    await recordRun(app.ledger, { id: 'other', lines: [12, 13] });
    await page.goto('/');
    await page.getByText('More', { exact: true }).click();
    await page.getByRole('link', { name: 'Audit' }).click();
    await seeTitle(page, 'Audit log');
    await page.goto('/runs');
    await page.getByRole('link', { name: 'Rows' }).click();
    expect(await page.locator('.run-file a').allTextContents()).toEqual(['other.csv', 'failed.csv']);
    await page.getByLabel('With rows that are').selectOption('not-paid');
    await page.getByRole('button', { name: 'Search' }).click();
    expect(await page.locator('.run-file a').allTextContents()).toEqual(['failed.csv']);
  });

  test('uploads a file with what it should hold, and is told that it does not', async () => {
    const { page } = await openPage();
    await page.goto('/upload');
    const buffer = Buffer.from(payoutFile(2, 'NOJS'));
    await page.getByLabel('Payout file').setInputFiles({ name: 'plain.csv', mimeType: 'text/csv', buffer });
    await page.getByText('What it should hold, when it starts, and more').click();
    await page.getByLabel('Expected rows').fill('3');
    await page.getByRole('button', { name: 'Upload and check' }).click();
    await seeTitle(page, 'plain.csv');
    expect(await page.locator('main').innerText()).toMatch(/expected|3 rows/i);
  });

  test('blocks a beneficiary', async () => {
    const { page } = await openPage();
    await page.goto('/block-list');
    await page.getByLabel('Identity id').fill(BLOCKED);
    await page.getByLabel('Reason').fill('a test');
    await page.getByRole('button', { name: 'Block', exact: true }).click();
    await page.getByRole('table').getByText(BLOCKED).waitFor();
    expect(await page.getByRole('button', { name: `Propose to unblock ${BLOCKED}` }).count()).toBe(1);
  });

  test('sets, changes and removes a schedule, after a second step', async () => {
    const { page } = await openPage();
    await page.goto('/schedules');
    await page.getByLabel('Name').fill('morning');
    await page.getByLabel('Cron').fill('30 6 * * 1-5');
    await page.getByRole('button', { name: 'Set the schedule' }).click();
    await page.getByRole('link', { name: 'Change schedule morning' }).click();
    await page.getByLabel('Cron').fill('45 6 * * 1-5');
    await page.getByRole('button', { name: 'Set the schedule' }).click();
    await page.getByText('At 06:45').waitFor();
    const remove = page.getByRole('button', { name: 'Remove schedule morning', exact: true });
    expect(await remove.isVisible()).toBe(false);
    await page.getByText('Remove…').click();
    await remove.click();
    await page.getByText('There are no schedules yet.').waitFor();
  });

  test('revokes a key in two steps', async () => {
    const { app, page } = await openPage();
    await createKey(app, { name: 'books', role: 'maker', actor: 'ada' });
    await page.goto('/keys');
    const revoke = page.getByRole('button', { name: 'Revoke books', exact: true });
    expect(await revoke.isVisible()).toBe(false);
    await page.getByText('Revoke…').click();
    await page.getByText('Whatever uses books is refused from now on.').waitFor();
    await revoke.click();
    await page.getByText('There are no keys yet.').waitFor();
  });
});
