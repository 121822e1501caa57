import { rfc3339 } from '../../clock.ts';
import { formatAmount } from '../../money.ts';
import type { Foreseen, StoppedRows } from '../../runs/hand-in/foresee.ts';
import { columns } from '../columns.ts';

const NAMED_MAX = 10;

/** What the ledger told, or why it told nothing; both null for a file of which nothing can be paid. */
export interface LookedAhead {
  readonly foreseen: Foreseen | null;
  readonly why: string | null;
}

/** Which rows would not be paid and why, for a terminal. */
export function foreseenText({ foreseen, why }: LookedAhead): string {
  if (foreseen === null)
    return why === null ? '' : `References, likely duplicates, blocks and limits were not looked up: ${why}`;
  const { knownRun, stopped, pays, untold, waiting } = foreseen;
  if (knownRun !== null) {
    return `The content of this file is run ${knownRun.id} already (${knownRun.state}): submitting it again adds nothing to that run.`;
  }
  const totals = pays.totals.map((money) => `${formatAmount(money)} ${money.currency}`).join(', ');
  return [
    pays.rows === 0
      ? 'By the ledger, no row would be paid by itself.'
      : `By the ledger, ${rowsText(pays.rows)} would be paid: ${totals}.`,
    ...stopped.map(stoppedText),
    ...(untold === 0 ? [] : [`Of ${rowsText(untold)} only a quote tells whether a limit stands against it.`]),
    ...(waiting === null
      ? []
      : [`The run would wait${waiting.at === 'schedule' ? '' : ` until ${rfc3339(waiting.at)}`}: ${waiting.reason}.`]),
  ].join('\n');
}

function stoppedText({ code, becomes, reason, rows, named }: StoppedRows): string {
  const lines = named
    .slice(0, NAMED_MAX)
    .map(({ line, reference, other }) => [`  line ${line}`, reference, other === null ? '' : `see ${other}`]);
  const left = rows - lines.length;
  return [
    `${rowsText(rows)} would be ${becomes}: ${reason} (${code})`,
    columns(lines),
    ...(left === 0 ? [] : [`  and ${left} more`]),
  ].join('\n');
}

function rowsText(rows: number): string {
  return rows === 1 ? '1 row' : `${rows} rows`;
}
