import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { submitRun } from '../../src/runs/hand-in/submit.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { openWebRig } from './rig.ts';

const HEADER = 'reference,beneficiaryIdentityId,amount,sourceCurrency,destinationCurrency';
const server = await useTestRedis();

test('the second of two people who press the button of a page releases no stage that the page does not show', async () => {
  const { app, person } = await openWebRig(server.url, { env: {} });
  const path = `${app.dir}/stages.csv`;
  const rows = [1, 2, 3, 4].map((at) => `Z-${at},7d9f1c1e-5f0a-4c56-9f5e-2b1d3c4a500${at},${at}.50,USD,MXN`);
  writeFileSync(path, [HEADER, ...rows, ''].join('\n'));
  const stages = { sizes: '1,1,rest', goesOnIfPaid: false };
  const submitted = await submitRun(app, { path, actor: 'mia', skipInvalid: false, stages });
  if (submitted.kind === 'refused') throw new Error('refused');
  const { id } = submitted.run;
  await app.ledger.runs.endStage(id, { at: 0, goesOn: false, reason: 'stage 1 of 3 is over' });
  const [olga, otto] = [await person('olga', 'admin'), await person('otto', 'admin')];
  for (const one of [olga, otto]) expect((await one.get(`/runs/${id}`)).text).toContain('name="stage" value="1"');
  const form = { reason: 'stage 1 is fine', stage: '1' };
  expect((await olga.post(`/runs/${id}/resume`, form)).status).toBe(303);
  await app.ledger.runs.endStage(id, { at: 1, goesOn: false, reason: 'stage 2 of 3 is over' });
  const late = await otto.post(`/runs/${id}/resume`, form);
  expect(late.status).toBe(409);
  expect(late.text).toContain('Its stage 2 of 3 is over now');
  expect(await readRun(app, id)).toMatchObject({ state: 'paused', stages: { at: 1, isOver: true } });
});
