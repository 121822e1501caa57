import { scaleBand, scaleLinear } from 'd3-scale';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import { formatAmount, type Money } from '../../money.ts';
import type { Run } from '../../payout.ts';
import { reasonWords } from '../../runs/decide/reason-words.ts';
import { GrowthChart } from '../charts/growth-chart.tsx';
import { shownAmount, shownAmountsIn, shownCount } from '../parts/figures.ts';
import { Amount } from '../parts/money.tsx';
import { Line, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import type { PaidBy } from './over-time.ts';
import type { ReasonCount, RunSums } from './run-sums.ts';

/** So many have a bar each. */
export const BARS_MAX = 8;
const WIDTH = 400;
const BAND = 26;
const CURRENCIES_MAX = 2;

/** Why rows of a run were not paid, and how fast the others were. */
export function RunCharts({ run, sums }: { run: Run; sums: RunSums }) {
  return (
    <>
      <div class="cards charts">
        {sums.reasons.length === 0 ? null : <ReasonChart run={run} reasons={sums.reasons} />}
        <GrowthCharts paidBy={sums.paidBy} where="; the table below has when" />
      </div>
      <OverTime paidBy={sums.paidBy} />
    </>
  );
}

function wordsOf({ code, words }: ReasonCount): string {
  return reasonWords(code) ?? escapeUnseen(shownAmountsIn(words));
}

/** Reasons as a bar each, with their words. */
export function ReasonBars({ reasons }: { reasons: readonly ReasonCount[] }) {
  const keys = reasons.map((_, index) => index);
  const height = reasons.length * BAND * 2;
  const y = scaleBand<number>(keys, [0, height]).paddingInner(0.55);
  const x = scaleLinear([0, Math.max(...reasons.map(({ rows }) => rows))], [0, WIDTH]);
  const told = reasons.map((reason) => `${shownCount(reason.rows)}: ${wordsOf(reason)}`).join('; ');
  return (
    <svg class="chart" viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label={told}>
      {reasons.map((reason, index) => (
        <g key={`${reason.code} ${String(reason.isHeld)}`}>
          <text x="0" y={(y(index) ?? 0) - 4 + BAND / 2}>
            {shownCount(reason.rows)} {wordsOf(reason).slice(0, LABEL_CHARACTERS_MAX)}
          </text>
          <rect
            class={reason.isHeld ? 'held' : 'failed'}
            x="0"
            y={(y(index) ?? 0) + BAND / 2}
            width={x(reason.rows)}
            height={BAND / 2}
          />
        </g>
      ))}
    </svg>
  );
}

function ReasonChart({ run, reasons: all }: { run: Run; reasons: readonly ReasonCount[] }) {
  const reasons = all.slice(0, BARS_MAX);
  const others = all.slice(BARS_MAX).reduce((sum, { rows }) => sum + rows, 0);
  return (
    <div class="card card-body">
      <h2 class="label">Why rows were not paid, or wait for a person</h2>
      <ReasonBars reasons={reasons} />
      {others === 0 ? null : <p class="hint">And {shownCount(others)} rows for other reasons, which the report has.</p>}
      <details>
        <summary>The figures as a table</summary>
        <Table
          caption="Why rows were not paid, or wait for a person"
          columns={['Reason', 'Rows are', { number: 'Rows' }]}
        >
          {reasons.map((reason) => (
            <Line key={`${reason.code} ${String(reason.isHeld)}`}>
              <td>
                {wordsOf(reason)} <span class="small">{escapeUnseen(reason.code)}</span>
              </td>
              <td>
                {reason.isHeld ? <a href={`/runs/${run.id}/payouts?outcome=held`}>held for a person</a> : 'not paid'}
              </td>
              <td class="number">{shownCount(reason.rows)}</td>
            </Line>
          ))}
        </Table>
      </details>
    </div>
  );
}

const LABEL_CHARACTERS_MAX = 55;

/** What was paid by and by. Currencies have a chart each, for their amounts cannot be compared; `where` ends what is told of each. */
export function GrowthCharts({ paidBy, where = '' }: { paidBy: readonly PaidBy[]; where?: string }) {
  const last = paidBy.at(-1);
  if (last === undefined) return null;
  return (
    <>
      <GrowthChart
        title="Rows paid over time"
        points={paidBy.map(({ at, rows }) => ({ at, value: rows }))}
        words={`${shownCount(last.rows)} rows were paid${where}.`}
      />
      {last.money.slice(0, CURRENCIES_MAX).map((all) => (
        <GrowthChart
          key={all.currency}
          title={`${all.currency} that left over time`}
          points={paidBy.map(({ at, money }) => ({ at, value: drawn(money, all.currency) }))}
          words={`${shownAmount(all)} ${all.currency} left${where}.`}
        />
      ))}
    </>
  );
}

/** How high an amount is drawn: nothing is added up with it. */
function drawn(money: readonly Money[], currency: string): number {
  const one = money.find((other) => other.currency === currency);
  return one === undefined ? 0 : Number(formatAmount(one));
}

function OverTime({ paidBy }: { paidBy: readonly PaidBy[] }) {
  const [first, last] = [paidBy[0], paidBy.at(-1)];
  if (first === undefined || last === undefined) return null;
  return (
    <details class="again">
      <summary>
        Rows and money from <Time at={first.at} /> to <Time at={last.at} /> as a table
      </summary>
      <Table
        caption="What had been paid by when"
        columns={['Time', { number: 'Rows' }, { number: 'Money' }]}
        hasNoLinks
      >
        {paidBy
          .filter(({ rows }, index) => rows !== paidBy[index - 1]?.rows)
          .map(({ at, rows, money }) => (
            <Line key={at}>
              <td>
                <Time at={at} />
              </td>
              <td class="number">{shownCount(rows)}</td>
              <td class="number">
                {money.map((one) => (
                  <div key={one.currency}>
                    <Amount money={one} />
                  </div>
                ))}
              </td>
            </Line>
          ))}
      </Table>
    </details>
  );
}
