import { parse } from 'csv-parse/sync';
import { describe, expect, test, vi } from 'vitest';
import type { App } from '../../src/app.ts';
import { readEntry } from '../../src/audit/entry.ts';
import { startOwnSandbox } from '../../src/cli/serve/sandbox-service.ts';
import { type Payout, payoutId } from '../../src/payout.ts';
import { decidePayout } from '../../src/runs/decide/decide.ts';
import { armPayout, movePayout, payoutAt, recordRun } from '../runs/recorded-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { openWebRig } from './rig.ts';
import { paySecretly, runSandbox } from './secretly-paid.ts';

vi.setConfig({ testTimeout: 180_000 });

const QUOTE = '9b2f7a31-0c3d-4f57-8a86-2f3c5c1d7e90';

const server = await useTestRedis();

async function actions({ ledger }: Pick<App, 'ledger'>): Promise<string[]> {
  const found: string[] = [];
  for await (const line of ledger.audit.lines()) {
    const entry = readEntry(line);
    if (entry?.action.startsWith('payout.') || entry?.action.startsWith('beneficiary.')) {
      found.push(`${entry.actor} ${entry.action} ${entry.target}`);
    }
  }
  return found;
}

/** Held with a spent quote that ended long ago, of which nobody knows what came of it. */
async function holdSent(app: App, runId: string, { line = 2, quoteId = QUOTE } = {}): Promise<void> {
  await armPayout(app.ledger, { runId, line }, quoteId);
  await movePayout(app.ledger, { runId, line }, 'unknown', 'held');
}

/** What two doors may not leave different. */
function comparable({ state, proposal, reasonCode, version, history }: Payout) {
  return {
    state,
    proposal,
    reasonCode,
    version,
    history: history.map(({ to, actor, reason }) => ({ to, actor, reason })),
  };
}

describe('a held payout that was never sent', () => {
  test.each(['allow', 'drop'] as const)('ends by %s of two people as by the command line', async (decision) => {
    const { app, person } = await openWebRig(server.url);
    const runId = await recordRun(app.ledger, { lines: [2, 3] });
    for (const line of [2, 3]) await movePayout(app.ledger, { runId, line }, 'held');
    const anna = await person('anna', 'maker');
    const bob = await person('bob', 'checker');
    const path = `/runs/${runId}/payouts/2`;
    const form = { decision, reason: 'looked into it' };

    const proposed = await anna.post(`${path}/decide`, form);
    expect(proposed).toMatchObject({ status: 200 });
    expect(proposed.text).toContain('Proposed. It is done once another person has confirmed it.');
    expect(proposed.text).toContain('it was never sent');
    const own = await anna.get(path);
    expect(own.text).toContain('Your proposal waits for another person.');
    expect(own.text).not.toContain('confirm-reason');

    const refused = await anna.post(`${path}/decide`, form);
    expect(refused.status).toBe(409);
    expect(refused.text).toContain('anna has proposed this');
    expect(refused.text).toContain('waits for another person to look and to confirm it');
    expect(refused.text).toContain('<h1>Payout INV-2</h1>');

    const seen = await bob.get(path);
    expect(seen.text).toMatch(/<b>anna<\/b> proposed to (allow|drop) it on/);
    expect(seen.text).toContain('looked into it');
    const done = await bob.post(`${path}/decide`, { decision, paymentId: '', reason: 'agreed' });
    expect(done.text).toContain('Confirmed by two people.');

    const deps = { ...app, openPay: () => Promise.reject(new Error('nothing to look up')) };
    const ask = async (by: string, reason: string) =>
      await decidePayout(deps, await payoutAt(app.ledger, { runId, line: 3 }), { decision, paymentId: '', by, reason });
    await ask('anna', 'looked into it');
    await ask('bob', 'agreed');
    const [byWeb, byCommand] = await Promise.all(
      [2, 3].map(async (line) => comparable(await payoutAt(app.ledger, { runId, line }))),
    );
    expect(byWeb).toEqual(byCommand);
    expect(byWeb?.history.at(-1)).toMatchObject({ actor: 'anna and bob' });
    const audit = await actions(app);
    expect(audit).toEqual(
      [2, 3].flatMap((line) => [
        `anna payout.${decision}-proposed ${runId}-${line}`,
        `bob payout.${decision}-confirmed ${runId}-${line}`,
      ]),
    );
  });

  test('is not confirmed by another spelling of the same name', async () => {
    const { app, person } = await openWebRig(server.url);
    const runId = await recordRun(app.ledger, { lines: [2] });
    await movePayout(app.ledger, { runId, line: 2 }, 'held');
    const deps = { ...app, openPay: () => Promise.reject(new Error('nothing to look up')) };
    const asked = { decision: 'drop', paymentId: '', by: 'ANNA ', reason: 'x' } as const;
    await decidePayout(deps, await payoutAt(app.ledger, { runId, line: 2 }), asked);
    const anna = await person('anna', 'checker');
    expect((await anna.get(`/runs/${runId}/payouts/2`)).text).toContain('Your proposal waits for another person.');
    const refused = await anna.post(`/runs/${runId}/payouts/2/decide`, { decision: 'drop', reason: 'x' });
    expect(refused.status).toBe(409);
    expect((await payoutAt(app.ledger, { runId, line: 2 })).state).toBe('held');
  });

  test('has a part for decisions on its page, and a payout of which nothing is to be decided has none', async () => {
    const { app, person } = await openWebRig(server.url);
    const runId = await recordRun(app.ledger, { lines: [2, 3] });
    await movePayout(app.ledger, { runId, line: 2 }, 'held');
    await movePayout(app.ledger, { runId, line: 3 }, 'cancelled');
    const anna = await person('anna', 'maker');
    expect((await anna.get(`/runs/${runId}/payouts/2`)).text).toContain('<section id="settle">');
    expect((await anna.get(`/runs/${runId}/payouts/3`)).text).not.toContain('<section id="settle">');
  });

  test('is dropped by two people; one person cancels only what waits', async () => {
    const { app, person } = await openWebRig(server.url);
    const runId = await recordRun(app.ledger, { lines: [2, 3] });
    await movePayout(app.ledger, { runId, line: 2 }, 'held');
    const anna = await person('anna', 'maker');
    expect((await anna.get(`/runs/${runId}/payouts/2`)).text).not.toContain('Cancel this payout');
    expect((await anna.post(`/runs/${runId}/payouts/2/cancel`, { reason: 'paid by hand' })).status).toBe(409);
    expect((await payoutAt(app.ledger, { runId, line: 2 })).state).toBe('held');

    expect((await anna.get(`/runs/${runId}/payouts/3`)).text).toContain('Cancel this payout');
    const answer = await anna.post(`/runs/${runId}/payouts/3/cancel`, { reason: 'paid by hand' });
    expect(answer.status).toBe(303);
    expect(answer.headers.get('location')).toBe(`/runs/${runId}/payouts/3`);
    expect((await payoutAt(app.ledger, { runId, line: 3 })).state).toBe('cancelled');
    expect((await actions(app))[0]).toBe(`anna payout.cancelled ${runId}-3`);
  });
});

describe('a held payout that may have been sent', () => {
  test('is settled as not paid by two people, with what the service says', async () => {
    const { app, person } = await openWebRig(server.url);
    await runSandbox(app);
    const runId = await recordRun(app.ledger, { lines: [2] });
    await holdSent(app, runId);
    const [anna, bob] = [await person('anna', 'maker'), await person('bob', 'maker')];
    const path = `/runs/${runId}/payouts/2`;
    const page = await anna.get(path);
    expect(page.text).toContain('payment request may have been sent');
    expect(page.text).not.toContain('Cancel this payout');
    const proposed = await anna.post(`${path}/decide`, { decision: 'not-paid', reason: 'the bank says no' });
    expect(proposed.text).toContain(`the service knows no payment for the quote ${QUOTE}`);
    const confirmed = { decision: 'not-paid', reason: 'so it is' };
    const first = await bob.post(`${path}/decide`, confirmed);
    expect(first.text).toContain('Nothing was decided.');
    expect(first.text).toContain('under other credentials than it was sent with');
    expect(await payoutAt(app.ledger, { runId, line: 2 })).toMatchObject({ state: 'held' });
    const read = /name="read" value="([0-9a-f]{32})"/.exec(first.text)?.[1] ?? '';
    const again = await bob.post(`${path}/decide`, { ...confirmed, read: 'f'.repeat(32) });
    expect(again.text).toContain('Nothing was decided.');
    const done = await bob.post(`${path}/decide`, { ...confirmed, read });
    expect(done.text).toContain('It was rejected and not paid.');
    expect(done.text).toContain(`the service knows no payment for the quote ${QUOTE}`);
    expect(await payoutAt(app.ledger, { runId, line: 2 })).toMatchObject({ state: 'rejected', reason: 'so it is' });
  });

  test('is not settled as not paid when the service has its payment: the page says so, and it is written down', async () => {
    const { app, person } = await openWebRig(server.url);
    const pay = await runSandbox(app);
    const runId = await recordRun(app.ledger, { lines: [2] });
    const quoteId = await paySecretly(pay, await payoutAt(app.ledger, { runId, line: 2 }));
    await holdSent(app, runId, { quoteId });
    const anna = await person('anna', 'maker');
    await anna.get(`/runs/${runId}/payouts/2`);
    const answer = await anna.post(`/runs/${runId}/payouts/2/decide`, { decision: 'not-paid', reason: 'no idea' });
    expect(answer.status).toBe(409);
    expect(answer.text).toContain('the service has its payment, and that is written down now');
    expect(await payoutAt(app.ledger, { runId, line: 2 })).toMatchObject({ state: 'accepted', paymentId: quoteId });
  });

  test('is settled as paid by two people who name its payment, and not without one or by a wrong one', async () => {
    const { app, person } = await openWebRig(server.url);
    const pay = await runSandbox(app);
    const runId = await recordRun(app.ledger, { lines: [2] });
    const quoteId = await paySecretly(pay, await payoutAt(app.ledger, { runId, line: 2 }));
    await holdSent(app, runId, { quoteId });
    const [anna, bob] = [await person('anna', 'maker'), await person('bob', 'checker')];
    const path = `/runs/${runId}/payouts/2/decide`;
    const without = await anna.post(path, { decision: 'paid', paymentId: ' ', reason: 'seen' });
    expect(without.status).toBe(422);
    expect(without.text).toContain('must name the payment');
    const wrong = await anna.post(path, { decision: 'paid', paymentId: QUOTE, reason: 'seen' });
    expect(wrong.status).toBe(409);
    expect(wrong.text).toContain(`the service knows no payment ${QUOTE}`);
    const proposed = await anna.post(path, { decision: 'paid', paymentId: quoteId, reason: 'seen' });
    expect(proposed.text).toContain(`the payment ${quoteId} is`);
    expect((await bob.get(`/runs/${runId}/payouts/2`)).text).toContain(`to settle it as paid by payment ${quoteId}`);
    await bob.post(path, { decision: 'paid', paymentId: quoteId, reason: 'seen too' });
    expect(await payoutAt(app.ledger, { runId, line: 2 })).toMatchObject({ state: 'accepted', paymentId: quoteId });
  });

  test('is not settled while nobody runs the sandbox: the page says how to start one', async () => {
    const { app, person } = await openWebRig(server.url);
    const runId = await recordRun(app.ledger, { lines: [2] });
    await holdSent(app, runId);
    const anna = await person('anna', 'maker');
    await anna.get('/to-settle');
    const answer = await anna.post(`/runs/${runId}/payouts/2/decide`, { decision: 'not-paid', reason: 'x' });
    expect(answer.status).toBe(503);
    expect(answer.text).toContain('a worker with --sandbox');
    expect((await payoutAt(app.ledger, { runId, line: 2 })).proposal).toBeNull();
  });

  test('is asked about where the sandbox runs now, after it was started anew', async () => {
    const { app, person } = await openWebRig(server.url);
    const runId = await recordRun(app.ledger, { lines: [2, 3] });
    await holdSent(app, runId);
    await holdSent(app, runId, { line: 3, quoteId: QUOTE.replace('9b', '9c') });
    const anna = await person('anna', 'maker');
    await anna.get('/to-settle');
    for (const line of [2, 3]) {
      const own = await startOwnSandbox(app.config.dataDir, app);
      const answer = await anna.post(`/runs/${runId}/payouts/${line}/decide`, { decision: 'not-paid', reason: 'x' });
      await own?.sandbox.close();
      expect({ line, status: answer.status }).toEqual({ line, status: 200 });
    }
    const answer = await anna.post(`/runs/${runId}/payouts/2/decide`, { decision: 'not-paid', reason: 'x' });
    expect(answer.status).toBe(503);
    expect(answer.text).toContain('could not be asked');
  });
});

describe('who may', () => {
  test('only look sees the evidence and no form, and decides nothing', async () => {
    const { app, person } = await openWebRig(server.url);
    const runId = await recordRun(app.ledger, { lines: [2] });
    await movePayout(app.ledger, { runId, line: 2 }, 'held');
    const vera = await person('vera', 'viewer');
    const page = await vera.get(`/runs/${runId}/payouts/2`);
    expect(page.text).toContain('no payment request was ever sent');
    expect(page.text).toContain('Your role may look at it, and not decide.');
    expect(page.text).not.toMatch(/<form method="post" action="\/(?!sign-out)/);
    for (const path of [`/runs/${runId}/payouts/2/decide`, `/runs/${runId}/payouts/2/cancel`, '/block-list']) {
      const answer = await vera.post(path, { decision: 'drop', reason: 'x' });
      expect({ path, status: answer.status }).toEqual({ path, status: 403 });
    }
    expect((await payoutAt(app.ledger, { runId, line: 2 })).proposal).toBeNull();
  });

  test('decide is told when the row was refused, or is not there, or the form lacks a reason', async () => {
    const { app, person } = await openWebRig(server.url);
    const runId = await recordRun(app.ledger, { lines: [2], refused: [3] });
    await movePayout(app.ledger, { runId, line: 2 }, 'held');
    const anna = await person('anna', 'maker');
    for (const [path, reason, status] of [
      [`/runs/${runId}/payouts/3`, 'x', 409],
      [`/runs/${runId}/payouts/4`, 'x', 404],
      ['/runs/none/payouts/2', 'x', 404],
      [`/runs/${runId}/payouts/2`, ' ', 422],
      [`/runs/${runId}/payouts/2`, 'two\nlines', 422],
      [`/runs/${runId}/payouts/2`, 'x'.repeat(201), 422],
    ] as const) {
      expect((await anna.post(`${path}/decide`, { decision: 'drop', reason })).status).toBe(status);
      expect((await anna.post(`${path}/cancel`, { reason })).status).toBe(status);
    }
    expect((await anna.post(`/runs/${runId}/payouts/2/decide`, { reason: 'x' })).status).toBe(422);
    expect((await payoutAt(app.ledger, { runId, line: 2 })).state).toBe('held');
  });
});

/** The payouts that a page lists. */
function rowsOf(text: string): string[] {
  const rows = text.matchAll(/<th scope="row"><a href="\/runs\/(r[0-9])\/payouts\/([0-9]+)"/g);
  return [...rows].map(([, run, line]) => `${run}-${line}`);
}

/** What somebody proposes, as the ledger and the audit log then have it; the service is not asked. */
async function proposePaid({ ledger }: App, place: { runId: string; line: number }): Promise<void> {
  const proposal = {
    decision: 'paid',
    by: 'zoe',
    at: 1,
    seen: '',
    paymentId: `p-${place.line}`,
    reason: 'the bank says so',
  } as const;
  const { result } = await ledger.payouts.move({
    ...place,
    actor: 'zoe',
    reason: 'the bank says so',
    dueMs: 'as-it-is',
    values: { proposal: { proposal: proposal, seal: ledger.seals.proposal(await payoutAt(ledger, place), proposal) } },
  });
  expect(result).toBe('moved');
  const target = payoutId(place);
  await ledger.audit.append({ actor: 'zoe', action: 'payout.paid-proposed', target, details: {} });
}

describe('what is to settle', () => {
  test('is listed over all runs, the newest first, in pages and as CSV', async () => {
    const { app, person } = await openWebRig(server.url);
    const lines = Array.from({ length: 40 }, (_, index) => index + 2);
    for (const id of ['r1', 'r2']) {
      // References of their own, so that each run is paid.
      const own = lines.map((line) => line + (id === 'r1' ? 0 : 100));
      await recordRun(app.ledger, { id, lines: own });
      for (const line of own) await movePayout(app.ledger, { runId: id, line }, 'held');
    }
    await recordRun(app.ledger, { id: 'r3', lines: [300] });
    await armPayout(app.ledger, { runId: 'r3', line: 300 }, QUOTE);
    await movePayout(app.ledger, { runId: 'r3', line: 300 }, 'unknown');
    const anna = await person('anna', 'viewer');
    const pages: string[][] = [];
    for (let next: string | undefined = '/to-settle'; next !== undefined; ) {
      const { text } = await anna.get(next);
      pages.push(rowsOf(text));
      next = /rel="next" href="([^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
    }
    const all = ['r3-300', ...lines.map((line) => `r2-${line + 100}`), ...lines.map((line) => `r1-${line}`)];
    expect(pages).toEqual([0, 20, 40, 60, 80].map((from) => all.slice(from, from + 20)));
    const csv: Record<string, string>[] = parse((await anna.get('/to-settle.csv')).text, { columns: true });
    expect(csv.map(({ run, line }) => `${run}-${line}`)).toEqual(all);
    expect(csv[0]).toMatchObject({ state: 'unknown', amount: '100.50', currency: 'USD', quoteId: QUOTE });
    expect(csv[0]?.['mayHaveBeenPaid']).toContain('1 payment request may have been sent');
  });

  test('has what was proposed for a payout that is neither unknown nor held, until it is decided or the payout moves', async () => {
    const { app, person } = await openWebRig(server.url);
    const runId = await recordRun(app.ledger, { lines: [2, 3, 4] });
    for (const line of [2, 3]) {
      await armPayout(app.ledger, { runId, line }, `${QUOTE.slice(0, -1)}${line}`);
      await movePayout(app.ledger, { runId, line }, 'rejected');
    }
    await movePayout(app.ledger, { runId, line: 4 }, 'held');
    const anna = await person('anna', 'viewer');
    const list = async () => rowsOf((await anna.get('/to-settle')).text);
    expect(await list()).toEqual([`${runId}-4`]);
    for (const line of [2, 3, 4]) await proposePaid(app, { runId, line });
    const { text } = await anna.get('/to-settle');
    expect(rowsOf(text)).toEqual([`${runId}-3`, `${runId}-2`, `${runId}-4`]);
    expect(text).toContain('zoe proposed to settle it as paid by payment p-2');
    const csv: Record<string, string>[] = parse((await anna.get('/to-settle.csv')).text, { columns: true });
    expect(csv.map(({ line, state, proposedBy }) => [line, state, proposedBy])).toEqual([
      ['3', 'rejected', 'zoe'],
      ['2', 'rejected', 'zoe'],
      ['4', 'held', 'zoe'],
    ]);
    await movePayout(app.ledger, { runId, line: 3 }, 'accepted');
    expect(await list()).toEqual([`${runId}-2`, `${runId}-4`]);
    await movePayout(app.ledger, { runId, line: 4 }, 'cancelled');
    const left = await anna.get('/to-settle');
    expect(rowsOf(left.text)).toEqual([`${runId}-2`]);
    expect(left.text).not.toContain('nothing for people to settle');
  });

  test('tells that there is nothing', async () => {
    const { person } = await openWebRig(server.url);
    const { text } = await (await person('anna', 'viewer')).get('/to-settle');
    expect(text).toContain('there is nothing for people to settle');
  });

  test('offers nothing to propose to a viewer', async () => {
    const { app, person } = await openWebRig(server.url);
    const runId = await recordRun(app.ledger, { lines: [2] });
    await movePayout(app.ledger, { runId, line: 2 }, 'held');
    expect((await (await person('anna', 'viewer')).get('/to-settle')).text).not.toContain('Propose');
    expect((await (await person('mia', 'maker')).get('/to-settle')).text).toContain('Propose');
  });

  test('shows who proposed what, and when', async () => {
    const { app, person } = await openWebRig(server.url);
    const runId = await recordRun(app.ledger, { lines: [2] });
    await movePayout(app.ledger, { runId, line: 2 }, 'held');
    const anna = await person('anna', 'maker');
    await anna.get('/to-settle');
    await anna.post(`/runs/${runId}/payouts/2/decide`, { decision: 'drop', reason: 'a second invoice' });
    const { text } = await anna.get('/to-settle');
    expect(text).toMatch(/anna proposed to drop it on <time [^>]+>[^<]+UTC<\/time>: a second invoice/);
  });
});

describe('the block list', () => {
  const ID = '7d9f1c1e-5f0a-4c56-9f5e-2b1d3c4a5e6f';

  test('takes a beneficiary from one person, and lets it go by two', async () => {
    const { app, person } = await openWebRig(server.url);
    const [anna, bob] = [await person('anna', 'checker'), await person('bob', 'admin')];
    expect((await anna.get('/block-list')).text).toContain('Nobody is blocked.');
    const reason = '"><script>alert(1)</script>';
    expect((await anna.post('/block-list', { id: ID.toUpperCase(), reason })).status).toBe(303);
    const listed = await bob.get('/block-list');
    expect(listed.text).toContain(ID);
    expect(listed.text).toContain('&lt;script>alert(1)');
    expect(listed.text).not.toContain('<script>alert');
    const csv: Record<string, string>[] = parse((await anna.get('/block-list.csv')).text, { columns: true });
    expect(csv).toMatchObject([{ beneficiaryIdentityId: ID, blockedBy: 'anna', reason, unblockProposedBy: '' }]);

    await anna.post('/block-list/unblock', { id: ID });
    expect((await anna.get('/block-list')).text).toContain('It waits for another person.');
    const again = await anna.post('/block-list/unblock', { id: ID });
    expect(again.status).toBe(409);
    expect(again.text).toContain('Another person has to confirm it.');
    expect((await bob.post('/block-list/unblock', { id: ID })).status).toBe(303);
    expect(await app.ledger.approvals.blocked()).toEqual([]);
    expect((await bob.post('/block-list/unblock', { id: ID })).status).toBe(404);
    expect(await actions(app)).toEqual([
      `anna beneficiary.blocked ${ID}`,
      `anna beneficiary.unblock-proposed ${ID}`,
      `bob beneficiary.unblocked ${ID}`,
    ]);
  });

  test('takes nothing that is no identity id, and nothing from a maker', async () => {
    const { app, person } = await openWebRig(server.url);
    const anna = await person('anna', 'checker');
    for (const id of ['', 'IBAN DE12', `${ID}0`]) {
      const answer = await anna.post('/block-list', { id, reason: 'x' });
      expect({ id, status: answer.status }).toEqual({ id, status: 422 });
      expect(answer.text).toContain('must be the UUID of a beneficiary');
    }
    const mike = await person('mike', 'maker');
    expect((await mike.post('/block-list', { id: ID, reason: 'x' })).status).toBe(403);
    expect(await app.ledger.approvals.blocked()).toEqual([]);
  });
});
