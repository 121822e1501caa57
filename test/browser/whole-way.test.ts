import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { bookFaults } from '../support/paid-once.ts';
import { ROOT } from '../support/payrun-processes.ts';
import { hasBrowser, openBrowser, openVisitor, type Visitor } from './browser.ts';
import { openSite, type Site } from './site.ts';
import {
  approve,
  discard,
  handIn,
  payoutFile,
  seeState,
  seeTitle,
  shownOutcomes,
  shownPaid,
  shownState,
  signIn,
  signInFirst,
  upload,
  waitFor,
} from './steps.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 });

const MISTAKES = readFileSync(join(ROOT, 'samples/mistakes.csv'));
const ROWS = 16;
/** So slow that there is time to pause a run. */
const SLOW = 'answerDelayMs.payments=1500';
/** The answer is lost, and the payment goes by another id than its quote: no look-up ever finds it. */
const LOSES_PAYMENTS = ['dropAfterCommit=1', 'otherPaymentIds=1', 'quoteWithoutExpiry=true'];

/** All but requests for live progress that nobody answered, for the server was gone. */
function straysOf(...visitors: readonly Visitor[]): string[] {
  return visitors.flatMap(({ strays }) => strays).filter((stray) => !/net::ERR_.*\/live\)$/.test(stray));
}

/** Whoever handed a file in finds no button to approve it, and is refused when they do without. */
async function refuseSelf(page: Page, runId: string): Promise<void> {
  await page.goto(`/runs/${runId}/approve`);
  await page.getByText('You handed this file in, so another person has to approve it.').waitFor();
  expect(await page.getByRole('button', { name: /^Approve/ }).count()).toBe(0);
  const codes = await page.locator('.facts code').allTextContents();
  const csrf = await page.locator('[name=csrf]').first().inputValue();
  const answer = await page.request.post(`/runs/${runId}/approve`, {
    form: { csrf, sha256: codes[0] ?? '', digest: codes.at(-1) ?? '' },
    headers: { origin: new URL(page.url()).origin },
  });
  expect([answer.status(), await answer.text()]).toEqual([409, expect.stringContaining('another person')]);
  await page.goto(`/runs/${runId}`);
}

async function download(page: Page, link: string): Promise<string> {
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: link }).click()]);
  return readFileSync(await file.path(), 'utf8');
}

async function seeMistakes(page: Page): Promise<void> {
  await upload(page, 'mistakes.csv', MISTAKES);
  const problems = page.getByRole('table', { name: 'What is wrong' });
  const amount = problems.getByRole('row').filter({ hasText: '1,234.56' });
  expect((await amount.getByRole('cell').allTextContents()).slice(0, 3)).toEqual(['3', 'amount', '1,234.56']);
  expect((await amount.getByRole('cell').nth(4).textContent())?.length).toBeGreaterThan(10);
  const markedUp = await download(page, 'The file with its problems in two more columns');
  expect(markedUp.split('\n')[0]).toContain('payrunProblems,payrunRemedies');
  expect(markedUp).toContain('1,234.56');
  expect(await page.getByRole('button', { name: 'Hand in', exact: true }).count()).toBe(0);
  await discard(page);
}

describe.skipIf(!hasBrowser())('the whole way of a payout file', () => {
  let site: Site;
  let browser: Browser;
  let anna: Visitor;
  let bob: Visitor;
  beforeAll(async () => {
    [site, browser] = await Promise.all([openSite(), openBrowser()]);
    await site.serve();
    await site.addUser('root', 'admin');
    [anna, bob] = [await person('anna'), await person('bob')];
  });
  afterAll(async () => {
    await browser?.close();
    await site?.close();
  });

  async function person(name: string): Promise<Visitor> {
    const secret = await site.addUser(name, 'checker');
    const visitor = await openVisitor(browser, site.base);
    await signInFirst(visitor.page, name, secret);
    return visitor;
  }

  /** The same person at a browser that runs no scripts. */
  async function withoutScripts(name: string): Promise<Visitor> {
    const visitor = await openVisitor(browser, site.base, { javaScriptEnabled: false });
    await signIn(visitor.page, name);
    await seeTitle(visitor.page, 'Today');
    return visitor;
  }

  /** Both see the same run, one hands in, the other approves; ends when some of it was paid. */
  async function begin(one: Page, other: Page, text: string): Promise<string> {
    await upload(one, 'corrected.csv', text);
    await one.getByText('The file is sound and can be handed in.').waitFor();
    const totals = one.getByRole('table', { name: 'Totals per currency' });
    expect(await totals.getByRole('row', { name: /^USD/ }).textContent()).toContain('4,120.00');
    const runId = await handIn(one);
    expect(await shownState(one)).toBe('awaiting-approval');
    await refuseSelf(one, runId);
    await site.misbehave(SLOW);
    await approve(other, runId);
    return runId;
  }

  async function expectReport(page: Page, runId: string): Promise<void> {
    // Payments that were pending come to their end meanwhile: the same moment gives the same report.
    await expect
      .poll(
        async () => [
          await site.command('report', runId, '--format', 'csv'),
          await download(page, 'report as CSV'),
          await site.command('report', runId, '--format', 'csv'),
        ],
        { timeout: 60_000 },
      )
      .toSatisfy(([before, byPage, after]: string[]) => before === byPage && byPage === after);
  }

  function paymentOf(reference: string): string | undefined {
    return site.book().find(({ internalId }) => internalId === `${reference}-0001`)?.paymentId;
  }

  /** A payout of which nobody knows what came of it, settled by two people. */
  async function settle(one: Page, other: Page, reference: string): Promise<string> {
    await site.misbehave(...LOSES_PAYMENTS);
    await upload(one, `${reference}.csv`, payoutFile(1, reference));
    const runId = await handIn(one);
    await approve(other, runId);
    await waitFor(() => paymentOf(reference) !== undefined, true);
    await site.misbehave();
    await one.goto('/to-settle');
    const line = one.getByRole('row', { name: `${reference}-0001` });
    await waitFor(async () => {
      await one.reload();
      return await line.count();
    }, 1);
    await one.getByRole('link', { name: `${reference}-0001` }).click();
    await one.getByLabel('It was paid, by the payment named below').check();
    await one.getByLabel('Payment id, if it was paid').fill(paymentOf(reference) ?? '');
    await one.getByLabel('Reason').first().fill('the bank has it on its statement');
    await one.getByRole('button', { name: 'Propose' }).click();
    await seeTitle(one, 'Proposed');
    await other.goto('/to-settle');
    await other
      .getByRole('row', { name: `${reference}-0001` })
      .getByRole('link', { name: 'Look and decide' })
      .click();
    await other.getByLabel('Reason').first().fill('so it is');
    await other.getByRole('button', { name: /^Confirm to settle it as paid/ }).click();
    await seeTitle(other, 'Settled');
    return runId;
  }

  test('is gone by two people, from its mistakes to its report', async () => {
    const [one, other] = [anna, bob];
    await seeMistakes(one.page);
    const text = payoutFile(ROWS, 'ERR');
    const runId = await begin(one.page, other.page, text);
    const before = one.loads();
    await seeState(one.page, 'paying');
    await waitFor(async () => (await shownPaid(one.page)) > 0, true);

    await one.page.getByLabel('Reason to pause').fill('the bank called');
    expect(one.loads()).toBe(before);
    await one.page.getByRole('button', { name: 'Pause' }).click();
    await seeState(one.page, 'paused');
    expect(await one.page.locator('[data-live]').textContent()).toContain('the bank called');
    await seeState(other.page, 'paused');
    await site.misbehave();
    const [ownLoads, otherLoads] = [one.loads(), other.loads()];
    await other.page.getByRole('button', { name: 'Resume' }).click();
    await seeState(one.page, 'finished');
    await waitFor(() => shownOutcomes(one.page), `${ROWS} paid`);
    expect(one.loads()).toBe(ownLoads);
    expect(other.loads()).toBe(otherLoads + 1);

    await expectReport(one.page, runId);
    expect(bookFaults(text, site.book())).toEqual([]);
    const settled = await settle(one.page, other.page, 'LOST');
    await other.page.goto(`/runs/${settled}`);
    await seeState(other.page, 'finished');
    await expectReport(other.page, settled);
    expect(straysOf(one, other)).toEqual([]);
  });

  test('is gone without scripts, by loading pages again', async () => {
    const [one, other] = [await withoutScripts('anna'), await withoutScripts('bob')];
    await seeMistakes(one.page);
    const runId = await begin(one.page, other.page, payoutFile(ROWS, 'OFF'));
    await seeState(one.page, 'paying', { reloads: true });
    await one.page.getByLabel('Reason to pause').fill('the bank called');
    await one.page.getByRole('button', { name: 'Pause' }).click();
    await seeState(one.page, 'paused');
    await site.misbehave();
    await other.page.goto(`/runs/${runId}`);
    await other.page.getByRole('button', { name: 'Resume' }).click();
    await seeState(one.page, 'finished', { reloads: true });
    await expectReport(one.page, runId);
    const settled = await settle(one.page, other.page, 'DARK');
    await other.page.goto(`/runs/${settled}`);
    await seeState(other.page, 'finished', { reloads: true });
    expect(straysOf(one, other)).toEqual([]);
  });

  test('goes on when the server is killed and started again, and so does the page that shows it', async () => {
    const [one, other] = [anna, bob];
    await site.misbehave(SLOW, 'quoteLifeMs=4000');
    const text = payoutFile(ROWS, 'KILL');
    await upload(one.page, 'killed.csv', text);
    const runId = await handIn(one.page);
    await approve(other.page, runId);
    await waitFor(async () => (await shownPaid(one.page)) > 0, true);
    const before = one.loads();
    await site.kill();
    const lost = one.page.getByText('Not connected: what stands here may be old.');
    await lost.waitFor();
    await site.misbehave('quoteLifeMs=4000');
    await site.serve();
    await lost.waitFor({ state: 'detached' });
    await seeState(one.page, 'finished');
    await waitFor(() => shownOutcomes(one.page), `${ROWS} paid`);
    expect(one.loads()).toBe(before);
    const book = site.book().filter((entry) => entry.internalId?.startsWith('KILL-'));
    expect(bookFaults(text, book)).toEqual([]);
    expect(straysOf(one, other)).toEqual([]);
  });
});
