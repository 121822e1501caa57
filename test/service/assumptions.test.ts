import { describe, expect, test } from 'vitest';
import { CAPABILITIES, SETTING_NAMES } from '../../src/config/config.ts';
import {
  ASSUMPTIONS,
  CAPABILITY_USES,
  FINAL_PAYMENT_CODES,
  isFinalPaymentCode,
} from '../../src/service/assumptions.ts';

describe('the assumptions', () => {
  test('that nothing changes say why, each for itself, and the others need not', () => {
    const fixed = ASSUMPTIONS.filter(({ changedBy }) => changedBy === null);
    expect(fixed.filter(({ why = '' }) => why === '').map(({ name }) => name)).toEqual([]);
    expect(new Set(fixed.map(({ why }) => why)).size).toBe(fixed.length);
    expect(ASSUMPTIONS.filter(({ changedBy, why }) => changedBy !== null && why !== undefined)).toEqual([]);
  });

  test('have names of their own', () => {
    expect(new Set(ASSUMPTIONS.map(({ name }) => name)).size).toBe(ASSUMPTIONS.length);
  });

  test('name only settings that exist', () => {
    const named = ASSUMPTIONS.flatMap(({ changedBy }) => changedBy?.match(/PAYRUN_[A-Z_]+/g) ?? []);
    expect(named.filter((name) => !SETTING_NAMES.includes(name))).toEqual([]);
  });

  test('say of each capability how it is used', () => {
    expect(Object.keys(CAPABILITY_USES).toSorted()).toEqual([...CAPABILITIES].toSorted());
  });
});

describe('the final codes', () => {
  test.each(FINAL_PAYMENT_CODES.map(({ code }) => code))('%s is final', (code) => {
    expect(isFinalPaymentCode(code)).toBe(true);
  });

  test.each([
    'USR_001',
    'USR_002',
    'USR_003',
    'USR_011',
    'USR_012',
    'USR_013',
    'USR_062',
    'USR_067',
    'USR_103',
    'SYS_001',
    'CFG_001',
    'AUTH_001',
    '',
    null,
  ])('%s, which an expired or repeated request or the run itself may bring, is not', (code) => {
    expect(isFinalPaymentCode(code)).toBe(false);
  });
});
