const NAMESPACE = 'urn:iso:std:iso:20022:tech:xsd:pain.001.001.09';

export interface TransferXml {
  readonly reference?: string;
  readonly amount?: string;
  readonly currency?: string;
  readonly iban?: string;
  /** What stands in `CdtrAcct/Id` instead of an IBAN. */
  readonly account?: string;
  readonly accountCurrency?: string;
  /** What stands in `Cdtr/Id`. */
  readonly id?: string;
  /** More elements, at the end of the transfer. */
  readonly more?: string;
}

/** One transfer. */
export function transferXml({
  reference = 'INV-1',
  amount = '100.00',
  currency = 'MXN',
  ...rest
}: TransferXml = {}): string {
  const { iban = 'DE89370400440532013000', account = `<IBAN>${iban}</IBAN>`, accountCurrency, id, more = '' } = rest;
  return `<CdtTrfTxInf>
    <PmtId><InstrId>i</InstrId><EndToEndId>${reference}</EndToEndId></PmtId>
    <Amt><InstdAmt Ccy="${currency}">${amount}</InstdAmt></Amt>
    <CdtrAgt><FinInstnId><BICFI>DEUTDEFF</BICFI></FinInstnId></CdtrAgt>
    <Cdtr><Nm>Muster &amp; S\u00F6hne</Nm>${id === undefined ? '' : `<Id>${id}</Id>`}</Cdtr>
    <CdtrAcct><Id>${account}</Id>${accountCurrency === undefined ? '' : `<Ccy>${accountCurrency}</Ccy>`}</CdtrAcct>${more}
  </CdtTrfTxInf>`;
}

export interface PaymentXml {
  /** Elements before the debtor, such as NbOfTxs. */
  readonly head?: string;
  readonly method?: string;
  readonly debtorCurrency?: string;
  readonly transfers: readonly string[];
}

export function paymentXml({ head = '', method = 'TRF', debtorCurrency = 'EUR', transfers }: PaymentXml): string {
  return `<PmtInf><PmtInfId>p</PmtInfId><PmtMtd>${method}</PmtMtd>${head}
    <Dbtr><Nm>Payer</Nm></Dbtr>
    <DbtrAcct><Id><IBAN>DE02120300000000202051</IBAN></Id>${debtorCurrency === '' ? '' : `<Ccy>${debtorCurrency}</Ccy>`}</DbtrAcct>
    <DbtrAgt><FinInstnId><BICFI>DEUTDEFF</BICFI></FinInstnId></DbtrAgt>
    ${transfers.join('\n    ')}
  </PmtInf>`;
}

export interface MessageXml {
  /** The text of GrpHdr/NbOfTxs; the element is missing when it is empty. */
  readonly count: string;
  readonly sum?: string;
  readonly payments: readonly string[];
  readonly namespace?: string;
}

export function messageXml({ count, sum, payments, namespace = NAMESPACE }: MessageXml): string {
  const number = count === '' ? '' : `<NbOfTxs>${count}</NbOfTxs>`;
  return `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="${namespace}">
  <CstmrCdtTrfInitn>
  <GrpHdr><MsgId>m</MsgId><CreDtTm>2026-03-31T10:00:00</CreDtTm>${number}${sum === undefined ? '' : `<CtrlSum>${sum}</CtrlSum>`}<InitgPty><Nm>Payer</Nm></InitgPty></GrpHdr>
  ${payments.join('\n  ')}
  </CstmrCdtTrfInitn>
</Document>
`;
}
