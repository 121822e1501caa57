import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const CHROMIUM = process.env['PAYRUN_TEST_CHROMIUM'] ?? '/usr/bin/chromium';
/** Headless, and silent on the network but for our own pages. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
/** The machine may be busy with other tests. */
const WAIT_MS_MAX = 60_000;

/** Whether there is a browser to test with; says so on standard error when there is none. */
export function hasBrowser(): boolean {
  if (existsSync(CHROMIUM)) return true;
  process.stderr.write(
    `No tests in a browser: there is no ${CHROMIUM}. Install chromium, or set PAYRUN_TEST_CHROMIUM.\n`,
  );
  return false;
}

export async function openBrowser(): Promise<Browser> {
  return await chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS });
}

/** Somebody at a browser of their own. */
export interface Visitor {
  readonly page: Page;
  /** What no page of ours may cause: dialogs, errors of scripts, refused content, requests that failed. */
  readonly strays: string[];
  /** How often the page was loaded since it was opened. */
  readonly loads: () => number;
}

/** Opens a browser context of its own, as of another machine. */
export async function openVisitor(
  browser: Browser,
  base: string,
  options: BrowserContextOptions = {},
): Promise<Visitor> {
  const context = await browser.newContext({ baseURL: base, ...options });
  context.setDefaultTimeout(WAIT_MS_MAX);
  const strays: string[] = [];
  context.on('console', (message) => {
    if (message.type() === 'error') strays.push(`${message.text()} (${message.location().url})`);
  });
  context.on('weberror', (error) => strays.push(String(error.error())));
  context.on('dialog', (dialog) => {
    strays.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  const page = await context.newPage();
  let loads = 0;
  page.on('framenavigated', () => {
    loads++;
  });
  return { page, strays, loads: () => loads };
}
