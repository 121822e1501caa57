import { scaleBand, scaleLinear } from 'd3-scale';
import { stack } from 'd3-shape';
import { rfc3339 } from '../../clock.ts';
import { roundedUp, ValueAxis } from '../charts/value-axis.tsx';
import { counted, shownCount } from '../parts/figures.ts';
import { Table } from '../parts/table.tsx';
import type { Day } from './days.ts';

/** Parts of a day's bar from below, by the class of its colour. */
const PARTS = [
  ['paid', 'Paid'],
  ['open', 'Not done yet'],
  ['held', 'Held for a person'],
  ['failed', 'Not paid'],
] as const;
const CLASSES: Readonly<Record<(typeof PARTS)[number][0], string>> = {
  paid: 'paid',
  open: 'pending',
  held: 'held',
  failed: 'failed',
};
const SIZE = { width: 400, height: 210, left: 40, right: 18, top: 10, bottom: 24 };
const LABEL_EVERY_DAYS = 7;

/** Rows by the day on which they were handed in and by what became of them, as stacked bars, and as a table. */
export function DayChart({ days }: { days: readonly Day[] }) {
  const all = days.reduce((sum, { paid, open, held, failed }) => sum + paid + open + held + failed, 0);
  const paidAll = days.reduce((sum, { paid }) => sum + paid, 0);
  const words = `${counted(all, 'row')} ${all === 1 ? 'was' : 'were'} handed in within ${days.length} days, ${shownCount(paidAll)} of them are paid.`;
  return (
    <div class="card card-body">
      <h2 class="label">Rows handed in on each of the last {days.length} days</h2>
      <Bars days={days} words={words} />
      <ul class="legend">
        {PARTS.map(([part, name]) => (
          <li key={part} class={CLASSES[part]}>
            {name}
          </li>
        ))}
      </ul>
      <details>
        <summary>The figures as a table</summary>
        <Figures days={days} />
      </details>
    </div>
  );
}

function Bars({ days, words }: { days: readonly Day[]; words: string }) {
  const { width, height, left, right, top, bottom } = SIZE;
  const most = Math.max(1, ...days.map(({ paid, open, held, failed }) => paid + open + held + failed));
  const x = scaleBand<number>(
    days.map(({ at }) => at),
    [left, width - right],
  ).padding(0.3);
  const y = roundedUp(scaleLinear([0, most], [height - bottom, top]));
  const series = stack<Day>().keys(PARTS.map(([part]) => part))([...days]);
  return (
    <svg class="chart" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={words}>
      <ValueAxis y={y} left={left} right={width - right} />
      {series.map((part, index) =>
        part.map(([from, to], at) =>
          to > from ? (
            <rect
              key={`${part.key} ${days[at]?.at}`}
              class={CLASSES[PARTS[index]?.[0] ?? 'paid']}
              x={x(days[at]?.at ?? 0)}
              y={y(to)}
              width={x.bandwidth()}
              height={y(from) - y(to)}
            />
          ) : null,
        ),
      )}
      {days
        .filter((_, at) => (days.length - 1 - at) % LABEL_EVERY_DAYS === 0)
        .map(({ at }) => (
          <text key={at} text-anchor="middle" x={(x(at) ?? 0) + x.bandwidth() / 2} y={height - 6}>
            {dayWords(at)}
          </text>
        ))}
    </svg>
  );
}

function Figures({ days }: { days: readonly Day[] }) {
  const shown = days.filter(({ paid, open, held, failed }) => paid + open + held + failed > 0);
  return (
    <Table
      caption="Rows by the day on which they were handed in; days without any are left out"
      columns={['Day', ...PARTS.map(([, name]) => ({ number: name }))]}
    >
      {shown.map((day) => (
        <tr key={day.at}>
          <th scope="row">{rfc3339(day.at).slice(0, 10)}</th>
          {PARTS.map(([part]) => (
            <td key={part} class="number">
              {shownCount(day[part])}
            </td>
          ))}
        </tr>
      ))}
    </Table>
  );
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

function dayWords(at: number): string {
  const day = new Date(at);
  return `${day.getUTCDate()} ${MONTHS[day.getUTCMonth()]}`;
}
