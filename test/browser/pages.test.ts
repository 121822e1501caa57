import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ROOT } from '../support/payrun-processes.ts';
import { pageFaults, shownFaults } from './axe.ts';
import { hasBrowser, openBrowser, openVisitor, type Visitor } from './browser.ts';
import { openSite, type Site } from './site.ts';
import {
  approve,
  discard,
  handIn,
  PASSWORD,
  payoutFile,
  seeState,
  seeTitle,
  signIn,
  signInFirst,
  tabTo,
  upload,
  waitFor,
} from './steps.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const MISTAKES = readFileSync(join(ROOT, 'samples/mistakes.csv'));
/** What a page that is careless with text would run. */
const SCRIPTS = [
  `<script>ran=1;alert(1)</script>`,
  `"><img src=x onerror="ran=1;alert(2)">`,
  `'><svg/onload=ran=1>`,
  `</textarea><script>ran=1</script>`,
  `javascript:alert(3)`,
  `<iframe srcdoc="<script>parent.ran=1</script>">`,
  `{{constructor.constructor('ran=1')()}}`,
];
/** As much of them as a reason may have. */
const REASONS = [SCRIPTS.slice(0, 4).join(' '), SCRIPTS.slice(4).join(' ')] as const;

/** The fold of the upload's form. */
const OPTIONS = 'What it should hold, when it starts, and more';

async function open(page: Page, path: string): Promise<void> {
  const answer = await page.goto(path);
  expect([path, answer?.status()]).toEqual([path, 200]);
}

async function signInByKeyboard(page: Page, name: string): Promise<void> {
  await page.goto('/sign-in');
  await tabTo(page, '[name=name]');
  await page.keyboard.type(name);
  await page.keyboard.press('Tab');
  await page.keyboard.type(PASSWORD);
  await page.keyboard.press('Enter');
  await seeTitle(page, 'Today');
}

/** The first Tab offers to leave the menu out, and the next one then leads into the content. */
async function skipByKeyboard(page: Page): Promise<void> {
  await page.keyboard.press('Tab');
  const skip = page.getByRole('link', { name: 'Skip to the content' });
  expect((await skip.boundingBox())?.x).toBeGreaterThanOrEqual(0);
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  expect(await page.locator('main :focus').count()).toBe(1);
}

describe.skipIf(!hasBrowser())('the pages', () => {
  let site: Site;
  let browser: Browser;
  let root: Visitor;
  let bob: Visitor;
  /** A run that waits for approval, one that is paused with an unknown payout, and one with refused rows. */
  const runs = { waiting: '', paused: '', refused: '' };
  let review = '';

  beforeAll(async () => {
    [site, browser] = await Promise.all([openSite(), openBrowser()]);
    await site.serve();
    [root, bob] = [await person('root', 'admin'), await person('bob', 'checker')];
    await upload(root.page, 'mistakes.csv', MISTAKES);
    review = new URL(root.page.url()).pathname;
    await upload(root.page, 'waiting.csv', payoutFile(3, 'WAIT'));
    runs.waiting = await handIn(root.page);
    runs.refused = await handInRefused();
    runs.paused = await pauseUnknown();
    await fillLists();
  });
  afterAll(async () => {
    await browser?.close();
    await site?.close();
  });

  async function person(name: string, role: 'admin' | 'checker'): Promise<Visitor> {
    const secret = await site.addUser(name, role);
    const visitor = await openVisitor(browser, site.base);
    await signInFirst(visitor.page, name, secret);
    return visitor;
  }

  /** A file whose name and references are scripts, in part refused. */
  async function handInRefused(): Promise<string> {
    const { page } = root;
    const refused = SCRIPTS.map((text) => `"${text.replaceAll('"', '""')}",${text.length},1.00,USD,MXN`);
    await page.goto('/upload');
    const buffer = Buffer.from([payoutFile(2, 'GOOD').trimEnd(), ...refused, ''].join('\n'));
    await page.getByLabel('Payout file').setInputFiles({ name: `${SCRIPTS[1]}.csv`, mimeType: 'text/csv', buffer });
    await page.getByText(OPTIONS).click();
    await page.getByLabel('Skip invalid rows').check();
    await page.getByRole('button', { name: 'Upload and check' }).click();
    const runId = await handIn(page);
    await approve(bob.page, runId);
    await seeState(bob.page, 'finished');
    return runId;
  }

  /** A run with a payout of which nobody knows what came of it, with a proposal; reasons are scripts. */
  async function pauseUnknown(): Promise<string> {
    await site.misbehave('dropAfterCommit=1', 'otherPaymentIds=1', 'quoteWithoutExpiry=true');
    await upload(root.page, 'lost.csv', payoutFile(1, 'LOST'));
    const runId = await handIn(root.page);
    await approve(bob.page, runId);
    await seeState(bob.page, 'paying');
    await bob.page.getByLabel('Reason to pause').fill(REASONS[0]);
    await bob.page.getByRole('button', { name: 'Pause' }).click();
    await seeState(bob.page, 'paused');
    await waitFor(() => site.book().length, 3);
    await site.misbehave();
    await root.page.goto(`/runs/${runId}/payouts/2`);
    await root.page.getByLabel('It was paid, by the payment named below').check();
    await root.page.getByLabel('Payment id, if it was paid').fill(site.book()[2]?.paymentId ?? '');
    await root.page.getByLabel('Reason').first().fill(REASONS[1]);
    await root.page.getByRole('button', { name: 'Propose' }).click();
    await seeTitle(root.page, 'Proposed');
    return runId;
  }

  async function fillLists(): Promise<void> {
    const { page } = root;
    await page.goto('/block-list');
    await page.getByLabel('Identity id').fill('9a6ee577-1d2f-42c8-a8de-fe56e6868a6d');
    await page.getByLabel('Reason').fill(REASONS[0]);
    await page.getByRole('button', { name: 'Block', exact: true }).click();
    await page.getByRole('table').getByText('9a6ee577-1d2f-42c8-a8de-fe56e6868a6d').waitFor();
    await page.goto('/schedules');
    await page.getByLabel('Name').fill('morning');
    await page.getByLabel('Cron').fill('30 6 * * 1-5');
    await page.getByRole('button', { name: 'Set the schedule' }).click();
    await page.getByText('Remove…').waitFor();
  }

  function paths(): string[] {
    const { waiting, paused, refused } = runs;
    return [
      '/',
      '/runs',
      ...[waiting, paused, refused].flatMap((id) => [`/runs/${id}`, `/runs/${id}/payouts`]),
      `/runs/${waiting}/cancel`,
      `/runs/${refused}/purge`,
      `/runs/${paused}/payouts/2`,
      `/runs/${refused}/payouts/2`,
      `/runs/${refused}/printed`,
      `/runs/${refused}/payouts/2/confirmation`,
      `/runs/${paused}/settle`,
      `/runs/${paused}/settle/E_LIMIT`,
      `/runs/${refused}/payouts/4`,
      '/to-settle',
      '/block-list',
      '/upload',
      review,
      '/schedules',
      '/inbox',
      '/notifications',
      '/settings',
      '/users',
      '/keys',
      '/audit',
      '/password',
      '/password/changed',
      '/second-factor',
      '/sessions',
    ];
  }

  test('have nothing that axe-core finds fault with, light and dark, on a phone and on a desk', async () => {
    const found: string[] = [];
    for (const path of paths()) found.push(...(await pageFaults(root.page, path)));
    found.push(...(await pageFaults(bob.page, `/runs/${runs.waiting}/approve`)));
    found.push(...(await pageFaults((await openVisitor(browser, site.base)).page, '/sign-in')));
    // The browser itself notes the status of the answer.
    const lost = await openVisitor(browser, site.base);
    await signIn(lost.page, 'root');
    await seeTitle(lost.page, 'Today');
    await lost.page.goto('/nothing');
    found.push(...(await shownFaults(lost.page, 'a page that there is not')));
    expect(found).toEqual([]);
  });

  test('show scripts in file names, references and reasons as text, and run none', async () => {
    const shown = new Set<string>();
    for (const path of paths()) {
      await open(root.page, path);
      expect([path, await root.page.evaluate('typeof ran')]).toEqual([path, 'undefined']);
      const text = await root.page.locator('main').innerText();
      for (const script of SCRIPTS) if (text.includes(script)) shown.add(script);
    }
    expect([...shown].toSorted()).toEqual(SCRIPTS.toSorted());
  });

  test('for paper set figures apart in the same typeface as all pages', async () => {
    const { page } = root;
    for (const path of [`/runs/${runs.refused}/printed`, `/runs/${runs.refused}/payouts/2/confirmation`]) {
      await open(page, path);
      expect(await page.evaluate('getComputedStyle(document.body).fontFamily')).toMatch(/^Inter/);
    }
    await open(page, `/runs/${runs.refused}/printed`);
    const padding = await page.evaluate('parseFloat(getComputedStyle(document.querySelector("td")).paddingLeft)');
    expect(padding).toBeGreaterThanOrEqual(8);
  });

  test('printed, show neither a menu nor a link, break no row apart, and cut no table off', async () => {
    const { page } = root;
    await open(page, `/runs/${runs.refused}/printed`);
    await page.emulateMedia({ media: 'print' });
    const style = (selector: string, name: string): Promise<string> =>
      page.evaluate(`getComputedStyle(document.querySelector('${selector}')).${name}`);
    expect(await style('.scroll', 'overflow')).toBe('visible');
    expect(await style('tr', 'breakInside')).toBe('avoid');
    expect(await style('.printed a', 'textDecorationLine')).toBe('none');
    expect(await style('.printed a', 'color')).toBe(await style('.printed main li', 'color'));
    const tooWide = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
    expect(await page.evaluate(tooWide)).toBe(0);
    await page.goto(`/runs/${runs.refused}`);
    expect(await style('nav', 'display')).toBe('none');
    await page.emulateMedia({ media: null });
  });

  test('let somebody sign in, upload, hand in and approve with the keyboard alone', async () => {
    const [one, other] = [await openVisitor(browser, site.base), await openVisitor(browser, site.base)];
    // Asked for long before the key is pressed: a browser that opens its own chooser tells nobody.
    const chooser = one.page.waitForEvent('filechooser');
    await signInByKeyboard(one.page, 'root');
    await one.page.goto('/upload');
    await skipByKeyboard(one.page);
    await tabTo(one.page, '[name=file]');
    await one.page.keyboard.press('Enter');
    await (await chooser).setFiles({
      name: 'typed.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from(payoutFile(2, 'KEY')),
    });
    await tabTo(one.page, '.upload button.btn-primary');
    await one.page.keyboard.press('Enter');
    await seeTitle(one.page, 'typed.csv');
    await tabTo(one.page, 'form[action$="/hand-in"] button');
    await one.page.keyboard.press('Enter');
    await one.page.waitForURL(/\/runs\/[^/]+$/);
    const path = new URL(one.page.url()).pathname;

    await signInByKeyboard(other.page, 'bob');
    await other.page.waitForURL(`${site.base}/`);
    for (const place of [`a[href="${path}"]`, `a[href="${path}/approve"]`, 'form[action$="/approve"] button']) {
      await tabTo(other.page, place);
      await other.page.keyboard.press('Enter');
    }
    await seeState(one.page, 'finished');
    expect([...one.strays, ...other.strays]).toEqual([]);
  });

  test('give a form that is refused back with what was typed, and the keyboard where it is wrong', async () => {
    const { page, strays } = await openVisitor(browser, site.base);
    await signIn(page, 'root');
    await seeTitle(page, 'Today');
    await page.goto('/block-list');
    await page.getByLabel('Identity id').fill('no identity');
    await page.getByLabel('Reason').fill(REASONS[1]);
    await page.getByRole('button', { name: 'Block', exact: true }).click();
    await page.getByRole('alert').getByText('The field "Identity id" must be the UUID').waitFor();
    const focused = page.locator(':focus');
    expect(await focused.getAttribute('name')).toBe('id');
    expect(await page.getByLabel('Identity id').inputValue()).toBe('no identity');
    expect(await page.getByLabel('Reason').inputValue()).toBe(REASONS[1]);
    expect(await shownFaults(page, 'the block list, refused')).toEqual([]);
    await page.keyboard.press('Control+A');
    await page.keyboard.type('9a6ee577-1d2f-42c8-a8de-fe56e6868a6e');
    await page.keyboard.press('Enter');
    await page.getByRole('table').getByText('9a6ee577-1d2f-42c8-a8de-fe56e6868a6e').waitFor();

    await page.goto('/upload');
    const file = { name: 'late.csv', mimeType: 'text/csv', buffer: Buffer.from(payoutFile(1, 'LATE')) };
    await page.getByLabel('Payout file').setInputFiles(file);
    await page.getByText(OPTIONS).click();
    await page.getByLabel('Expected totals').fill('USD 250.00');
    await page.getByLabel('Start', { exact: true }).selectOption('at');
    await page.getByLabel('Start time').fill('2020-01-01T06:30');
    await page.getByLabel('Time zone').fill('UTC');
    await page.getByRole('button', { name: 'Upload and check' }).click();
    await page.getByRole('alert').getByText('has passed').waitFor();
    expect(await page.locator(':focus').getAttribute('name')).toBe('at');
    expect(await page.getByLabel('Expected totals').inputValue()).toBe('USD 250.00');
    // No script puts the reader's zone in the place of the one that was typed.
    expect(await page.getByLabel('Time zone').inputValue()).toBe('UTC');
    expect(await shownFaults(page, 'the upload, refused')).toEqual([]);
    // The browser itself notes the status of the answer.
    expect(strays.filter((stray) => !stray.includes('status of 422'))).toEqual([]);
  });

  test('show moments in the zone of the reader, with UTC in their titles', async () => {
    const { page } = await openVisitor(browser, site.base, { timezoneId: 'Asia/Tokyo' });
    await signIn(page, 'root');
    await seeTitle(page, 'Today');
    await page.goto('/runs');
    const time = page.locator('main time').first();
    const at = new Date((await time.getAttribute('datetime')) ?? '');
    const inTokyo = new Date(at.getTime() + 9 * 60 * 60_000).toISOString();
    expect(await time.textContent()).toBe(`${inTokyo.slice(0, 10)} ${inTokyo.slice(11, 16)}`);
    expect(await time.getAttribute('title')).toBe(`${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`);
  });

  test('take a file that is dropped on them', async () => {
    const { page } = root;
    await page.goto('/upload');
    const text = JSON.stringify(payoutFile(2, 'DROP'));
    const dataTransfer = await page.evaluateHandle(
      `(() => { const all = new DataTransfer(); all.items.add(new File([${text}], 'dropped.csv')); return all; })()`,
    );
    await page.locator('.drop').dispatchEvent('dragover', { dataTransfer });
    expect(await page.locator('.drop.over').count()).toBe(1);
    await page.locator('.drop').dispatchEvent('drop', { dataTransfer });
    await page.getByText('Chosen: dropped.csv').waitFor();
    await page.getByRole('button', { name: 'Upload and check' }).click();
    await seeTitle(page, 'dropped.csv');
    await page.getByText('The file is sound and can be handed in.').waitFor();
    await discard(page);
  });

  test('leave menu and forms out on paper, and keep the figures', async () => {
    const { page } = root;
    await page.goto('/runs');
    const seen = async (): Promise<boolean[]> => [
      await page.getByRole('navigation', { name: 'Main', includeHidden: true }).isVisible(),
      await page.getByRole('button', { name: 'Search' }).isVisible(),
      await page.getByRole('table', { name: 'Runs, the newest first' }).isVisible(),
    ];
    expect(await seen()).toEqual([true, true, true]);
    await page.emulateMedia({ media: 'print' });
    expect(await seen()).toEqual([false, false, true]);
    await page.emulateMedia({ media: 'screen' });
  });

  test('say on each page that everything is halted, and why', async () => {
    const { page } = root;
    await page.goto('/settings');
    await page.getByLabel('Why everything is to stop').fill(REASONS[0]);
    await page.getByRole('button', { name: 'Halt everything' }).click();
    for (const path of ['/settings', '/runs', `/runs/${runs.paused}`]) {
      await open(page, path);
      expect(await page.getByRole('alert').first().innerText()).toContain(SCRIPTS[0]);
      expect(await pageFaults(page, path)).toEqual([]);
    }
    expect(await page.evaluate('typeof ran')).toBe('undefined');
  });

  test('say no more than that a sign-in failed', async () => {
    const stranger = await openVisitor(browser, site.base);
    await signIn(stranger.page, SCRIPTS[1] ?? '', 'not the password');
    await stranger.page.getByRole('alert').waitFor();
    expect(await stranger.page.evaluate('typeof ran')).toBe('undefined');
    expect(await stranger.page.getByLabel('Name').inputValue()).toBe(SCRIPTS[1]);
    // The browser itself notes the status of the answer.
    expect(stranger.strays.filter((stray) => !stray.includes('status of 401'))).toEqual([]);
  });

  test('cause no error in the browser, and load nothing that their policy refuses', () => {
    expect([...root.strays, ...bob.strays]).toEqual([]);
  });
});
