/** What may come next in a text of JSON, as a piece of a sentence. */
const EXPECTED = {
  value: 'a value',
  firstValue: 'a value or ]',
  name: 'a name in double quotes',
  firstName: 'a name in double quotes or }',
  colon: 'a colon',
  nextValue: 'a comma or ]',
  nextName: 'a comma or }',
  end: 'the end of the text',
} as const;

type Next = keyof typeof EXPECTED;
/** What a token leads to; `ended` is a value, `closed` an object or a list. */
type Lead = Next | 'ended' | 'closed';

const OPENERS = { '{': 'firstName', '[': 'firstValue' } as const;
const SIGNS: Readonly<Record<Next, Readonly<Record<string, Lead>>>> = {
  value: OPENERS,
  firstValue: { ...OPENERS, ']': 'closed' },
  name: {},
  firstName: { '}': 'closed' },
  colon: { ':': 'value' },
  nextValue: { ',': 'value', ']': 'closed' },
  nextName: { ',': 'name', '}': 'closed' },
  end: {},
};

const BYTE_ORDER_MARK = '\uFEFF';
const BLANKS = /[ \t\n\r]*/y;
/** Up to the closing quote, or to what no string has in it: a control character, an escape that there is not. */
const STRING = /"[ !#-[\]-\u{10FFFF}]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[ !#-[\]-\u{10FFFF}]*)*/uy;
const SCALAR = /(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)(?![\w.+-])/y;

interface Token {
  readonly end: number;
  readonly leads: Lead;
}

/** What a text lacks to be JSON and where, by line and column from 1, without a word of what it holds; undefined for JSON. */
export function jsonFault(text: string): string | undefined {
  if (text.startsWith(BYTE_ORDER_MARK)) return `no byte order mark should stand at ${placeOf(text, 0)}`;
  const within: Next[] = [];
  let next: Next = 'value';
  let at = endOf(BLANKS, text, 0);
  while (next !== 'end' || at < text.length) {
    const token = tokenAt(text, at, next);
    if ('expected' in token) return `${token.expected} should stand at ${placeOf(text, token.at)}`;
    if (token.leads === 'firstName' || token.leads === 'firstValue') within.push(token.leads);
    if (token.leads === 'closed') within.pop();
    next = token.leads === 'ended' || token.leads === 'closed' ? nextWithin(within.at(-1)) : token.leads;
    at = endOf(BLANKS, text, token.end);
  }
  return undefined;
}

function nextWithin(opened: Next | undefined): Next {
  if (opened === undefined) return 'end';
  return opened === 'firstName' ? 'nextName' : 'nextValue';
}

function tokenAt(text: string, at: number, next: Next): Token | { readonly expected: string; readonly at: number } {
  const sign = text.charAt(at);
  const leads = SIGNS[next][sign];
  if (leads !== undefined) return { end: at + 1, leads };
  const isName = next === 'name' || next === 'firstName';
  const isValue = next === 'value' || next === 'firstValue';
  if (sign === '"' && (isName || isValue)) {
    const close = endOf(STRING, text, at);
    if (text.charAt(close) === '"') return { end: close + 1, leads: isName ? 'colon' : 'ended' };
    return { expected: text.charAt(close) === '\\' ? 'another escape' : 'a closing double quote', at: close };
  }
  const end = isValue ? endOf(SCALAR, text, at) : at;
  return end > at ? { end, leads: 'ended' } : { expected: EXPECTED[next], at };
}

/** Where the pattern ends that begins here; here, when it does not begin. */
function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return at + (pattern.exec(text)?.[0].length ?? 0);
}

function placeOf(text: string, at: number): string {
  const lines = text.slice(0, at).split('\n');
  return `line ${lines.length}, column ${Array.from(lines.at(-1) ?? '').length + 1}`;
}
