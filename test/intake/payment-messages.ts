import { messageXml } from './payment-message.ts';

/*
 * Messages of version 03 as systems write them, made by us after public descriptions: which elements they use, in which
 * order, and how they fill them. Names, accounts and ids are ours.
 */

const NAMESPACE = 'urn:iso:std:iso:20022:tech:xsd:pain.001.001.03';
const EXECUTION = '<ReqdExctnDt>2026-04-01</ReqdExctnDt>';

interface Sent {
  /** What stands before the debtor, and the debtor's part. */
  readonly payment: string;
  readonly transfer: (reference: string, amount: string) => string;
}

function message({ payment, transfer }: Sent): string {
  const transfers = [transfer('INV-1', '100.00'), transfer('INV-2', '250.5')].join('\n');
  const count = '<NbOfTxs>2</NbOfTxs><CtrlSum>350.50</CtrlSum>';
  return messageXml({
    namespace: NAMESPACE,
    count: '2',
    sum: '350.50',
    payments: [
      `<PmtInf><PmtInfId>p-1</PmtInfId><PmtMtd>TRF</PmtMtd>${payment.replace('COUNT', count)}${transfers}</PmtInf>`,
    ],
  });
}

const IBAN = '<CdtrAcct><Id><IBAN>DE89370400440532013000</IBAN></Id></CdtrAcct>';

/** A euro-area bank's export after the guidelines of the European Payments Council. */
const europeanBank = message({
  payment: `<BtchBookg>true</BtchBookg>COUNT<PmtTpInf><SvcLvl><Cd>SEPA</Cd></SvcLvl></PmtTpInf>${EXECUTION}
    <Dbtr><Nm>Payer AG</Nm></Dbtr><DbtrAcct><Id><IBAN>DE02120300000000202051</IBAN></Id><Ccy>EUR</Ccy></DbtrAcct>
    <DbtrAgt><FinInstnId><BIC>BYLADEM1001</BIC></FinInstnId></DbtrAgt><ChrgBr>SLEV</ChrgBr>`,
  transfer: (reference, amount) => `<CdtTrfTxInf><PmtId><EndToEndId>${reference}</EndToEndId></PmtId>
    <Amt><InstdAmt Ccy="EUR">${amount}</InstdAmt></Amt><CdtrAgt><FinInstnId><BIC>COBADEFFXXX</BIC></FinInstnId></CdtrAgt>
    <Cdtr><Nm>Muster GmbH</Nm></Cdtr>${IBAN}<RmtInf><Ustrd>${reference}</Ustrd></RmtInf></CdtTrfTxInf>`,
});

/** An ERP system's payment medium: addresses in lines, organisations by BICOrBEI, the agent without a BIC. */
const erp = message({
  payment: `COUNT<PmtTpInf><InstrPrty>NORM</InstrPrty></PmtTpInf>${EXECUTION}
    <Dbtr><Nm>Payer AG</Nm><PstlAdr><Ctry>DE</Ctry><AdrLine>Hauptstr. 1</AdrLine><AdrLine>10115 Berlin</AdrLine></PstlAdr>
    <Id><OrgId><BICOrBEI>PAYRDEFFXXX</BICOrBEI></OrgId></Id></Dbtr>
    <DbtrAcct><Id><IBAN>DE02120300000000202051</IBAN></Id><Ccy>EUR</Ccy></DbtrAcct>
    <DbtrAgt><FinInstnId><Othr><Id>NOTPROVIDED</Id></Othr></FinInstnId></DbtrAgt>`,
  transfer: (
    reference,
    amount,
  ) => `<CdtTrfTxInf><PmtId><InstrId>000${amount}</InstrId><EndToEndId>${reference}</EndToEndId></PmtId>
    <Amt><InstdAmt Ccy="EUR">${amount}</InstdAmt></Amt><ChrgBr>SHAR</ChrgBr>
    <CdtrAgt><FinInstnId><BIC>COBADEFFXXX</BIC><Nm>Bank</Nm><PstlAdr><Ctry>DE</Ctry></PstlAdr></FinInstnId></CdtrAgt>
    <Cdtr><Nm>Muster GmbH</Nm><PstlAdr><Ctry>DE</Ctry><AdrLine>Weg 2</AdrLine></PstlAdr>
    <Id><OrgId><BICOrBEI>MUSTDEFFXXX</BICOrBEI></OrgId></Id></Cdtr>${IBAN}<Purp><Cd>SUPP</Cd></Purp></CdtTrfTxInf>`,
});

/** A Nordic bank's: domestic account numbers under Othr with their scheme, the sender under a bank's own id. */
const nordicBank = message({
  payment: `COUNT<PmtTpInf><SvcLvl><Cd>NURG</Cd></SvcLvl><CtgyPurp><Cd>SUPP</Cd></CtgyPurp></PmtTpInf>${EXECUTION}
    <Dbtr><Nm>Payer ASA</Nm><Id><OrgId><Othr><Id>00112233</Id><SchmeNm><Cd>BANK</Cd></SchmeNm></Othr></OrgId></Id></Dbtr>
    <DbtrAcct><Id><Othr><Id>12345678903</Id><SchmeNm><Cd>BBAN</Cd></SchmeNm></Othr></Id><Ccy>NOK</Ccy></DbtrAcct>
    <DbtrAgt><FinInstnId><BIC>DNBANOKK</BIC><PstlAdr><Ctry>NO</Ctry></PstlAdr></FinInstnId></DbtrAgt>`,
  transfer: (
    reference,
    amount,
  ) => `<CdtTrfTxInf><PmtId><InstrId>i-${reference}</InstrId><EndToEndId>${reference}</EndToEndId></PmtId>
    <Amt><InstdAmt Ccy="NOK">${amount}</InstdAmt></Amt><Cdtr><Nm>Mønster AS</Nm><CtryOfRes>NO</CtryOfRes></Cdtr>
    <CdtrAcct><Id><Othr><Id>DE89370400440532013000</Id><SchmeNm><Cd>BBAN</Cd></SchmeNm></Othr></Id></CdtrAcct>
    <RmtInf><Strd><CdtrRefInf><Tp><CdOrPrtry><Cd>SCOR</Cd></CdOrPrtry></Tp><Ref>12345</Ref></CdtrRefInf></Strd></RmtInf></CdtTrfTxInf>`,
});

/** A global bank's for cross-border payments: clearing codes of agents, contacts, charges, what it is for in words of its own. */
const globalBank = message({
  payment: `COUNT<PmtTpInf><SvcLvl><Cd>URGP</Cd></SvcLvl></PmtTpInf>${EXECUTION}
    <Dbtr><Nm>Payer Inc</Nm><PstlAdr><StrtNm>Main St</StrtNm><PstCd>10001</PstCd><Ctry>US</Ctry></PstlAdr><CtctDtls><PhneNb>+1-2125550100</PhneNb></CtctDtls></Dbtr>
    <DbtrAcct><Id><Othr><Id>000123456789</Id></Othr></Id><Tp><Cd>CACC</Cd></Tp><Ccy>USD</Ccy><Nm>Payables</Nm></DbtrAcct>
    <DbtrAgt><FinInstnId><ClrSysMmbId><ClrSysId><Cd>USABA</Cd></ClrSysId><MmbId>021000021</MmbId></ClrSysMmbId></FinInstnId></DbtrAgt><ChrgBr>DEBT</ChrgBr>`,
  transfer: (
    reference,
    amount,
  ) => `<CdtTrfTxInf><PmtId><InstrId>i-${reference}</InstrId><EndToEndId>${reference}</EndToEndId></PmtId>
    <Amt><InstdAmt Ccy="MXN">${amount}</InstdAmt></Amt>
    <CdtrAgt><FinInstnId><BIC>BCMRMXMM</BIC></FinInstnId><BrnchId><Id>001</Id></BrnchId></CdtrAgt>
    <Cdtr><Nm>Proveedor SA</Nm><CtctDtls><EmailAdr>ap@proveedor.example</EmailAdr></CtctDtls></Cdtr>${IBAN}<Purp><Prtry>GOODS</Prtry></Purp></CdtTrfTxInf>`,
});

export const VERSION_03_MESSAGES: readonly (readonly [writer: string, xml: string])[] = [
  ['a bank of the euro area', europeanBank],
  ['an ERP system', erp],
  ['a Nordic bank', nordicBank],
  ['a global bank', globalBank],
];
