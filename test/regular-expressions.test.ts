import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Node, parseSync, type Expression as Source, Visitor } from 'oxc-parser';
import { describe, expect, test, vi } from 'vitest';

interface Expression {
  readonly pattern: string;
  readonly flags: string;
}

const ROOT = resolve(import.meta.dirname, '..');

/** In JavaScript alone, and by counts of steps in place of seconds: the machine makes no difference. */
vi.stubEnv('RECHECK_BACKEND', 'pure');
const { check } = await import('recheck');
const EFFORT = { timeout: null, maxIteration: 3, incubationLimit: 10_000, attackLimit: 100_000_000 } as const;

async function verdict({ pattern, flags }: Expression): Promise<string> {
  const found = await check(pattern, flags, EFFORT);
  return found.status === 'vulnerable' ? `super-linear on ${found.attack.pattern}` : found.status;
}

/** The regular expressions of a source: literals, and those that are put together of constants. */
function expressionsIn(name: string): Expression[] {
  const text = readFileSync(join(ROOT, name), 'utf8');
  const { program, errors } = parseSync(name, text);
  expect(errors).toEqual([]);
  const constants = new Map<string, Source>();
  const found: Expression[] = [];
  new Visitor({
    VariableDeclarator({ id, init }) {
      if (id.type === 'Identifier' && init !== null) constants.set(id.name, init);
    },
  }).visit(program);
  new Visitor({
    Literal(node) {
      if ('regex' in node) found.push(node.regex);
    },
    NewExpression({ callee, arguments: [pattern, flags] }) {
      if (callee.type !== 'Identifier' || callee.name !== 'RegExp') return;
      found.push({ pattern: textOf(pattern, constants), flags: flags === undefined ? '' : textOf(flags, constants) });
    },
  }).visit(program);
  return found;
}

/** What a constant expression stands for. Throws for any that is none: nobody could tell what it matches. */
function textOf(node: Node | undefined, constants: ReadonlyMap<string, Source>): string {
  const inner = (one: Node | undefined): string => textOf(one, constants);
  if (node?.type === 'Literal') return String(node.value);
  if (node?.type === 'Identifier') return inner(constants.get(node.name));
  if (node?.type === 'BinaryExpression' && node.operator === '+') return inner(node.left) + inner(node.right);
  if (node?.type === 'TemplateLiteral') {
    return node.quasis
      .map(({ value }, at) => (at === 0 ? '' : inner(node.expressions[at - 1])) + value.cooked)
      .join('');
  }
  if (node?.type === 'CallExpression' && node.callee.type === 'MemberExpression') {
    const { object, property } = node.callee;
    const [from, to] = node.arguments;
    if (property.type === 'Identifier' && property.name === 'replaceAll') {
      return inner(object).replaceAll(inner(from), inner(to));
    }
  }
  throw new Error(`a regular expression is put together of ${node?.type}, which is no constant`);
}

const FILES = ['src', 'jobs'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:tsx?|js)$/.test(name))
    .map((name) => join(folder, name)),
);
const FOUND = new Map(
  FILES.flatMap((file) =>
    expressionsIn(file).map((one) => [`/${one.pattern}/${one.flags}`, { ...one, file }] as const),
  ),
);

describe('the check finds', () => {
  test.each([
    [String.raw`^\s*[a-z][a-z0-9+.-]*:\/\/.*:.*@`, 'is'],
    ['0+$', ''],
    [String.raw`\.?0+$`, ''],
    ['[eE].*$', ''],
    [String.raw`"[^"\\]*(?:\\.[^"\\]*)*"|[{}:]`, 'g'],
    [String.raw`^[^\p{L}]+|[^\p{L}]+$`, 'gu'],
    ['^(a+)+$', ''],
  ])('/%s/%s super-linear', async (pattern, flags) => {
    expect(await verdict({ pattern, flags })).toContain('super-linear');
  });
});

test('the expressions of all sources are looked at', () => {
  expect(FOUND.size).toBeGreaterThan(200);
});

describe('takes a time that grows with its input alone:', () => {
  test.each([...FOUND])('%s', async (_name, expression) => {
    expect(await verdict(expression)).toBe('safe');
  });
});
