import { once } from 'node:events';
import type { Clock, Random } from '../../clock.ts';
import { nextQuoteMs } from '../../pay/due.ts';
import { type QuoteReading, readQuoteAnswer } from '../../pay/quote/quote-answer.ts';
import type { PayoutRow } from '../../payout.ts';
import { type BodyDefaults, quoteBody } from '../../service/bodies.ts';
import type { Service } from '../../service/client.ts';
import type { QuotedRow } from './cost-basis.ts';

const TRIES_MAX = 4;

export interface QuotingDeps {
  readonly service: Pick<Service, 'quote'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly defaults: BodyDefaults;
}

export interface QuotingLimits {
  readonly inFlightMax: number;
  readonly timeMsMax: number;
  /** Ends the asking before. */
  readonly signal: AbortSignal;
}

/** A row for which the service gave no quote that could be paid. */
export interface UnquotedRow {
  readonly row: PayoutRow;
  /** What a run would make of it now: held or rejected for good; waiting, for it would be asked again. */
  readonly outcome: 'held' | 'rejected' | 'waiting';
  readonly code: string;
  readonly reason: string;
}

/** What came of asking for quotes. None of them is armed, so they expire and cost nothing. */
export interface Quoting {
  readonly quoted: readonly QuotedRow[];
  readonly unquoted: readonly UnquotedRow[];
  /** Rows of which nothing was heard before the end. */
  readonly unasked: number;
  /** Why it ended before all were asked; null when it did not. */
  readonly ended: { readonly code: string; readonly reason: string } | null;
  /** Average time to an answer with a quote in milliseconds; null where there was none. */
  readonly quoteMs: number | null;
}

/**
 * Asks for a quote for each row, in their order, some at a time. A refusal that concerns all rows ends it, as it would
 * pause a run. Throws TokenRefused or TokenUnavailable.
 */
export async function quoteRows(
  deps: QuotingDeps,
  rows: readonly PayoutRow[],
  { inFlightMax, timeMsMax, signal }: QuotingLimits,
): Promise<Quoting> {
  const found = openFindings();
  const closing = new AbortController();
  const over = AbortSignal.any([signal, closing.signal]);
  const heard = over.aborted ? Promise.resolve() : once(over, 'abort');
  let ended: Quoting['ended'] = null;

  function end(code: string, reason: string): void {
    if (over.aborted) return;
    ended = { code, reason };
    closing.abort();
  }

  const waiting = rows.values();
  async function work(): Promise<void> {
    for (const row of waiting) {
      if (over.aborted) return;
      const asked = await Promise.race([askForQuote(deps, row, over), heard.then(() => undefined)]);
      if (asked === undefined) return;
      found.add(row, asked);
      if (asked.reading.kind === 'pause') end(asked.reading.code, asked.reading.reason);
    }
  }

  const seconds = Math.round(timeMsMax / 1000);
  void deps.clock.sleep(timeMsMax, over).then(() => end('E_TIME', `no more quotes are asked for after ${seconds} s`));
  try {
    await Promise.all(Array.from({ length: inFlightMax }, work));
  } finally {
    if (signal.aborted) ended ??= { code: 'E_INTERRUPTED', reason: 'it was interrupted' };
    closing.abort();
  }
  return found.result(rows.length, ended);
}

function openFindings() {
  const quoted: QuotedRow[] = [];
  const unquoted: UnquotedRow[] = [];
  let spentMs = 0;
  return {
    add(row: PayoutRow, { reading, ms }: Asked) {
      if (reading.kind === 'usable') {
        quoted.push({ row, quote: reading.quote });
        spentMs += ms;
      } else unquoted.push(unquotedRow(row, reading));
    },
    result: (rows: number, ended: Quoting['ended']): Quoting => ({
      quoted,
      unquoted: unquoted.toSorted((one, other) => one.row.line - other.row.line),
      unasked: rows - quoted.length - unquoted.length,
      ended,
      quoteMs: quoted.length === 0 ? null : spentMs / quoted.length,
    }),
  };
}

interface Asked {
  readonly reading: QuoteReading;
  /** How long the last answer took. */
  readonly ms: number;
}

/** What the service says of a row; asked again, after growing pauses, where a run would ask again. */
async function askForQuote(deps: QuotingDeps, row: PayoutRow, over: AbortSignal): Promise<Asked> {
  const { service, clock, random, defaults } = deps;
  for (let tries = 1; ; tries++) {
    const since = clock.monotonic();
    const reading = readQuoteAnswer(await service.quote(quoteBody(row, defaults)), row);
    const ms = clock.monotonic() - since;
    if (reading.kind !== 'again' || tries === TRIES_MAX || over.aborted) return { reading, ms };
    await clock.sleep(nextQuoteMs(tries, random), over);
  }
}

function unquotedRow(row: PayoutRow, reading: Exclude<QuoteReading, { kind: 'usable' }>): UnquotedRow {
  switch (reading.kind) {
    case 'held':
    case 'rejected':
      return { row, outcome: reading.kind, code: reading.code, reason: reading.reason };
    case 'pause':
      return { row, outcome: 'waiting', code: reading.code, reason: reading.reason };
    case 'again': {
      const reason = `no usable quote in ${TRIES_MAX} tries; the last: ${reading.reason}`;
      return { row, outcome: 'waiting', code: 'E_NO_QUOTE', reason };
    }
  }
}
