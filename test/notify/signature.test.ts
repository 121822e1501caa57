import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { afterFailure, GIVE_UP_MS, RETRY_MS_MAX, retryDelayMs } from '../../src/notify/retry.ts';
import { signatureOf, verifySignature } from '../../src/notify/signature.ts';

const AT = 1_769_900_000_123;
const BODY = '{"id":"7f0c","event":"finished"}';
const SECRET = 'a-secret-of-16-c';
const check = (
  header: string,
  other: { body?: string; secrets?: string[]; nowMs?: number; toleranceMs?: number } = {},
) => {
  const { body = BODY, ...how } = other;
  return verifySignature({ header, body }, { secrets: [SECRET], nowMs: AT, ...how });
};

describe('a signature', () => {
  const header = signatureOf(BODY, [SECRET], AT);

  test('is t, the time in seconds, and v1, HMAC-SHA256 of time, point and body in hexadecimal', () => {
    const hmac = createHmac('sha256', SECRET).update(`1769900000.${BODY}`).digest('hex');
    expect(header).toBe(`t=1769900000,v1=${hmac}`);
    expect(check(header)).toBe('valid');
  });

  test('holds for either secret while they are changed', () => {
    const both = signatureOf(BODY, ['another-secret-16', SECRET], AT);
    expect(both.split(',')).toHaveLength(3);
    expect(check(both)).toBe('valid');
    expect(check(header, { secrets: ['another-secret-16', SECRET] })).toBe('valid');
  });

  test.each([
    ['another body', header, { body: `${BODY} ` }],
    ['another secret', header, { secrets: ['another-secret-16'] }],
    ['another time than the signed one', header.replace('t=1769900000', 't=1769900001'), {}],
    ['no secret', header, { secrets: [] }],
  ])('does not hold for %s', (_what, text, other) => {
    expect(check(text, other)).toBe('other-secret');
  });

  test('holds for five minutes either way', () => {
    const seconds = 1_769_900_000_000;
    for (const nowMs of [seconds - 300_000, seconds + 300_000]) expect(check(header, { nowMs })).toBe('valid');
    for (const nowMs of [seconds - 300_001, seconds + 300_001]) expect(check(header, { nowMs })).toBe('too-old');
    expect(check(header, { nowMs: seconds + 2000, toleranceMs: 1000 })).toBe('too-old');
  });

  test.each([
    '',
    't=',
    't=1769900000',
    `v1=${'a'.repeat(64)}`,
    `t=-1,v1=${'a'.repeat(64)}`,
    `t=1e9,v1=${'a'.repeat(64)}`,
    `t=1769900000${',v1=a'.repeat(9)}`,
  ])('that is none is told from a wrong one: %j', (text) => {
    expect(check(text)).toBe('malformed');
  });

  test.each(['', 'v1=zz', 'v2=00', `v1=${'a'.repeat(63)}`, `v1=${'A'.repeat(64)}`])(
    '%s is no signature of ours',
    (part) => {
      expect(check(`t=1769900000,${part}`)).toBe('other-secret');
    },
  );
});

describe('tries', () => {
  test('come after 1 s, and twice as long each time up to six hours, of which half is left to chance', () => {
    const longest = Array.from({ length: 20 }, (_, failures) => retryDelayMs(failures + 1, 1));
    expect(longest.slice(0, 5)).toEqual([1000, 2000, 4000, 8000, 16_000]);
    expect(longest.slice(-4)).toEqual([RETRY_MS_MAX, RETRY_MS_MAX, RETRY_MS_MAX, RETRY_MS_MAX]);
    expect(RETRY_MS_MAX).toBe(6 * 3600 * 1000);
    for (const [failures, most] of longest.entries()) expect(retryDelayMs(failures + 1, 0)).toBe(most / 2);
  });

  test('end with the first one that fails after three days', () => {
    const at = { nowMs: AT, fraction: 1 };
    expect(afterFailure({ queuedAt: AT - GIVE_UP_MS + 1, failures: 30 }, at)).toEqual({
      what: 'failed',
      againMs: AT + RETRY_MS_MAX,
    });
    expect(afterFailure({ queuedAt: AT - GIVE_UP_MS, failures: 30 }, at).what).toBe('dead');
    expect(GIVE_UP_MS).toBe(3 * 24 * 3600 * 1000);
  });
});
