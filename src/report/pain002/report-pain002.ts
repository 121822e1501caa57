import { rfc3339 } from '../../clock.ts';
import { ISO_NAMESPACE } from '../../intake/pain001/versions.ts';
import type { ReportSource } from '../source.ts';
import { textElement } from '../xml-text.ts';
import { controlSum, type NotedStatuses } from './noted-statuses.ts';
import type { Original } from './original.ts';
import { groupStatus, TRANSACTION_STATUSES } from './status.ts';
import { reasonElement, transactionElement } from './transaction.ts';

export interface StatusReport {
  /** What the rows were when the report was counted. */
  readonly statuses: NotedStatuses;
  /** False: the report must not be trusted, and says so. */
  readonly ties: boolean;
  /** What is answered. */
  readonly original: Original;
}

/**
 * The report as ISO 20022 pain.002 (CustomerPaymentStatusReport) of the original's version, streamed: elements in the order of its schema,
 * a line for each transaction. The rows are those that `statuses` noted before; throws when they are not as many any more.
 */
export async function* reportPain002(source: ReportSource, report: StatusReport): AsyncGenerator<string, void> {
  const { statuses, original } = report;
  yield head(source, report);
  let rows = 0;
  let paymentId: string | undefined;
  for await (const batch of source.rows) {
    let text = '';
    for (const row of batch) {
      const ids = await original.idsOf(row.line);
      if (ids.paymentId !== paymentId) {
        text += `${paymentId === undefined ? '' : PAYMENT_END}<OrgnlPmtInfAndSts>${textElement('OrgnlPmtInfId', ids.paymentId)}\n`;
        paymentId = ids.paymentId;
      }
      const status = statuses.at(rows++);
      if (status !== undefined) text += transactionElement(row, { status, runId: source.run.id, ...ids });
    }
    if (text !== '') yield text;
  }
  if (rows !== statuses.rows()) throw new Error(`run ${source.run.id} had ${statuses.rows()} rows and now has ${rows}`);
  yield `${paymentId === undefined ? '' : PAYMENT_END}</CstmrPmtStsRpt>\n</Document>\n`;
}

const PAYMENT_END = '</OrgnlPmtInfAndSts>\n';

function head(source: ReportSource, { statuses, ties, original }: StatusReport): string {
  const { run, createdAt } = source;
  const perStatus = TRANSACTION_STATUSES.filter((status) => statuses.rowsOf(status) > 0).map(
    (status) =>
      `<NbOfTxsPerSts>${textElement('DtldNbOfTxs', String(statuses.rowsOf(status)))}${textElement('DtldSts', status)}` +
      `${textElement('DtldCtrlSum', statuses.sumOf(status))}</NbOfTxsPerSts>`,
  );
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<Document xmlns="${ISO_NAMESPACE}${original.statusReport}">`,
    '<CstmrPmtStsRpt>',
    `<GrpHdr>${textElement('MsgId', `${run.id}-${createdAt}`)}${textElement('CreDtTm', rfc3339(createdAt))}</GrpHdr>`,
    '<OrgnlGrpInfAndSts>',
    textElement('OrgnlMsgId', original.messageId) + textElement('OrgnlMsgNmId', original.messageName),
    textElement('OrgnlNbOfTxs', String(run.rows)) + textElement('OrgnlCtrlSum', controlSum(run.fileTotals)),
    textElement(
      'GrpSts',
      groupStatus((status) => statuses.rowsOf(status)),
    ),
    reasonElement(null, remarks(source, ties)),
    ...perStatus,
    '</OrgnlGrpInfAndSts>\n',
  ].join('\n');
}

/** What a reader has to know of the whole report, what is wrong with it first. */
function remarks({ run, service, environment, sandbox }: ReportSource, ties: boolean): string[] {
  return [
    ...(ties ? [] : ['THIS REPORT DOES NOT TIE: do not book from it']),
    ...(sandbox ? ['sandbox: no money moved'] : []),
    `run ${run.id}, ${run.state}`,
    `file ${run.fileName}`,
    `SHA-256 ${run.fileSha256}`,
    `service ${service}, ${environment}`,
  ];
}
