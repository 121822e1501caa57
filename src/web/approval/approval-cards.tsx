import { stagesText } from '../../config/stages.ts';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import type { Money } from '../../money.ts';
import type { Payout, Run } from '../../payout.ts';
import { neededDocument } from '../../report/document.ts';
import type { BeneficiaryTotal } from '../../runs/beneficiaries.ts';
import { Badge } from '../parts/badge.tsx';
import { counted, shownCount } from '../parts/figures.ts';
import { Amount, Balances } from '../parts/money.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { hrefOfRow } from '../payouts/find-row.ts';
import { type ApprovalProps, isDuplicate, type Seen } from './approval-facts.ts';

/** More stand in the fold below. */
const CURRENCIES_MAX = 3;
const LINES_MAX = 10;

/** What leaves, what changed against the run before it, and who is paid for the first time. */
export function ApprovalCards(props: ApprovalProps) {
  const { run, before, beneficiaries } = props;
  const { newOnes } = beneficiaries;
  return (
    <div class="cards">
      <section
        id="approval-funds"
        class="card card-body"
        aria-label="What leaves"
        data-refreshed
        {...(props.isAsking ? { 'data-asking': true } : {})}
      >
        <LeavesPart {...props} />
        {run.stages === null ? null : <p class="hint">Paid in stages: {stagesText(run.stages)}.</p>}
      </section>
      <BeforeCard run={run} before={before} />
      <div class="card card-body">
        <h2 class="label">Paid for the first time</h2>
        <p class={`figure ${run.newBeneficiaryRows === 0 ? '' : 'tone-wait'}`}>
          {shownCount(run.newBeneficiaryRows)} {run.newBeneficiaryRows === 1 ? 'row' : 'rows'}
        </p>
        {newOnes.beneficiaries === 0 ? null : (
          <p class="hint">
            {shownCount(newOnes.beneficiaries)} {newOnes.beneficiaries === 1 ? 'beneficiary gets' : 'beneficiaries get'}{' '}
            <Amounts amounts={newOnes.amounts} />
          </p>
        )}
      </div>
    </div>
  );
}

/** By quotes, with fees; until there are some, the amounts of the rows that are paid. */
function LeavesPart({ funds, isAsking, beneficiaries: { pays } }: ApprovalProps) {
  const rows = counted(pays.rows, 'row');
  if (funds === null) {
    return (
      <>
        <h2 class="label">To be paid</h2>
        <Figures amounts={pays.amounts} />
        <p class="hint">
          In {rows}, without those that are refused, held or blocked.{' '}
          {isAsking
            ? 'The service is being asked what leaves with fees.'
            : 'Fees come on top, as the service quotes them.'}
        </p>
      </>
    );
  }
  const { needed, unpriced, at } = funds;
  const fees = needed.filter((one) => one.fees > 0n).map((one) => ({ minor: one.fees, currency: one.currency }));
  return (
    <>
      <h2 class="label">
        {needed.some(({ isEstimate }) => isEstimate) ? 'Leaves the account, about' : 'Leaves the account'}
      </h2>
      <Figures amounts={needed.map((one) => ({ minor: one.amount + one.fees, currency: one.currency }))} />
      <p class="hint">
        {fees.length === 0 ? (
          'without fees'
        ) : (
          <>
            with fees of <Amounts amounts={fees} />
          </>
        )}
        , in {rows}, by quotes of <Time at={at} />; without rows that are refused, held or blocked
        {unpriced === 0 ? null : `; of ${shownCount(unpriced)} no quote told`}.
      </p>
      <Balances needed={needed.map(neededDocument)} />
    </>
  );
}

function figureOf(money: Money) {
  return (
    <p key={money.currency} class="figure">
      <Amount money={money} />
    </p>
  );
}

/** All of them: those beyond the first three in a fold. */
function Figures({ amounts }: { amounts: readonly Money[] }) {
  const others = amounts.slice(CURRENCIES_MAX);
  return (
    <>
      {amounts.length === 0 ? <p class="figure">nothing</p> : amounts.slice(0, CURRENCIES_MAX).map(figureOf)}
      {others.length === 0 ? null : (
        <details>
          <summary>{`and ${others.length} more ${others.length === 1 ? 'currency' : 'currencies'}`}</summary>
          {others.map(figureOf)}
        </details>
      )}
    </>
  );
}

/** The first few of them, and how many more there are. */
export function Amounts({ amounts }: { amounts: readonly Money[] }) {
  const others = amounts.length - CURRENCIES_MAX;
  return (
    <>
      {amounts.slice(0, CURRENCIES_MAX).map((money, at) => (
        <span key={money.currency}>
          {at === 0 ? null : ', '}
          <Amount money={money} />
        </span>
      ))}
      {others > 0 ? ` and ${others} more ${others === 1 ? 'currency' : 'currencies'}` : null}
    </>
  );
}

function BeforeCard({ run, before }: Pick<ApprovalProps, 'run' | 'before'>) {
  const [now, last] = [run.fileTotals, before?.fileTotals ?? []];
  const change = now.length === 1 && last.length === 1 ? changeOf(last[0], now[0]) : null;
  return (
    <div class="card card-body">
      <h2 class="label">Against the last file of this name</h2>
      {before === undefined ? (
        <p class="hint">There was none lately.</p>
      ) : (
        <>
          <p class="figure">{change ?? `${rowsChange(before, run)} rows`}</p>
          <p class="hint">
            {last.slice(0, CURRENCIES_MAX).map((total) => (
              <>
                <Amount money={total} />{' '}
              </>
            ))}
            in {shownCount(before.rows)} rows, <Time at={before.createdAt} />
          </p>
        </>
      )}
    </div>
  );
}

/** In whole per cent, such as `+ 31 %`; null for other currencies. */
function changeOf(last: Money | undefined, now: Money | undefined): string | null {
  if (last === undefined || now === undefined || last.currency !== now.currency || last.minor === 0n) return null;
  const perCent = ((now.minor - last.minor) * 100n) / last.minor;
  return perCent < 0n ? `− ${shownCount(-perCent)} %` : `+ ${shownCount(perCent)} %`;
}

function rowsChange(before: Run, run: Run): string {
  const more = run.rows - before.rows;
  return more < 0 ? `− ${shownCount(-more)}` : `+ ${shownCount(more)}`;
}

/** The ten largest payouts, and whoever is blocked. */
export function LargestPayouts(props: ApprovalProps) {
  const { run, beneficiaries, names, neverPaid, blocked } = props;
  const lines = tenOf(beneficiaries.largest);
  return (
    <div>
      <BlockedLines {...props} />
      <Table
        caption={
          <>
            Largest payouts · <a href={`/runs/${run.id}/payouts`}>all {shownCount(run.rows)} rows</a>
          </>
        }
        columns={['Beneficiary', 'Reference', { number: 'Amount' }, 'Look at']}
      >
        {lines.map(({ line, row, state, reasonCode }) => (
          <tr key={line}>
            <td>
              {names.get(row.beneficiaryIdentityId) ?? <span class="dim">no name is known</span>}{' '}
              <code class="d-block small">{row.beneficiaryIdentityId}</code>
            </td>
            <th scope="row">
              <a href={hrefOfRow({ run: run.id, line })}>{escapeUnseen(row.reference)}</a>
            </th>
            <td class="number">
              <Amount money={row.amount} />
            </td>
            <td>
              {blocked.has(row.beneficiaryIdentityId) ? <Badge tone="bad">blocked</Badge> : null}{' '}
              {state === 'held' ? (
                <Badge tone="wait">{isDuplicate(reasonCode ?? '') ? 'likely duplicate: held' : 'held'}</Badge>
              ) : null}{' '}
              {neverPaid.has(row.beneficiaryIdentityId) ? <Badge tone="wait">never paid before</Badge> : null}
            </td>
          </tr>
        ))}
      </Table>
    </div>
  );
}

/** The largest of those who are blocked, wherever they stand. */
function BlockedLines(props: ApprovalProps) {
  const { blocked } = props.beneficiaries;
  if (blocked.length === 0) return null;
  const lines = blocked.slice(0, LINES_MAX);
  const left = blocked.length - lines.length;
  const caption = `Blocked: they are held when their turn comes${left === 0 ? '' : `; ${shownCount(left)} more lines`}`;
  return <BeneficiaryLines caption={caption} lines={lines} seen={props} />;
}

/** The largest of each currency, then the next ones, ten in all. */
function tenOf(largest: readonly Payout[]): Payout[] {
  const seen = new Map<string, number>();
  const ranked = largest.map((payout) => {
    const { currency } = payout.row.amount;
    const rank = seen.get(currency) ?? 0;
    seen.set(currency, rank + 1);
    return { payout, rank };
  });
  return ranked
    .toSorted((one, other) => one.rank - other.rank)
    .slice(0, LINES_MAX)
    .map(({ payout }) => payout);
}

interface LinesProps {
  readonly caption: string;
  readonly lines: readonly BeneficiaryTotal[];
  readonly seen: Seen;
}

/** Beneficiaries with what they get, and whether they are new or blocked. */
export function BeneficiaryLines({ caption, lines, seen: { names, neverPaid, blocked } }: LinesProps) {
  return (
    <Table
      caption={caption}
      columns={['Name at the service', { number: 'Payouts' }, { number: 'Amount' }, 'Look at']}
      class="stacked"
    >
      {lines.map(({ identityId, rows, amount }) => (
        <tr key={`${identityId} ${amount.currency}`}>
          <th scope="row">
            {names.get(identityId) ?? <span class="dim">not known</span>} <code>{identityId}</code>
          </th>
          <td class="number">{shownCount(rows)}</td>
          <td class="number">
            <Amount money={amount} />
          </td>
          <td>
            {blocked.has(identityId) ? <Badge tone="bad">blocked</Badge> : null}{' '}
            {neverPaid.has(identityId) ? <Badge tone="wait">never paid before</Badge> : null}
          </td>
        </tr>
      ))}
    </Table>
  );
}
