import { describe, expect, test, vi } from 'vitest';
import { type Expression, expressionsOfSources } from './support/source-expressions.ts';

/** In JavaScript alone, and by counts of steps in place of seconds: the machine makes no difference. */
vi.stubEnv('RECHECK_BACKEND', 'pure');
const { check } = await import('recheck');
const EFFORT = { timeout: null, maxIteration: 3, incubationLimit: 10_000, attackLimit: 100_000_000 } as const;

async function verdict({ pattern, flags }: Expression): Promise<string> {
  const found = await check(pattern, flags, EFFORT);
  return found.status === 'vulnerable' ? `super-linear on ${found.attack.pattern}` : found.status;
}

const FOUND = expressionsOfSources();

describe('the check finds', () => {
  test.each([
    [String.raw`^\s*[a-z][a-z0-9+.-]*:\/\/.*:.*@`, 'is'],
    ['0+$', ''],
    [String.raw`\.?0+$`, ''],
    ['[eE].*$', ''],
    [String.raw`"[^"\\]*(?:\\.[^"\\]*)*"|[{}:]`, 'g'],
    [String.raw`^[^\p{L}]+|[^\p{L}]+$`, 'gu'],
    ['^(a+)+$', ''],
  ])('/%s/%s super-linear', async (pattern, flags) => {
    expect(await verdict({ pattern, flags })).toContain('super-linear');
  });
});

test('the expressions of all sources are looked at', () => {
  expect(FOUND.size).toBeGreaterThan(200);
});

describe('takes a time that grows with its input alone:', () => {
  test.each([...FOUND])('%s', async (_name, expression) => {
    expect(await verdict(expression)).toBe('safe');
  });
});
