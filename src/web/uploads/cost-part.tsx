import { Code } from '../code.tsx';
import { counted, shownCount, shownDecimal } from '../parts/figures.ts';
import { Form } from '../parts/form.tsx';
import { Balances } from '../parts/money.tsx';
import { outcomeWords } from '../parts/outcome-words.ts';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import type { UploadCost } from './cost.ts';
import type { Costing } from './costing.ts';
import { currenciesOf } from './table-rows.ts';

interface CostPartProps {
  readonly id: string;
  readonly cost: UploadCost | undefined;
  readonly costing: ReturnType<Costing['stateOf']>;
}

/** What paying the file would cost by quotes that are never used, and the button that asks for them anew. */
export function CostPart({ id, cost, costing: { isAsking, trouble } }: CostPartProps) {
  return (
    <section class="cost" aria-labelledby="cost-head">
      <h2 id="cost-head">Cost</h2>
      <div id="cost" data-refreshed="" data-asking={isAsking ? '' : undefined}>
        {cost === undefined ? <NoCost id={id} isAsking={isAsking} trouble={trouble} /> : <Cost id={id} cost={cost} />}
        {isAsking ? null : (
          <Form action={`/uploads/${id}/cost`} class="again">
            <button type="submit" class="btn">
              {cost === undefined ? 'What will it cost?' : 'Ask for quotes again'}
            </button>
          </Form>
        )}
      </div>
    </section>
  );
}

function NoCost({ id, isAsking, trouble }: { id: string; isAsking: boolean; trouble: string | null }) {
  if (isAsking) {
    return (
      <p aria-live="polite">
        The service is being asked what it will cost. <a href={`/uploads/${id}#cost`}>Look again</a>
      </p>
    );
  }
  return <p>{trouble ?? 'Nobody has asked the service yet. Quotes bind nobody and are never used to pay.'}</p>;
}

function Cost({ id, cost }: { id: string; cost: UploadCost }) {
  const { quotes, time } = cost;
  return (
    <>
      <p>
        By {shownCount(quotes.usable)} of {shownCount(quotes.asked)} quotes, asked for at <Time at={cost.at} />
        {cost.sandbox ? ' from the sandbox: rates and fees are simulated' : ''}.{' '}
        {quotes.ended === null ? null : `${shownCount(quotes.unasked)} were not had: ${quotes.ended.reason}. `}
        {cost.rowsUnpriced === 0
          ? null
          : `${counted(cost.rowsUnpriced, 'row')} without a quote that shows the cost: in no figure. `}
        What is marked ~ is estimated from a sample.
      </p>
      <p>
        {time === null ? 'How long it takes is not known.' : `It takes about ${lengthText(time.ms)} once it starts.`}
      </p>
      <Funds cost={cost} />
      <Balances needed={cost.funds} />
      <details>
        <summary>By corridor</summary>
        <Corridors cost={cost} />
      </details>
      <Unquoted cost={cost} />
      <p>
        <a href={`/uploads/${id}/funds.csv`}>Funds as CSV</a> ·{' '}
        <a href={`/uploads/${id}/corridors.csv`}>Corridors as CSV</a>
        {cost.unquotedRows.length === 0 ? null : (
          <>
            {' '}
            · <a href={`/uploads/${id}/unquoted.csv`}>Rows without a usable quote as CSV</a>
          </>
        )}
      </p>
    </>
  );
}

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

function lengthText(ms: number): string {
  if (ms < SECOND_MS) return 'a second';
  if (ms < 2 * MINUTE_MS) return `${Math.ceil(ms / SECOND_MS)} seconds`;
  if (ms < 2 * HOUR_MS) return `${Math.ceil(ms / MINUTE_MS)} minutes`;
  return `${Math.ceil(ms / HOUR_MS)} hours`;
}

function Funds({ cost }: { cost: UploadCost }) {
  return (
    <Table
      caption="Funds needed, and what arrives"
      columns={['Currency', 'Source amounts', 'Fees and taxes', 'Funds needed', 'Arrives']}
      class="totals"
    >
      {currenciesOf(cost).map(({ currency, needs, arrives }) => (
        <tr key={currency}>
          <th scope="row">{currency}</th>
          <td>{figure(needs?.amount, needs)}</td>
          <td>{figure(needs?.fees, needs)}</td>
          <td>{figure(needs?.needed, needs)}</td>
          <td>{figure(arrives?.amount, arrives)}</td>
        </tr>
      ))}
    </Table>
  );
}

function Corridors({ cost: { corridors } }: { cost: UploadCost }) {
  return (
    <Table
      caption="By corridor"
      columns={['Corridor', 'Rows', 'Source amounts', 'Fees and taxes', 'Arrives', 'Rates']}
      class="totals"
    >
      {corridors.map((one) => (
        <tr key={one.corridor}>
          <th scope="row">{one.corridor}</th>
          <td>{shownCount(one.rows)}</td>
          <td>{figure(one.sourceAmount, one, one.sourceCurrency)}</td>
          <td>{one.fees?.map((fee) => figure(fee.amount, one, fee.currency)).join(' + ') ?? '–'}</td>
          <td>{figure(one.destinationAmount, one, one.destinationCurrency)}</td>
          <td>{ratesText(one.rates)}</td>
        </tr>
      ))}
    </Table>
  );
}

function figure(amount: string | null | undefined, { estimate } = { estimate: false }, currency = ''): string {
  if (amount === null || amount === undefined) return '–';
  return `${estimate ? '~' : ''}${shownDecimal(amount)} ${currency}`.trimEnd();
}

function ratesText(rates: { lowest: string; highest: string } | null): string {
  if (rates === null) return '–';
  return rates.lowest === rates.highest ? rates.lowest : `${rates.lowest} to ${rates.highest}`;
}

function Unquoted({ cost: { quotes, unquotedRows } }: { cost: UploadCost }) {
  if (unquotedRows.length === 0) return null;
  return (
    <Table
      caption={
        <>
          Rows without a usable quote: {shownCount(quotes.unquoted)}. Those that would be held or rejected are in no
          figure.
        </>
      }
      columns={[{ number: 'Line' }, 'Reference', 'Would be', 'Reason']}
    >
      {unquotedRows.map(({ line, reference, outcome, code, reason }) => (
        <tr key={line}>
          <td class="number">{line}</td>
          <td>{reference}</td>
          <td>{outcomeWords(outcome)}</td>
          <td>
            {reason}
            <Code code={code} />
          </td>
        </tr>
      ))}
    </Table>
  );
}
