import { scaleBand, scaleLinear } from 'd3-scale';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import { formatAmount } from '../../money.ts';
import type { Run } from '../../payout.ts';
import { GrowthChart } from '../charts/growth-chart.tsx';
import { shownAmount, shownAmountsIn, shownCount } from '../parts/figures.ts';
import { Amount } from '../parts/money.tsx';
import { reasonWords } from '../parts/outcome-words.ts';
import { Line, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import type { EndedRun, ReasonCount } from './ended-run.ts';
import type { PaidBy } from './over-time.ts';

const REASONS_MAX = 8;
const WIDTH = 600;
const BAND = 26;
const CURRENCIES_MAX = 3;

/** What is known of a run that is over: why rows were not paid, and how fast the others were. */
export function RunCharts({ run, ended }: { run: Run; ended: EndedRun }) {
  return (
    <div class="cards">
      {ended.reasons.length === 0 ? null : <ReasonChart run={run} reasons={ended.reasons.slice(0, REASONS_MAX)} />}
      {ended.paidBy.length === 0 ? null : <OverTime paidBy={ended.paidBy} />}
    </div>
  );
}

function wordsOf({ code, words }: ReasonCount): string {
  return reasonWords(code) ?? escapeUnseen(shownAmountsIn(words));
}

function ReasonChart({ run, reasons }: { run: Run; reasons: readonly ReasonCount[] }) {
  const keys = reasons.map((_, index) => index);
  const height = reasons.length * BAND * 2;
  const y = scaleBand<number>(keys, [0, height]).paddingInner(0.55);
  const x = scaleLinear([0, Math.max(...reasons.map(({ rows }) => rows))], [0, WIDTH]);
  const told = reasons.map((reason) => `${shownCount(reason.rows)}: ${wordsOf(reason)}`).join('; ');
  return (
    <div class="card card-body">
      <h2 class="label">Why rows were not paid, or wait for a person</h2>
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

const LABEL_CHARACTERS_MAX = 80;

/** Currencies have a chart each, for their amounts cannot be compared; more of them stand in the table. */
function OverTime({ paidBy }: { paidBy: readonly PaidBy[] }) {
  const [first, last] = [paidBy[0], paidBy.at(-1)];
  if (first === undefined || last === undefined) return null;
  const currencies = last.money.map(({ currency }) => currency).slice(0, CURRENCIES_MAX);
  return (
    <div class="card card-body">
      <h2 class="label">Rows paid over time</h2>
      <GrowthChart
        points={paidBy.map(({ at, rows }) => ({ at, value: rows }))}
        words={`${shownCount(last.rows)} rows were paid; the table below has when.`}
      />
      {currencies.map((currency) => (
        <MoneyOverTime key={currency} paidBy={paidBy} currency={currency} />
      ))}
      <p class="hint">
        From <Time at={first.at} /> to <Time at={last.at} />
      </p>
      <details>
        <summary>Rows and money over time as a table</summary>
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
    </div>
  );
}

function MoneyOverTime({ paidBy, currency }: { paidBy: readonly PaidBy[]; currency: string }) {
  const amounts = paidBy.map(({ at, money }) => {
    const paid = money.find((one) => one.currency === currency) ?? { minor: 0n, currency };
    return { at, paid };
  });
  const all = amounts.at(-1)?.paid ?? { minor: 0n, currency };
  return (
    <>
      <h3 class="label">{currency} that left over time</h3>
      <GrowthChart
        points={amounts.map(({ at, paid }) => ({ at, value: Number(formatAmount(paid)) }))}
        words={`${shownAmount(all)} ${currency} left; the table below has when.`}
      />
    </>
  );
}
