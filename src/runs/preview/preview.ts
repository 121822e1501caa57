import { type CheckedFile, checkPayoutFile, type IntakeOptions } from '../../intake/check-file.ts';
import { previewPayoutFile } from '../../intake/read-file.ts';
import { type FundsNeeded, moneyOfDecimal } from '../../money.ts';
import { Refusal } from '../../refusal.ts';
import type { Service } from '../../service/client.ts';
import { parseBalance } from '../../service/replies.ts';
import { type CorridorRows, inTurn, openCorridors, type SampleSize } from './corridor.ts';
import type { CostBasis } from './cost-basis.ts';
import { estimateTime, type TimeEstimate } from './estimate.ts';
import { type Quoting, type QuotingDeps, quoteRows } from './quotes.ts';
import { type Arriving, arriving, type CorridorPreview, fundsNeeded, previewCorridors, rowsUnpriced } from './sums.ts';

/** With up to so many valid rows each of them is quoted. */
export const EVERY_ROW_MAX = 100;
/** Rows of each corridor that are quoted of a larger file; its smallest and its largest row come on top. */
export const SAMPLE_ROWS = 20;
/** Quotes of one preview. */
export const QUOTES_MAX = 20_000;
/** Quotes asked for at a time, in a process that may pay as many payouts at a time or more. */
const IN_FLIGHT_MAX = 16;
const TIME_MS_MAX = 5 * 60 * 1000;

export interface PreviewDeps extends Omit<QuotingDeps, 'service'> {
  readonly service: Pick<Service, 'ready' | 'quote' | 'readBalance'>;
  /** As PAYRUN_CONCURRENCY and PAYRUN_RATE have them. */
  readonly concurrency: number;
  readonly ratePerSecond: number | undefined;
  /** As PAYRUN_BALANCES has it. */
  readonly asksBalances: boolean;
}

export interface PreviewOptions {
  readonly intake: IntakeOptions;
  /** Rows of each corridor that are quoted, `all` for every row; undefined: 20, and every row of a file of up to 100. */
  readonly sample: SampleSize | undefined;
  readonly signal: AbortSignal;
  /** After so long no more quotes are asked for; 5 minutes unless told. */
  readonly timeMsMax?: number;
}

/** What a payout file would come to if it were paid now. Money is exact minor units. */
export interface Preview {
  /** Rows, totals and problems, as `validate` has them. */
  readonly checked: CheckedFile;
  /** Rows of each corridor that were to be quoted; `all`: every valid row. */
  readonly sample: SampleSize;
  /** What was asked and what was not answered with a usable quote. */
  readonly quoting: Quoting;
  readonly corridors: readonly CorridorPreview[];
  readonly funds: readonly FundsNeeded[];
  readonly arriving: readonly Arriving[];
  /** Payable rows that are in neither, for no quote of their corridor shows both amounts. */
  readonly rowsUnpriced: number;
  /** For the payable rows; null when nothing is known. */
  readonly time: TimeEstimate | null;
  /** By `corridorKey`, for each corridor of which a quote shows what it costs. */
  readonly costBasis: ReadonlyMap<string, CostBasis>;
}

/**
 * Previews a payout file from live quotes that are never armed: nothing is recorded, nothing can be paid. Works for a file
 * with problems as far as it can: its valid rows are previewed, also where the file is refused as a whole, but none of a
 * file that a limit kept from being read to its end. Throws a
 * Refusal (file refused) for a file that cannot be read or changes meanwhile, for `all` of too many rows, and
 * TokenRefused or TokenUnavailable.
 */
export async function previewFile(deps: PreviewDeps, path: string, options: PreviewOptions): Promise<Preview> {
  const checked = await checkPayoutFile(path, options.intake);
  const sample = sampleOf(checked, options.sample);
  const rows = checked.sha256 === '' ? [] : await readCorridors(path, checked, sample);
  return { checked, sample, ...(await previewRows(deps, rows, options)) };
}

/** The same of rows that are known already. Throws TokenRefused or TokenUnavailable. */
export async function previewRows(
  deps: PreviewDeps,
  rows: readonly CorridorRows[],
  options: Pick<PreviewOptions, 'signal' | 'timeMsMax'>,
): Promise<Omit<Preview, 'checked' | 'sample'>> {
  const asked = inTurn(rows).slice(0, QUOTES_MAX);
  if (asked.length > 0) await deps.service.ready();
  const { signal, timeMsMax = TIME_MS_MAX } = options;
  const inFlightMax = Math.min(deps.concurrency, IN_FLIGHT_MAX);
  const quoting = await quoteRows(deps, asked, { inFlightMax, timeMsMax, signal });
  const corridors = previewCorridors(rows, quoting);
  const needed = fundsNeeded(corridors);
  const payable = corridors.reduce((sum, corridor) => sum + corridor.payable, 0);
  return {
    quoting,
    corridors,
    funds: deps.asksBalances && !signal.aborted ? await withBalances(deps.service, needed) : needed,
    arriving: arriving(corridors),
    rowsUnpriced: rowsUnpriced(corridors),
    time: estimateTime(payable, { ...deps, quoteMs: quoting.quoteMs }),
    costBasis: new Map(corridors.flatMap(({ key, cost }) => (cost === null ? [] : [[key, cost] as const]))),
  };
}

async function readCorridors(path: string, checked: CheckedFile, sample: SampleSize): Promise<readonly CorridorRows[]> {
  const found = openCorridors(sample, QUOTES_MAX);
  for await (const batch of previewPayoutFile(path, checked)) {
    for (const row of batch) if ('reference' in row) found.add(row);
  }
  return found.result();
}

function sampleOf({ valid }: CheckedFile, wanted: SampleSize | undefined): SampleSize {
  if (wanted === 'all' && valid > QUOTES_MAX) {
    throw new Refusal(
      `A preview asks for at most ${QUOTES_MAX} quotes, and the file has ${valid} valid rows.`,
      'Leave --sample out, or name the number of rows to quote of each corridor: --sample 100.',
    );
  }
  return wanted ?? (valid <= EVERY_ROW_MAX ? 'all' : SAMPLE_ROWS);
}

/** What is needed in each currency, with what the service says can be paid from. Throws TokenRefused or TokenUnavailable. */
export async function withBalances(
  service: Pick<Service, 'readBalance'>,
  funds: readonly FundsNeeded[],
): Promise<FundsNeeded[]> {
  return await Promise.all(funds.map(async (need) => ({ ...need, balance: await balanceIn(service, need.currency) })));
}

async function balanceIn(service: Pick<Service, 'readBalance'>, currency: string): Promise<bigint | null> {
  const answer = await service.readBalance(currency);
  if (answer.kind !== 'answered' || answer.status !== 200) return null;
  const told = parseBalance(answer.json, currency);
  return (told === undefined ? undefined : moneyOfDecimal(told, currency)?.minor) ?? null;
}
