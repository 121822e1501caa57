/** An HTTP answer as it will be written; `body` is JSON text, or a page that a gateway put there. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * What a rule decided about a request. `commit` changes the books and has to run in the same turn as the rule, so that
 * no other request can decide in between; `answer` is asked for when everything is on disk.
 */
export interface Decision {
  readonly commit?: () => void;
  readonly answer: () => Answer | Promise<Answer>;
}

/** How the end of a body is told (RFC 9112, section 6.3). */
export type Framing = 'length' | 'chunked' | 'close';

/** What happens on the wire. */
export type Delivery =
  | { readonly kind: 'answer'; readonly answer: Answer }
  /** Half of the body, then the end of the connection. */
  | { readonly kind: 'cut'; readonly answer: Answer; readonly framing: Framing }
  | { readonly kind: 'drip'; readonly answer: Answer; readonly byteEveryMs: number }
  /** The connection is reset (RST). */
  | { readonly kind: 'reset' }
  /** The service's side is closed (FIN) and nothing is answered. */
  | { readonly kind: 'half-open' }
  /** Nothing at all until the client gives up. */
  | { readonly kind: 'silence' };

/** An answer with a JSON body. */
export function jsonAnswer(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify(body) };
}

/** A page as gateways put it in place of an answer. */
export function htmlAnswer(status: number): Answer {
  const body = `<html><head><title>${status}</title></head><body><h1>${status}</h1><hr>gateway</body></html>\n`;
  return { status, headers: { 'Content-Type': 'text/html' }, body };
}

/** A decision that changes nothing. */
export function answering(answer: Answer): Decision {
  return { answer: () => answer };
}
