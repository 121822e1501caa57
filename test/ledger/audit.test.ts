import { beforeEach, expect, test } from 'vitest';
import type { AuditStore } from '../../src/audit/audit-log.ts';
import { BEFORE_FIRST } from '../../src/audit/entry.ts';
import { openAuditStore } from '../../src/ledger/audit.ts';
import { all } from '../audit/audit-rig.ts';
import { useTestRedis } from '../support/redis.ts';
import { newLedger, SERVICE, type TestLedger } from './test-ledger.ts';

const FIRST = `${'a'.repeat(64)} first`;
const SECOND = `${'b'.repeat(64)} second`;
const AFTER_FIRST = { number: 1, hash: 'a'.repeat(64) };

const server = await useTestRedis();
let desk: TestLedger;
let store: AuditStore;

beforeEach(async () => {
  desk = await newLedger({ redis: server.redis, arming: server.redis });
  store = openAuditStore(server.redis, desk.keys);
});

async function stored(from = 1): Promise<string[]> {
  return await all(store.lines(from));
}

test('a line is appended where the log ended for its writer', async () => {
  expect(await store.look()).toMatchObject({ head: BEFORE_FIRST, instance: desk.instance, service: SERVICE });
  expect(await store.push(FIRST, BEFORE_FIRST)).toBe(true);
  expect(await store.look()).toMatchObject({ head: AFTER_FIRST });
  expect(await store.push(SECOND, AFTER_FIRST)).toBe(true);
  expect(await stored()).toEqual([FIRST, SECOND]);
  expect(await stored(2)).toEqual([SECOND]);
});

test.each([
  ['fewer entries', BEFORE_FIRST],
  ['more entries', { number: 2, hash: 'a'.repeat(64) }],
  ['another last entry', { number: 1, hash: 'c'.repeat(64) }],
])('nothing is appended for a writer who saw %s', async (_what, head) => {
  await store.push(FIRST, BEFORE_FIRST);
  expect(await store.push(SECOND, head)).toBe(false);
  expect(await stored()).toEqual([FIRST]);
});

test('a call that is sent again because its reply was lost appends nothing and is told the same', async () => {
  await store.push(FIRST, BEFORE_FIRST);
  expect(await store.push(FIRST, BEFORE_FIRST)).toBe(true);
  await store.push(SECOND, AFTER_FIRST);
  expect(await store.push(FIRST, BEFORE_FIRST)).toBe(true);
  expect(await stored()).toEqual([FIRST, SECOND]);
});

test('of many writers who saw the same end, one appends', async () => {
  const lines = Array.from({ length: 20 }, (_value, index) => `${String(index).padStart(64, '0')} line`);
  const answers = await Promise.all(lines.map((line) => store.push(line, BEFORE_FIRST)));
  expect(answers.filter(Boolean)).toHaveLength(1);
  expect(await stored()).toHaveLength(1);
});
