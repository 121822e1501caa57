import { describe, expect, test } from 'vitest';
import type { Role } from '../../src/access/roles.ts';
import { whyNotLifted } from '../../src/runs/decide/lift.ts';

const LIMITS = ['E_LIMIT', 'E_BLOCKED', 'E_COST_DRIFT'];

function lifter(text: string) {
  const [name = '', role] = text.split('/');
  return { name, role: role as Role | undefined };
}

function lift(proposer: string, confirmer?: string, change: { by?: string; code?: string; hasUsers?: boolean } = {}) {
  return whyNotLifted({
    reasonCode: change.code ?? 'E_LIMIT',
    handedIn: { createdBy: change.by ?? 'sam', dropper: null },
    proposer: lifter(proposer),
    confirmer: confirmer === undefined ? undefined : lifter(confirmer),
    hasUsers: change.hasUsers ?? true,
  });
}

describe.each(LIMITS)('a payout that is held for %s', (code) => {
  test.each([
    ['mia/maker', 'carl/checker'],
    ['carl/checker', 'mia/maker'],
    ['mia/maker', 'ada/admin'],
    ['mia/maker', undefined],
  ])('is let go by %s and %s', (proposer, confirmer) => {
    expect(lift(proposer, confirmer, { code })).toBeUndefined();
  });

  test.each([
    ['mia/maker', 'max/maker'],
    ['mia/maker', 'vera/viewer'],
    ['mia/maker', 'nobody'],
  ])('is not let go by %s and %s, neither of whom may approve', (proposer, confirmer) => {
    expect(lift(proposer, confirmer, { code })).toContain('has to be a checker or an admin');
  });

  test.each([
    ['sam/maker', undefined, 'sam'],
    ['sam/maker', 'carl/checker', 'sam'],
    ['carl/checker', 'sam/admin', 'sam'],
    ['mia/maker', ' SAM /checker', 'sam'],
    ['mia/maker', 'sam/checker', 'key accounting of sam'],
  ])('is not let go by %s and %s when %s handed it in', (proposer, confirmer, by) => {
    expect(lift(proposer, confirmer, { code, by })).toContain('handed the file in');
  });

  test('is let go by two names where there are no users', () => {
    expect(lift('mia', 'max', { code, hasUsers: false })).toBeUndefined();
    expect(lift('mia', 'sam', { code, hasUsers: false })).toContain('handed the file in');
  });
});

test('a payout that is held for something else is let go by any two', () => {
  expect(lift('sam/maker', 'max/maker', { code: 'E_DUP_HISTORY' })).toBeUndefined();
});
