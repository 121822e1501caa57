import { mkdirSync, readdirSync } from 'node:fs';
import { describe, expect, test, vi } from 'vitest';
import type { App } from '../../src/app.ts';
import { readEntry } from '../../src/audit/entry.ts';
import { finishRun } from '../../src/runs/after/finish.ts';
import { writeReport } from '../../src/runs/after/report.ts';
import { armPayout, movePayout, recordRun } from '../runs/recorded-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { openWebRig } from './rig.ts';

vi.setConfig({ testTimeout: 180_000 });

const server = await useTestRedis();

/** A run that is over, reported and watched no more. */
async function endedRun(app: App): Promise<string> {
  const runId = await recordRun(app.ledger, { lines: [2] });
  await armPayout(app.ledger, { runId, line: 2 }, 'q-1');
  await movePayout(app.ledger, { runId, line: 2 }, 'accepted', 'failed');
  await finishRun(app.ledger, runId);
  mkdirSync(app.config.reportDir, { recursive: true });
  await writeReport(app, runId);
  await app.ledger.runs.leave(runId);
  await app.ledger.runs.takeWatch(-1, Date.now());
  return runId;
}

async function purgesOf({ ledger }: App): Promise<string[]> {
  const found: string[] = [];
  for await (const line of ledger.audit.lines()) {
    const entry = readEntry(line);
    if (entry?.action === 'run.purged') found.push(`${entry.actor} ${entry.target}`);
  }
  return found;
}

describe('a run that ended long ago', () => {
  test('is purged by an admin after a question: its rows and reports go, its numbers stay, and it is audited', async () => {
    const { app, person } = await openWebRig(server.url, { env: { PAYRUN_RETENTION: '400d' } });
    const runId = await endedRun(app);
    await app.ledger.runs.note(runId, { finishedAt: '1' });
    const ada = await person('ada', 'admin');
    expect((await ada.get(`/runs/${runId}`)).text).toContain(`href="/runs/${runId}/purge"`);
    const asked = await ada.get(`/runs/${runId}/purge`);
    expect(asked.text).toContain(`<h1>Purge run ${runId}?</h1>`);
    expect(asked.text).toContain('value="400d"');
    expect(asked.text).toContain('for good');
    expect(await purgesOf(app)).toEqual([]);

    const done = await ada.post(`/runs/${runId}/purge`, { olderThan: '400d' });
    expect([done.status, done.headers.get('location')]).toEqual([303, `/runs/${runId}`]);
    expect(await app.ledger.runs.row(runId, 2)).toBeUndefined();
    expect(readdirSync(app.config.reportDir)).toEqual([`${runId}.summary.json`]);
    expect(await purgesOf(app)).toEqual([`ada ${runId}`]);
    const { text } = await ada.get(`/runs/${runId}`);
    expect(text).toContain('Rows removed');
    expect(text).not.toContain(`href="/runs/${runId}/purge"`);
    // Once more, as whoever carries on one that was interrupted does.
    expect((await ada.get(`/runs/${runId}/purge`)).text).toContain('it is carried on');
    expect((await ada.post(`/runs/${runId}/purge`, { olderThan: '400d' })).status).toBe(303);
    expect(await purgesOf(app)).toEqual([`ada ${runId}`]);
  });

  test('is kept where that was too short a time ago, or where it is not final, and the page says which', async () => {
    const { app, person } = await openWebRig(server.url);
    const runId = await endedRun(app);
    const paying = await recordRun(app.ledger, { id: 'pays', lines: [3] });
    const ada = await person('ada', 'admin');
    expect((await ada.get(`/runs/${runId}/purge`)).text).toMatch(
      /<input [^>]*required[^>]* name="olderThan"|name="olderThan"[^>]* required/,
    );
    const young = await ada.post(`/runs/${runId}/purge`, { olderThan: '1d' });
    expect([young.status, young.text.includes('it ended too short a time ago')]).toEqual([409, true]);
    for (const olderThan of ['1h', '', '400', '-1d', '99999d']) {
      expect([olderThan, (await ada.post(`/runs/${runId}/purge`, { olderThan })).status]).toEqual([olderThan, 422]);
    }
    const { status, text } = await ada.get(`/runs/${paying}/purge`);
    expect([status, text.includes('Run pays is paying; its rows are needed.')]).toEqual([409, true]);
    expect((await ada.get(`/runs/${paying}`)).text).not.toContain('/purge"');
    expect((await ada.post(`/runs/${paying}/purge`, { olderThan: '1d' })).status).toBe(409);
    expect(await app.ledger.runs.row(runId, 2)).toBeDefined();
    expect(await purgesOf(app)).toEqual([]);
  });

  test('is purged by nobody who is no admin', async () => {
    const { app, person } = await openWebRig(server.url);
    const runId = await endedRun(app);
    const carl = await person('carl', 'checker');
    expect((await carl.get(`/runs/${runId}`)).text).not.toContain('/purge"');
    expect((await carl.get(`/runs/${runId}/purge`)).status).toBe(403);
    expect((await carl.post(`/runs/${runId}/purge`, { olderThan: '1d' })).status).toBe(403);
    expect(await purgesOf(app)).toEqual([]);
  });
});
