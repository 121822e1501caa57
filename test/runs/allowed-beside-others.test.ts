import { expect, test } from 'vitest';
import { payoutFile } from '../cli/payrun.ts';
import { fileOf, useHandIns } from './hand-in-desk.ts';
import { armPayout, movePayout, payoutAt } from './recorded-run.ts';

const desk = useHandIns();

const FIRST = fileOf(1);
const SECOND = fileOf(2);
const THIRD = fileOf(3);
/** Its row has the beneficiary and the amount of the first file's. */
const LIKE = payoutFile([['T-0', '10.00']]);

async function paid(text: string): Promise<string> {
  const { id } = await desk.submit(text);
  const place = { runId: id, line: 2 };
  await armPayout(desk.app.ledger, place, `quote-${id}`);
  await movePayout(desk.app.ledger, place, 'accepted', 'completed');
  return id;
}

test('who allows the third row with a reference reads of both others: one waits, and one was paid', async () => {
  const first = await paid(FIRST);
  const { id: second } = await desk.submit(SECOND, { name: 'second.csv' });
  await desk.allow({ runId: second, line: 2 });

  const { id: third } = await desk.submit(THIRD, { name: 'third.csv' });
  const place = { runId: third, line: 2 };
  const read = await desk.allow(place);
  expect(read).toContainEqual(
    expect.stringContaining(`payout ${second}-2 has the same reference and is about to be paid in run ${second}`),
  );
  expect(read).toContain(`payout ${first}-2 has the same reference and was paid: both are paid then`);
  expect(await payoutAt(desk.app.ledger, place)).toMatchObject({ state: 'ready' });
  await expect(armPayout(desk.app.ledger, { runId: second, line: 2 }, 'quote-second')).rejects.toThrow(/reference/);
});

test('a row whose reference two payouts were paid by can be allowed', async () => {
  const first = await paid(FIRST);
  const { id: second } = await desk.submit(SECOND, { name: 'second.csv' });
  await desk.allow({ runId: second, line: 2 });
  await armPayout(desk.app.ledger, { runId: second, line: 2 }, 'quote-second');
  await movePayout(desk.app.ledger, { runId: second, line: 2 }, 'accepted', 'completed');

  const { id: third } = await desk.submit(THIRD, { name: 'third.csv' });
  const read = await desk.allow({ runId: third, line: 2 });
  for (const id of [second, first]) {
    expect(read).toContain(`payout ${id}-2 has the same reference and was paid: both are paid then`);
  }
  expect(await payoutAt(desk.app.ledger, { runId: third, line: 2 })).toMatchObject({ state: 'ready' });
});

test('who allows a likely duplicate reads what became of the payout that it is like, and allows it alone', async () => {
  const first = await paid(FIRST);
  const { id: second } = await desk.submit(LIKE, { name: 'second.csv' });
  const place = { runId: second, line: 2 };
  expect(await payoutAt(desk.app.ledger, place)).toMatchObject({ state: 'held', reasonCode: 'E_DUP_LIKELY' });
  const words = `payout ${first}-2 has the same beneficiary, amount and currency, and was paid: both are paid then`;
  await expect(desk.allow(place, { caveats: 'alone' })).rejects.toThrow(words);
  expect((await payoutAt(desk.app.ledger, place)).state).toBe('held');
  expect(await desk.allow(place)).toContain(words);
  expect(await payoutAt(desk.app.ledger, place)).toMatchObject({ state: 'ready' });
});

test('what one person said of a likely duplicate does not hold once the payout that it is like has moved', async () => {
  const { id: first } = await desk.submit(FIRST, { startAt: Date.parse('2099-01-01T06:00:00Z') });
  const like = `payout ${first}-2 has the same beneficiary, amount and currency, and`;
  const { id: second } = await desk.submit(LIKE, { name: 'second.csv' });
  const place = { runId: second, line: 2 };
  const waits = `${like} waits until 2099-01-01T06:00:00.000Z in run ${first}: both are paid then`;
  expect(await desk.allow(place, { people: ['anna'] })).toContain(waits);

  await movePayout(desk.app.ledger, { runId: first, line: 2 }, 'held');
  expect(await desk.allow(place, { people: ['bob'] })).toContain(
    `${like} is held: if it is allowed later, both are paid then`,
  );
  expect((await payoutAt(desk.app.ledger, place)).state).toBe('held');
  await desk.allow(place, { people: ['anna'] });
  expect(await payoutAt(desk.app.ledger, place)).toMatchObject({ state: 'ready' });
});

test('a likely duplicate of a payout that was cancelled since can be allowed with others', async () => {
  const { id: first } = await desk.submit(FIRST, { startAt: Date.parse('2099-01-01T06:00:00Z') });
  const { id: second } = await desk.submit(LIKE, { name: 'second.csv' });
  const place = { runId: second, line: 2 };
  await desk.cancelRow(desk.app.ledger, first, 'S-0');
  const words = `payout ${first}-2 has the same beneficiary, amount and currency, and was cancelled`;
  expect(await desk.allow(place, { caveats: 'alone' })).toContain(words);
  expect(await payoutAt(desk.app.ledger, place)).toMatchObject({ state: 'ready' });
});
