import { formatAmount, type Money } from '../../money.ts';
import type { Payout, RefusedRow } from '../../payout.ts';
import { isRefused, reportRow } from '../row.ts';
import { cleanText, escapeMarkup, piecesOf, textElement } from '../xml-text.ts';
import type { OriginalIds } from './message-ids.ts';
import { type TransactionStatus, transactionStatus } from './status.ts';

/** Max35Text, which ids and codes are, and Max105Text of AddtlInf. */
const ID_CHARACTERS_MAX = 35;
const REMARK = { charactersMax: 105, piecesMax: 10 };

export interface TransactionFacts extends OriginalIds {
  readonly runId: string;
  /** What the report counted it as. */
  readonly status: TransactionStatus;
}

/**
 * TxInfAndSts of a row. A reference that is none of the message's ids (they have at most 35 characters) stands in the
 * remarks. A row that moved since the report was counted is told without the reasons that it has now.
 */
export function transactionElement(row: Payout | RefusedRow, facts: TransactionFacts): string {
  const shown = reportRow(row);
  const reference = shown.reference ?? '';
  const isId = reference !== '' && isMax35(reference) && cleanText(reference).trim() === reference;
  const remarks = [
    `outcome ${shown.outcome}`,
    ...(isId || reference === '' ? [] : [`reference ${reference}`]),
    ...(shown.paymentId === null ? [] : [`payment ${shown.paymentId}`]),
    ...(shown.reason === null ? [] : [shown.reason]),
  ];
  const hasMoved = transactionStatus(row) !== facts.status;
  return [
    '<TxInfAndSts>',
    textElement('StsId', `${facts.runId}-${row.line}`),
    textElement('OrgnlInstrId', facts.instructionId),
    isId ? textElement('OrgnlEndToEndId', reference) : '',
    textElement('TxSts', facts.status),
    hasMoved ? '' : reasonElement(shown.reasonCode ?? shown.outcome, remarks),
    amountElement(isRefused(row) ? row.amount : row.row.amount),
    '</TxInfAndSts>\n',
  ].join('');
}

function isMax35(text: string): boolean {
  return Array.from(text).length <= ID_CHARACTERS_MAX;
}

/** StsRsnInf with a code of our own and remarks, each of them cut into pieces that fit. */
export function reasonElement(code: string | null, remarks: readonly string[]): string {
  const [cut = ''] = piecesOf(code ?? '', { charactersMax: ID_CHARACTERS_MAX, piecesMax: 1 });
  const reason = cut === '' ? '' : `<Rsn>${textElement('Prtry', cut)}</Rsn>`;
  const pieces = remarks.flatMap((remark) => piecesOf(remark, REMARK));
  return `<StsRsnInf>${reason}${pieces.map((piece) => textElement('AddtlInf', piece)).join('')}</StsRsnInf>`;
}

function amountElement(amount: Money | null): string {
  if (amount === null) return '';
  const { currency } = amount;
  return `<OrgnlTxRef><Amt><InstdAmt Ccy="${escapeMarkup(currency)}">${formatAmount(amount)}</InstdAmt></Amt></OrgnlTxRef>`;
}
