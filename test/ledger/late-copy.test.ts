import { cpSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ledgerKeys } from '../../src/ledger/keys.ts';
import { useTestRedis } from '../support/redis.ts';
import { armOn, hostOf, joinSeason, joinTogether } from './recovery-desk.ts';
import { freshRows, movePayout, newLedger, payingRun, readPayout, useArming } from './test-ledger.ts';

const AHEAD_MS = 60 * 60 * 1000;

const server = await useTestRedis();
const arming = await useArming(server);

test('an arming that the ledger knows is no breach when a copy of its directory joins, although the clock of Redis stepped back before it', async () => {
  const desk = await newLedger({ redis: server.redis, arming });
  const folder = mkdtempSync(join(tmpdir(), 'payrun-test-'));
  const host = hostOf(folder, desk.in('dir-a'), 'dir-a');
  await joinTogether([host]);
  const runId = await payingRun(desk.ledger, freshRows(1));
  const place = { runId, line: 2 };

  const rows = ledgerKeys(desk.prefix).rows(runId, 0);
  const [version, letter, due, [[state, recordedAt, ...step]], ...values] = JSON.parse(
    (await server.redis.hget(rows, '2')) ?? '',
  );
  const record = [version, letter, due, [[state, recordedAt + AHEAD_MS, ...step]], ...values];
  await server.redis.hset(rows, '2', JSON.stringify(record));

  const [unsent] = await armOn(host, runId, [2]);
  expect(await movePayout(desk.ledger, place, { to: 'ready', dropQuote: 'not-sent' })).toMatchObject({
    result: 'moved',
  });
  const [sent] = await armOn(host, runId, [2]);
  expect(sent?.quoteId).not.toBe(unsent?.quoteId);

  const copy = hostOf(folder, desk.in('dir-b'), 'dir-b');
  cpSync(host.path, copy.path, { recursive: true });
  await desk.ledger.state.enterDir('dir-b', true);
  await joinSeason(copy);
  expect(await readPayout(desk.ledger, place)).toMatchObject({ state: 'armed', quoteId: sent?.quoteId });
});
