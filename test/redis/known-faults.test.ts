import { describe, expect, test } from 'vitest';
import { knownFaultsOf } from '../../src/redis/known-faults.ts';

const LUA_2025 = 'CVE-2025-49844';
const TLS_2026 = 'CVE-2026-81934';

function faultsOf(fields: Record<string, string>): string {
  return knownFaultsOf(new Map(Object.entries(fields))).join('\n');
}

function ofRedis(version: string): string {
  return faultsOf({ redis_version: version });
}

/** Valkey tells a version of Redis too: the one that it stands in for. */
function ofValkey(version: string): string {
  return faultsOf({ redis_version: '7.2.4', server_name: 'valkey', valkey_version: version });
}

describe('the known faults of a Redis', () => {
  test.each([
    ['6.2.19', '6.2.20'],
    ['7.2.10', '7.2.11'],
    ['7.4.5', '7.4.6'],
    ['8.0.3', '8.0.4'],
    ['8.2.1', '8.2.2'],
  ])('%s: scripts may run code, not so %s', (open, mended) => {
    expect(ofRedis(open)).toContain(LUA_2025);
    expect(ofRedis(mended)).not.toContain(LUA_2025);
  });

  test.each([
    ['7.2.15', '7.2.16'],
    ['8.10.0', '8.10.1'],
  ])('%s: code without a password, not so %s', (open, mended) => {
    expect(ofRedis(open)).toContain(TLS_2026);
    expect(ofRedis(mended)).toBe('');
  });

  test('a branch that ended before they were mended has them all', () => {
    for (const name of ['CVE-2024-31449', 'CVE-2024-46981', 'CVE-2025-21605', LUA_2025, TLS_2026]) {
      expect(ofRedis('7.0.15')).toContain(name);
    }
    expect(ofRedis('8.0.99')).toContain(TLS_2026);
  });

  test('a fault that came with a later branch is not told of earlier ones', () => {
    expect(ofRedis('7.0.15')).not.toContain('CVE-2026-23479');
    expect(ofRedis('7.2.13')).toContain('CVE-2026-23479');
  });

  test.each(['8.12.0', '9.0.0', '255.255.255'])('a newer one has none that are known: %s', (version) => {
    expect(ofRedis(version)).toBe('');
  });

  test.each(['', 'unknown', '7', '7.2', 'v8'])('a version that says nothing has none: %j', (version) => {
    expect(ofRedis(version)).toBe('');
    expect(faultsOf({})).toBe('');
  });
});

describe('the known faults of a Valkey', () => {
  test.each([
    ['7.2.10', '7.2.11'],
    ['8.0.5', '8.0.6'],
    ['8.1.3', '8.1.4'],
  ])('go by its own version: %s has one that %s has not', (open, mended) => {
    expect(ofValkey(open)).toContain(LUA_2025);
    expect(ofValkey(mended)).not.toContain(LUA_2025);
  });

  test('those of Redis alone are not told', () => {
    expect(ofValkey('8.0.0')).not.toContain(TLS_2026);
  });

  test('one without a password is told of the branch that has it', () => {
    expect(ofValkey('9.0.2')).toContain('CVE-2026-27623');
    expect(ofValkey('8.1.3')).not.toContain('CVE-2026-27623');
  });

  test.each(['7.2.16', '8.0.12', '8.1.11', '9.0.7', '9.1.3', '10.0.0'])('%s has none', (version) => {
    expect(ofValkey(version)).toBe('');
  });
});
