import { expect, test } from 'vitest';
import { recordRun } from '../runs/recorded-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { openWebRig } from '../web/rig.ts';
import { longestTurnMs } from './turns.ts';

/** A test reads the answer in the process of the server. */
const TURN_MS_MAX = 200;
const MOVEMENTS = 100_000;

const server = await useTestRedis();

test.each([
  ['no payment', (at: number) => `OTHER-${at}`],
  ['one payment', () => 'INV-2'],
])('a statement whose 100,000 movements belong to %s keeps nobody else waiting', async (_what, referenceOf) => {
  const { app, person } = await openWebRig(server.url);
  await recordRun(app.ledger, { id: 'a1', lines: [2] });
  const mia = await person('mia', 'maker');
  await mia.get('/reconcile');
  const rows = Array.from({ length: MOVEMENTS }, (_, at) => `${referenceOf(at)},p-${at},12.34,USD`);
  const form = new FormData();
  form.set('runs', 'a1');
  form.set('format', 'csv');
  form.set('file', new Blob([['reference,paymentId,amount,currency', ...rows].join('\n')]), 'bank.csv');
  const { value, longestMs } = await longestTurnMs(mia.upload('/reconcile', form));
  expect(value.text.trimEnd().split('\r\n')).toHaveLength(MOVEMENTS + 1);
  expect(longestMs).toBeLessThan(TURN_MS_MAX);
});
