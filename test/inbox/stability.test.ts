import { beforeEach, expect, test } from 'vitest';
import { type Looks, openLooks } from '../../src/inbox/inbox.ts';

let nowMs: number;
let looks: Looks;

beforeEach(() => {
  nowMs = 0;
  looks = openLooks({ monotonic: () => nowMs }, 2000);
});

function lookAt(ms: number, signature: string): boolean {
  nowMs = ms;
  return looks.isStable('in/a', signature);
}

test('a file is stable at the second look that finds it unchanged, two seconds after the first', () => {
  expect([lookAt(0, 'x'), lookAt(1999, 'x'), lookAt(2000, 'x'), lookAt(9000, 'x')]).toEqual([false, false, true, true]);
});

test('a file that grows is not stable before two seconds after its last growth', () => {
  expect([lookAt(0, 'x'), lookAt(2000, 'xx'), lookAt(3999, 'xx'), lookAt(4000, 'xx')]).toEqual([
    false,
    false,
    false,
    true,
  ]);
});

test('one look is never enough, however late it comes', () => {
  expect(lookAt(50_000, 'x')).toBe(false);
});

test('files are told apart, and one that went away begins anew', () => {
  lookAt(0, 'x');
  nowMs = 2000;
  expect(looks.isStable('in/b', 'x')).toBe(false);
  looks.keep(new Set(['in/b']));
  expect(lookAt(4000, 'x')).toBe(false);
  expect(looks.isStable('in/b', 'x')).toBe(true);
});
