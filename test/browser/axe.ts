import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { z } from 'zod';

const faults = z.array(z.string());

const WIDTHS = [390, 1440];
/** Nothing but colours differs in the dark. */
const SCHEMES = [
  { colorScheme: 'light', options: `{ resultTypes: ['violations'] }` },
  { colorScheme: 'dark', options: `{ resultTypes: ['violations'], runOnly: ['color-contrast'] }` },
] as const;

function faultsBy(within: string, options: string): string {
  return `axe.run(${JSON.stringify(within)}, ${options}).then(({ violations }) => violations
    .map(({ id, nodes }) => id + ': ' + nodes.map(({ target }) => target.join(' ')).slice(0, 5).join(', ')))`;
}

/**
 * Everything that axe-core finds on the page, light and dark, on a phone and on a desk, and whatever
 * makes it wider than its window, each with its path; empty when there is nothing.
 */
export async function pageFaults(page: Page, path: string): Promise<string[]> {
  const found: string[] = [];
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    const answer = await page.goto(path);
    if (answer?.status() !== 200) found.push(`${path}: ${answer?.status()}`);
    found.push(...(await shownFaults(page, path)));
  }
  return found;
}

/** The same of the page as it is shown now, or of a part of it. */
export async function shownFaults(page: Page, path: string, within = 'html'): Promise<string[]> {
  const found: string[] = [];
  const width = page.viewportSize()?.width ?? 0;
  await page.evaluate(axe.source);
  const wide = await page.evaluate('document.documentElement.scrollWidth');
  if (typeof wide !== 'number' || wide > width) found.push(`${path} ${width}: as wide as ${String(wide)}`);
  for (const { colorScheme, options } of SCHEMES) {
    await page.emulateMedia({ colorScheme });
    const own = faults.parse(await page.evaluate(faultsBy(within, options)));
    found.push(...own.map((fault) => `${path} ${colorScheme} ${width}: ${fault}`));
  }
  return found;
}
