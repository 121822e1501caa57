import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { expect } from 'vitest';
import { ROOT } from '../support/payrun-processes.ts';
import { openBrowser, openVisitor, type Visitor } from './browser.ts';
import { openSite, type Site } from './site.ts';
import {
  approve,
  discard,
  handIn,
  payoutFile,
  seeTitle,
  shownState,
  signIn,
  signInFirst,
  upload,
  waitFor,
} from './steps.ts';

const MISTAKES = readFileSync(join(ROOT, 'samples/mistakes.csv'));
/** So slow that there is time to pause a run. */
export const SLOW = 'answerDelayMs.payments=1500';
/** The answer is lost, and the payment goes by another id than its quote: no look-up ever finds it. */
const LOSES_PAYMENTS = ['dropAfterCommit=1', 'otherPaymentIds=1', 'quoteWithoutExpiry=true'];

/** Two people who hand in and approve files, at a site of their own. */
export interface TwoPeople {
  readonly site: Site;
  readonly anna: Visitor;
  readonly bob: Visitor;
  /** One of them at a browser that runs no scripts. */
  withoutScripts(name: 'anna' | 'bob'): Promise<Visitor>;
  close(): Promise<void>;
}

export async function openTwoPeople(): Promise<TwoPeople> {
  const [site, browser] = await Promise.all([openSite(), openBrowser()]);
  await site.serve();
  await site.addUser('root', 'admin');
  return {
    site,
    anna: await openPerson({ site, browser }, 'anna'),
    bob: await openPerson({ site, browser }, 'bob'),
    async withoutScripts(name) {
      const visitor = await openVisitor(browser, site.base, { javaScriptEnabled: false });
      await signIn(visitor.page, name);
      await seeTitle(visitor.page, 'Today');
      return visitor;
    },
    async close() {
      await browser.close();
      await site.close();
    },
  };
}

async function openPerson({ site, browser }: { site: Site; browser: Browser }, name: string): Promise<Visitor> {
  const secret = await site.addUser(name, 'checker');
  const visitor = await openVisitor(browser, site.base);
  await signInFirst(visitor.page, name, secret);
  return visitor;
}

/** All but requests for live progress that nobody answered, for the server was gone. */
export function straysOf(...visitors: readonly Visitor[]): string[] {
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

/** Uploads a file with mistakes, sees them, and discards it. */
export async function seeMistakes(page: Page): Promise<void> {
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

/** Both see the same run, one hands in, the other approves; ends when some of it was paid. */
export async function begin(site: Site, [one, other]: readonly [Page, Page], text: string): Promise<string> {
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

/** The report that a page gives is that of the command. */
export async function expectReport(site: Site, page: Page, runId: string): Promise<void> {
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

function paymentOf(site: Site, reference: string): string | undefined {
  return site.book().find(({ internalId }) => internalId === `${reference}-0001`)?.paymentId;
}

/** A payout of which nobody knows what came of it, settled by two people. */
export async function settle(site: Site, [one, other]: readonly [Page, Page], reference: string): Promise<string> {
  await site.misbehave(...LOSES_PAYMENTS);
  await upload(one, `${reference}.csv`, payoutFile(1, reference));
  const runId = await handIn(one);
  await approve(other, runId);
  await waitFor(() => paymentOf(site, reference) !== undefined, true);
  await site.misbehave();
  await one.goto('/to-settle');
  const line = one.getByRole('row', { name: `${reference}-0001` });
  await waitFor(async () => {
    await one.reload();
    return await line.count();
  }, 1);
  await one.getByRole('link', { name: `${reference}-0001` }).click();
  await one.getByLabel('It was paid, by the payment named below').check();
  await one.getByLabel('Payment id, if it was paid').fill(paymentOf(site, reference) ?? '');
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
