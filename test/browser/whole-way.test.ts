import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { bookFaults } from '../support/paid-once.ts';
import { hasBrowser } from './browser.ts';
import { payoutFile, seeState, shownOutcomes, shownPaid, waitFor } from './steps.ts';
import { begin, expectReport, openTwoPeople, seeMistakes, settle, straysOf, type TwoPeople } from './two-people.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 });

const ROWS = 16;

describe.skipIf(!hasBrowser())('the whole way of a payout file', () => {
  let people: TwoPeople;
  beforeAll(async () => {
    people = await openTwoPeople();
  });
  afterAll(() => people?.close());

  test('is gone by two people, from its mistakes to its report', async () => {
    const { site } = people;
    const [one, other] = [people.anna, people.bob];
    await seeMistakes(one.page);
    const text = payoutFile(ROWS, 'ERR');
    const runId = await begin(site, [one.page, other.page], text);
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

    await expectReport(site, one.page, runId);
    expect(bookFaults(text, site.book())).toEqual([]);
    const settled = await settle(site, [one.page, other.page], 'LOST');
    await other.page.goto(`/runs/${settled}`);
    await seeState(other.page, 'finished');
    await expectReport(site, other.page, settled);
    expect(straysOf(one, other)).toEqual([]);
  });
});
