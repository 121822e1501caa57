import { assert, constant, oneof, pre, property, string } from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  ANSWER_ENDINGS,
  answeredName,
  answerName,
  isPassedOver,
  isPlainName,
  storedName,
} from '../../src/inbox/names.ts';

const bytes = (text: string): number => Buffer.byteLength(text, 'utf8');

describe('a name in the folder "in"', () => {
  test.each(['.hidden', '.', 'payouts.csv.part', 'payouts.PART', 'payouts.csv.tmp', 'payouts.csv.filepart'])(
    '%j is no file to read yet',
    (name) => expect(isPassedOver(name)).toBe(true),
  );

  test.each(['payouts.csv', 'part', 'tmp', 'payouts.part.csv', 'a.parts', '-rf.csv', 'no ending'])(
    '%j is one to read',
    (name) => expect(isPassedOver(name)).toBe(false),
  );

  test.each([
    'payouts.csv',
    'Zahlungen März.csv',
    '支払い.csv',
    '-rf.csv',
    "o'brien & co.csv",
    `${'x'.repeat(251)}.csv`,
  ])('%j may be handed in', (name) => expect(isPlainName(name)).toBe(true));

  test.each([
    ['a line end', 'pay\nouts.csv'],
    ['an escape', 'pay\u001b[31mouts.csv'],
    ['a character that turns the text around', 'pay\u202eouts.csv'],
    ['a blank without width', 'pay\u200bouts.csv'],
    ['bytes that are no text', 'pay\ufffdouts.csv'],
    ['too many bytes', `${'x'.repeat(252)}.csv`],
  ])('with %s is refused', (_what, name) => expect(isPlainName(name)).toBe(false));
});

describe('the name of the answers', () => {
  test.each([
    ['payouts.csv', 1, 'payouts.csv'],
    ['payouts.csv', 2, 'payouts-2.csv'],
    ['payouts.csv', 12, 'payouts-12.csv'],
    ['payouts.2026.csv', 2, 'payouts.2026-2.csv'],
    ['payouts', 3, 'payouts-3'],
    ['pay\nouts\u202e.csv', 1, 'pay_outs_.csv'],
    [`a.${'x'.repeat(40)}`, 2, `a.${'x'.repeat(40)}-2`],
  ])('of %j, the %d. time, is %j', (name, count, expected) => expect(answerName(name, count)).toBe(expected));

  const fileName = string({ unit: 'binary', minLength: 1, maxLength: 260 }).filter((name) => !/[/\0]/.test(name));

  test('fits the file system with each ending, differs each time, and never hides a file', () => {
    assert(
      property(oneof(fileName, constant('é'.repeat(127))), (name) => {
        pre(!name.startsWith('.'));
        const names = [1, 2, 3, 100, 99_999].map((count) => answerName(name, count));
        expect(new Set(names).size).toBe(names.length);
        for (const as of names) {
          expect(as).not.toMatch(/^\.|\/|\p{C}/u);
          for (const ending of Object.values(ANSWER_ENDINGS)) expect(bytes(as + ending)).toBeLessThanOrEqual(255);
        }
      }),
    );
  });

  test('is that of the file in each answer, and of no other file', () => {
    for (const ending of Object.values(ANSWER_ENDINGS)) {
      expect(answeredName(`payouts.csv${ending}`)).toBe('payouts.csv');
      expect(answeredName(`payouts.csv.ack.json${ending}`)).toBe('payouts.csv.ack.json');
    }
    expect(answeredName('payouts.csv')).toBeUndefined();
  });

  test('is cut between characters', () => {
    expect(answerName(`${'é'.repeat(125)}.csv`, 2)).toMatch(/^é+-2\.csv$/);
    expect(bytes(storedName('é'.repeat(200)))).toBe(254);
  });
});
