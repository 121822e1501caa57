import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { bookFaults } from '../support/paid-once.ts';
import { hasBrowser } from './browser.ts';
import { approve, handIn, payoutFile, seeState, shownOutcomes, shownPaid, upload, waitFor } from './steps.ts';
import {
  begin,
  expectReport,
  openTwoPeople,
  SLOW,
  seeMistakes,
  settle,
  straysOf,
  type TwoPeople,
} from './two-people.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 });

const ROWS = 16;

describe.skipIf(!hasBrowser())('the whole way of a payout file', () => {
  let people: TwoPeople;
  beforeAll(async () => {
    people = await openTwoPeople();
  });
  afterAll(() => people?.close());

  test('is gone without scripts, by loading pages again', async () => {
    const { site } = people;
    const [one, other] = [await people.withoutScripts('anna'), await people.withoutScripts('bob')];
    await seeMistakes(one.page);
    const runId = await begin(site, [one.page, other.page], payoutFile(ROWS, 'OFF'));
    await seeState(one.page, 'paying', { reloads: true });
    await one.page.getByLabel('Reason to pause').fill('the bank called');
    await one.page.getByRole('button', { name: 'Pause' }).click();
    await seeState(one.page, 'paused');
    await site.misbehave();
    await other.page.goto(`/runs/${runId}`);
    await other.page.getByRole('button', { name: 'Resume' }).click();
    await seeState(one.page, 'finished', { reloads: true });
    await expectReport(site, one.page, runId);
    const settled = await settle(site, [one.page, other.page], 'DARK');
    await other.page.goto(`/runs/${settled}`);
    await seeState(other.page, 'finished', { reloads: true });
    expect(straysOf(one, other)).toEqual([]);
  });

  test('goes on when the server is killed and started again, and so does the page that shows it', async () => {
    const { site } = people;
    const [one, other] = [people.anna, people.bob];
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
