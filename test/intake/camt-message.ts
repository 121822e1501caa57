export interface TransactionXml {
  readonly reference?: string;
  readonly id?: string;
  /** With its currency, as an element. */
  readonly amount?: string;
}

export interface EntryXml {
  readonly amount: string;
  readonly currency?: string;
  readonly direction?: 'DBIT' | 'CRDT';
  readonly status?: string;
  readonly transactions?: readonly TransactionXml[];
  /** More elements, behind the status. */
  readonly more?: string;
}

/** A statement (camt.053) or a notification (camt.054) with these entries, as a bank would write it. */
export function camtXml(entries: readonly EntryXml[], name = 'camt.053.001.08'): string {
  const [root, list] = name.startsWith('camt.054') ? ['BkToCstmrDbtCdtNtfctn', 'Ntfctn'] : ['BkToCstmrStmt', 'Stmt'];
  return `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:${name}"><${root}>
<GrpHdr><MsgId>M1</MsgId><CreDtTm>2026-01-16T02:00:00Z</CreDtTm></GrpHdr>
<${list}><Id>S1</Id><Acct><Id><Othr><Id>ACC</Id></Othr></Id></Acct>
<Bal><Tp><CdOrPrtry><Cd>OPBD</Cd></CdOrPrtry></Tp><Amt Ccy="USD">5000.00</Amt><CdtDbtInd>CRDT</CdtDbtInd></Bal>
${entries.map(entryXml).join('\n')}
</${list}></${root}></Document>
`;
}

function entryXml(entry: EntryXml): string {
  const {
    amount,
    currency = 'USD',
    direction = 'DBIT',
    status = '<Cd>BOOK</Cd>',
    transactions = [],
    more = '',
  } = entry;
  return (
    `<Ntry><NtryRef>N1</NtryRef><Amt Ccy="${currency}">${amount}</Amt><CdtDbtInd>${direction}</CdtDbtInd><Sts>${status}</Sts>` +
    `<BookgDt><Dt>2026-01-15</Dt></BookgDt>${more}<NtryDtls>${transactions.map(transactionXml).join('')}</NtryDtls></Ntry>`
  );
}

function transactionXml({ reference = 'NOTPROVIDED', id, amount = '' }: TransactionXml): string {
  const refs = `<EndToEndId>${reference}</EndToEndId>${id === undefined ? '' : `<TxId>${id}</TxId>`}`;
  return `<TxDtls><Refs>${refs}</Refs>${amount}<RmtInf><Ustrd>invoice</Ustrd></RmtInf></TxDtls>`;
}
