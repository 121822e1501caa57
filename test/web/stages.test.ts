import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { submitRun } from '../../src/runs/hand-in/submit.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { handInUpload } from '../../src/web/uploads/hand-in.ts';
import { useTestRedis } from '../support/redis.ts';
import { configured, openApiRig } from './api-rig.ts';
import { openWebRig } from './rig.ts';

const HEADER = 'reference,beneficiaryIdentityId,amount,sourceCurrency,destinationCurrency';

const server = await useTestRedis();

let files = 0;

/** A file of ten rows that nobody handed in before. */
function payoutFile(): string {
  files += 1;
  const ids = Array.from({ length: 10 }, (_, at) => `7d9f1c1e-5f0a-4c56-9f5e-2b1d3c4a${5000 + at}`);
  return `${[HEADER, ...ids.map((id, at) => `F${files}-${at},${id},${at + 1}.50,USD,MXN`)].join('\n')}\n`;
}

test('a program hands a file in with stages, reads how far they are, and releases the next one', async () => {
  const { app, person } = await openApiRig(server.url);
  const anna = await person('anna', 'admin');
  const sent = await anna.call('POST', '/runs?stage=2,30%25,rest&goOnIfPaid=true', {
    body: payoutFile(),
    headers: { 'content-type': 'text/csv' },
  });
  const { runId } = sent.json as { runId: string };
  const stages = async () => ((await anna.call('GET', `/runs/${runId}/details`)).json as { stages: unknown }).stages;
  const ends = [
    { rows: 2, line: 3 },
    { rows: 5, line: 6 },
    { rows: 10, line: 11 },
  ];
  expect(await stages()).toEqual({ ends, now: 1, isOver: false, goesOnIfPaid: true });
  await app.ledger.runs.note(runId, { 'n:ready': '0' });
  await app.ledger.runs.endStage(runId, { at: 0, goesOn: false, reason: 'stage 1 of 3 is over' });
  expect(await stages()).toMatchObject({ now: 1, isOver: true });
  await anna.call('POST', `/runs/${runId}/resume`, { body: {} });
  expect(await stages()).toMatchObject({ now: 2, isOver: false });
});

test.each(['stage=10', 'stage=rest', 'stage=1,200%25,rest', 'goOnIfPaid=true'])(
  'a program that asks for %s is refused, and nothing is handed in',
  async (query) => {
    const { app, person } = await openApiRig(server.url);
    const anna = await person('anna', 'maker');
    const before = (await app.ledger.runs.list()).length;
    const sent = await anna.call('POST', `/runs?${query}`, {
      body: payoutFile(),
      headers: { 'content-type': 'text/csv' },
    });
    expect([sent.status >= 400 && sent.status < 500, (await app.ledger.runs.list()).length]).toEqual([true, before]);
  },
);

test('the form takes stages, its review shows them, and the run has them', async () => {
  const { app, visitors } = await openPages();
  const anna = await visitors('anna', 'maker');
  const form = new FormData();
  form.set('file', new Blob([payoutFile()]), 'stages.csv');
  form.set('stage', '20%, rest');
  form.set('goOnIfPaid', 'yes');
  const uploaded = await anna.upload('/upload', form);
  const address = uploaded.headers.get('location') ?? '';
  expect((await anna.get(address)).text).toMatch(/20%,rest: it pauses after one in which a payout was not paid/);
  const handed = await handInUpload({ ...app, settings: { uploadsMax: 10, templates: null } }, { id: idOf(address) });
  const run = await readRun(app, handed.runId ?? '');
  expect(run.stages).toMatchObject({ ends: [{ rows: 2 }, { rows: 10 }], goesOnIfPaid: true });
  expect((await anna.get(`/runs/${run.id}`)).text).toContain('stage 1 of 2, to row 2 of 10');
});

test('a form that says to go on without stages is refused', async () => {
  const { visitors } = await openPages();
  const anna = await visitors('anna', 'maker');
  const form = new FormData();
  form.set('file', new Blob([payoutFile()]), 'stages.csv');
  form.set('goOnIfPaid', 'yes');
  expect(await anna.upload('/upload', form)).toMatchObject({ status: 422 });
});

test('whoever approves sees the stages, and whoever resumes after one is told that it releases the next', async () => {
  const env = await configured({ approval: { mode: 'tiers', tiers: { USD: [{ from: '0', approvals: 1 }] } } });
  const { app, visitors } = await openPages(env);
  const path = `${app.dir}/approve.csv`;
  writeFileSync(path, payoutFile());
  const stages = { sizes: '3,rest', goesOnIfPaid: false };
  const submitted = await submitRun(app, { path, actor: 'mia', skipInvalid: false, stages });
  if (submitted.kind === 'refused') throw new Error('the file was refused');
  const { id } = submitted.run;
  const carl = await visitors('carl', 'checker');
  expect((await carl.get(`/runs/${id}/approve`)).text).toContain(
    'Paid in stages: 3 rows first; then 7, each when a person resumes it.',
  );
  await app.ledger.runs.note(id, { state: 'paused', stageOver: '1' });
  const olga = await visitors('olga', 'admin');
  expect((await olga.get(`/runs/${id}`)).text).toContain('Release the next stage');
});

const idOf = (address: string): string => address.split('/').at(-1) ?? '';

async function openPages(env: Record<string, string> = {}) {
  const rig = await openWebRig(server.url, { env });
  return { app: rig.app, visitors: rig.person };
}
