/** From the client to the target, or back. */
export type Way = 'request' | 'reply';

/** What went over one connection when a piece of bytes arrives. */
export interface Moment {
  /** Numbered from 1 in the order of their coming. */
  readonly connection: number;
  readonly way: Way;
  readonly chunk: Buffer;
  /** Bytes of this way before this piece, over the connection's life. */
  readonly before: number;
  /** The present exchange, this piece included: what the client sent since the last reply, and the reply to it (latin1). */
  readonly request: string;
  readonly reply: string;
}

/** How many bytes of the piece still come through before the deed is done; undefined: not yet. */
export type When = (moment: Moment) => number | undefined;

const TEXT_MAX = 256 * 1024;

/** The text so far and a further piece; of a very long one its end. */
export function recentText(text: string, chunk: Buffer): string {
  return (text + chunk.toString('latin1')).slice(-TEXT_MAX);
}

/** When so many bytes of one way have come through. */
export function afterBytes(wanted: Way, count: number): When {
  return ({ way, before, chunk }) =>
    way === wanted && before + chunk.length >= count ? Math.max(0, count - before) : undefined;
}

/** When a request that holds the text has been passed on whole: an HTTP one with its body, any other with its piece. */
export function onceForwarded(text: string | RegExp): When {
  return ({ way, request, chunk }) =>
    way === 'request' && holds(request, text) && isWhole(request) ? chunk.length : undefined;
}

/** When half of the piece in which a request shows the text has been passed on. */
export function halfForwarded(text: string | RegExp): When {
  return ({ way, request, chunk }) =>
    way === 'request' && holds(request, text) ? Math.floor(chunk.length / 2) : undefined;
}

/** When the reply to a request that holds the text arrives: so many bytes of it come through, none unless told. */
export function onReplyTo(text: string | RegExp, bytes = 0): When {
  return ({ way, request, reply, chunk }) => {
    if (way !== 'reply' || !holds(request, text)) return undefined;
    const before = reply.length - chunk.length;
    return before + chunk.length >= bytes ? Math.max(0, bytes - before) : undefined;
  };
}

function holds(request: string, text: string | RegExp): boolean {
  return typeof text === 'string' ? request.includes(text) : text.test(request);
}

/** By its Content-Length; what has none, and what is not HTTP, is whole as it is (RFC 9112 section 6.3). */
function isWhole(request: string): boolean {
  if (!/^[A-Z]+ \S+ HTTP\/1\.1\r\n/.test(request)) return true;
  const headEnd = request.indexOf('\r\n\r\n');
  const length = /^content-length: *(\d+)/im.exec(request.slice(0, headEnd))?.[1] ?? '0';
  return headEnd >= 0 && request.length >= headEnd + 4 + Number.parseInt(length, 10);
}
