import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { movePayout, recordRun } from '../runs/recorded-run.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { openWebRig, PASSWORD } from '../web/rig.ts';
import { hasBrowser, openBrowser, openVisitor } from './browser.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const WINDOW = { width: 1440, height: 900 };
/** So far down everything stands that somebody does with a run. */
const BUTTONS_ABOVE = 700;
const HASH = 'a'.repeat(64);

/** How far down the lowest of the buttons ends. */
async function lowest(page: Page): Promise<number> {
  const boxes = await Promise.all(
    (await page.locator('#run-actions').locator('a, button').all()).map((one) => one.boundingBox()),
  );
  return Math.max(...boxes.map((box) => (box === null ? 0 : box.y + box.height)));
}

describe.skipIf(!hasBrowser())('the page of a run', () => {
  let server: TestRedis;
  let browser: Browser;
  beforeAll(async () => {
    [server, browser] = await Promise.all([startTestRedis(), openBrowser()]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  /** An admin who looks at a run of three payouts that is being paid. */
  async function openRun() {
    const { app, base, person } = await openWebRig(server.url);
    const { ledger } = app;
    const runId = await recordRun(ledger, { lines: [2, 3, 4] });
    await person('anna', 'admin');
    const { page, strays, loads } = await openVisitor(browser, base, { viewport: WINDOW });
    await page.goto('/sign-in');
    await page.locator('[name=name]').fill('anna');
    await page.locator('[name=password]').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Today' }).waitFor();
    await page.goto(`/runs/${runId}`);
    const hold = (line: number) =>
      ledger.payouts.move({
        runId,
        line,
        to: 'held',
        actor: 'test',
        reason: 'held',
        values: { reasonCode: 'E_LIMIT', reason: 'it would pass the limit' },
      });
    return { ledger, runId, page, strays, loads, hold };
  }

  test('shows its buttons by themselves: to settle, its report, and the retry file with the number of its rows', async () => {
    const { ledger, runId, page, strays, loads, hold } = await openRun();
    const before = loads();
    const buttons = page.locator('#run-actions');
    expect(await buttons.textContent()).not.toContain('Settle');
    await hold(2);
    await buttons.getByRole('link', { name: 'Settle 1' }).waitFor();
    await hold(3);
    await buttons.getByRole('link', { name: 'Settle 2' }).waitFor();
    await movePayout(ledger, { runId, line: 4 }, 'cancelled');
    await ledger.runs.move(runId, { to: 'finished', actor: 'test', reason: 'over' });
    await buttons.getByRole('link', { name: 'Retry file with 1 row' }).waitFor();
    expect(await lowest(page)).toBeLessThanOrEqual(BUTTONS_ABOVE);
    // Two payouts are still held, and payments may be under way, when the report is written.
    const reports = page.locator('#run-reports');
    expect(await reports.textContent()).toContain('No report has been written yet');
    await ledger.runs.note(runId, { 'report:1': `${HASH} ${HASH}` });
    await reports.getByRole('link', { name: 'v1 as CSV' }).waitFor();
    expect(await reports.getByText(HASH).first().isVisible()).toBe(false);
    expect(loads()).toBe(before);
    expect(strays).toEqual([]);
  });

  test('leaves a form alone into which somebody has typed, whatever else appears', async () => {
    const { page, hold } = await openRun();
    const field = page.getByLabel('Reason to pause');
    await field.fill('the bank called');
    await page.getByRole('heading', { level: 1 }).click();
    await hold(2);
    await page.locator('[data-live]').getByText('1 needs you').first().waitFor();
    expect(await field.inputValue()).toBe('the bank called');
  });

  test('has all that somebody does with it in the first 700 pixels, in each state', async () => {
    const { ledger, runId, page, hold } = await openRun();
    await hold(2);
    for (const to of ['paused', 'paying', 'cancelled'] as const) {
      await ledger.runs.move(runId, { to, actor: 'test', reason: 'the bank called, and asks whether we meant this' });
      await page.goto(`/runs/${runId}`);
      expect([to, (await lowest(page)) <= BUTTONS_ABOVE]).toEqual([to, true]);
    }
  });
});
