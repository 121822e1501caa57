import { describe, expect, test } from 'vitest';
import { httpDate } from '../../src/service/answer.ts';
import { RETRY_AFTER_MS_DEFAULT, RETRY_AFTER_MS_MAX, retryAfterMs } from '../../src/service/brake.ts';

const DATE = Date.UTC(2026, 2, 3, 10, 0, 0);
const inSeconds = (seconds: number): string => new Date(DATE + seconds * 1000).toUTCString();

describe('retryAfterMs', () => {
  test.each<[string, string | null, number]>([
    ['missing', null, RETRY_AFTER_MS_DEFAULT],
    ['seconds', '7', 7000],
    ['seconds with blanks', ' 7 ', 7000],
    ['zero seconds', '0', RETRY_AFTER_MS_DEFAULT],
    ['negative seconds', '-3', RETRY_AFTER_MS_DEFAULT],
    ['a fraction', '1.5', RETRY_AFTER_MS_DEFAULT],
    ['five minutes', '300', 300_000],
    ['ten days', '864000', RETRY_AFTER_MS_MAX],
    ['more digits than a number has', '9'.repeat(400), RETRY_AFTER_MS_MAX],
    ['a date ahead', inSeconds(12), 12_000],
    ['a date far ahead', inSeconds(864_000), RETRY_AFTER_MS_MAX],
    ['the very date', inSeconds(0), RETRY_AFTER_MS_DEFAULT],
    ['a date gone by', inSeconds(-5), RETRY_AFTER_MS_DEFAULT],
    ['an ISO date', new Date(DATE + 9000).toISOString(), RETRY_AFTER_MS_DEFAULT],
    ['garbage', 'soon', RETRY_AFTER_MS_DEFAULT],
    ['nothing', '', RETRY_AFTER_MS_DEFAULT],
  ])('%s', (_name, text, expected) => {
    expect(retryAfterMs(text, DATE, DATE + 3_600_000)).toBe(expected);
  });

  test('measures a date from our clock when the reply has no date of its own', () => {
    expect(retryAfterMs(inSeconds(12), null, DATE + 2000)).toBe(10_000);
  });
});

describe('httpDate', () => {
  test('reads the form that RFC 9110 prescribes', () => {
    expect(httpDate('Tue, 03 Mar 2026 10:00:00 GMT')).toBe(DATE);
  });

  test.each([
    'Wed, 03 Mar 2026 10:00:00 GMT',
    'Tue, 3 Mar 2026 10:00:00 GMT',
    'Tue, 03 Mar 2026 10:00:00 +0000',
    'Tuesday, 03-Mar-26 10:00:00 GMT',
    'Tue Mar  3 10:00:00 2026',
    '2026-03-03T10:00:00Z',
    'Mon, 30 Feb 2026 10:00:00 GMT',
    '5',
    '',
    'Invalid Date',
  ])('takes no date from %j', (text) => {
    expect(httpDate(text)).toBeNull();
  });
});
