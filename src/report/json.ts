import type { Payout, RefusedRow } from '../payout.ts';
import { countsDocument, factsDocument } from './document.ts';
import { jsonText } from './json-text.ts';
import { reportRow } from './row.ts';
import type { ReportFacts, ReportSource } from './source.ts';
import { concludeSummary, type ReportSummary } from './summary.ts';
import { openTally } from './tally/tally.ts';

/** The report's JSON up to its first row. */
export function jsonHead(facts: ReportFacts): string {
  return `${jsonText(factsDocument(facts)).slice(0, -1)},"rows":[`;
}

/** A batch of rows, a line each; `first` tells that no row stands before them. */
export function jsonRows(batch: readonly (Payout | RefusedRow)[], { first }: { first: boolean }): string {
  return batch.map((row, index) => `${first && index === 0 ? '' : ','}\n${jsonText(reportRow(row))}`).join('');
}

/** The report's JSON after its last row: what was counted, and whether it ties. */
export function jsonTail(summary: ReportSummary): string {
  return `\n],${jsonText(countsDocument(summary)).slice(1)}\n`;
}

/**
 * The report as one JSON document with `rows`, streamed. A row has the CSV's columns, exact, and `fees`.
 * Counts and conservation stand after the rows because they are counted from them.
 */
export async function* reportJson(source: ReportSource): AsyncGenerator<string, void> {
  const tally = openTally();
  let first = true;
  yield jsonHead(source);
  for await (const batch of source.rows) {
    if (batch.length === 0) continue;
    tally.add(batch);
    yield jsonRows(batch, { first });
    first = false;
  }
  yield jsonTail(await concludeSummary(source, tally.result()));
}
