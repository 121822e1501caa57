import { deserialize, serialize } from 'node:v8';

/** A message of a pipe between a process and its reader: the number of its bytes, then the message by structured clone. */
const HEAD_BYTES = 4;

export function frameOf(message: unknown): Buffer {
  const body = serialize(message);
  const frame = Buffer.allocUnsafe(HEAD_BYTES + body.length);
  frame.writeUInt32LE(body.length, 0);
  body.copy(frame, HEAD_BYTES);
  return frame;
}

/** The messages of a pipe, put together from the pieces in which they come. Throws for one that does not belong there. */
export async function* messagesOf<Message>(
  pipe: AsyncIterable<Buffer>,
  belongs: (message: unknown) => message is Message,
): AsyncGenerator<Message, void> {
  let pieces: Buffer[] = [];
  let bytes = 0;
  let needed = HEAD_BYTES;
  for await (const piece of pipe) {
    pieces.push(piece);
    bytes += piece.length;
    while (bytes >= needed) {
      const all = Buffer.concat(pieces);
      needed = HEAD_BYTES + all.readUInt32LE(0);
      pieces = [all];
      if (bytes < needed) break;
      const message: unknown = deserialize(all.subarray(HEAD_BYTES, needed));
      if (!belongs(message)) throw new Error('a reader process and its parent do not understand each other');
      pieces = [all.subarray(needed)];
      bytes -= needed;
      needed = HEAD_BYTES;
      yield message;
    }
  }
}
