import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ABSENT, FAULT_IDS } from './fault-ids.ts';

/** The ids of all rows, also of those in files that are not run now. */
function declaredIds(): Set<string> {
  const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.test.ts'));
  const texts = files.map((name) => readFileSync(join(import.meta.dirname, name), 'utf8'));
  const lists = texts.flatMap((text) => [...text.matchAll(/\bids: \[([^\]]*)\]/g)].map(([, list = '']) => list));
  return new Set(lists.flatMap((list) => list.match(/F\d+/g) ?? []));
}

test('every fault of the matrix has a row, or a reason why it has none, and not both', () => {
  const declared = declaredIds();
  const neither = FAULT_IDS.filter((id) => !declared.has(id) && ABSENT[id] === undefined);
  const both = FAULT_IDS.filter((id) => declared.has(id) && ABSENT[id] !== undefined);
  const unknown = [...declared].filter((id) => !FAULT_IDS.some((known) => known === id));
  expect({ neither, both, unknown }).toEqual({ neither: [], both: [], unknown: [] });
});
