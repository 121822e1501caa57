/** Everything that may happen in a state, each with its name. */
export type Next<State> = (state: State) => readonly (readonly [act: string, State])[];

export interface Found {
  readonly states: number;
  /** The most acts that were made one after another. */
  readonly depth: number;
  /** The shortest way to a breach, and what it is; undefined when there is none within the bound. */
  readonly breach: { readonly rule: string; readonly trace: readonly string[] } | undefined;
  /** Whether every state that can be reached was looked at. */
  readonly isExhausted: boolean;
}

interface Searched<State> {
  readonly first: State;
  readonly next: Next<State>;
  /** Which rule a state breaks; null: none. */
  readonly breach: (state: State) => string | null;
  /** How many acts are made one after another. */
  readonly depthMax: number;
}

interface Reached<State> {
  readonly state: State;
  readonly from: Reached<State> | null;
  readonly act: string;
}

/** Searches breadth first: the first breach that is found has the shortest trace. */
export function search<State extends object>({ first, next, breach, depthMax }: Searched<State>): Found {
  const keyOf = openKeys();
  const seen = new Set([keyOf(first)]);
  let front: Reached<State>[] = [{ state: first, from: null, act: '' }];
  let depth = 0;
  for (; front.length > 0 && depth < depthMax; depth++) {
    const reached = front.flatMap((from) => next(from.state).map(([act, state]) => ({ state, from, act })));
    front = reached.filter(({ state }) => {
      const { size } = seen;
      return seen.add(keyOf(state)).size > size;
    });
    for (const at of front) {
      const rule = breach(at.state);
      if (rule === null) continue;
      return { states: seen.size, depth: depth + 1, breach: { rule, trace: traceOf(at) }, isExhausted: false };
    }
  }
  return { states: seen.size, depth, breach: undefined, isExhausted: front.length === 0 };
}

function traceOf<State>(last: Reached<State>): string[] {
  const acts: string[] = [];
  for (let at = last; at.from !== null; at = at.from) acts.unshift(at.act);
  return acts;
}

/**
 * A state's text: values alone, for fields stand in the same order everywhere; names of one character are keys of a map. Parts
 * that states share are written once.
 */
function openKeys(): (state: object) => string {
  const numbers = new Map<string, number>();
  const known = new WeakMap<object, number>();
  function numberOf(part: object): number {
    const there = known.get(part);
    if (there !== undefined) return there;
    const text = textOf(part as Readonly<Record<string, unknown>>);
    const number = numbers.get(text) ?? numbers.size;
    numbers.set(text, number);
    known.set(part, number);
    return number;
  }
  function textOf(part: Readonly<Record<string, unknown>>): string {
    let text = Array.isArray(part) ? '[' : '';
    for (const name in part) {
      if (name.length === 1) text += `${name}:`;
      const value = part[name];
      text += typeof value === 'object' && value !== null ? `#${numberOf(value)},` : `${String(value)},`;
    }
    return text;
  }
  return (state) => textOf(state as Readonly<Record<string, unknown>>);
}
