import { describe, expect, test } from 'vitest';
import { looksLike, requireName } from '../../src/people/names.ts';

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

  test.each([
    ['anna\uFE0F', 'a variation selector'],
    ['an\u034Fna', 'a joiner of graphemes'],
    ['\u3164anna', 'a filler'],
    ['김\u115F', 'a filler among its like'],
    ['an\u200Bna', 'a space of no width'],
    ['ᎪᏞᎥᏟᎬ', 'Cherokee'],
    ['ɑnna', 'a Latin alpha'],
    ['аnna', 'a Cyrillic letter among Latin ones'],
    ['anna а', 'the same in another word'],
    ['αnna', 'a Greek letter among Latin ones'],
    ['annı', 'a letter without its dot'],
    ['аннα', 'a Greek letter among Cyrillic ones'],
    ['x\u0323\u0307\u0337', 'accents that belong to no letter'],
    ['anna\u0661', 'a digit of another script'],
  ])('may not be %j: %s', (name) => {
    expect(() => requireName(name, 'user')).toThrow(/is no name for a user/);
  });
});

test.each([
  ['сосо', 'coco'],
  ['Вера', 'Bepa'],
  ['annal', 'anna1'],
  ['ANNAI', 'annal'],
  ['b0b', 'bob'],
  ['οχι', 'oxi'],
  ['Anna  Berg', 'anna berg'],
])('%j looks like %j', (one, other) => {
  expect(looksLike(one, other)).toBe(true);
});

test.each([
  ['anna', 'hanna'],
  ['Анна', 'anna'],
  ['jörg', 'jorg'],
])('%j does not look like %j', (one, other) => {
  expect(looksLike(one, other)).toBe(false);
});
