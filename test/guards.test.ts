import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseSync } from 'oxc-parser';
import { expect, test } from 'vitest';
import { MUTATIONS, SENT_TWICE } from './faults/mutations.ts';
import { expressionsOfSources } from './support/source-expressions.ts';

/*
 * The mutations take long to run. That each of them still changes one place of the source, and that the tests that are
 * named for it are still there, is looked at here each time.
 */

const ROOT = resolve(import.meta.dirname, '..');
const ALL = [...MUTATIONS, SENT_TWICE];

type Fields = Readonly<Record<string, unknown>>;

function isNode(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && 'type' in value;
}

function nodeIn(node: Fields, name: string): Fields {
  const value = node[name];
  return isNode(value) ? value : {};
}

function listIn(node: Fields, name: string): readonly Fields[] {
  const value = node[name];
  return Array.isArray(value) ? value.filter(isNode) : [];
}

/** What is filled in when a test runs. */
const ANYTHING = '.*';
const FILLED_IN = /%[sdifjo]|\$[a-z]\w*/gi;

/** A pattern for the text that a literal gives; undefined for what is none. */
function patternOf(node: Fields | undefined): string | undefined {
  if (node?.['type'] === 'Literal' && typeof node['value'] === 'string') return escaped(node['value']);
  if (node?.['type'] !== 'TemplateLiteral') return undefined;
  const texts = listIn(node, 'quasis').map((quasi) => quasi['value'] as { readonly cooked: string });
  return texts.map(({ cooked }) => escaped(cooked)).join(ANYTHING);
}

function escaped(text: string): string {
  const parts = text.split(FILLED_IN).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return parts.join(ANYTHING);
}

/** `test` of `test(…)`, `test.each(…)(…)` and the like. */
function calledName(call: Fields): unknown {
  let callee = nodeIn(call, 'callee');
  while (callee['type'] === 'MemberExpression' || callee['type'] === 'CallExpression') {
    callee = nodeIn(callee, callee['type'] === 'CallExpression' ? 'callee' : 'object');
  }
  return callee['name'];
}

/** Of an object that declares a row of the fault matrix. */
function rowPattern(object: Fields): string | undefined {
  const valueOf = (name: string) =>
    listIn(object, 'properties').find((property) => nodeIn(property, 'key')['name'] === name)?.['value'];
  const [ids, fault] = [valueOf('ids'), valueOf('fault')];
  if (!isNode(ids) || !isNode(fault)) return undefined;
  const names = listIn(ids, 'elements').map((id) => patternOf(id) ?? ANYTHING);
  return `${names.join(', ')}: ${patternOf(fault) ?? ANYTHING}`;
}

/** Patterns for the full names of the tests that are declared below a node; `outer`: the words of those around it. */
function testNamesIn(value: unknown, outer: string): string[] {
  if (Array.isArray(value)) return value.flatMap((one) => testNamesIn(one, outer));
  if (!isNode(value)) return [];
  const called = value['type'] === 'CallExpression' ? calledName(value) : undefined;
  const title = called === 'test' || called === 'describe' ? patternOf(listIn(value, 'arguments')[0]) : undefined;
  const words = title === undefined ? outer : `${outer}${title} `;
  const own = called === 'test' && title !== undefined ? [words.trimEnd()] : [];
  const row = value['type'] === 'ObjectExpression' ? rowPattern(value) : undefined;
  return [...own, ...(row === undefined ? [] : [row]), ...testNamesIn(Object.values(value), words)];
}

const namesOf = new Map<string, readonly RegExp[]>();

function testNames(file: string): readonly RegExp[] {
  const known = namesOf.get(file);
  if (known !== undefined) return known;
  const { program } = parseSync(file, readFileSync(join(ROOT, file), 'utf8'));
  const names = testNamesIn(program, '').map((pattern) => new RegExp(`^${pattern}$`));
  namesOf.set(file, names);
  return names;
}

test('what a mutation changes stands exactly once in its source', () => {
  const wrong = ALL.flatMap(({ guard, edits }) =>
    edits.map(({ file, text }) => ({
      guard,
      text,
      times: readFileSync(join(ROOT, file), 'utf8').split(text).length - 1,
    })),
  ).filter(({ times }) => times !== 1);
  expect(wrong).toEqual([]);
});

test('a mutation changes something, and no two guards have one name', () => {
  expect(ALL.filter(({ edits }) => edits.length === 0 || edits.some(({ text, by }) => text === by))).toEqual([]);
  expect(new Set(ALL.map(({ guard }) => guard)).size).toBe(ALL.length);
});

test('the tests that have to notice a mutation are there', () => {
  const gone = ALL.flatMap(({ guard, caughtBy }) =>
    caughtBy
      .filter(({ file, name }) => !testNames(file).some((pattern) => pattern.test(name)))
      .map((one) => ({ guard, ...one })),
  );
  expect(gone).toEqual([]);
  expect(ALL.filter(({ caughtBy }) => caughtBy.length === 0)).toEqual([]);
});

test('every regular expression is put together of constants, so that how long it takes can be told', () => {
  expect(expressionsOfSources().size).toBeGreaterThan(200);
});
