import { createHmac, hkdfSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../src/config/config.ts';
import { type LedgerKeySource, type LedgerKeys, openLedgerKeys } from '../src/ledger-key.ts';

const CLIENT_SECRET = 'client-secret';
const FIRST = 'f'.repeat(32);

function keysOf(source: Partial<LedgerKeySource>, purpose: 'audit entry' | 'row' = 'row'): LedgerKeys {
  const keys = openLedgerKeys({ ledgerKey: undefined, service: undefined, ...source }, purpose);
  if (keys === undefined) throw new Error('there is no key');
  return keys;
}

test('a code is HMAC-SHA-256 under a key that HKDF derives from the secret for the purpose, after the key’s id', () => {
  const derived = Buffer.from(hkdfSync('sha256', FIRST, 'payrun ledger key', 'row', 36));
  const mac = createHmac('sha256', derived.subarray(0, 32)).update('text').digest('hex');
  const keys = keysOf({ ledgerKey: [FIRST] });
  expect(keys.sign('text')).toBe(`${derived.subarray(32).toString('hex')}.${mac}`);
  expect(keys.check('text', keys.sign('text'))).toBe('holds');
});

test('without a key the client secret is one, and without both there is none', () => {
  const derived = keysOf({ service: { clientSecret: CLIENT_SECRET } });
  expect(keysOf({ ledgerKey: [FIRST, CLIENT_SECRET] }).check('text', derived.sign('text'))).toBe('holds');
  const both = keysOf({ ledgerKey: [FIRST], service: { clientSecret: CLIENT_SECRET } });
  expect(both.sign('text')).toBe(keysOf({ ledgerKey: [FIRST] }).sign('text'));
  expect(openLedgerKeys({ ledgerKey: undefined, service: undefined }, 'row')).toBeUndefined();
});

describe('a code', () => {
  const keys = keysOf({ ledgerKey: [FIRST, 'former'] });
  const code = keys.sign('text');

  test('of another text, or with a character changed, does not hold', () => {
    expect(keys.check('texts', code)).toBe('differs');
    for (let index = 9; index < code.length; index++) {
      const other = code[index] === '0' ? '1' : '0';
      expect(keys.check('text', code.slice(0, index) + other + code.slice(index + 1))).toBe('differs');
    }
    expect(keys.check('text', `${code}0`)).toBe('differs');
    expect(keys.check('text', code.slice(0, -1))).toBe('differs');
  });

  test('of a former key holds after the change of keys, and of one that is not here is said to be unknown', () => {
    expect(keys.check('text', keysOf({ ledgerKey: ['former'] }).sign('text'))).toBe('holds');
    expect(keys.check('text', keysOf({ ledgerKey: ['another'] }).sign('text'))).toBe('unknown-key');
    expect(keys.check('text', '')).toBe('unknown-key');
  });

  test('for one purpose says nothing for another', () => {
    expect(keysOf({ ledgerKey: [FIRST, 'former'] }, 'audit entry').check('text', code)).toBe('unknown-key');
  });
});

test('the keys come from a file with one a line', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'payrun-ledger-key-'));
  try {
    const path = join(folder, 'key');
    writeFileSync(path, `${FIRST}\nformer\n`, { mode: 0o600 });
    const keys = keysOf(readConfig({ PAYRUN_LEDGER_KEY_FILE: path }));
    expect(keys.sign('text')).toBe(keysOf({ ledgerKey: [FIRST] }).sign('text'));
    expect(keys.check('text', keysOf({ ledgerKey: ['former'] }).sign('text'))).toBe('holds');
  } finally {
    await rm(folder, { recursive: true });
  }
});
