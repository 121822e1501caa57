import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { movePayout, recordRun } from '../runs/recorded-run.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { hasBrowser, openBrowser } from './browser.ts';
import { openDesk } from './desk.ts';

vi.setConfig({ testTimeout: 180_000 });

async function styleOf(page: Page, selector: string, style: string): Promise<unknown> {
  return await page.evaluate(
    `[...new Set([...document.querySelectorAll(${JSON.stringify(selector)})].map((one) => getComputedStyle(one).${style}))]`,
  );
}

describe.skipIf(!hasBrowser())('a list', () => {
  let server: TestRedis;
  let browser: Browser;
  beforeAll(async () => {
    [server, browser] = await Promise.all([startTestRedis(), openBrowser()]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  async function openRuns() {
    const { app, browse } = await openDesk(server.url, browser);
    const run = await recordRun(app.ledger, { lines: [2, 3, 4], refused: [5] });
    await movePayout(app.ledger, { runId: run, line: 2 }, 'armed', 'accepted', 'completed');
    await movePayout(app.ledger, { runId: run, line: 3 }, 'held');
    return await browse('anna', 'viewer');
  }

  test('has its money at the right, in figures of one width, each with its currency', async () => {
    const { page } = await openRuns();
    for (const path of ['/runs', '/runs/r1/payouts']) {
      await page.goto(path);
      expect(await styleOf(page, 'td.number', 'textAlign')).toEqual(['right']);
      expect(await styleOf(page, 'td.number, .money', 'fontVariantNumeric')).toEqual(['tabular-nums']);
    }
    const amounts = await page.locator('td.number[data-label="Amount"]').allInnerTexts();
    expect(amounts).toEqual(['100.50 USD', '100.50 USD', '100.50 USD', '']);
  });

  test('has lines that are cards on a phone, each figure with its name, and a table on a desk', async () => {
    const { page } = await openRuns();
    const cell = 'main td[data-label="Status"]';
    for (const [width, display, name] of [
      [1440, 'table-cell', 'none'],
      [599, 'block', '"Status "'],
      [390, 'block', '"Status "'],
    ] as const) {
      await page.setViewportSize({ width, height: 844 });
      await page.goto('/runs');
      expect(await styleOf(page, cell, 'display')).toEqual([display]);
      expect(await page.evaluate(`getComputedStyle(document.querySelector('${cell}'), '::before').content`)).toBe(name);
    }
  });

  test('shows what became of the rows of each run as one bar, a part for each outcome', async () => {
    const { page } = await openRuns();
    await page.goto('/runs');
    const bar = page.getByRole('img', { name: '1 paid, 1 not started, 1 held for a person, 1 refused in the file' });
    const parts = await bar
      .locator('rect')
      .evaluateAll((all) => all.map((one) => [one.getAttribute('class'), Number(one.getAttribute('width'))]));
    expect(parts).toEqual([
      ['paid', 250],
      ['waiting', 250],
      ['held', 250],
      ['refused', 250],
    ]);
    expect(await styleOf(page, '.bar rect', 'fill')).toHaveLength(4);
  });
});
