import { jsonFault } from './problems/json-fault.ts';

/** A text's value, or what is wrong with it as a sentence without its full stop. */
export type StrictJson =
  | { readonly value: unknown; readonly fault?: undefined }
  | { readonly fault: string; readonly value?: undefined };

/** What reads an object would leave it out and say nothing. */
const UNNAMEABLE = '__proto__';
const TOKENS = /[^"{}:]*(?<token>"[^"\\]*(?:\\.[^"\\]*)*"|[{}:])/gy;

/** JSON in which no object says a name twice: the parser would keep the last of them and say nothing. Nor `__proto__`. */
export function parseStrictJson(text: string): StrictJson {
  try {
    const value: unknown = JSON.parse(text);
    const fault = faultOfNames(text);
    return fault === undefined ? { value } : { fault };
  } catch (error) {
    const fault = error instanceof SyntaxError ? jsonFault(text) : undefined;
    if (fault === undefined) throw error;
    return { fault: `it is no JSON: ${fault}` };
  }
}

/** Of sound JSON, where a colon outside of a string follows a name. Names are compared as they read, escapes resolved. */
function faultOfNames(text: string): string | undefined {
  const objects: Set<string>[] = [];
  let last = '';
  for (const [, token = ''] of text.matchAll(TOKENS)) {
    if (token === '{') objects.push(new Set());
    else if (token === '}') objects.pop();
    else if (token !== ':') last = token;
    else {
      const name = String(JSON.parse(last));
      const names = objects.at(-1);
      if (names?.has(name) === true) return `it says "${name}" twice`;
      if (name === UNNAMEABLE) return `it says "${name}", which is no name`;
      names?.add(name);
    }
  }
  return undefined;
}
