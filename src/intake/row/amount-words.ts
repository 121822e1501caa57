import { type Header, textIn } from '../csv/header.ts';
import { showValue } from '../problems/shown-value.ts';
import type { FileRecord } from '../record.ts';
import type { Column } from '../template/columns.ts';
import type { CellFault } from './cells.ts';
import { isSignOf } from './currency-signs.ts';

/**
 * The record with a fault in the cell of its amount where a word stands beside it that is no sign of its currency: €100 is
 * not what a row in USD pays, and 5k not what one pays that holds 5.
 */
export function judgeAmountWords(record: FileRecord, { columns }: Header): FileRecord {
  if (record.cellWords === undefined) return record;
  const placeOf = (column: Column) => columns.find((one) => one.column === column);
  const at = placeOf('amount')?.at ?? -1;
  const words = record.cellWords.get(at) ?? [];
  if (words.length === 0 || record.cellFaults?.has(at) === true) return record;
  const textOf = (column: Column): string => {
    const place = placeOf(column);
    return place === undefined ? '' : textIn(place, record.cells);
  };
  const currency = textOf(textOf('amountType') === 'DESTINATION_AMOUNT' ? 'destinationCurrency' : 'sourceCurrency');
  const word = words.find((one) => !isSignOf(one, currency));
  if (word === undefined) return record;
  return { ...record, cellFaults: new Map([...(record.cellFaults ?? []), [at, faultOf(word)]]) };
}

function faultOf(word: string): CellFault {
  const found = `"${showValue(null, word)}" stands beside the amount, which is no sign of its currency`;
  return { code: 'E_NUMBER_FORMAT', facts: { found } };
}
