import type { SectionResult } from './figures.ts';

/** How much is measured: a few rounds of little to try the benchmark, or what its figures are published from. */
export interface Effort {
  readonly isQuick: boolean;
  readonly rounds: number;
  /** The one for quick or the one for full. */
  readonly pick: <Value>(quick: Value, full: Value) => Value;
  /** Tells how far it is. */
  readonly say: (line: string) => void;
}

export interface Section {
  readonly name: string;
  readonly title: string;
  measure(effort: Effort): Promise<SectionResult>;
}
