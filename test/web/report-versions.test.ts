import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { readSignature } from '../../src/report/signing/signature.ts';
import { writeReport } from '../../src/runs/after/report.ts';
import { PRIVATE_KEY, SIGNING_KEY } from '../report/signed-reports.ts';
import { armPayout, movePayout, recordRun } from '../runs/recorded-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { openApiRig } from './api-rig.ts';

vi.setConfig({ testTimeout: 180_000 });

const server = await useTestRedis();

/** A run with two reports: a row was paid in the first one, and came back before the second. */
async function openSite({ isSigned }: { isSigned: boolean }) {
  const rig = await openApiRig(server.url, { env: isSigned ? { PAYRUN_SIGNING_KEY: PRIVATE_KEY } : {} });
  const { app } = rig;
  const runId = await recordRun(app.ledger, { lines: [2, 3] });
  await armPayout(app.ledger, { runId, line: 2 }, 'q-2');
  await movePayout(app.ledger, { runId, line: 2 }, 'accepted', 'completed');
  await writeReport(app, runId);
  await movePayout(app.ledger, { runId, line: 2 }, 'returned');
  const { paths } = await writeReport(app, runId);
  return { ...rig, runId, paths, anna: await rig.visit('anna', 'viewer'), key: await rig.program('reader', 'viewer') };
}

test('the signature of each version lies beside its files on the page, and is given out there and by the API', async () => {
  const { app, runId, paths, anna, key } = await openSite({ isSigned: true });
  expect(paths.map((path) => path.replace(/.*\./, ''))).toEqual(['csv', 'json', 'sig']);
  const page = (await anna.get(`/runs/${runId}`)).text;
  for (const version of [1, 2]) {
    const name = `v${version}.sig`;
    const text = readFileSync(join(app.config.reportDir, `${runId}.${name}`), 'utf8');
    expect(page).toContain(`href="/runs/${runId}/reports/${name}"`);
    const taken = await anna.get(`/runs/${runId}/reports/${name}`);
    expect(taken.headers.get('content-disposition')).toBe(`attachment; filename="${runId}.${name}"`);
    expect([taken.text, (await key.call('GET', `/runs/${runId}/reports/${name}`)).text]).toEqual([text, text]);
    const signed = readSignature(taken.text);
    expect(SIGNING_KEY.verifies(signed?.text ?? '', signed?.signature ?? '')).toBe(true);
  }
  expect((await anna.get(`/runs/${runId}/reports.csv`)).text).toContain(`${runId}.v2.sig,\r\n`);
  const document = (await key.call('GET', `/runs/${runId}`)).json;
  expect(document).toMatchObject({
    reports: ['csv', 'json', 'sig'].map((end) => join(app.config.reportDir, `${runId}.v2.${end}`)),
  });
});

test('a signature of other files than those that were written is not given out, nor one that is not there', async () => {
  const { app, runId, anna, key } = await openSite({ isSigned: true });
  const [first, second] = [1, 2].map((version) => join(app.config.reportDir, `${runId}.v${version}.sig`));
  writeFileSync(second ?? '', readFileSync(first ?? ''));
  expect((await anna.get(`/runs/${runId}/reports/v2.sig`)).status).toBe(409);
  rmSync(first ?? '');
  const none = await anna.get(`/runs/${runId}/reports/v1.sig`);
  expect([none.status, none.text]).toEqual([404, expect.stringContaining('There is no signature')]);
  expect((await anna.get(`/runs/${runId}`)).text).not.toContain('v1.sig');
  expect((await key.call('GET', `/runs/${runId}/reports/v3.sig`)).status).toBe(404);
});

test('what a later state changed is a table on a page, and a list that the API gives as JSON and as CSV', async () => {
  const { runId, anna, key } = await openSite({ isSigned: false });
  const page = (await anna.get(`/runs/${runId}/changes?since=1`)).text;
  expect(page).toContain('v2 is newer than v1.');
  expect(page).toMatch(/INV-2<\/td><td[^>]*>outcome<\/td><td[^>]*>paid<\/td><td[^>]*>returned<\/td>/);
  const csv = (await anna.get(`/runs/${runId}/changes.csv?since=1`)).text;
  expect(csv).toContain('line,reference,column,from,to\r\n2,INV-2,outcome,paid,returned\r\n');
  expect((await key.call('GET', `/runs/${runId}/changes?since=1&format=csv`)).text).toBe(csv);
  const { json } = await key.call('GET', `/runs/${runId}/changes?since=1`);
  expect(json).toMatchObject({ since: 1, version: 2 });
  const lines = csv.trimEnd().split('\r\n').slice(1);
  const { changes } = json as { changes: readonly Record<string, string | number | null>[] };
  expect(changes.map(({ line, reference, column, from, to }) => [line, reference, column, from, to].join(','))).toEqual(
    lines,
  );
  expect((await key.call('GET', `/runs/${runId}/changes?since=2`)).json).toEqual({ since: 2, version: 2, changes: [] });
  expect((await anna.get(`/runs/${runId}/changes?since=2`)).text).toContain('Nothing changed.');
  expect((await anna.get(`/runs/${runId}/changes?since=9`)).status).toBe(404);
  expect((await key.call('GET', `/runs/${runId}/changes?since=9`)).status).toBe(404);
});

test('the page says beside each file of an earlier version that there is a newer one', async () => {
  const { runId, anna } = await openSite({ isSigned: false });
  const page = (await anna.get(`/runs/${runId}`)).text.replaceAll(/<[^>]*>/g, ' ');
  for (const ending of ['csv', 'json']) {
    expect(page).toMatch(new RegExp(`${runId}.v1.${ending}\\s+v2 is newer`));
    expect(page).not.toMatch(new RegExp(`${runId}.v2.${ending}\\s+v2 is newer`));
  }
  expect(page).toContain('what changed from v1 to v2');
});
