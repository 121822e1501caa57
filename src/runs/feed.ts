import type { Ledger } from '../ledger/ledger.ts';
import type { GivenSlice, Slice } from '../ledger/slices.ts';

const SLICE_PAYOUTS_MAX = 50;
const SLICES_OF_A_SMALL_RUN = 200;
/** Lines of each run that go before all that large runs have left. */
const FIRST_LINES = 256;
/** Lines between two payouts of one slice at most, so that a slice stays a short range of lines. */
const GAP_LINES_MAX = 200;
/** Lines from a slice's first payout to its last at most; the payload of a pay job is held to it. */
export const SLICE_LINES_MAX = 10_000;

export interface FeedRules {
  /** Payouts in a slice; undefined lets the size of the run decide. */
  readonly slice: number | undefined;
  readonly window: number;
}

/** Payouts in a slice: 1 in a small run, up to 50 in a large one. */
export function sliceSize(rows: number, setting: number | undefined): number {
  return setting ?? Math.min(SLICE_PAYOUTS_MAX, Math.max(1, Math.ceil(rows / SLICES_OF_A_SMALL_RUN)));
}

/**
 * How late the slice that begins at a line is in its run: 0 for the first rows, 1 more each time that the run has had twice as
 * much. Slices of the lowest rank are paid first, so what is handed in behind a large run is not stuck behind it.
 */
export function rankOf(line: number): number {
  return Math.max(0, Math.ceil(Math.log2(line / FIRST_LINES)));
}

/** Cuts ascending lines into slices of at most `size` payouts. */
export function cutSlices(lines: readonly number[], size: number): Slice[] {
  const slices: { from: number; to: number; payouts: number }[] = [];
  for (const line of lines) {
    const last = slices.at(-1);
    if (
      last !== undefined &&
      last.payouts < size &&
      line - last.to <= GAP_LINES_MAX &&
      line - last.from < SLICE_LINES_MAX
    ) {
      last.to = line;
      last.payouts++;
    } else {
      slices.push({ from: line, to: line, payouts: 1 });
    }
  }
  return slices.map(({ from, to }) => ({ from, to }));
}

/**
 * Fills the window of a run: gives out the next slices of its ready payouts. Several processes may feed one run at once;
 * the cursor lets one of them win.
 */
export async function feedRun(ledger: Ledger, runId: string, rules: FeedRules): Promise<GivenSlice[]> {
  const { cursor, releasedTo, out } = await ledger.slices.position(runId);
  const room = rules.window - out;
  const run = await ledger.runs.read(runId);
  if (run === undefined || run.state !== 'paying' || room <= 0 || cursor > releasedTo) return [];
  const size = sliceSize(run.rows, rules.slice);
  const lines = await nextLines(ledger, runId, { from: cursor, to: releasedTo, most: room * size });
  const slices = cutSlices(lines, size).slice(0, room);
  const end = slices.at(-1)?.to;
  const stamp = await ledger.slices.feed(runId, {
    seen: cursor,
    cursor: end === undefined ? releasedTo + 1 : end + 1,
    slices,
  });
  return stamp === undefined ? [] : slices.map((slice) => ({ ...slice, stamp }));
}

async function nextLines(
  ledger: Ledger,
  runId: string,
  { from, to, most }: { from: number; to: number; most: number },
): Promise<number[]> {
  const lines: number[] = [];
  for await (const piece of ledger.runs.linesIn(runId, { state: 'ready', from })) {
    for (const line of piece) if (line <= to) lines.push(line);
    if (lines.length >= most || (piece.at(-1) ?? 0) > to) break;
  }
  return lines.slice(0, most);
}
