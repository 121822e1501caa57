import { scaleLinear } from 'd3-scale';
import { area } from 'd3-shape';
import { roundedUp, ValueAxis } from './value-axis.tsx';

const SIZE = { width: 400, height: 150, left: 84, right: 394, top: 10, bottom: 140 };

interface GrowthChartProps {
  readonly title: string;
  /** In their order; a value is drawn, and never added up. */
  readonly points: readonly { readonly at: number; readonly value: number }[];
  /** The chart in words. */
  readonly words: string;
}

/** A card with what grew by and by from the first moment to the last one. */
export function GrowthChart({ title, points, words }: GrowthChartProps) {
  const { width, height, left, right, top, bottom } = SIZE;
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) return null;
  const x = scaleLinear([first.at, Math.max(last.at, first.at + 1)], [left, right]);
  const y = roundedUp(scaleLinear([0, last.value], [bottom, top]));
  const shape = area<(typeof points)[number]>(
    ({ at }) => x(at),
    y(0),
    ({ value }) => y(value),
  );
  return (
    <div class="card card-body">
      <h2 class="label">{title}</h2>
      <svg class="chart" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={words}>
        <ValueAxis y={y} left={left} right={right} />
        <path class="paid" d={shape([...points]) ?? ''} />
      </svg>
    </div>
  );
}
