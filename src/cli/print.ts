import { pipeline } from 'node:stream/promises';
import { terminalVariables } from '../config/terminal-variables.ts';
import { escapeUnseen } from '../intake/problems/shown-value.ts';
import { escapeCodeUnits } from '../intake/spreadsheet-cell.ts';
import { codeOf } from '../refusal.ts';
import { jsonText } from '../report/json-text.ts';
import { asciiOf, isAsciiAlone, openTerminal, type Terminal } from './terminal.ts';

/** What people read, on standard output. */
export function print(text: string): void {
  const terminal = stdout();
  terminal.write(`${terminal.toned(asGiven(text))}\n`);
}

/** Data as one line of JSON that is safe on a terminal; what it cannot show is escaped, which changes no value. */
export function printJson(value: unknown): void {
  stdout().write(`${shownJson(value)}\n`);
}

function shownJson(value: unknown): string {
  const text = jsonText(value);
  return isAsciiAlone(terminalVariables()) ? text.replaceAll(/\P{ASCII}/gu, escapeCodeUnits) : text;
}

/** Data that is too much for one text. Ends early, without a fault, when whoever reads it has seen enough. */
export async function printAll(chunks: AsyncIterable<string | Uint8Array>): Promise<void> {
  try {
    await pipeline(chunks, process.stdout, { end: false });
  } catch (error) {
    if (codeOf(error) !== 'EPIPE') throw error;
  }
}

/** Lines for people that are too many for one text. */
export async function printTexts(chunks: AsyncIterable<string | Uint8Array>): Promise<void> {
  const shown = isAsciiAlone(terminalVariables()) ? asciiTexts(chunks) : chunks;
  await printAll(shown);
}

async function* asciiTexts(chunks: AsyncIterable<string | Uint8Array>): AsyncGenerator<string | Uint8Array, void> {
  for await (const chunk of chunks) yield typeof chunk === 'string' ? asciiOf(chunk) : chunk;
}

/** Data as an array of JSON, a line for each value. */
export async function* jsonLines(values: AsyncIterable<unknown>): AsyncGenerator<string, void> {
  let before = '[';
  for await (const value of values) {
    yield `${before}\n${shownJson(value)}`;
    before = ',';
  }
  yield before === '[' ? '[]\n' : '\n]\n';
}

/** Progress and remarks, on standard error. Nothing fails because they cannot be written. */
export function say(text: string): void {
  try {
    const terminal = stderr();
    terminal.write(`${terminal.toned(asGiven(text))}\n`);
  } catch {
    // A file on a full disk: what is said is lost, and what is done goes on.
  }
}

/** Where people read what a command answers; data that programs read is written as it is. */
export function stdout(): Terminal {
  return openTerminal(process.stdout, terminalVariables());
}

/** Where people read what a command says. */
export function stderr(): Terminal {
  return openTerminal(process.stderr, terminalVariables());
}

/** Text of several lines with nothing in it that steers a terminal. */
export function safeText(text: string): string {
  return text.split('\n').map(escapeUnseen).join('\n');
}

/** Whether a terminal shows the text as it is, so that it can be copied from there. */
export function isShownWhole(text: string): boolean {
  return escapeUnseen(text) === text && (!isAsciiAlone(terminalVariables()) || asciiOf(text) === text);
}

/** What may be a command that is named to be typed. */
const NAMED = /((?:"|-> |: )payrun )([a-z-]+)/g;
let given: { readonly file: string; readonly commands: readonly string[] } | undefined;

/** Has `asGiven` repeat the file of settings that this command was given, for these commands. */
export function repeatEnvFile(file: string | undefined, commands: readonly string[]): void {
  given = file === undefined ? undefined : { file, commands };
}

/** Text in which each command that is named reads the settings that this one was given: without them it asks another ledger. */
export function asGiven(text: string): string {
  if (given === undefined) return text;
  const { file, commands } = given;
  return text.replaceAll(NAMED, (named: string, before: string, name: string) =>
    commands.includes(name) ? `${before}--env-file ${shellWord(file)} ${name}` : named,
  );
}

/** A word for a shell: one with anything that a shell would read stands in quotation marks. */
export function shellWord(text: string): string {
  return /^[A-Za-z0-9_.,:/+@%-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
