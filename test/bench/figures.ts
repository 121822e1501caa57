/** One quantity over the rounds of a section. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly rounds: number;
}

/** What a figure is held to: at least or at most this, by its ratio to the limit or by itself. */
export interface Target {
  readonly by: 'ratio' | 'value';
  /** Every round is held to it, not their median: for what must never be. */
  readonly always?: true;
  readonly atLeast?: number;
  readonly atMost?: number;
}

/** One line of the table. */
export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: Spread;
  /** The limit that was measured in the same rounds, or is arithmetic. */
  readonly limit?: { readonly name: string; readonly value: Spread };
  /** Value by limit, of each round. */
  readonly ratio?: Spread;
  readonly target?: Target;
  /** Where it stands in the plot of growth. */
  readonly point?: { readonly series: string; readonly rows: number };
}

/** What a section found, and what one must know to read it. */
export interface SectionResult {
  readonly figures: readonly Figure[];
  readonly notes: readonly string[];
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}

export function spread(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values), rounds: values.length };
}

/** A figure without a limit. */
export function figure(
  about: { readonly name: string; readonly unit: string; readonly target?: Target | undefined },
  values: readonly number[],
): Figure {
  const { name, unit, target } = about;
  return { name, unit, value: spread(values), ...(target === undefined ? {} : { target }) };
}

export interface Round {
  readonly ours: number;
  readonly limit: number;
}

/** A figure beside its limit; value and limit of a round were measured one after the other. */
export function ratioFigure(
  about: { readonly name: string; readonly unit: string; readonly limit: string; readonly target?: Target },
  rounds: readonly Round[],
): Figure {
  return {
    name: about.name,
    unit: about.unit,
    value: spread(rounds.map(({ ours }) => ours)),
    limit: { name: about.limit, value: spread(rounds.map(({ limit }) => limit)) },
    ratio: spread(rounds.map(({ ours, limit }) => ours / limit)),
    ...(about.target === undefined ? {} : { target: about.target }),
  };
}

/** Whether a figure meets its target; undefined where it has none. */
export function isMet({ target, value, ratio }: Figure): boolean | undefined {
  if (target === undefined) return undefined;
  const found = target.by === 'ratio' ? ratio : value;
  if (found === undefined || Number.isNaN(found.median)) return false;
  const { least, most } = target.always
    ? { least: found.min, most: found.max }
    : { least: found.median, most: found.median };
  return least >= (target.atLeast ?? Number.NEGATIVE_INFINITY) && most <= (target.atMost ?? Number.POSITIVE_INFINITY);
}
