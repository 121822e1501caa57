import type { Damage, FileRecord } from '../record.ts';
import type { CellFault } from '../row/cells.ts';
import type { Template } from '../template/template.ts';
import { XmlError } from '../xml.ts';
import { openControlSums, plainDecimal } from './control-sums.ts';
import { PAYMENT, READ, TRANSFER } from './elements.ts';
import { headerRecord, transferRecord } from './transfer.ts';

/** Max35Text of ISO 20022. */
const ID_CHARACTERS_MAX = 35;

/** What is wrong with MsgId or PmtInfId, by which a status report answers, as the rest of a sentence. */
function idFault(id: string | undefined): string | undefined {
  if (id === undefined) return 'is missing';
  if (id.trim() === '') return 'is empty';
  if (id.trim() !== id) return 'has blanks around it';
  return isTooLong(id) ? `has more than ${ID_CHARACTERS_MAX} characters` : undefined;
}

/** The same for InstrId, which a transfer need not have. */
function instructionIdFault(id: string | undefined): string | undefined {
  return id !== undefined && isTooLong(id) ? `has more than ${ID_CHARACTERS_MAX} characters` : undefined;
}

function isTooLong(id: string): boolean {
  return Array.from(id).length > ID_CHARACTERS_MAX;
}

const DECIMALS: ReadonlySet<string> = new Set([READ.sum, READ.paymentSum, READ.amount]);

const AS_TRANSFER = 'Make it as a transfer (TRF), or pay it elsewhere.';

/** Of one transfer; a person would not read more. */
const FAULTS_MAX = 100;

/** What a message says, put together in the order in which it says it. */
export interface Content {
  openPayment(): void;
  openTransfer(): void;
  /** Whether the payment that is open has transfers. */
  hasTransfers(): boolean;
  /** The text of an element, by its path. */
  keep(path: string, text: string): void;
  /**
   * An element that must not be there: its transfer is refused, or the message where it is in none. `fault` is what is wrong
   * with it, as the rest of a sentence, and is empty where it is what it is.
   */
  refuse(path: string, fault: string, remedy?: string): void;
  closeTransfer(): void;
  closePayment(): void;
  /** The end of the message; an XmlError for one that never said how many transfers it has. */
  end(): void;
}

/** Makes records of what a message says, and compares its control sums on both levels. */
export function openContent(template: Template) {
  const message = openControlSums();
  const head = new Map<string, string>();
  let payment = openPaymentContent();
  let transfer = openTransferContent();
  let records: FileRecord[] = [headerRecord(template)];
  let damage: Damage[] = [];
  let line = 1;
  let payments = 0;
  let isEnded = false;

  function judgeId(what: string, fault: string | undefined, at: number | null = null): void {
    if (fault !== undefined) damage.push({ code: 'E_MESSAGE', line: at, facts: { found: `${what} ${fault}` } });
  }

  const content: Content = {
    openPayment() {
      payments++;
      if (payments === 1) judgeId('MsgId', idFault(head.get(READ.messageId)));
      payment = openPaymentContent();
    },
    openTransfer() {
      payment.transfers++;
      transfer = openTransferContent();
    },
    hasTransfers: () => payment.transfers > 0,
    keep(path, text) {
      const texts = isOfTransfer(path) ? transfer.texts : path.startsWith(PAYMENT) ? payment.texts : head;
      if (texts.has(path)) content.refuse(path, ' is there twice');
      texts.set(path, DECIMALS.has(path) ? plainDecimal(text) : text);
    },
    refuse(path, fault, remedy) {
      const isOfPayment = path === PAYMENT || path.startsWith(`${PAYMENT}/`);
      const place = isOfPayment && !isOfTransfer(path) ? path.replace(PAYMENT, `${PAYMENT} ${payments}`) : path;
      const found = `${place}${fault}`;
      const refused = { code: 'E_ELEMENT', facts: { found }, ...(remedy === undefined ? {} : { remedy }) } as const;
      if (!isOfTransfer(path)) damage.push({ ...refused, line: null });
      else if (transfer.faults.push(refused) > FAULTS_MAX)
        throw new XmlError('far too much in a transfer cannot be done');
    },
    closeTransfer() {
      line++;
      const { texts, faults } = transfer;
      judgeId('InstrId', instructionIdFault(texts.get(READ.instructionId)), line);
      records.push(transferRecord(new Map([...payment.texts, ...texts]), { line, template, faults }));
      for (const sums of [message, payment.sums]) sums.add(texts.get(READ.amount) ?? '');
    },
    closePayment() {
      const { texts, sums } = payment;
      judgeId(`PmtInfId of PmtInf ${payments}`, idFault(texts.get(READ.paymentId)));
      if (texts.get(READ.method) !== 'TRF') content.refuse(READ.method, ' is not TRF', AS_TRANSFER);
      const said = { count: texts.get(READ.paymentCount), sum: texts.get(READ.paymentSum) };
      damage.push(...sums.judge({ where: `${PAYMENT} ${payments}`, ...said }));
    },
    end() {
      isEnded = true;
      const said = { count: head.get(READ.count), sum: head.get(READ.sum) };
      if (said.count === undefined) throw new XmlError('it is no pain.001: its head has no NbOfTxs');
      damage.push(...message.judge({ where: 'the message', ...said }));
    },
  };

  return {
    content,
    isEnded: () => isEnded,
    /** The records that are there by now, and what refuses the message. */
    take() {
      const taken = { records, damage };
      records = [];
      damage = [];
      return taken;
    },
  };
}

function isOfTransfer(path: string): boolean {
  return path.startsWith(`${TRANSFER}/`);
}

function openPaymentContent() {
  return { texts: new Map<string, string>(), sums: openControlSums(), transfers: 0 };
}

function openTransferContent(): { texts: Map<string, string>; faults: CellFault[] } {
  return { texts: new Map(), faults: [] };
}
