import type { ScaleLinear } from 'd3-scale';
import { shownCount } from '../parts/figures.ts';

const TICKS = 4;

interface ValueAxisProps {
  readonly y: ScaleLinear<number, number>;
  /** The ends of its lines. */
  readonly left: number;
  readonly right: number;
}

/** The lines of a chart at round values, and beside each of them what it stands for. */
export function ValueAxis({ y, left, right }: ValueAxisProps) {
  const whole = y.ticks(TICKS).filter(Number.isInteger);
  return whole.map((tick) => (
    <g key={tick}>
      <path class="grid" d={`M${left} ${y(tick)}H${right}`} />
      <text text-anchor="end" x={left - 6} y={y(tick) + 4}>
        {shownCount(tick)}
      </text>
    </g>
  ));
}

/** A scale for values from 0 on that ends at a round one. */
export function roundedUp(scale: ScaleLinear<number, number>): ScaleLinear<number, number> {
  return scale.nice(TICKS);
}
