import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ROOT } from '../support/payrun-processes.ts';
import { hasBrowser, openBrowser, openVisitor } from './browser.ts';
import { openSite, type Site } from './site.ts';
import {
  approve,
  handIn,
  payoutFile,
  seeState,
  seeTitle,
  shownOutcomes,
  signIn,
  signInFirst,
  upload,
  waitFor,
} from './steps.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const DESK = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };
const CLICKS_MAX = 9;
const SETTLE_ACTS_MAX = 8;
const SCREENS_MAX = 5;
const HELD = 18;
/** Every payout of `payoutFile` lies beyond it. */
const LIMITS = { currencies: { USD: { payout: '100.00' } } };

/** Somebody who acts on a page, and how often they did. */
interface Hand {
  readonly page: Page;
  acts: number;
}

async function expectInSight(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  const box = await target.boundingBox();
  const { height } = page.viewportSize() ?? DESK;
  const [top, bottom] = [box?.y ?? -1, (box?.y ?? 0) + (box?.height ?? 0)];
  const isScrolled = (await page.evaluate('window.scrollY')) !== 0;
  expect({ page: page.url(), isScrolled, top, bottom, isSeen: top >= 0 && bottom <= height }).toMatchObject({
    isScrolled: false,
    isSeen: true,
  });
}

/** On a desk the target has to be seen without scrolling; on a phone no page on the way may be too long. */
async function click(hand: Hand, target: Locator): Promise<void> {
  const { page } = hand;
  if (page.viewportSize()?.width === DESK.width) await expectInSight(page, target);
  else await expectShort(page);
  hand.acts++;
  await target.click();
}

/** The same where nobody minds to scroll. */
async function act(hand: Pick<Hand, 'acts'>, target: Locator, how: (target: Locator) => Promise<void>): Promise<void> {
  hand.acts++;
  await how(target);
}

async function expectShort(page: Page): Promise<void> {
  expect(await screensOf(page)).toBeLessThanOrEqual(SCREENS_MAX);
}

async function screensOf(page: Page): Promise<number> {
  return Number(await page.evaluate('document.documentElement.scrollHeight')) / PHONE.height;
}

describe.skipIf(!hasBrowser())('what people do each day', () => {
  let site: Site;
  let browser: Browser;
  const secrets = new Map<string, string>();
  beforeAll(async () => {
    [site, browser] = await Promise.all([openSite({ limits: LIMITS }), openBrowser()]);
    await site.serve();
    await site.addUser('root', 'admin');
    for (const name of ['anna', 'bob', 'carl', 'dora', 'emil', 'fred']) {
      secrets.set(name, await site.addUser(name, 'checker'));
    }
  });
  afterAll(async () => {
    await browser?.close();
    await site?.close();
  });

  /** On the page after sign-in. */
  async function person(name: string, viewport = DESK): Promise<Hand> {
    const { page } = await openVisitor(browser, site.base, { viewport });
    await signInFirst(page, name, secrets.get(name) ?? '');
    await page.goto('/');
    return { page, acts: 0 };
  }

  async function again(name: string): Promise<Page> {
    const { page } = await openVisitor(browser, site.base, { viewport: DESK });
    await signIn(page, name);
    await seeTitle(page, 'Today');
    return page;
  }

  test.each([
    { place: 'a desk, with nothing to scroll for', viewport: DESK, names: ['anna', 'bob'], first: 'DESK' },
    { place: 'a phone, with at most five screens a page', viewport: PHONE, names: ['carl', 'dora'], first: 'PHONE' },
  ] as const)(
    'from a file to its report takes two people at most nine clicks on $place',
    async ({ viewport, names, first }) => {
      const [one, other] = [await person(names[0], viewport), await person(names[1], viewport)];
      await click(one, one.page.getByRole('link', { name: 'Upload', exact: true }).first());
      const buffer = Buffer.from(payoutFile(3, first).replaceAll(/,2[0-9]{2}\.00,/g, ',99.00,'));
      const [chooser] = await Promise.all([
        one.page.waitForEvent('filechooser'),
        click(one, one.page.getByLabel('Payout file')),
      ]);
      await chooser.setFiles({ name: `${first}.csv`, mimeType: 'text/csv', buffer });
      await click(one, one.page.getByRole('button', { name: 'Upload and check' }));
      await seeTitle(one.page, `${first}.csv`);
      await click(one, one.page.getByRole('button', { name: 'Hand in' }));
      await one.page.waitForURL(/\/runs\/[^/]+$/);

      await other.page.reload();
      await click(other, other.page.locator('.today-cards a').filter({ hasText: 'To approve' }));
      await seeTitle(other.page, `Approve ${first}.csv?`);
      await click(other, other.page.getByRole('button', { name: /^Approve/ }));
      await seeState(one.page, 'finished');
      await waitFor(() => shownOutcomes(one.page), '3 paid');
      const downloading = one.page.waitForEvent('download');
      await click(one, one.page.locator('#run-actions').getByRole('link', { name: 'Report' }));
      expect(readFileSync(await (await downloading).path(), 'utf8')).toContain(`${first}-0003`);
      expect(one.acts + other.acts).toBeLessThanOrEqual(CLICKS_MAX);
    },
  );

  test('an approval takes at most five screens of a phone, with many currencies and rows', async () => {
    const { page } = await person('fred', PHONE);
    await upload(page, 'payouts.csv', readFileSync(join(ROOT, 'samples/payouts.csv')));
    const runId = await handIn(page);
    expect(await screensOf(page)).toBeLessThanOrEqual(SCREENS_MAX);
    const other = await person('emil', PHONE);
    await other.page.goto(`/runs/${runId}/approve`);
    await seeTitle(other.page, 'Approve payouts.csv?');
    expect(await screensOf(other.page)).toBeLessThanOrEqual(SCREENS_MAX);
    await other.page.goto(`/runs/${runId}`);
    expect(await screensOf(other.page)).toBeLessThanOrEqual(SCREENS_MAX);
  });

  test('18 held payouts of one reason are settled by two people with at most eight acts', async () => {
    const [maker, checker] = [await again('anna'), await again('bob')];
    await upload(maker, 'held.csv', payoutFile(HELD, 'HELD'));
    const runId = await handIn(maker);
    await approve(checker, runId);
    await seeState(maker, 'finished');
    const hands = { acts: 0 };

    await act(hands, maker.getByRole('link', { name: `Settle ${HELD}` }), (target) => target.click());
    await act(hands, maker.getByLabel('Drop them'), (target) => target.check());
    await act(hands, maker.getByLabel('Reason'), (target) => target.fill('sent by hand'));
    await act(hands, maker.getByRole('button', { name: 'Propose' }), (target) => target.click());
    await maker.getByText(`${HELD} proposed.`).waitFor();

    await checker.goto('/');
    await act(hands, checker.locator('.today-cards a').filter({ hasText: 'To settle' }), (target) => target.click());
    await act(hands, checker.getByRole('link', { name: /^Settle together/ }), (target) => target.click());
    await act(hands, checker.getByLabel('Reason'), (target) => target.fill('so it is'));
    await act(hands, checker.getByRole('button', { name: 'Confirm' }), (target) => target.click());
    await checker.getByText(`${HELD} confirmed by two people`).waitFor();
    expect(hands.acts).toBeLessThanOrEqual(SETTLE_ACTS_MAX);
    await checker.goto(`/runs/${runId}`);
    await waitFor(() => shownOutcomes(checker), `${HELD} cancelled`);
  });
});
