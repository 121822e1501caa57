import { appendFile, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { Refusal } from '../../src/refusal.ts';
import { openIdentities } from '../../src/sandbox/identities.ts';
import { openJournal } from '../../src/sandbox/journal.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { openTenant } from '../../src/sandbox/tenant.ts';
import { openCredentials } from '../../src/sandbox/tokens/credentials.ts';
import { onSmallDisk } from '../faults/disk-steps.ts';
import { missingRoot } from '../faults/needs.ts';
import { BENEFICIARY, openDesk, openSandbox, send, temporaryFolder, tokenBody } from './desk.ts';

const system = { clock: systemClock, random: systemRandom };
const entry = z.object({ n: z.int() });

async function openEntries(file: string) {
  const journal = await openJournal(file, entry);
  onTestFinished(() => journal.close());
  return journal;
}

describe('journal', () => {
  test('what is synced is in the file, in order', async () => {
    const file = join(await temporaryFolder(), 'j.jsonl');
    const journal = await openEntries(file);
    for (let n = 0; n < 100; n += 1) journal.append([{ n }]);
    await journal.synced();
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
    expect(lines).toEqual(Array.from({ length: 100 }, (_, n) => `{"n":${n}}`));
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  test('what is appended while a write is under way is synced after it', async () => {
    const file = join(await temporaryFolder(), 'j.jsonl');
    const journal = await openEntries(file);
    journal.append([{ n: 1 }]);
    const first = journal.synced();
    await new Promise(setImmediate);
    journal.append([{ n: 2 }]);
    await first;
    await journal.synced();
    expect(await readFile(file, 'utf8')).toBe('{"n":1}\n{"n":2}\n');
  });

  test('a torn last line is ignored, and what comes after it is not lost', async () => {
    const file = join(await temporaryFolder(), 'j.jsonl');
    await writeFile(file, '{"n":1}\n{"n":2');
    const journal = await openEntries(file);
    expect(journal.readNew()).toEqual([{ n: 1 }]);
    journal.append([{ n: 3 }]);
    await journal.synced();
    expect((await openEntries(file)).readNew()).toEqual([{ n: 1 }, { n: 3 }]);
  });

  test('own lines are not read again, those of others are read once', async () => {
    const file = join(await temporaryFolder(), 'j.jsonl');
    const [mine, other] = [await openEntries(file), await openEntries(file)];
    mine.append([{ n: 1 }]);
    await mine.synced();
    expect(mine.readNew()).toEqual([]);
    other.append([{ n: 2 }]);
    await other.synced();
    expect(mine.readNew()).toEqual([{ n: 2 }]);
    expect(mine.readNew()).toEqual([]);
  });

  test('lines that end beyond one read are read whole', async () => {
    const file = join(await temporaryFolder(), 'j.jsonl');
    const text = `é${'x'.repeat(700_000)}`;
    await writeFile(file, `${JSON.stringify({ text })}\n`.repeat(4));
    const journal = await openJournal(file, z.object({ text: z.string() }));
    onTestFinished(() => journal.close());
    expect(journal.readNew().map((line) => line.text === text)).toEqual([true, true, true, true]);
  });

  test('a line of another shape is refused', async () => {
    const file = join(await temporaryFolder(), 'j.jsonl');
    await writeFile(file, '{"m":1}\n');
    const journal = await openEntries(file);
    expect(() => journal.readNew()).toThrow(Refusal);
  });

  test('what could not be written is not said to be synced, and later records are tried again', async () => {
    const journal = await openJournal('/dev/full', entry);
    onTestFinished(() => journal.close());
    journal.append([{ n: 1 }]);
    await expect(journal.synced()).rejects.toThrow('ENOSPC');
    await journal.synced();
    journal.append([{ n: 2 }]);
    await expect(journal.synced()).rejects.toThrow('ENOSPC');
  });

  test('after a write that cannot be taken back nothing is ever said to be synced', async () => {
    const journal = await openJournal('/dev/full', entry, () => {});
    onTestFinished(() => journal.close());
    journal.append([{ n: 1 }]);
    await expect(journal.synced()).rejects.toThrow('ENOSPC');
    await expect(journal.synced()).rejects.toThrow('cannot be brought back');
  });
});

describe('folder', () => {
  test('the folder is closed to others and holds no secret in the clear', async () => {
    const folder = join(await temporaryFolder(), 'new', 'sandbox');
    const desk = await openDesk({ folder });
    await desk.pay({ quoteId: await desk.quoteId() });
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const modes = entries.map(async (found) => {
      const { mode } = await stat(join(found.parentPath, found.name));
      return (mode & 0o777) === (found.isDirectory() ? 0o700 : 0o600);
    });
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect(await Promise.all(modes)).not.toContain(false);
    const files = entries.filter((found) => found.isFile());
    expect(files).toHaveLength(10);
    const texts = await Promise.all(files.map((found) => readFile(join(found.parentPath, found.name), 'utf8')));
    expect(texts.join('')).not.toContain(desk.clientSecret);
    expect(texts.join('')).not.toContain(desk.token);
  });

  test('a restart knows tenant, credentials, tokens, identities, quotes and payments again', async () => {
    const folder = await temporaryFolder();
    const before = await openDesk({ folder, ports: { prod: 0 } });
    const revoked = await before.sandbox.createCredential('gone', 'prod');
    await before.sandbox.revokeCredential(revoked.clientId);
    const [paid, open] = [await before.quoteId(), await before.quoteId()];
    await before.pay({ quoteId: paid, internalId: 'INV-1' });
    const book = before.sandbox.book('test');
    await before.sandbox.close();

    const after = await openSandbox({ folder, ports: { prod: 0 } });
    const url = after.url('test');
    expect(after.tenantId).toBe(before.sandbox.tenantId);
    expect(after.book('test')).toEqual(book);
    const { token } = before;
    expect((await send(`${url}/v2/payments/${paid}`, { token })).json.originator.internalId).toBe('INV-1');
    const body = { quoteId: open, beneficiaryIdentityId: BENEFICIARY };
    expect((await send(`${url}/v2/payments`, { method: 'POST', token, body })).status).toBe(201);
    expect((await send(`${url}/v2/identities`, { token })).json.data).toHaveLength(2);
    const revokedBody = tokenBody({ ...revoked, tenantId: after.tenantId }, 'prod');
    const refused = await send(`${after.url('prod')}/v2/oauth/token`, { method: 'POST', body: revokedBody });
    expect(refused.status).toBe(401);
  });

  test('a payment whose line was torn was never made: its quote can be paid', async () => {
    const folder = await temporaryFolder();
    const before = await openDesk({ folder });
    const quoteId = await before.quoteId();
    await before.pay({ quoteId });
    await before.sandbox.close();
    const file = join(folder, 'test', 'payments.jsonl');
    await truncate(file, (await stat(file)).size - 5);

    for (const payments of [0, 1]) {
      const sandbox = await startSandbox({ folder, ...system });
      expect(sandbox.book('test')).toHaveLength(payments);
      const body = { quoteId, beneficiaryIdentityId: BENEFICIARY };
      const { token } = before;
      expect((await send(`${sandbox.url('test')}/v2/payments`, { method: 'POST', token, body })).status).toBe(201);
      expect(sandbox.book('test')).toHaveLength(1);
      await sandbox.close();
    }
  });

  test('what cannot be written is not answered as done', async () => {
    const folder = await temporaryFolder();
    await openTenant(folder, systemRandom);
    await symlink('/dev/full', join(folder, 'test', 'payments.jsonl'));
    const desk = await openDesk({ folder });
    const quoteId = await desk.quoteId();
    expect((await desk.pay({ quoteId })).status).toBe(500);
    expect((await desk.read(quoteId)).status).toBe(500);
  });

  test('a full disk fails what it cannot keep; with room again all goes on, and memory knows what the disk does', async ({
    skip,
  }) => {
    skip(missingRoot() !== undefined, missingRoot());
    await onSmallDisk(await temporaryFolder(), 256, async ({ path: folder }) => {
      const desk = await openDesk({ folder });
      const filler = join(folder, 'filler');
      await writeFile(filler, Buffer.alloc(1024 * 1024)).catch(() => {});
      let quoted = await desk.quote();
      while (quoted.status === 201) {
        const paid = await desk.pay({ quoteId: quoted.json.quotes[0].quoteId });
        if (paid.status !== 201) break;
        quoted = await desk.quote();
      }
      expect((await desk.quote()).status).toBe(500);
      const before = desk.sandbox.book('test');
      await rm(filler);

      const quoteId = await desk.quoteId();
      expect((await desk.pay({ quoteId })).status).toBe(201);
      expect((await desk.read(quoteId)).status).toBe(200);
      const book = desk.sandbox.book('test');
      expect(book).toHaveLength(before.length + 1);
      await desk.sandbox.close();
      expect((await openSandbox({ folder })).book('test')).toEqual(book);
    });
  });

  test('one folder has one sandbox, by whatever path', async () => {
    const folder = await temporaryFolder();
    const first = await openSandbox({ folder });
    const again = startSandbox({ folder: join(folder, '..', folder.split('/').at(-1) ?? ''), ...system });
    await expect(again).rejects.toThrow(Refusal);
    await first.close();
    await first.close();
    await openSandbox({ folder });
  });

  test('a folder with something else in it is refused', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'tenant.json'), '{}');
    await expect(startSandbox({ folder, ...system })).rejects.toThrow(Refusal);
    await rm(join(folder, 'tenant.json'));
    await openSandbox({ folder });
  });

  test('a port that is taken is refused, and the folder is free again', async () => {
    const folder = await temporaryFolder();
    const taken = Number(new URL((await openSandbox()).url('test')).port);
    await expect(startSandbox({ folder, ports: { test: taken }, ...system })).rejects.toThrow(Refusal);
    await openSandbox({ folder });
  });

  test('ten first starts at once agree on one tenant', async () => {
    const folder = await temporaryFolder();
    const tenants = await Promise.all(Array.from({ length: 10 }, () => openTenant(folder, systemRandom)));
    expect(new Set(tenants.map(({ tenantId }) => tenantId)).size).toBe(1);
    expect((await readdir(folder)).toSorted()).toEqual(['prod', 'tenant.json', 'test']);
  });

  test('an environment that is not served has no address', async () => {
    const sandbox = await openSandbox();
    expect(() => sandbox.url('prod')).toThrow('does not serve prod');
  });
});

describe('changes by another process', () => {
  test('a credential made there can ask for a token, and one revoked there is refused at once', async () => {
    const folder = await temporaryFolder();
    const desk = await openDesk({ folder });
    const there = await openCredentials(join(folder, 'test', 'credentials.jsonl'), system);
    onTestFinished(() => there.close());
    const made = await there.create('there');
    const body = tokenBody({ ...made, tenantId: desk.sandbox.tenantId });
    expect((await send(`${desk.url}/v2/oauth/token`, { method: 'POST', body })).status).toBe(200);

    expect((await desk.quote()).status).toBe(201);
    expect(await there.revoke(desk.clientId)).toBe(true);
    expect(await there.revoke(desk.clientId)).toBe(false);
    expect((await desk.quote()).status).toBe(401);
  });

  test('an identity registered there can be paid', async () => {
    const folder = await temporaryFolder();
    const desk = await openDesk({ folder });
    const there = await openIdentities(join(folder, 'test', 'identities.jsonl'), systemClock);
    onTestFinished(() => there.close());
    const identityId = '33333333-3333-4333-8333-333333333333';
    there.add([{ identityId, identityType: 'BENEFICIARY' }]);
    await there.synced();
    const paid = await desk.pay({ quoteId: await desk.quoteId(), beneficiaryIdentityId: identityId });
    expect(paid.status).toBe(201);
  });

  test('half a line that is being written there harms nothing', async () => {
    const folder = await temporaryFolder();
    const desk = await openDesk({ folder });
    const file = join(folder, 'test', 'credentials.jsonl');
    const line = JSON.stringify({ event: 'revoked', clientId: desk.clientId, at: 1 });
    await appendFile(file, line.slice(0, 20));
    expect((await desk.quote()).status).toBe(201);
    await appendFile(file, `${line.slice(20)}\n`);
    expect((await desk.quote()).status).toBe(401);
  });
});

test('100,000 identities are registered, survive a restart, and can be registered again for nothing', async () => {
  const folder = await temporaryFolder();
  const identities = Array.from({ length: 100_000 }, (_, n) => ({
    identityId: `00000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`,
    identityType: 'BENEFICIARY' as const,
  }));
  const before = await openSandbox({ folder });
  await before.registerIdentities('test', identities);
  const file = join(folder, 'test', 'identities.jsonl');
  const { size } = await stat(file);
  await before.registerIdentities('test', identities);
  await before.close();
  expect((await stat(file)).size).toBe(size);

  const desk = await openDesk({ folder });
  const beneficiaryIdentityId = identities.at(-1)?.identityId;
  expect((await desk.pay({ quoteId: await desk.quoteId(), beneficiaryIdentityId })).status).toBe(201);
});
