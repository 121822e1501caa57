import { openTextReader } from '../csv/text.ts';
import type { FileRecord, RecordStream } from '../record.ts';
import { openXmlReader, type XmlElement, XmlError, type XmlListener } from '../xml.ts';

const TEXT_CHARACTERS_MAX = 1024;
/** Of camt.053 and camt.054 from version 02 on: the elements that are read are the same in all of them. */
const NAMESPACE = /^urn:iso:std:iso:20022:tech:xsd:camt\.05[34]\.001\.(?:0[2-9]|1[0-3])$/;
/** What lies between the document and its entries, in statements and in notifications. */
const ROOTS: readonly string[] = ['Document/BkToCstmrStmt/Stmt/Ntry', 'Document/BkToCstmrDbtCdtNtfctn/Ntfctn/Ntry'];
const ROOT_DEPTH = 4;
const TRANSACTION = 'NtryDtls/TxDtls';

const ENTRY_DATES = ['BookgDt/Dt', 'BookgDt/DtTm'];
const AMOUNTS = ['Amt', 'AmtDtls/TxAmt/Amt'];
const IDS = ['Refs/TxId', 'Refs/InstrId', 'Refs/AcctSvcrRef', 'Refs/UETR'];
const OF_ENTRY: ReadonlySet<string> = new Set([
  'Amt',
  'CdtDbtInd',
  'Sts',
  'Sts/Cd',
  'NtryRef',
  'AcctSvcrRef',
  ...ENTRY_DATES,
]);
const OF_TRANSACTION: ReadonlySet<string> = new Set([...AMOUNTS, 'CdtDbtInd', 'Refs/EndToEndId', ...IDS]);

type Texts = Map<string, string>;

/**
 * The booked movements of a statement (ISO 20022 camt.053) or a notification (camt.054) as records without a header, one for each transaction,
 * and one for each entry that names none. An entry that is only pending is left out. Memory: one piece of the file and one entry.
 */
export async function* readCamt(chunks: AsyncIterable<Buffer>): RecordStream {
  const text = openTextReader('a statement');
  const movements = openMovements();
  const xml = openXmlReader(openStatement(movements));
  let isStopped = false;

  function read(bytes: Buffer, isEnd: boolean): { records: FileRecord[]; found?: string } {
    try {
      xml.push(bytes.toString('utf8'));
      const fault = text.fault();
      if (fault !== undefined) return { records: [], found: String(fault.facts['found'] ?? fault.code) };
      if (isEnd) xml.end();
      return { records: movements.take() };
    } catch (error) {
      if (error instanceof XmlError) return { records: [], found: error.message };
      throw error;
    }
  }

  function* told({ records, found }: ReturnType<typeof read>) {
    if (found !== undefined) isStopped = true;
    yield {
      records,
      ...(found === undefined ? {} : { stop: { code: 'E_MESSAGE', line: null, facts: { found } } as const }),
    };
  }

  for await (const chunk of chunks) {
    const bytes = text.push(chunk);
    if (!isStopped) yield* told(read(bytes, false));
  }
  if (!isStopped) yield* told(read(text.end(), true));
}

interface Movements {
  openEntry(): void;
  openTransaction(): void;
  /** A text of the entry, or of the transaction that is open. */
  keep(path: string, text: string): void;
  closeTransaction(): void;
  closeEntry(): void;
  take(): FileRecord[];
}

function openMovements(): Movements {
  let entry: Texts = new Map();
  let transaction: Texts = new Map();
  /** The first transaction of the entry, as long as there is no other: the entry's amount is its own. */
  let first: Texts | undefined;
  let transactions = 0;
  let line = 0;
  let records: FileRecord[] = [];

  const isBooked = (): boolean => (entry.get('Sts/Cd') ?? entry.get('Sts') ?? 'BOOK').trim() === 'BOOK';

  function tell(of: Texts, { isAlone }: { isAlone: boolean }): void {
    if (!isBooked()) return;
    line += 1;
    const date = ENTRY_DATES.find((path) => entry.has(path));
    const cells = [
      of.get('CdtDbtInd') ?? textIn(entry, 'CdtDbtInd'),
      ...amountCells(of, isAlone ? entry : new Map()),
      date === undefined ? '' : textIn(entry, date),
      ...['Refs/EndToEndId', ...IDS].map((path) => textIn(of, path)),
      ...(isAlone ? ['NtryRef', 'AcctSvcrRef'].map((path) => textIn(entry, path)) : []),
    ];
    records.push({ line, cells: cells.map((cell) => cell.trim()) });
  }

  return {
    openEntry() {
      entry = new Map();
      first = undefined;
      transactions = 0;
    },
    openTransaction: () => void (transaction = new Map()),
    keep(path, text) {
      const below = `${TRANSACTION}/`;
      if (!path.startsWith(below)) entry.set(path, text);
      else transaction.set(path.slice(below.length), text);
    },
    closeTransaction() {
      transactions += 1;
      if (transactions === 1) {
        first = transaction;
        return;
      }
      if (first !== undefined) tell(first, { isAlone: false });
      first = undefined;
      tell(transaction, { isAlone: false });
    },
    closeEntry() {
      if (transactions < 2) tell(first ?? new Map(), { isAlone: true });
    },
    take() {
      const taken = records;
      records = [];
      return taken;
    },
  };
}

/** The amount of a transaction, by its details, and its currency; those of its entry where it is the only one and has none of its own. */
function amountCells(detail: Texts, entry: Texts): string[] {
  const path = AMOUNTS.find((one) => detail.has(one));
  const of = path === undefined ? entry : detail;
  return [textIn(of, path ?? 'Amt'), textIn(of, `${path ?? 'Amt'}/@Ccy`)];
}

function textIn(texts: Texts, path: string): string {
  return texts.get(path) ?? '';
}

function openStatement(movements: Movements): XmlListener {
  const names: string[] = [];
  let namespace: string | undefined;
  let text = '';

  const isInEntry = (): boolean => names.length >= ROOT_DEPTH && ROOTS.includes(names.slice(0, ROOT_DEPTH).join('/'));
  const pathInEntry = (): string => names.slice(ROOT_DEPTH).join('/');

  function requireStatement({ uri, local }: XmlElement): void {
    namespace ??= uri;
    const isRoot = names.length === 1 ? local === 'Document' : ROOTS.some((root) => root.split('/')[1] === local);
    if (!NAMESPACE.test(uri) || uri !== namespace || (names.length <= 2 && !isRoot)) {
      throw new XmlError('it is no camt.053 or camt.054 of the versions 02 to 13');
    }
  }

  return {
    open(element) {
      names.push(element.local);
      text = '';
      if (names.length <= ROOT_DEPTH) requireStatement(element);
      if (!isInEntry()) return;
      const path = pathInEntry();
      if (path === '') movements.openEntry();
      if (path === TRANSACTION) movements.openTransaction();
      if (path.endsWith('Amt') && isRead(path)) movements.keep(`${path}/@Ccy`, element.attribute('Ccy') ?? '');
    },
    text(piece) {
      text += piece;
      if (text.length <= TEXT_CHARACTERS_MAX) return;
      if (isInEntry() && isRead(pathInEntry())) throw new XmlError('a text in it is far too long');
      text = '';
    },
    close() {
      if (isInEntry()) {
        const path = pathInEntry();
        if (isRead(path)) movements.keep(path, text);
        if (path === TRANSACTION) movements.closeTransaction();
        if (path === '') movements.closeEntry();
      }
      names.pop();
      text = '';
    },
  };
}

function isRead(path: string): boolean {
  const below = `${TRANSACTION}/`;
  return path.startsWith(below) ? OF_TRANSACTION.has(path.slice(below.length)) : OF_ENTRY.has(path);
}
