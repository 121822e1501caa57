import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, constants, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Refusal } from '../../refusal.ts';

const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const PRINTING_MS_MAX = 120_000;
/** Nothing of the network is loaded. */
const ARGUMENTS = [
  '--headless',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--host-resolver-rules=MAP * ~NOTFOUND',
  '--no-pdf-header-footer',
];

/** A page as a PDF, printed by Chromium. Throws a Refusal where it is not installed or does not print. */
export async function* pdfOf(html: string): AsyncGenerator<Uint8Array, void> {
  const browser = await findBrowser();
  const folder = await mkdtemp(join(tmpdir(), 'payrun-pdf-'));
  try {
    const [page, pdf] = [join(folder, 'page.html'), join(folder, 'page.pdf')];
    await writeFile(page, html, { mode: 0o600 });
    await print(browser, { folder, page, pdf });
    yield await readFile(pdf);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function findBrowser(): Promise<string> {
  for (const path of BROWSERS) {
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  throw new Refusal(
    `There is no browser here that prints to PDF (${BROWSERS.join(', ')}).`,
    'Install Chromium, or print the page of the run (to print) from your own browser.',
  );
}

async function print(
  browser: string,
  { folder, page, pdf }: { readonly folder: string; readonly page: string; readonly pdf: string },
): Promise<void> {
  // Its sandbox does not work for root; what it shows is our own page, in which no script runs.
  const asRoot = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  const own = [`--user-data-dir=${join(folder, 'browser')}`, `--print-to-pdf=${pdf}`, pathToFileURL(page).href];
  const child = spawn(browser, [...ARGUMENTS, ...asRoot, ...own], { stdio: 'ignore', timeout: PRINTING_MS_MAX });
  await once(child, 'exit');
  const isPrinted = await access(pdf).then(
    () => true,
    () => false,
  );
  if (child.exitCode === 0 && isPrinted) return;
  throw new Refusal(
    `${browser} did not print the page (exit ${child.exitCode ?? child.signalCode ?? 'unknown'}).`,
    'Print the page of the run (to print) from your own browser.',
  );
}
