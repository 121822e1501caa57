import { openTextReader } from '../../intake/csv/text.ts';
import { openXmlReader, type XmlListener } from '../../intake/xml.ts';

/** What a payment message calls a transfer, besides its end-to-end id. */
export interface OriginalIds {
  readonly paymentId: string;
  readonly instructionId: string | null;
}

export interface MessageIds extends OriginalIds {
  /** The namespace of the message. */
  readonly namespace: string;
  readonly messageId: string;
  /** The number of the transfer, the head of the message counting as line 1. */
  readonly line: number;
}

const ROOT_ELEMENTS = 2;
const MESSAGE_ID = 'GrpHdr/MsgId';
const PAYMENT = 'PmtInf';
const PAYMENT_ID = `${PAYMENT}/PmtInfId`;
const TRANSFER = 'PmtInf/CdtTrfTxInf';
const INSTRUCTION_ID = `${TRANSFER}/PmtId/InstrId`;
const READ: ReadonlySet<string> = new Set([MESSAGE_ID, PAYMENT_ID, INSTRUCTION_ID]);

/** The ids of each transfer of a pain.001 that intake has taken before. Memory: one piece of the file. */
export async function* readMessageIds(chunks: AsyncIterable<Buffer>): AsyncGenerator<MessageIds, void> {
  const text = openTextReader('a payment message');
  const found: MessageIds[] = [];
  const xml = openXmlReader(openIdListener((ids) => found.push(ids)));
  for await (const chunk of chunks) {
    xml.push(text.push(chunk).toString('utf8'));
    yield* found.splice(0);
  }
  xml.push(text.end().toString('utf8'));
  yield* found;
}

function openIdListener(tell: (ids: MessageIds) => void): XmlListener {
  const names: string[] = [];
  const texts = new Map<string, string>();
  let line = 1;
  let namespace = '';
  const path = (): string => names.slice(ROOT_ELEMENTS).join('/');
  const textAt = (id: string): string => texts.get(id) ?? '';

  return {
    open(element) {
      if (names.length === 0) namespace = element.uri;
      names.push(element.local);
      texts.delete(path());
      if (path() === PAYMENT) texts.delete(PAYMENT_ID);
    },
    text(piece) {
      const id = path();
      if (READ.has(id)) texts.set(id, textAt(id) + piece);
    },
    close() {
      if (path() === TRANSFER) {
        line++;
        tell({
          namespace,
          messageId: textAt(MESSAGE_ID),
          paymentId: textAt(PAYMENT_ID),
          instructionId: texts.get(INSTRUCTION_ID) ?? null,
          line,
        });
        texts.delete(INSTRUCTION_ID);
      }
      names.pop();
    },
  };
}
