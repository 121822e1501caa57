/** The one source of chance of a schedule: the same seed gives the same schedule. */
export interface Dice {
  /** Evenly spread in [0, 1). */
  fraction(): number;
  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number;
  chance(share: number): boolean;
  pick<T>(list: readonly T[]): T;
  hex(digits: number): string;
  uuid(): string;
}

const BYTES = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** The generator "mulberry32": 32 bits of state are enough to tell schedules apart, and it is fast. */
export function openDice(seed: number): Dice {
  let state = (seed ^ 0x9e3779b9) >>> 0;
  function fraction(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }
  const between = (from: number, to: number): number => from + Math.floor(fraction() * (to - from + 1));
  function hex(digits: number): string {
    let text = '';
    while (text.length < digits) {
      const bits = Math.floor(fraction() * 0x100000000);
      text += `${BYTES[bits >>> 24]}${BYTES[(bits >>> 16) & 255]}${BYTES[(bits >>> 8) & 255]}${BYTES[bits & 255]}`;
    }
    return text.length === digits ? text : text.slice(0, digits);
  }
  return {
    fraction,
    between,
    chance: (share) => fraction() < share,
    pick<T>(list: readonly T[]): T {
      if (list.length === 0) throw new Error('nothing to pick from');
      return list[Math.floor(fraction() * list.length)] as T;
    },
    hex,
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`,
  };
}
