import { mkdtemp, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { KnownService } from '../../src/capabilities.ts';
import { readKnownService, writeCapabilitiesFile } from '../../src/service/capabilities-file.ts';

const FILE = {
  host: 'pay.example',
  environment: 'test',
  tenant: 'tenant-1',
  date: '2026-01-31T10:00:00Z',
  capabilities: {
    'payment-id-is-quote-id': { holds: true, evidence: 'one payment' },
    'expired-quote-refused': { holds: false, evidence: 'a late quote was paid' },
  },
};

async function fileOf(content: string): Promise<string> {
  const path = join(await mkdtemp(join(tmpdir(), 'capabilities-')), 'capabilities.json');
  await writeFile(path, content);
  return path;
}

async function readFile(path: string): Promise<KnownService> {
  return await readKnownService({ service: { tenantId: 'tenant-1' }, capabilitiesFile: path, assume: [] });
}

describe('a capabilities file', () => {
  test('gives what holds, and nothing that does not hold or is not named', async () => {
    const path = await fileOf(JSON.stringify(FILE));
    expect((await readFile(path)).capabilities).toEqual(new Set(['payment-id-is-quote-id']));
  });

  test('gives the codes in which the service says "not found": those that were seen, else the documented one', async () => {
    const silent = await fileOf(JSON.stringify(FILE));
    const seen = await fileOf(JSON.stringify({ ...FILE, notFoundCodes: ['PAY_404'] }));
    expect((await readFile(silent)).notFoundCodes).toEqual(new Set(['USR_002']));
    expect((await readFile(seen)).notFoundCodes).toEqual(new Set(['PAY_404']));
  });

  test.each([
    ['another tenant', JSON.stringify({ ...FILE, tenant: 'tenant-2' }), /another tenant/],
    ['another form', JSON.stringify({ ...FILE, capabilities: { 'expired-quote-refused': true } }), /another form/],
    [
      'an unknown capability',
      JSON.stringify({ ...FILE, capabilities: { magic: { holds: true, evidence: '' } } }),
      /form/,
    ],
    ['no JSON', '{', /cannot be read/],
  ])('refuses %s', async (_what, content, message) => {
    const path = await fileOf(content);
    await expect(readFile(path)).rejects.toThrow(message);
  });

  test('refuses a file that is not there', async () => {
    await expect(readFile('/nowhere/capabilities.json')).rejects.toThrow(/ENOENT/);
  });
});

describe('writeCapabilitiesFile', () => {
  test('replaces what was there by what can be read again, and leaves nothing beside it', async () => {
    const path = await fileOf('an earlier one');
    await writeCapabilitiesFile(path, FILE);
    expect((await readFile(path)).capabilities).toEqual(new Set(['payment-id-is-quote-id']));
    expect(await readdir(dirname(path))).toEqual(['capabilities.json']);
  });

  test('throws what the file system says, and leaves what was there', async () => {
    const path = await fileOf(JSON.stringify(FILE));
    await expect(writeCapabilitiesFile(`${path}/below.json`, FILE)).rejects.toThrow(/ENOTDIR/);
    expect((await readFile(path)).capabilities).toEqual(new Set(['payment-id-is-quote-id']));
  });
});
