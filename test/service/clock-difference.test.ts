import { describe, expect, test } from 'vitest';
import { openClockDifference } from '../../src/service/clock-difference.ts';

const NOW = 1_800_000_000_000;
const at = (askedAt: number, answeredAt = askedAt): { askedAt: number; answeredAt: number } => ({
  askedAt,
  answeredAt,
});

let monotonicMs = 0;
const clock = { monotonic: () => monotonicMs };

describe('the difference between the service’s clock and ours', () => {
  test('is that of the answer that differs most, ahead or behind, as far as whole seconds show it', () => {
    const difference = openClockDifference(clock);
    expect(difference.ms()).toBe(0);
    difference.saw(NOW + 8000, at(NOW));
    expect(difference.ms()).toBe(8000);
    difference.saw(NOW - 11_000, at(NOW));
    expect(difference.ms()).toBe(10_000);
    difference.saw(NOW, at(NOW));
    expect(difference.ms()).toBe(10_000);
  });

  test('is nothing where a slow answer explains it', () => {
    const difference = openClockDifference(clock);
    difference.saw(NOW, at(NOW - 20_000, NOW + 20_000));
    expect(difference.ms()).toBe(0);
  });

  test('is forgotten once 64 later answers showed none', () => {
    const difference = openClockDifference(clock);
    difference.saw(NOW + 8000, at(NOW));
    for (let answer = 0; answer < 64; answer++) difference.saw(NOW, at(NOW));
    expect(difference.ms()).toBe(0);
  });

  test('is forgotten after a minute, however few answers come', () => {
    const difference = openClockDifference(clock);
    difference.saw(NOW + 8000, at(NOW));
    monotonicMs += 60_000;
    expect(difference.ms()).toBe(8000);
    monotonicMs += 1;
    expect(difference.ms()).toBe(0);
  });
});
