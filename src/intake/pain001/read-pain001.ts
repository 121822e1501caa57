import { openTextReader } from '../csv/text.ts';
import type { Reading } from '../formats.ts';
import type { Damage, RecordStream } from '../record.ts';
import { openXmlReader, XmlError } from '../xml.ts';
import { openContent } from './content.ts';
import { openMessage } from './message.ts';

/**
 * A payment message (ISO 20022 pain.001, versions.ts) as records, one for each transfer; a record's line is the number of its
 * transfer, the head of the message counting as line 1. Memory: one piece of the file and one transfer.
 */
export async function* readPain001(chunks: AsyncIterable<Buffer>, { template }: Reading): RecordStream {
  const text = openTextReader('a payment message');
  const message = openContent(template);
  const { listener, versionName } = openMessage(message.content, template.creditors?.leftOut ?? new Set());
  const xml = openXmlReader(listener);
  let stop =
    template.creditors === null
      ? damaged('no template was named that says who its creditors are', NAME_A_TEMPLATE)
      : undefined;

  function read(bytes: Buffer, isEnd: boolean): Damage | undefined {
    try {
      xml.push(bytes.toString('utf8'));
      const fault = text.fault();
      if (fault !== undefined) return { ...fault, line: null };
      if (isEnd) xml.end();
      return isEnd && !message.isEnded() ? damaged('it is no whole message') : undefined;
    } catch (error) {
      if (error instanceof XmlError) return damaged(error.message);
      throw error;
    }
  }

  for await (const chunk of chunks) {
    if (stop !== undefined) continue;
    stop = read(text.push(chunk), false);
    yield message.take();
  }
  if (stop === undefined) stop = read(text.end(), true);
  const name = versionName();
  yield {
    ...message.take(),
    ...(name === undefined ? {} : { message: name }),
    ...(stop === undefined ? {} : { stop }),
  };
}

const NAME_A_TEMPLATE =
  'Name a template with a part pain001: docs/templates.md says what it holds, and samples/templates/payment-message.json is one.';

function damaged(found: string, remedy?: string): Damage {
  return { code: 'E_MESSAGE', line: null, facts: { found }, ...(remedy === undefined ? {} : { remedy }) };
}
