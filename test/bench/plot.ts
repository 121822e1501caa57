import type { Figure } from './figures.ts';
import { numberText } from './results.ts';

const WIDTH = 640;
const HEIGHT = 360;
const LEFT = 60;
const RIGHT = 120;
const TOP = 30;
const BOTTOM = 50;
const COLOURS = ['#0b6e99', '#b3541e', '#4d7c3a'];
const LINES = 4;

interface Point {
  readonly rows: number;
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Time per row over the rows of a run, as an SVG; undefined where there is nothing to be shown. */
export function growthPlot(figures: readonly Figure[]): string | undefined {
  const series = new Map<string, Point[]>();
  for (const { point, value } of figures) {
    if (point === undefined) continue;
    const points = series.get(point.series) ?? [];
    points.push({ rows: point.rows, ...value });
    series.set(point.series, points);
  }
  const all = [...series.values()].flat();
  if (all.length === 0) return undefined;
  const place = placing(all);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">`,
    '<title>Time per row at three sizes of a run</title>',
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    `<text x="${LEFT}" y="18" fill="#222222">microseconds per row (median, lowest to highest)</text>`,
    ...rules(place),
    ...[...new Set(all.map(({ rows }) => rows))].map(
      (rows) =>
        `<text x="${place.x(rows)}" y="${HEIGHT - BOTTOM + 20}" text-anchor="middle" fill="#222222">${rows.toLocaleString('en')} rows</text>`,
    ),
    ...[...series].flatMap(([name, points], at) => lineOf(name, points, { place, colour: COLOURS[at] ?? '#222222' })),
    '</svg>',
    '',
  ].join('\n');
}

interface Placing {
  readonly x: (rows: number) => number;
  readonly y: (us: number) => number;
  readonly top: number;
}

/** Rows on a logarithmic axis, times on one that begins at nothing: what is flat is flat. */
function placing(points: readonly Point[]): Placing {
  const logs = points.map(({ rows }) => Math.log10(rows));
  const [least, most] = [Math.min(...logs), Math.max(...logs)];
  const top = niceTop(Math.max(...points.map(({ max }) => max)));
  return {
    top,
    x: (rows) => tenths(LEFT + 30 + ((Math.log10(rows) - least) / (most - least || 1)) * (WIDTH - LEFT - RIGHT - 60)),
    y: (us) => tenths(HEIGHT - BOTTOM - (us / top) * (HEIGHT - TOP - BOTTOM)),
  };
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}

function niceTop(value: number): number {
  const step = 10 ** Math.floor(Math.log10(value));
  return Math.ceil(value / step) * step;
}

function rules({ y, top }: Placing): string[] {
  return Array.from({ length: LINES + 1 }, (_, at) => (top * at) / LINES).flatMap((us) => [
    `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(us)}" y2="${y(us)}" stroke="#dddddd"/>`,
    `<text x="${LEFT - 8}" y="${y(us) + 4}" text-anchor="end" fill="#222222">${numberText(us)}</text>`,
  ]);
}

function lineOf(
  name: string,
  points: readonly Point[],
  { place, colour }: { place: Placing; colour: string },
): string[] {
  const last = points.at(-1);
  const path = points.map(({ rows, median }) => `${place.x(rows)},${place.y(median)}`).join(' ');
  return [
    `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>`,
    ...points.flatMap(({ rows, median, min, max }) => [
      `<line x1="${place.x(rows)}" x2="${place.x(rows)}" y1="${place.y(min)}" y2="${place.y(max)}" stroke="${colour}"/>`,
      `<circle cx="${place.x(rows)}" cy="${place.y(median)}" r="4" fill="${colour}"/>`,
    ]),
    last === undefined
      ? ''
      : `<text x="${place.x(last.rows) + 12}" y="${place.y(last.median) + 4}" fill="${colour}">${name}</text>`,
  ];
}
