import { messageXml } from './payment-message.ts';

/*
 * Messages as systems write them, made by us after public descriptions: which elements they use, in which order, and how they fill
 * them. Names, accounts and ids are ours.
 */

const NAMESPACE = 'urn:iso:std:iso:20022:tech:xsd:pain.001.001.';
const EXECUTION = '<ReqdExctnDt>2026-04-01</ReqdExctnDt>';

interface Sent {
  /** What stands before the debtor, and the debtor's part. */
  readonly payment: string;
  readonly transfer: (reference: string, amount: string) => string;
  readonly version?: '03' | '09';
  /** Of the message's first element. */
  readonly attributes?: string;
  /** What names who sends it, where that is more than a name. */
  readonly sender?: string;
}

function message({ payment, transfer, version = '03', attributes = '', sender }: Sent): string {
  const transfers = [transfer('INV-1', '100.00'), transfer('INV-2', '250.5')].join('\n');
  const count = '<NbOfTxs>2</NbOfTxs><CtrlSum>350.50</CtrlSum>';
  const xml = messageXml({
    namespace: `${NAMESPACE}${version}`,
    count: '2',
    sum: '350.50',
    payments: [
      `<PmtInf><PmtInfId>p-1</PmtInfId><PmtMtd>TRF</PmtMtd>${payment.replace('COUNT', count)}${transfers}</PmtInf>`,
    ],
  }).replace('<Document ', `<Document ${attributes}`);
  return sender === undefined ? xml : xml.replace(/<InitgPty>.*?<\/InitgPty>/s, `<InitgPty>${sender}</InitgPty>`);
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

/**
 * A Swedish bank's, as Handelsbanken takes it (NTech's test of payment files, on GitHub): no sums of a payment, agents by their
 * clearing number alone, amounts without decimals where they have none.
 */
const swedishBank = message({
  attributes: 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" ',
  payment: `<PmtTpInf><InstrPrty>NORM</InstrPrty><SvcLvl><Cd>NURG</Cd></SvcLvl><CtgyPurp><Cd>SUPP</Cd></CtgyPurp></PmtTpInf>${EXECUTION}
    <Dbtr><Nm>Betalare AB</Nm><PstlAdr><Ctry>SE</Ctry></PstlAdr><Id><OrgId><Othr><Id>5560000001</Id><SchmeNm><Cd>BANK</Cd></SchmeNm></Othr></OrgId></Id></Dbtr>
    <DbtrAcct><Id><Othr><Id>400000001</Id><SchmeNm><Cd>BBAN</Cd></SchmeNm></Othr></Id><Ccy>SEK</Ccy></DbtrAcct>
    <DbtrAgt><FinInstnId><ClrSysMmbId><MmbId>HANDSESS</MmbId></ClrSysMmbId><PstlAdr><Ctry>SE</Ctry></PstlAdr></FinInstnId></DbtrAgt>`,
  transfer: (reference, amount) => `<CdtTrfTxInf><PmtId><EndToEndId>${reference}</EndToEndId></PmtId>
    <Amt><InstdAmt Ccy="SEK">${amount.replace('.00', '')}</InstdAmt></Amt>
    <CdtrAgt><FinInstnId><ClrSysMmbId><MmbId>9960</MmbId></ClrSysMmbId></FinInstnId></CdtrAgt>
    <Cdtr><Nm>M\u00F6nster AB</Nm><PstlAdr><Ctry>SE</Ctry></PstlAdr></Cdtr>
    <CdtrAcct><Id><Othr><Id>DE89370400440532013000</Id><SchmeNm><Cd>BBAN</Cd></SchmeNm></Othr></Id></CdtrAcct>
    <RmtInf><Ustrd>${reference}</Ustrd></RmtInf></CdtTrfTxInf>`,
});

/**
 * After the Swiss Payment Standards of SIX (pain.001.001.09.ch.03), as SQL-Ledger and Kivitendo write it: the schema named beside the
 * namespace, the software in the sender's contact, addresses in parts, QR references.
 */
const swissSystem = message({
  version: '09',
  attributes: `xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="${NAMESPACE}09 pain.001.001.09.ch.03.xsd" `,
  sender: `<Nm>Payer AG</Nm><CtctDtls>${['NAME', 'VRSN', 'PRVD', 'SPSV'].map((kind) => `<Othr><ChanlTp>${kind}</ChanlTp><Id>2.0</Id></Othr>`).join('')}</CtctDtls>`,
  payment: `<BtchBookg>true</BtchBookg>COUNT<ReqdExctnDt><Dt>2026-04-01</Dt></ReqdExctnDt>
    <Dbtr><Nm>Payer AG</Nm></Dbtr><DbtrAcct><Id><IBAN>CH9300762011623852957</IBAN></Id><Ccy>CHF</Ccy></DbtrAcct>
    <DbtrAgt><FinInstnId><BICFI>UBSWCHZH80A</BICFI></FinInstnId></DbtrAgt>`,
  transfer: (
    reference,
    amount,
  ) => `<CdtTrfTxInf><PmtId><InstrId>${reference}</InstrId><EndToEndId>${reference}</EndToEndId></PmtId>
    <Amt><InstdAmt Ccy="CHF">${amount}</InstdAmt></Amt>
    <Cdtr><Nm>Muster AG</Nm><PstlAdr><StrtNm>Weg</StrtNm><BldgNb>2</BldgNb><PstCd>8000</PstCd><TwnNm>Z\u00FCrich</TwnNm><Ctry>CH</Ctry></PstlAdr></Cdtr>
    ${IBAN}<RmtInf><Strd><CdtrRefInf><Tp><CdOrPrtry><Prtry>QRR</Prtry></CdOrPrtry></Tp><Ref>210000000003139471430009017</Ref></CdtrRefInf></Strd></RmtInf></CdtTrfTxInf>`,
});

/** A Moroccan bank's, as Attijariwafa takes it (a payer's program on GitHub): on one line, accounts under Othr, BIC in a 09. */
const moroccanBank = message({
  version: '09',
  payment: `COUNT<PmtTpInf><SvcLvl><Cd>URGP</Cd></SvcLvl></PmtTpInf><ReqdExctnDt><Dt>2026-04-01</Dt></ReqdExctnDt><Dbtr><Nm>Payer SARL</Nm></Dbtr><DbtrAcct><Id><Othr><Id>007780000000000000000001</Id></Othr></Id></DbtrAcct><DbtrAgt><FinInstnId><BIC>BCMAMAMC</BIC><Nm>Banque</Nm><PstlAdr><StrtNm>1, Avenue</StrtNm><TwnNm>Rabat</TwnNm><Ctry>MA</Ctry></PstlAdr></FinInstnId></DbtrAgt><ChrgBr>SHAR</ChrgBr>`,
  transfer: (reference, amount) =>
    `<CdtTrfTxInf><PmtId><InstrId>${reference}</InstrId><EndToEndId>${reference}</EndToEndId></PmtId><Amt><InstdAmt Ccy="MAD">${amount}</InstdAmt></Amt><CdtrAgt><FinInstnId><BIC>BCMAMAMC</BIC></FinInstnId></CdtrAgt><Cdtr><Nm>Fournisseur SA</Nm></Cdtr><CdtrAcct><Id><Othr><Id>DE89370400440532013000</Id></Othr></Id></CdtrAcct><RmtInf><Ustrd>${reference}</Ustrd></RmtInf></CdtTrfTxInf>`,
});

/** A German EBICS client's instant payment, after the guidelines of the European Payments Council for version 09. */
const instantPayment = message({
  version: '09',
  payment: `<BtchBookg>false</BtchBookg>COUNT<PmtTpInf><SvcLvl><Cd>SEPA</Cd></SvcLvl><LclInstrm><Cd>INST</Cd></LclInstrm></PmtTpInf>
    <ReqdExctnDt><DtTm>2026-04-01T09:30:00+02:00</DtTm></ReqdExctnDt><Dbtr><Nm>Payer AG</Nm></Dbtr>
    <DbtrAcct><Id><IBAN>DE02120300000000202051</IBAN></Id></DbtrAcct>
    <DbtrAgt><FinInstnId><BICFI>ETBADE2AXXX</BICFI></FinInstnId></DbtrAgt><ChrgBr>SLEV</ChrgBr>`,
  transfer: (reference, amount) => `<CdtTrfTxInf>
    <PmtId><EndToEndId>${reference}</EndToEndId><UETR>2f3c1b0e-6a7d-4c8e-9f10-2b3c4d5e6f70</UETR></PmtId>
    <Amt><InstdAmt Ccy="EUR">${amount}</InstdAmt></Amt><Cdtr><Nm>Muster GmbH</Nm></Cdtr>${IBAN}
    <RmtInf><Ustrd>${reference}</Ustrd></RmtInf></CdtTrfTxInf>`,
});

export const VERSION_09_MESSAGES: readonly (readonly [writer: string, xml: string])[] = [
  ['a system after the Swiss Payment Standards', swissSystem],
  ['a Moroccan bank', moroccanBank],
  ['an EBICS client of instant payments', instantPayment],
];

export const VERSION_03_MESSAGES: readonly (readonly [writer: string, xml: string])[] = [
  ['a bank of the euro area', europeanBank],
  ['an ERP system', erp],
  ['a Nordic bank', nordicBank],
  ['a Swedish bank', swedishBank],
  ['a global bank', globalBank],
];
