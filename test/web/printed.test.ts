import { describe, expect, test, vi } from 'vitest';
import { writeReport } from '../../src/runs/after/report.ts';
import { armPayout, movePayout, recordRun } from '../runs/recorded-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { openWebRig } from './rig.ts';

vi.setConfig({ testTimeout: 180_000 });

const server = await useTestRedis();

/** A run with a row that was paid, one that is held, one that was refused and one that waits. */
async function openSite() {
  const { app, base, person } = await openWebRig(server.url);
  const runId = await recordRun(app.ledger, { lines: [2, 3, 4], refused: [5] });
  await armPayout(app.ledger, { runId, line: 2 }, 'q-2');
  await movePayout(app.ledger, { runId, line: 2 }, 'accepted');
  const values = { paymentState: 'COMPLETED' };
  await app.ledger.payouts.move({ runId, line: 2, to: 'completed', actor: 'test', reason: 'test', values });
  await movePayout(app.ledger, { runId, line: 3 }, 'held');
  return { app, base, runId, anna: await person('anna', 'viewer') };
}

describe('a page for paper', () => {
  test('shows the report of a run: that it ties, its rows and money, and why rows were not paid', async () => {
    const { runId, anna } = await openSite();
    const { status, text } = await anna.get(`/runs/${runId}/printed`);
    expect(status).toBe(200);
    expect(text).toContain('This report ties.');
    expect(text).toMatch(/<th scope="row">USD<\/th><td[^>]*>402\.00<\/td>/);
    expect(text).toMatch(
      /<th scope="row">refused in the file<\/th><td[^>]*>E_AMOUNT<\/td><td class="number"[^>]*>1<\/td>/,
    );
    expect(text).toContain('Sandbox: no money moved');
    expect(text).toContain('<dt>Version</dt><dd>none was written yet</dd>');
    expect((await anna.get(`/runs/${runId}`)).text).toContain(`href="/runs/${runId}/printed"`);
  });

  test('draws money per currency, what was paid by when, and the reasons, each told in words too', async () => {
    const { runId, anna } = await openSite();
    const { text } = await anna.get(`/runs/${runId}/printed`);
    expect(text).toMatch(
      /402\.00 USD<\/p><svg class="bar"[^>]*aria-label="100\.50 USD paid, 100\.50 USD not started[^"]*"/,
    );
    expect(text).toContain('<h2>Payouts over time</h2>');
    expect(text).toContain('aria-label="1 rows were paid."');
    expect(text).toContain('aria-label="100.50 USD left."');
    expect(text).toMatch(/<svg class="chart"[^>]*aria-label="1: [^"]*E_AMOUNT[^"]*"/);
  });

  test('says how it stands to the versions that were written', async () => {
    const { app, runId, anna } = await openSite();
    await writeReport(app, runId);
    expect((await anna.get(`/runs/${runId}/printed`)).text).toContain('<dd>as v1</dd>');
    expect((await anna.get(`/runs/${runId}/reports/v1.csv`)).headers.get('link')).toBeNull();
    await movePayout(app.ledger, { runId, line: 2 }, 'returned');
    const printed = await anna.get(`/runs/${runId}/printed`);
    expect(printed.text).toContain('<dd>newer than v1, the last one that was written</dd>');
    await writeReport(app, runId);
    const link = `</runs/${runId}/reports/v2.csv>; rel="latest-version"`;
    expect((await anna.get(`/runs/${runId}/reports/v1.csv`)).headers.get('link')).toBe(link);
    expect((await anna.get(`/runs/${runId}/reports/v2.csv`)).headers.get('link')).toBeNull();
  });

  test('confirms one payment to whoever was paid, and does not say what it cost', async () => {
    const { runId, anna } = await openSite();
    const { status, text } = await anna.get(`/runs/${runId}/payouts/2/confirmation`);
    expect(status).toBe(200);
    expect(text).toContain('The payment below was made.');
    expect(text).toContain('<dd>INV-2</dd>');
    expect(text).toContain('<code>q-2</code>');
    expect(text).not.toMatch(/fee|rate|debited/i);
    const shown = await anna.get(`/runs/${runId}/payouts/2`);
    expect(shown.text).toContain(`href="/runs/${runId}/payouts/2/confirmation"`);
  });

  test('confirms nothing that was not paid', async () => {
    const { runId, anna } = await openSite();
    const answers = await Promise.all([3, 4, 5].map((line) => anna.get(`/runs/${runId}/payouts/${line}/confirmation`)));
    expect(answers.map(({ status }) => status)).toEqual([409, 409, 409]);
  });

  test('has no script, no form and no menu', async () => {
    const { runId, anna } = await openSite();
    for (const path of ['printed', 'payouts/2/confirmation']) {
      const { text } = await anna.get(`/runs/${runId}/${path}`);
      expect(text).not.toMatch(/<script|<form|<nav|<style| on[a-z]+=/i);
    }
  });
});

describe('a workbook', () => {
  test('can be had of a report and of a retry file; a CSV file with a byte order mark, too', async () => {
    const { base, runId, anna } = await openSite();
    const { headers, text } = await anna.get(`/runs/${runId}/report?format=xlsx`);
    expect(headers.get('content-disposition')).toBe(`attachment; filename="${runId}.report.xlsx"`);
    expect(headers.get('content-type')).toBe('application/vnd.openxmlformats-officedocument.spreadsheetml.sheet');
    expect(text.startsWith('PK\u0003\u0004')).toBe(true);
    const again = await anna.get(`/runs/${runId}/retry-file?format=xlsx`);
    expect(again.status).toBe(409);
    const cookie = [...anna.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const marked = await fetch(`${base}/runs/${runId}/report?format=csv&bom=true`, { headers: { cookie } });
    expect(Buffer.from(await marked.arrayBuffer()).subarray(0, 7)).toEqual(Buffer.from('\uFEFFline'));
  });
});
