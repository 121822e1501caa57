import { existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readEntry, writeEntry } from '../../src/audit/entry.ts';
import { verifyAudit } from '../../src/audit/verify.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { useTestRedis } from '../support/redis.ts';
import { type AuditRig, actOf, all, appendAll, auditRig } from './audit-rig.ts';

const server = await useTestRedis();
let rig: AuditRig;

beforeEach(async () => {
  rig = await auditRig(server.redis);
});
afterEach(() => rmSync(rig.dataDir, { recursive: true, force: true }));

async function linesOf({ audit }: Ledger): Promise<string[]> {
  return await all(audit.lines());
}

async function actorsOf(ledger: Ledger): Promise<(string | undefined)[]> {
  return (await linesOf(ledger)).map((line) => readEntry(line)?.actor);
}

async function copiedNumbers({ audit }: Ledger): Promise<number[]> {
  return (await audit.copies()).map(({ number }) => number);
}

const verdictOf = async ({ audit }: Ledger) => await verifyAudit(audit, { known: null });

test('an entry has who did what to what, its number, the time of Redis, and follows the one before', async () => {
  await rig.ledger.audit.append({ ...actOf('anna'), details: { reason: 'look' } });
  const head = await rig.ledger.audit.append(actOf('ben'));
  const [, second, third] = (await linesOf(rig.ledger)).map(readEntry);
  const [seconds] = await rig.redis.time();
  expect(second).toMatchObject({ number: 2, actor: 'anna', action: 'run.paused', details: { reason: 'look' } });
  expect(Math.abs((second?.at ?? 0) - Number(seconds) * 1000)).toBeLessThan(60_000);
  expect(third).toMatchObject({ number: 3, actor: 'ben', dataDir: 'dir-a', previous: second?.hash });
  expect(head).toEqual({ number: 3, hash: third?.hash });
  expect(await rig.ledger.audit.head()).toEqual(head);
});

test('the log begins with the ledger that it is about', async () => {
  expect(await rig.ledger.audit.head()).toMatchObject({ number: 0 });
  await rig.ledger.audit.append(actOf('anna'));
  const { instance } = await rig.ledger.state.read();
  const [first] = await linesOf(rig.ledger);
  expect(readEntry(first ?? '')).toMatchObject({ action: 'ledger.made', details: { instance, service: 'sandbox' } });
});

test('each entry is copied to the data directory, for its owner alone', async () => {
  await appendAll(rig.ledger, ['anna', 'ben']);
  expect(await copiedNumbers(rig.ledger)).toEqual([1, 2, 3]);
  expect(statSync(rig.file).mode & 0o777).toBe(0o600);
  expect(statSync(dirname(rig.file)).mode & 0o777).toBe(0o700);
});

test('people who act at once, on several hosts, each get a place, and the chain holds', async () => {
  const hosts = [rig.ledger, rig.ledger, rig.elsewhere('dir-b'), rig.elsewhere('dir-c')];
  const actors = Array.from({ length: 40 }, (_value, index) => `p${index}`);
  await Promise.all(
    actors.map((actor, index) => (hosts[index % hosts.length] ?? rig.ledger).audit.append(actOf(actor))),
  );
  const found = await actorsOf(rig.ledger);
  expect(found).toHaveLength(41);
  expect(new Set(found)).toEqual(new Set(['payrun', ...actors]));
  for (const host of hosts) expect(await verdictOf(host)).toMatchObject({ entries: 41, findings: [], uncopied: 0 });
  const copied = await Promise.all(hosts.slice(1).map(copiedNumbers));
  expect(new Set(copied.flat()).size).toBe(41);
});

test('a long log is read to its end', async () => {
  await rig.ledger.audit.append(actOf('anna'));
  let last = (await linesOf(rig.ledger)).map(readEntry).at(-1);
  const lines: string[] = [];
  for (let number = 3; number <= 2500 && last !== undefined; number++) {
    last = readEntry(writeEntry({ ...last, number, dataDir: 'dir-b', previous: last.hash }));
    if (last !== undefined) lines.push(writeEntry(last));
  }
  await rig.redis.rpush(rig.key, ...lines);
  expect(await verdictOf(rig.ledger)).toMatchObject({ entries: 2500, findings: [], head: { number: 2500 } });
});

test('an entry whose process ended before the copy holds, and is copied with the next one', async () => {
  await appendAll(rig.ledger, ['anna', 'ben']);
  const before = readFileSync(rig.file);
  await appendAll(rig.ledger, ['carl', 'dora']);
  writeFileSync(rig.file, before);
  expect(await verdictOf(rig.ledger)).toMatchObject({ findings: [], uncopied: 2 });
  await appendAll(rig.ledger, ['emil']);
  expect(await copiedNumbers(rig.ledger)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(await verdictOf(rig.ledger)).toMatchObject({ findings: [], uncopied: 0 });
});

test('a copy that is torn anywhere swallows nothing after it', async () => {
  await appendAll(rig.ledger, ['anna']);
  const start = statSync(rig.file).size;
  await appendAll(rig.ledger, ['ben']);
  const end = statSync(rig.file).size;
  const whole = readFileSync(rig.file);
  for (let size = start; size < end; size += 17) {
    writeFileSync(rig.file, whole);
    truncateSync(rig.file, size);
    expect(await verdictOf(rig.ledger)).toMatchObject({ findings: [], uncopied: 1 });
    await appendAll(rig.ledger, ['carl']);
    const verdict = await verdictOf(rig.ledger);
    expect(verdict).toMatchObject({ findings: [], uncopied: 0 });
    await rig.redis.rpop(rig.key);
  }
});

test('a process never copies what another data directory has yet to copy', async () => {
  await appendAll(rig.ledger, ['anna']);
  await appendAll(rig.elsewhere('dir-b'), ['ben']);
  rmSync(rig.dataDir, { recursive: true });
  await appendAll(rig.ledger, ['carl']);
  expect(await copiedNumbers(rig.ledger)).toEqual([1, 2, 4]);
  expect(await verdictOf(rig.elsewhere('dir-b'))).toMatchObject({ findings: [], uncopied: 1 });
});

test('an entry of a process that was killed before its copy is copied by another one of its directory', async () => {
  await appendAll(rig.ledger, ['anna']);
  await rig.ledger.audit.copyOthers();
  const whole = readFileSync(rig.file);
  await appendAll(rig.ledger, ['ben']);
  writeFileSync(rig.file, whole);
  await rig.ledger.audit.copyOthers();
  expect(await copiedNumbers(rig.ledger)).toEqual([1, 2, 3]);
  await appendAll(rig.elsewhere('dir-b'), ['carl']);
  await rig.ledger.audit.copyOthers();
  expect(await copiedNumbers(rig.ledger)).toEqual([1, 2, 3, 4]);
});

test('entries that Redis lost by going back in time come back from the copies with the next act', async () => {
  await appendAll(rig.ledger, ['anna', 'ben', 'carl']);
  const before = await linesOf(rig.ledger);
  await rig.redis.ltrim(rig.key, 0, 1);
  expect((await verdictOf(rig.ledger)).findings).toMatchObject([{ code: 'copy', number: 3 }]);
  await appendAll(rig.ledger, ['dora']);
  expect(await linesOf(rig.ledger)).toEqual([...before, expect.anything()]);
  expect(await verdictOf(rig.ledger)).toMatchObject({ findings: [], entries: 5 });
});

test('what no copy here continues is not made up: the loss stays a finding', async () => {
  await appendAll(rig.ledger, ['anna']);
  await appendAll(rig.elsewhere('dir-b'), ['ben']);
  await appendAll(rig.ledger, ['carl']);
  await rig.redis.ltrim(rig.key, 0, 1);
  await appendAll(rig.ledger, ['dora', 'emil']);
  expect(await actorsOf(rig.ledger)).toEqual(['payrun', 'anna', 'dora', 'emil']);
  expect((await verdictOf(rig.ledger)).findings).toMatchObject([{ code: 'copy', number: 4 }]);
});

test('a copy that cannot be written is a refusal that says so, and the entry stands', async () => {
  await appendAll(rig.ledger, ['anna']);
  rmSync(dirname(rig.file), { recursive: true });
  writeFileSync(dirname(rig.file), '');
  await expect(rig.ledger.audit.append(actOf('ben'))).rejects.toThrow('cannot be written (');
  expect(await actorsOf(rig.ledger)).toEqual(['payrun', 'anna', 'ben']);
  rmSync(dirname(rig.file));
  await appendAll(rig.ledger, ['carl']);
  expect(await copiedNumbers(rig.ledger)).toEqual([1, 2, 3, 4]);
});

test('a text of any length is recorded, cut', async () => {
  await rig.ledger.audit.append({ ...actOf('anna'), details: { reason: 'x'.repeat(100_000) } });
  const [, line = ''] = await linesOf(rig.ledger);
  expect(line.length).toBeLessThan(2000);
  expect(await verdictOf(rig.ledger)).toMatchObject({ findings: [] });
});

test('without a ledger in Redis nothing is appended', async () => {
  await rig.redis.del(rig.key.replace('audit', 'head'));
  await expect(rig.ledger.audit.append(actOf('anna'))).rejects.toThrow('no ledger');
  expect(await rig.redis.exists(rig.key)).toBe(0);
});

test('another ledger of the same data directory has copies of its own', async () => {
  await appendAll(rig.ledger, ['anna', 'ben']);
  await rig.redis.del(rig.key);
  await rig.redis.hset(rig.key.replace('audit', 'head'), 'instance', '../another');
  await appendAll(rig.ledger, ['carl']);
  expect(await actorsOf(rig.ledger)).toEqual(['payrun', 'carl']);
  expect(await verdictOf(rig.ledger)).toMatchObject({ findings: [] });
  expect(existsSync(`${rig.dataDir}/another.log`)).toBe(false);
});
