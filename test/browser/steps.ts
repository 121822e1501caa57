import { createHash } from 'node:crypto';
import type { Page } from 'playwright-core';
import { expect, vi } from 'vitest';

/** Of everybody who is tested. */
export const PASSWORD = 'four words for this browser';

const HEADER = 'reference,beneficiaryIdentityId,amount,sourceCurrency,destinationCurrency';

/** A payout file of our own; nobody in it is in one whose references begin otherwise, for that would look like a repetition. */
export function payoutFile(rows: number, first: string): string {
  const people = createHash('sha256').update(first).digest('hex').slice(0, 8);
  const lines = Array.from({ length: rows }, (_, index) => {
    const digits = String(index + 1).padStart(4, '0');
    return `${first}-${digits},${people}-1d2f-42c8-a8de-fe56e686${digits},${250 + index}.00,USD,MXN`;
  });
  return [HEADER, ...lines, ''].join('\n');
}

/** Signs in by the one-time secret, and chooses a password. */
export async function signInFirst(page: Page, name: string, secret: string): Promise<void> {
  await signIn(page, name, secret);
  await page.getByLabel('One-time secret, once more').fill(secret);
  await page.getByLabel('New password', { exact: true }).fill(PASSWORD);
  await page.getByLabel('New password, once more').fill(PASSWORD);
  await page.getByRole('button', { name: 'Choose this password' }).click();
  await seeTitle(page, 'Password changed');
}

export async function signIn(page: Page, name: string, password = PASSWORD): Promise<void> {
  await page.goto('/sign-in');
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password, or one-time secret').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

export async function seeTitle(page: Page, title: string | RegExp): Promise<void> {
  await page
    .getByRole('heading', { level: 1, name: title })
    .waitFor()
    .catch(async (error: unknown) => {
      throw new Error(`no page "${title}": ${await page.getByRole('main').innerText()}`, { cause: error });
    });
}

/** Uploads a file; ends on its review. */
export async function upload(page: Page, name: string, text: string | Buffer): Promise<void> {
  await page.goto('/upload');
  await page.getByLabel('Payout file').setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) });
  await page.getByRole('button', { name: 'Upload and check' }).click();
  await page.getByText('Discard…').waitFor();
}

/** Discards the upload under review, which asks once more. */
export async function discard(page: Page): Promise<void> {
  await page.getByText('Discard…').click();
  await page.getByRole('button', { name: 'Discard' }).click();
  await page.waitForURL('**/upload');
}

/** Hands in what is under review; ends on the page of its run, whose id it gives. */
export async function handIn(page: Page): Promise<string> {
  await page.getByRole('button', { name: 'Hand in' }).click();
  await page.waitForURL(/\/runs\/[^/]+$/);
  return new URL(page.url()).pathname.split('/').at(-1) ?? '';
}

/** Approves a run as somebody else than who handed it in; ends on its page. */
export async function approve(page: Page, runId: string): Promise<void> {
  await page.goto(`/runs/${runId}`);
  await page.getByRole('link', { name: 'Look at it and approve' }).click();
  await page.getByRole('button', { name: `Approve run ${runId}` }).click();
  await page.waitForURL(`**/runs/${runId}`);
}

/** The state of a run as its page shows it at this moment. */
export async function shownState(page: Page): Promise<string | null> {
  return await page.locator('[data-live] [data-state]').getAttribute('data-state');
}

/** Rows by outcome as the page of a run shows them at this moment, such as `15 paid, 1 held`. */
export async function shownOutcomes(page: Page): Promise<string> {
  return (await page.locator('[data-live] .outcomes li').allTextContents()).join(', ');
}

/** The rows that were paid, as the page of a run shows them at this moment. */
export async function shownPaid(page: Page): Promise<number> {
  return Number.parseInt(/([0-9]+) paid/.exec(await shownOutcomes(page))?.[1] ?? '0', 10);
}

const WAIT_MS_MAX = 90_000;

/** Waits until what is read is so. */
export async function waitFor<T>(read: () => T | Promise<T>, wanted: T): Promise<void> {
  const look = async (): Promise<void> => expect(await read()).toEqual(wanted);
  await vi.waitFor(look, { timeout: WAIT_MS_MAX, interval: 200 });
}

/** Waits until the page of a run shows this state, by itself, or by loading it again where there is no script. */
export async function seeState(page: Page, state: string, { reloads = false } = {}): Promise<void> {
  const read = async (): Promise<string | null> => {
    if (reloads) await page.getByRole('link', { name: 'Reload' }).click();
    return await shownState(page);
  };
  await waitFor(read, state);
}

/** Presses Tab until the focus is on what is looked for; everything on the way must show that it has the focus. */
export async function tabTo(page: Page, selector: string): Promise<void> {
  for (let pressed = 0; pressed < TABS_MAX; pressed++) {
    await page.keyboard.press('Tab');
    if ((await page.locator(':focus').count()) === 0) continue;
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
    if ((await page.locator(`:is(${selector}):focus`).count()) === 1) return;
  }
  throw new Error(`no Tab leads to ${selector}`);
}

const TABS_MAX = 60;
