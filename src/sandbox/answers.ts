/** An HTTP answer as it will be written; `body` is JSON text. */
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

/** What happens on the wire: an answer, a destroyed socket, or nothing at all until the client gives up. */
export type Delivery =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'drop' }
  | { readonly kind: 'silence' };

/** An answer with a JSON body. */
export function jsonAnswer(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify(body) };
}

/** A decision that changes nothing. */
export function answering(answer: Answer): Decision {
  return { answer: () => answer };
}
