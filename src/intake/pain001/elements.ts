import { type MessageVersion, OWN_ELEMENTS } from './versions.ts';

/*
 * The elements of ISO 20022 pain.001 (CustomerCreditTransferInitiation) by their path below CstmrCdtTrfInitn. What
 * stands in none of these tables is refused: cheques (ChqInstr), amounts in another currency (EqvtAmt), agreed rates
 * (XchgRateInf), ultimate parties, tax, regulatory reporting and instructions to agents change what is paid or to whom.
 */

/** The elements whose text is read. */
export const READ = {
  messageId: 'GrpHdr/MsgId',
  count: 'GrpHdr/NbOfTxs',
  sum: 'GrpHdr/CtrlSum',
  paymentId: 'PmtInf/PmtInfId',
  method: 'PmtInf/PmtMtd',
  paymentCount: 'PmtInf/NbOfTxs',
  paymentSum: 'PmtInf/CtrlSum',
  debtorCurrency: 'PmtInf/DbtrAcct/Ccy',
  instructionId: 'PmtInf/CdtTrfTxInf/PmtId/InstrId',
  reference: 'PmtInf/CdtTrfTxInf/PmtId/EndToEndId',
  amount: 'PmtInf/CdtTrfTxInf/Amt/InstdAmt',
  iban: 'PmtInf/CdtTrfTxInf/CdtrAcct/Id/IBAN',
  account: 'PmtInf/CdtTrfTxInf/CdtrAcct/Id/Othr/Id',
  accountScheme: 'PmtInf/CdtTrfTxInf/CdtrAcct/Id/Othr/SchmeNm/Prtry',
  bankCode: 'PmtInf/CdtTrfTxInf/CdtrAgt/FinInstnId/BICFI',
  /** As versions before 08 call it. */
  bankCodeOf03: 'PmtInf/CdtTrfTxInf/CdtrAgt/FinInstnId/BIC',
  clearing: 'PmtInf/CdtTrfTxInf/CdtrAgt/FinInstnId/ClrSysMmbId/ClrSysId/Cd',
  ownClearing: 'PmtInf/CdtTrfTxInf/CdtrAgt/FinInstnId/ClrSysMmbId/ClrSysId/Prtry',
  bankMember: 'PmtInf/CdtTrfTxInf/CdtrAgt/FinInstnId/ClrSysMmbId/MmbId',
  branch: 'PmtInf/CdtTrfTxInf/CdtrAgt/BrnchId/Id',
  accountCurrency: 'PmtInf/CdtTrfTxInf/CdtrAcct/Ccy',
  organisation: 'PmtInf/CdtTrfTxInf/Cdtr/Id/OrgId/Othr/Id',
  person: 'PmtInf/CdtTrfTxInf/Cdtr/Id/PrvtId/Othr/Id',
  purpose: 'PmtInf/CdtTrfTxInf/Purp/Cd',
  ownPurpose: 'PmtInf/CdtTrfTxInf/Purp/Prtry',
} as const;

/** Where the currency of an amount is kept, which is an attribute. */
export const AMOUNT_CURRENCY = `${READ.amount}/@Ccy`;

export const PAYMENT = 'PmtInf';
export const TRANSFER = 'PmtInf/CdtTrfTxInf';

/** Elements that tell parties, accounts and messages apart and change nothing about a payout; all that is in them is passed over. */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set([
  'GrpHdr/CreDtTm',
  'GrpHdr/InitgPty',
  'PmtInf/Dbtr',
  'PmtInf/DbtrAgt',
  'PmtInf/DbtrAcct/Id',
  'PmtInf/DbtrAcct/Tp',
  'PmtInf/DbtrAcct/Nm',
  ...[
    'Cdtr/Nm',
    'Cdtr/PstlAdr',
    'Cdtr/CtryOfRes',
    'Cdtr/CtctDtls',
    'Cdtr/Id/OrgId/Othr/SchmeNm',
    'Cdtr/Id/OrgId/Othr/Issr',
    'Cdtr/Id/PrvtId/DtAndPlcOfBirth',
    'Cdtr/Id/PrvtId/Othr/SchmeNm',
    'Cdtr/Id/PrvtId/Othr/Issr',
    'CdtrAcct/Tp',
    'CdtrAcct/Nm',
    'CdtrAcct/Id/Othr/SchmeNm/Cd',
    'CdtrAcct/Id/Othr/Issr',
  ].map((path) => `${TRANSFER}/${path}`),
]);

/** Elements that a template may leave out: what they ask of a bank, payrun cannot pass on. */
export const LEFT_OUT_ELEMENTS = ['ReqdExctnDt', 'ChrgBr', 'PmtTpInf', 'BtchBookg', 'RmtInf', 'InitnSrc'] as const;

const MAY_BE_LEFT_OUT: ReadonlyMap<string, string> = new Map([
  ['GrpHdr/InitnSrc', 'InitnSrc'],
  ['PmtInf/ReqdExctnDt', 'ReqdExctnDt'],
  ['PmtInf/ChrgBr', 'ChrgBr'],
  ['PmtInf/PmtTpInf', 'PmtTpInf'],
  ['PmtInf/BtchBookg', 'BtchBookg'],
  [`${TRANSFER}/ChrgBr`, 'ChrgBr'],
  [`${TRANSFER}/PmtTpInf`, 'PmtTpInf'],
  [`${TRANSFER}/RmtInf`, 'RmtInf'],
]);

/** Of the creditor's bank only what tells it apart is read. */
const CREDITOR_BANK = `${TRANSFER}/CdtrAgt/`;

const READ_PATHS: ReadonlySet<string> = new Set(Object.values(READ));
const CONTAINERS: ReadonlySet<string> = new Set(
  [...READ_PATHS].flatMap((path) => path.split('/').map((_, at, names) => names.slice(0, at).join('/'))),
);

/** What is done with an element: its text is read, it is looked into, passed over with all that is in it, or refused. */
export type Treatment = 'read' | 'enter' | 'pass' | 'refuse';

export function treatmentOf(path: string, version: MessageVersion, leftOut: ReadonlySet<string>): Treatment {
  if (READ_PATHS.has(path)) return 'read';
  if (CONTAINERS.has(path)) return 'enter';
  if (OWN_ELEMENTS.has(path) && !version.own.includes(path)) return 'refuse';
  const name = MAY_BE_LEFT_OUT.get(path);
  if (name !== undefined) return leftOut.has(name) ? 'pass' : 'refuse';
  const hasNoEffect = WITHOUT_EFFECT.has(path) || OWN_ELEMENTS.has(path) || path.startsWith(CREDITOR_BANK);
  return hasNoEffect ? 'pass' : 'refuse';
}

/** The name by which a template can leave out an element; undefined for one that no template can leave out. */
export function leaveOutName(path: string, version: MessageVersion): string | undefined {
  return treatmentOf(path, version, new Set(LEFT_OUT_ELEMENTS)) === 'pass' ? MAY_BE_LEFT_OUT.get(path) : undefined;
}
