import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { submitRun } from '../../src/runs/hand-in/submit.ts';
import { armPayout, beginRun, movePayout, recordRun, rowAt } from '../runs/recorded-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { openWebRig } from './rig.ts';

const HEADER = 'reference,beneficiaryIdentityId,originatorIdentityId,amount,sourceCurrency,destinationCurrency';
const ORIGINATOR = 'cccccccc-5f0a-4c56-9f5e-2b1d3c4a5e6f';
const PAYMENT = '11111111-2222-4333-8444-555555555555';
const { beneficiaryIdentityId: BENEFICIARY } = rowAt(2);

const server = await useTestRedis();

/** Pays a payout of 100.50 USD, which costs 1.25 USD and comes to 1,700.00 MXN. */
async function pay({ ledger }: App, place: { runId: string; line: number }): Promise<void> {
  await armPayout(ledger, place, `quote-${place.line}`);
  const values = {
    sourceAmount: { minor: 10_050n, currency: 'USD' },
    destinationAmount: { minor: 170_000n, currency: 'MXN' },
    fees: [{ minor: 125n, currency: 'USD' }],
  };
  await ledger.payouts.move({ ...place, to: 'accepted', actor: 'test', reason: 'test', values });
  await movePayout(ledger, place, 'completed');
}

async function hold({ ledger }: App, place: { runId: string; line: number }): Promise<void> {
  const values = { reasonCode: 'E_LIMIT', reason: 'it would pass the limit' };
  await ledger.payouts.move({ ...place, to: 'held', actor: 'test', reason: 'held', values });
}

const mainOf = (html: string): string => html.slice(html.indexOf('<main'));

/** Without its tags, and with one blank for many. */
const wordsOf = (html: string): string => html.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');

describe('the page of a run', () => {
  test('tells what left the account, the fees and what arrives, while it is paid and when it is over', async () => {
    const { app, person } = await openWebRig(server.url);
    const runId = await recordRun(app.ledger, { lines: [2, 3, 4] });
    for (const line of [2, 3]) await pay(app, { runId, line });
    const anna = await person('anna', 'viewer');
    const page = async (): Promise<string> => wordsOf((await anna.get(`/runs/${runId}`)).text);
    const sums = '201.00 USD and fees of 2.50 USD Arrives: 3,400.00 MXN';
    await expect.poll(page).toContain(`Left the account so far ${sums}`);
    await movePayout(app.ledger, { runId, line: 4 }, 'cancelled');
    await app.ledger.runs.move(runId, { to: 'finished', actor: 'test', reason: 'over' });
    const over = await page();
    expect(over).toContain(`Left the account ${sums}`);
    expect(over).toContain('Retry file with 1 row');
  });

  test('of more rows than are added up at once has its sums a moment later, for each who looks', async () => {
    const { app, person } = await openWebRig(server.url);
    const lines = Array.from({ length: 600 }, (_, index) => index + 2);
    const runId = await recordRun(app.ledger, { lines });
    await pay(app, { runId, line: 2 });
    for (const line of lines.slice(1, 3)) await hold(app, { runId, line });
    await app.ledger.runs.move(runId, { to: 'cancelled', actor: 'test', reason: 'over' });
    const anna = await person('anna', 'viewer');
    const page = async (): Promise<string> => wordsOf((await anna.get(`/runs/${runId}`)).text);
    expect(await page()).toContain('Its money and rows are being added up.');
    await expect.poll(page).toContain('Left the account 100.50 USD and fees of 1.25 USD');
    const whole = await page();
    expect(whole).toContain('Why rows were not paid, or wait for a person');
    expect(whole).toContain('Rows paid over time');
  });

  test('keeps hashes and the file behind folds, and what everybody reads before them', async () => {
    const { app, person } = await openWebRig(server.url);
    const runId = await recordRun(app.ledger, { lines: [2] });
    const hash = 'b'.repeat(64);
    await app.ledger.runs.note(runId, { 'report:1': `${hash} ${hash}`, 'report:2': `${hash} ${hash}` });
    const anna = await person('anna', 'viewer');
    const { text } = await anna.get(`/runs/${runId}`);
    const open = text.replaceAll(/<details(?:(?!<\/details>).)*<\/details>/gs, '');
    expect(open).not.toContain(hash);
    expect(open).not.toContain(`sha-${runId}`);
    expect(text).toContain(hash);
    expect(text).toContain(`sha-${runId}`);
    expect(open).toContain(`href="/runs/${runId}/reports/v2.csv"`);
  });
});

test('an approval of a large run is read beside the pages, and nobody approves it before that', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'payrun-large-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const config = join(folder, 'payrun.json');
  writeFileSync(config, JSON.stringify({ approval: { mode: 'on' } }));
  const { app, person } = await openWebRig(server.url, { env: { PAYRUN_CONFIG: config } });
  // With rests after each 500 rows it takes longer than a page waits.
  const lines = Array.from({ length: 3000 }, (_, index) => index + 2);
  const runId = await beginRun(app.ledger, { lines });
  await app.ledger.runs.move(runId, { to: 'awaiting-approval', actor: 'test', reason: 'submitted' });
  const carl = await person('carl', 'checker');
  const page = async (): Promise<string> => (await carl.get(`/runs/${runId}/approve`)).text;
  const first = await page();
  expect(first).toContain('The 3,000 rows are being read and checked');
  expect(first).not.toContain('name="digest"');
  await expect.poll(page).toContain('name="digest"');
  expect(await page()).toContain('Largest payouts');
});

describe('what is to settle', () => {
  test('has the sum of each group, in each currency, and the beneficiary of each payout', async () => {
    const { app, person } = await openWebRig(server.url);
    const runId = await recordRun(app.ledger, { lines: [2, 3, 4] });
    for (const line of [2, 3, 4]) await hold(app, { runId, line });
    await app.ledger.names.note(new Map([[BENEFICIARY, 'Hotel Bahia']]), 1);
    const anna = await person('anna', 'checker');
    const { text } = await anna.get('/to-settle');
    expect(wordsOf(text)).toContain(`Held: it would pass a limit E_LIMIT ${runId} 3 301.50 USD Settle together`);
    expect(text).toMatch(/>INV-2<(?:(?!<\/tr>).)*Hotel Bahia/);
    const decided = await anna.post(`/runs/${runId}/payouts/2/decide`, { decision: 'drop', reason: 'by hand' });
    expect(wordsOf(decided.text)).toContain(`Beneficiary Hotel Bahia ${BENEFICIARY} Amount 100.50 USD`);
  });

  test('says that a payout may have been paid only where a request may have been sent, and what speaks against it', async () => {
    const { app, person } = await openWebRig(server.url);
    const runId = await recordRun(app.ledger, { lines: [2, 3] });
    await hold(app, { runId, line: 2 });
    await armPayout(app.ledger, { runId, line: 3 }, 'quote-3');
    await movePayout(app.ledger, { runId, line: 3 }, 'unknown');
    const anna = await person('anna', 'checker');
    const list = (await anna.get('/to-settle')).text;
    const lineOf = (reference: string): string =>
      new RegExp(`<tr>(?:(?!<tr>).)*>${reference}<(?:(?!</tr>).)*</tr>`).exec(list)?.[0] ?? '';
    for (const text of [lineOf('INV-2'), (await anna.get(`/runs/${runId}/payouts/2`)).text]) {
      expect(text).not.toContain('It may have been paid:');
      expect(text).toContain('no payment request was ever sent');
    }
    for (const text of [lineOf('INV-3'), (await anna.get(`/runs/${runId}/payouts/3`)).text]) {
      expect(text).toContain('It may have been paid:');
      expect(text).toContain('1 payment request may have been sent');
      expect(text).toContain('It may not have been paid:');
    }
  });
});

test('a payout is found by the id of its payment, and its page names the one on whose behalf it is paid', async () => {
  const { app, person } = await openWebRig(server.url);
  const path = join(app.dir, 'behalf.csv');
  writeFileSync(path, `${HEADER}\nA-1,${BENEFICIARY},${ORIGINATOR},12.50,USD,MXN\n`);
  const submitted = await submitRun(app, { path, actor: 'anna', skipInvalid: false });
  if (submitted.kind === 'refused') throw new Error('it was refused');
  const runId = submitted.run.id;
  await app.ledger.names.note(new Map([[ORIGINATOR, 'Acme Trading']]), 1);
  await armPayout(app.ledger, { runId, line: 2 }, 'quote-2');
  const values = { paymentId: PAYMENT };
  await app.ledger.payouts.move({ runId, line: 2, to: 'accepted', actor: 'test', reason: 'test', values });
  const anna = await person('anna', 'viewer');
  expect((await anna.get(`/search?text=${PAYMENT}`)).text).toContain(`href="/runs/${runId}/payouts/2"`);
  expect(wordsOf((await anna.get(`/runs/${runId}/payouts/2`)).text)).toContain(
    `On behalf of Acme Trading ${ORIGINATOR}`,
  );
  expect((await anna.get(`/runs/${runId}/payouts`)).text).toContain('Acme Trading');
});

test('no page of the way from a file to its settling has more than one button that stands out', async () => {
  const { app, person } = await openWebRig(server.url);
  const waiting = await beginRun(app.ledger, { id: 'waiting', lines: [2, 3, 4] });
  await app.ledger.runs.move(waiting, { to: 'awaiting-approval', actor: 'test', reason: 'submitted' });
  const paying = await recordRun(app.ledger, { id: 'paying', lines: [12, 13, 14], refused: [15] });
  for (const line of [2, 3]) await hold(app, { runId: waiting, line });
  for (const line of [12, 13]) await hold(app, { runId: paying, line });
  const [mia, carl] = [await person('mia', 'maker'), await person('carl', 'checker')];
  await mia.get(`/runs/${paying}/payouts/12`);
  await mia.post(`/runs/${paying}/payouts/12/decide`, { decision: 'drop', reason: 'by hand' });
  const pages = [
    '/',
    '/runs',
    '/to-settle',
    `/runs/${waiting}`,
    `/runs/${paying}`,
    `/runs/${paying}/cancel`,
    `/runs/${paying}/payouts`,
    ...[12, 13, 14, 15].map((line) => `/runs/${paying}/payouts/${line}`),
    `/runs/${paying}/settle/E_LIMIT`,
    '/upload',
  ];
  for (const [who, visitor] of [
    ['mia', mia],
    ['carl', carl],
  ] as const) {
    for (const path of pages) {
      const { status, text } = await visitor.get(path);
      if (status === 403) continue;
      const main = mainOf(text).match(/class="[^"]*\bbtn-primary\b/g)?.length ?? 0;
      expect([who, path, status, main <= 1]).toEqual([who, path, 200, true]);
    }
  }
});
