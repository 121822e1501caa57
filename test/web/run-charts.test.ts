import { expect, test } from 'vitest';
import { armPayout, movePayout, recordRun } from '../runs/recorded-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { foreignParts } from './page-html.ts';
import { openWebRig } from './rig.ts';

const server = await useTestRedis();

test('a run that is over shows why rows were not paid and when the others were, each as a chart, in words and as a table', async () => {
  const { app, person } = await openWebRig(server.url);
  const runId = await recordRun(app.ledger, { lines: [2, 3, 4, 5, 6] });
  for (const line of [2, 3]) {
    await armPayout(app.ledger, { runId, line }, `q-${line}`);
    await movePayout(app.ledger, { runId, line }, 'accepted', 'completed');
  }
  for (const line of [4, 5]) {
    const values = { reasonCode: 'E_LIMIT', reason: 'it would pass the limit' };
    await app.ledger.payouts.move({ runId, line, to: 'held', actor: 'test', reason: 'held', values });
  }
  await movePayout(app.ledger, { runId, line: 6 }, 'cancelled');
  const anna = await person('anna', 'viewer');
  // While it is paid, the sums are made beside the page.
  await expect.poll(async () => (await anna.get(`/runs/${runId}`)).text).toContain('Rows paid over time');
  await app.ledger.runs.move(runId, { to: 'finished', actor: 'test', reason: 'over' });
  const { text } = await anna.get(`/runs/${runId}`);
  expect(text).toContain('aria-label="2: it would pass a limit; 1: cancelled"');
  expect(text).toMatch(
    /it would pass a limit <span class="small">E_LIMIT<\/span>(?:(?!<\/tr>).)*<td class="number"[^>]*>2</,
  );
  expect(text).toContain('aria-label="2 rows were paid; the table below has when."');
  expect(text).toContain('aria-label="201.00 USD left; the table below has when."');
  expect(text).toMatch(
    /What had been paid by when(?:(?!<\/table>).)*<td class="number"[^>]*>2<\/td>(?:(?!<\/table>).)*201\.00/,
  );
  expect(foreignParts(text)).toEqual([]);
});
