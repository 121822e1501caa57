import { setImmediate } from 'node:timers/promises';
import { openTable, type RowListener } from '../csv/table.ts';
import type { Reading } from '../formats.ts';
import { problemOf } from '../problems/problems.ts';
import { readApart } from '../reader/read-apart.ts';
import type { Damage } from '../record.ts';
import type { CheckedRow } from './row.ts';

/** Others have their turn meanwhile: a piece of a file may hold very many rows. */
const STEPS_A_TURN = 500;

/**
 * Turns the bytes of a payout file into judged rows. What is told is the same however the bytes are cut into pieces.
 * Time and again it gives what `take` gives; who has enough may stop there.
 */
export async function* tellRows<Taken>(
  chunks: AsyncIterable<Buffer>,
  reading: Reading,
  { listener, take }: { listener: RowListener; take: () => Taken },
): AsyncGenerator<Taken, void> {
  const table = openTable({ ...reading.limits, template: reading.template }, listener);
  let cutShortLine: number | undefined;
  let steps = 0;
  for await (const batch of readApart(chunks, reading)) {
    for (let at = 0; at < batch.records.length; ) {
      const record = batch.records[at];
      if (record === undefined || table.read(record)) at++;
      if (++steps % STEPS_A_TURN !== 0) continue;
      yield take();
      await setImmediate();
    }
    if (batch.message !== undefined) listener.message?.(batch.message);
    for (const damage of batch.damage ?? []) listener.damage(problemOfDamage(damage));
    if (batch.stop !== undefined && !table.isStopped()) table.stop(problemOfDamage(batch.stop));
    cutShortLine = batch.cutShortLine;
    yield take();
  }
  table.end(cutShortLine);
  yield take();
}

function problemOfDamage({ code, ...place }: Damage) {
  return problemOf(code, place);
}

/** The rows of a file once more, a batch for each piece of it; what else there is to tell was told before. */
export async function* readCheckedRows(
  chunks: AsyncIterable<Buffer>,
  reading: Reading,
): AsyncGenerator<readonly CheckedRow[]> {
  let rows: CheckedRow[] = [];
  const listener: RowListener = { row: (checked) => rows.push(checked), damage() {}, warning() {}, cutShort() {} };
  const take = (): readonly CheckedRow[] => {
    const taken = rows;
    rows = [];
    return taken;
  };
  yield* tellRows(chunks, reading, { listener, take });
}
