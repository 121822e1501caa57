import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Node, parseSync, type Expression as Source, Visitor } from 'oxc-parser';

export interface Expression {
  readonly pattern: string;
  readonly flags: string;
}

const ROOT = resolve(import.meta.dirname, '../..');

/** The regular expressions of a source: literals, and those that are put together of constants. */
function expressionsIn(name: string): Expression[] {
  const text = readFileSync(join(ROOT, name), 'utf8');
  const { program, errors } = parseSync(name, text);
  if (errors.length > 0) throw new Error(`${name} cannot be read`);
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

/** The regular expressions of all sources, each as it is written. Throws for one that is put together of what is no constant. */
export function expressionsOfSources(): ReadonlyMap<string, Expression> {
  const files = ['src', 'jobs'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(?:tsx?|js)$/.test(name))
      .map((name) => join(folder, name)),
  );
  return new Map(
    files.flatMap((file) => expressionsIn(file).map((one) => [`/${one.pattern}/${one.flags}`, one] as const)),
  );
}
