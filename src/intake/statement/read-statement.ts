import { createHash } from 'node:crypto';
import { basename, extname } from 'node:path';
import { type Money, moneyOfDecimal } from '../../money.ts';
import { Refusal } from '../../refusal.ts';
import type { IntakeLimits } from '../limits.ts';
import { openPayoutSource, type PayoutSource } from '../payout-source.ts';
import { problemOf } from '../problems/problems.ts';
import { escapeUnseen } from '../problems/shown-value.ts';
import { ReaderDied, readApart } from '../reader/read-apart.ts';
import type { FileRecord, RecordStream } from '../record.ts';
import { openAmountReader, PLAIN_TEMPLATE } from '../template/template.ts';
import { CREDIT, DEBIT, type Movement } from './movement.ts';
import type { StatementTemplate } from './template.ts';

export interface Statement {
  readonly name: string;
  /** In hexadecimal. */
  readonly sha256: string;
  readonly movements: readonly Movement[];
}

/** Several statements as one: names and hashes with commas between them, the movements one after the other. */
export function joinStatements(statements: readonly Statement[]): Statement {
  return {
    name: statements.map(({ name }) => name).join(', '),
    sha256: statements.map(({ sha256 }) => sha256).join(','),
    movements: statements.flatMap(({ movements }) => movements),
  };
}

interface StatementOptions {
  /** What it is called, and how that ends, where its path does not say. */
  readonly name?: string;
  /** Of CSV; a message needs none. */
  readonly template: StatementTemplate;
  readonly limits: IntakeLimits;
}

type MovementOf = (record: FileRecord) => Movement;

/** Texts of a movement that are kept, on the average: all of them are in memory. */
const CHARACTERS_PER_MOVEMENT_MAX = 256;
/** As in a message (camt.ts). */
const TEXT_CHARACTERS_MAX = 1024;

/**
 * The movements of a statement: a message (camt.053, camt.054) under a name in .xml, read by a process of its own, or CSV.
 * All of them are in memory. Throws a Refusal (file refused) that names the place for what cannot be understood: nothing of a
 * statement is passed over.
 */
export async function readStatement(
  path: string,
  { name = basename(path), template, limits }: StatementOptions,
): Promise<Statement> {
  const source = { ...(await openPayoutSource(path)), name };
  if ((source.bytes ?? 0) > limits.fileBytesMax) throw refuse(source, `it has more than ${limits.fileBytesMax} bytes`);
  const digest = createHash('sha256');

  async function* chunks(): AsyncGenerator<Buffer, void> {
    for await (const chunk of source.chunks()) {
      digest.update(chunk);
      yield chunk;
    }
  }

  const isMessage = extname(name).toLowerCase() === '.xml';
  const { delimiter } = isMessage ? PLAIN_TEMPLATE : template;
  const records = readApart(chunks(), {
    format: isMessage ? 'camt' : 'csv',
    template: { ...PLAIN_TEMPLATE, delimiter },
    limits,
  });
  try {
    const movements = await allMovements(records, isMessage ? messageMovement : openCsv(template), limits);
    return { name: source.name, sha256: digest.digest('hex'), movements };
  } catch (error) {
    if (error instanceof StatementFault || error instanceof ReaderDied) throw refuse(source, error.found);
    throw error;
  }
}

async function allMovements(
  records: RecordStream,
  movementOf: (record: FileRecord) => Movement | undefined,
  { rowsMax }: IntakeLimits,
): Promise<Movement[]> {
  const movements: Movement[] = [];
  let characters = 0;
  for await (const { records: batch, damage = [], stop } of records) {
    for (const record of batch) {
      const movement = movementOf(record);
      if (movement !== undefined) movements.push(movement);
      characters += movement === undefined ? 0 : charactersOf(movement);
      if (movements.length > rowsMax) throw new StatementFault(`it has more than ${rowsMax} movements`);
      if (characters > CHARACTERS_PER_MOVEMENT_MAX * rowsMax) throw new StatementFault('its texts are far too long');
    }
    const [fault] = [...damage, ...(stop === undefined ? [] : [stop])];
    if (fault !== undefined) {
      const { line, message } = problemOf(fault.code, {
        line: fault.line,
        ...(fault.facts ? { facts: fault.facts } : {}),
      });
      throw new StatementFault(line === null ? message : `line ${line}: ${message}`);
    }
  }
  return movements;
}

function charactersOf({ date, reference, ids }: Movement): number {
  return [date, reference, ...ids].reduce((sum, text) => sum + text.length, 0);
}

/** What is wrong with a statement, as a piece of a sentence. */
class StatementFault extends Error {
  readonly found: string;

  constructor(found: string) {
    super(found);
    this.found = found;
  }
}

function refuse({ name }: PayoutSource, found: string): Refusal {
  return new Refusal(
    `The statement ${escapeUnseen(name)} cannot be used: ${escapeUnseen(found)}.`,
    'Fetch it again, or name the template that says how it looks (docs/reconcile.md).',
    { kind: 'fileRefused' },
  );
}

const NOT_PROVIDED = 'NOTPROVIDED';

const messageMovement: MovementOf = ({ line, cells }) => {
  const [direction = '', amount = '', currency = '', date = '', reference = '', ...ids] = cells;
  if (direction !== DEBIT && direction !== CREDIT)
    throw new StatementFault(`movement ${line} is neither debit nor credit`);
  return {
    line,
    isCredit: direction === CREDIT,
    amount: amount === '' ? null : moneyOf(amount, currency, line),
    date,
    reference: reference === NOT_PROVIDED ? '' : reference,
    ids: ids.filter((id) => id !== '' && id !== NOT_PROVIDED),
  };
};

function moneyOf(text: string, currency: string, line: number): Money {
  const money = moneyOfDecimal(text, currency);
  if (money === undefined) throw new StatementFault(`line ${line} has "${text} ${currency}", which is no amount`);
  return money;
}

/** Makes movements of the lines of a CSV statement; the first one is its header. */
function openCsv(template: StatementTemplate): (record: FileRecord) => Movement | undefined {
  const { columns } = template;
  const readAmount = openAmountReader({
    ...PLAIN_TEMPLATE,
    decimalMark: template.decimalMark,
    thousandsMark: template.thousandsMark ?? null,
  });
  let header: readonly string[] | undefined;

  function requireColumns({ cells }: FileRecord): void {
    header = cells;
    const needed = [columns.amount, ...(template.currency === undefined ? [columns.currency] : [])];
    const missing = needed.filter((name) => !cells.includes(name));
    if (missing.length > 0) throw new StatementFault(`it has no column ${missing.join(', ')}`);
    if (!cells.includes(columns.reference) && !cells.includes(columns.paymentId)) {
      throw new StatementFault(`it has neither a column ${columns.reference} nor ${columns.paymentId}`);
    }
    if (new Set(cells).size < cells.length) throw new StatementFault('two of its columns have one name');
  }

  function isCredit(direction: string | undefined, sign: string, line: number): boolean {
    if (direction === undefined && (template.signed || sign !== '-')) return template.signed && sign !== '-';
    if (direction !== template.debit && direction !== template.credit) {
      throw new StatementFault(`line ${line} has "${direction ?? sign}", which is neither debit nor credit`);
    }
    return direction === template.credit;
  }

  function movementIn({ line, cells }: FileRecord, names: readonly string[]): Movement {
    if (cells.length !== names.length) throw new StatementFault(`line ${line} has ${cells.length} cells`);
    const cell = (name: string): string => {
      const text = cells[names.indexOf(name)] ?? '';
      if (text.length > TEXT_CHARACTERS_MAX) throw new StatementFault(`line ${line} has a text that is far too long`);
      return text.trim();
    };
    const written = cell(columns.amount);
    const [, sign = '', digits = ''] = /^([+-]?)(.*)$/.exec(written) ?? [];
    const decimal = readAmount(digits);
    if (decimal === undefined) throw new StatementFault(`line ${line} has "${written}", which is no amount`);
    return {
      line,
      isCredit: isCredit(names.includes(columns.direction) ? cell(columns.direction) : undefined, sign, line),
      amount: moneyOf(decimal, template.currency ?? cell(columns.currency), line),
      date: cell(columns.date),
      reference: cell(columns.reference),
      ids: [cell(columns.paymentId)].filter((id) => id !== ''),
    };
  }

  return (record) => {
    if (header !== undefined) return movementIn(record, header);
    requireColumns(record);
    return undefined;
  };
}
