import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { ROOT } from '../support/payrun-processes.ts';
import { openBrowser, openVisitor, type Visitor } from './browser.ts';
import { openSite, type Site } from './site.ts';
import { approve, handIn, payoutFile, seeState, seeTitle, shownPaid, signInFirst, upload, waitFor } from './steps.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });

const FOLDER = join(ROOT, 'docs/pictures');
const DESK = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };
/** More would not belong into a repository. */
const PICTURE_BYTES_MAX = 150_000;
const tooLarge: string[] = [];

let site: Site;
let browser: Browser;
let anna: Visitor;
let bob: Visitor;
beforeAll(async () => {
  [site, browser] = await Promise.all([openSite(), openBrowser()]);
  await site.serve();
  await site.addUser('root', 'admin');
  [anna, bob] = [await person('anna', 'maker'), await person('bob', 'checker')];
});
afterAll(async () => {
  await browser?.close();
  await site?.close();
});

async function person(name: string, role: 'maker' | 'checker'): Promise<Visitor> {
  const secret = await site.addUser(name, role);
  const visitor = await openVisitor(browser, site.base, { viewport: DESK });
  await signInFirst(visitor.page, name, secret);
  return visitor;
}

function sample(name: string): Buffer {
  return readFileSync(join(ROOT, 'samples', name));
}

/** So that a page has room for all of its totals. */
function someCurrencies(file: Buffer): string {
  const lines = file.toString().split('\n');
  return lines.filter((line, index) => index === 0 || /^$|SOURCE_AMOUNT,(?:USD|EUR|JPY),/.test(line)).join('\n');
}

/** Keeps what the page shows; its top, or where this element is. */
async function keep(page: Page, name: string, selector = 'body'): Promise<void> {
  await page.evaluate(`document.querySelector('${selector}').scrollIntoView()`);
  const picture = await page.screenshot({ path: join(FOLDER, `${name}.png`), animations: 'disabled' });
  if (picture.length > PICTURE_BYTES_MAX) tooLarge.push(name);
}

/** The same page on a phone. */
async function keepOnPhone(page: Page, name: string): Promise<void> {
  await page.setViewportSize(PHONE);
  await keep(page, `${name}-phone`);
  await page.setViewportSize(DESK);
}

async function pay(name: string, content: string | Buffer): Promise<string> {
  await upload(anna.page, name, content);
  const runId = await handIn(anna.page);
  await approve(bob.page, runId);
  return runId;
}

/** A payout whose payment nobody finds, and what one person proposes. */
async function lose(): Promise<void> {
  await site.misbehave('dropAfterCommit=1', 'otherPaymentIds=1', 'quoteWithoutExpiry=true');
  const before = site.book().length;
  const runId = await pay('invoices-late.csv', payoutFile(2, 'INV-2026'));
  await waitFor(() => site.book().length, before + 2);
  await site.misbehave();
  await anna.page.goto(`/runs/${runId}/payouts/2`);
  await anna.page.getByLabel('It was paid, by the payment named below').check();
  const payment = site.book().find(({ internalId }) => internalId === 'INV-2026-0001');
  await anna.page.getByLabel('Payment id, if it was paid').fill(payment?.paymentId ?? '');
  await anna.page.getByLabel('Reason').first().fill('it is on the statement of the bank');
  await keep(anna.page, 'settle', '#settle');
  await anna.page.getByRole('button', { name: 'Propose' }).click();
  await seeTitle(anna.page, 'Proposed');
}

test('the pictures of the main pages are made', async () => {
  await upload(anna.page, 'mistakes.csv', sample('mistakes.csv'));
  await keep(anna.page, 'upload-problems', '#problems');
  await upload(anna.page, 'small.csv', sample('small.csv'));
  await keep(anna.page, 'review');
  await keepOnPhone(anna.page, 'review');
  const small = await pay('small.csv', sample('small.csv'));
  await seeState(bob.page, 'finished');
  await waitFor(() => shownPaid(bob.page), 10);
  await bob.page.reload();
  await keep(bob.page, 'run-over');
  await bob.page.goto(`/runs/${small}/payouts/2`);
  await keep(bob.page, 'payout');
  await keepOnPhone(bob.page, 'payout');
  await bob.page.goto(`/runs/${small}/payouts/2/confirmation`);
  await keep(bob.page, 'confirmation');
  await bob.page.goto(`/runs/${small}/printed`);
  await keep(bob.page, 'printed');
  await lose();
  await bob.page.goto('/to-settle');
  await keep(bob.page, 'to-settle');
  await keepOnPhone(bob.page, 'to-settle');

  await upload(anna.page, 'third-party.csv', sample('third-party.csv'));
  const waiting = await handIn(anna.page);
  await bob.page.goto(`/runs/${waiting}/approve`);
  await bob.page.setViewportSize({ ...DESK, height: 820 });
  await keep(bob.page, 'approval');
  await keepOnPhone(bob.page, 'approval');

  await site.misbehave('answerDelayMs.payments=50');
  const paying = await pay('payouts.csv', someCurrencies(sample('payouts.csv')));
  await waitFor(async () => (await shownPaid(bob.page)) > 150, true);
  await keep(bob.page, 'run');
  await keepOnPhone(bob.page, 'run');
  await bob.page.emulateMedia({ colorScheme: 'dark' });
  await keep(bob.page, 'run-dark');
  await bob.page.emulateMedia({ colorScheme: 'light' });
  await bob.page.goto(`/runs/${paying}/payouts?sort=-amount`);
  await bob.page.setViewportSize({ ...DESK, height: 820 });
  await keep(bob.page, 'payouts');
  await keepOnPhone(bob.page, 'payouts');
  await bob.page.goto('/runs');
  await keep(bob.page, 'runs');
  await bob.page.goto('/');
  await keep(bob.page, 'today');
  await keepOnPhone(bob.page, 'today');
  expect(tooLarge).toEqual([]);
});
