import { describe, expect, test } from 'vitest';
import { looksLike } from '../../src/people/look-alikes.ts';
import { requireName } from '../../src/people/names.ts';
import { HOSTILE_NAMES, LOOK_ALIKES } from '../hostile/names.ts';

describe('a name', () => {
  test.each([
    'anna',
    'anna.berg@example.com',
    "Siobhán O'Neil",
    'Jörg Weiß',
    'Åsa Ærø',
    'Łukasz 2',
    'Nguyễn Văn',
    'Анна',
    'Вера Петрова',
    'Ελένη',
    'Անի',
    'אנה',
    'محمد',
    'अनीता',
    'สมชาย',
    'ანა',
    '山田 太郎',
    'さくら',
    'サーラ',
    '김민수',
  ])('may be %j', (name) => {
    expect(requireName(name, 'user')).toBe(name.normalize('NFKC'));
  });

  test.each(HOSTILE_NAMES.map(([name, what]) => [what, name]))('may not have %s', (_what, name) => {
    expect(() => requireName(name, 'user')).toThrow(/is no name for a user/);
  });
});

test.each(LOOK_ALIKES)('%j looks like %j', (one, other) => {
  expect(looksLike(one, other)).toBe(true);
});

test.each([
  ['anna', 'hanna'],
  ['Анна', 'anna'],
  ['jörg', 'jorg'],
])('%j does not look like %j', (one, other) => {
  expect(looksLike(one, other)).toBe(false);
});
