import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { App } from '../../src/app.ts';
import { readEntry } from '../../src/audit/entry.ts';
import { payoutAt, recordRun } from '../runs/recorded-run.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { openWebRig } from './rig.ts';
import type { Answer } from './visitor.ts';

vi.setConfig({ testTimeout: 180_000 });

let server: TestRedis;
beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.stop();
});

const LINES = Array.from({ length: 18 }, (_, index) => index + 2);

async function holdAll({ ledger }: App, runId: string): Promise<void> {
  for (const line of LINES) {
    const fields = { rc: 'E_LIMIT', rs: 'it would pass the limit' };
    await ledger.payouts.move({ runId, line, to: 'held', actor: 'test', reason: 'held', fields });
  }
}

const ticks = (lines: readonly number[]) => Object.fromEntries(lines.map((line) => [`line-${line}`, 'on']));

function linkIn({ text }: Answer, words: string): string {
  const link = new RegExp(`href="([^"]+)"[^>]*>${words}<`).exec(text)?.[1];
  if (link === undefined) throw new Error(`the page has no link "${words}"`);
  return link;
}

test('18 held payouts of one reason are settled by two people with three pages each, and each has entries of its own', async () => {
  const { app, person } = await openWebRig(server.url);
  const runId = await recordRun(app.ledger, { lines: LINES });
  await holdAll(app, runId);
  const mia = await person('mia', 'maker');
  const carl = await person('carl', 'checker');

  const group = linkIn(await mia.get('/to-settle'), 'Settle together');
  const page = await mia.get(group);
  expect(page.text.match(/type="checkbox"/g)).toHaveLength(LINES.length);
  const form = { ...ticks(LINES), decision: 'allow', reason: 'agreed with treasury' };
  expect((await mia.post(group, form)).text).toContain('18 proposed.');

  // Somebody else settles one of them meanwhile, and another one is not ticked.
  await app.ledger.payouts.move({ runId, line: 2, to: 'cancelled', actor: 'test', reason: 'dropped' });
  expect((await carl.get(group)).text).toContain('mia proposed to allow 17 of them: agreed with treasury');
  const confirmed = await carl.post(group, { ...form, ...ticks([3, 4]), reason: 'looked at each' });
  expect(confirmed.text).toContain('17 confirmed by two people');
  const states = await Promise.all(LINES.map(async (line) => (await payoutAt(app.ledger, { runId, line })).state));
  expect(states).toEqual(['cancelled', ...LINES.slice(1).map(() => 'ready')]);
  const entries: string[] = [];
  for await (const line of app.ledger.audit.lines()) {
    const entry = readEntry(line);
    if (entry?.action.startsWith('payout.allow')) entries.push(`${entry.actor} ${entry.action}`);
  }
  expect(entries.filter((entry) => entry === 'mia payout.allow-proposed')).toHaveLength(18);
  expect(entries.filter((entry) => entry === 'carl payout.allow-confirmed')).toHaveLength(17);
});

test('one person alone settles none of them, and a payout that is not ticked stays as it is', async () => {
  const { app, person } = await openWebRig(server.url);
  const runId = await recordRun(app.ledger, { lines: LINES });
  await holdAll(app, runId);
  const mia = await person('mia', 'maker');
  const group = `/runs/${runId}/settle/E_LIMIT`;
  const form = { ...ticks([2, 3]), decision: 'drop', reason: 'sent by hand' };
  expect((await mia.post(group, form)).text).toContain('2 proposed.');
  const again = await mia.post(group, form);
  expect(again.text).toContain('Left out: 2');
  expect(again.text).toContain('mia has proposed this');
  expect((await payoutAt(app.ledger, { runId, line: 4 })).proposal).toBeNull();
  expect((await mia.post(group, { decision: 'drop', reason: 'none is ticked' })).status).toBe(422);
  const vera = await person('vera', 'viewer');
  expect((await vera.get(group)).text).not.toContain('name="decision"');
  expect((await vera.post(group, form)).status).toBe(403);
});
