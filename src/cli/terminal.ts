import { styleText } from 'node:util';

type Variables = Readonly<Record<string, string | undefined>>;
type Stream = Pick<NodeJS.WriteStream, 'isTTY' | 'columns' | 'write'>;

/** A stream to a person, and what may be shown there. */
export interface Terminal {
  /** Whether a line may be written over. */
  readonly rewrites: boolean;
  /** Characters in a line. */
  readonly width: () => number;
  readonly write: (text: string) => void;
  /** Text that stands out, where there are colours. */
  readonly strong: (text: string) => string;
  /** Text whose warnings have a colour, where there are colours. */
  readonly toned: (text: string) => string;
}

/** Plain lines for a file and a pipe; no colours with NO_COLOR; plain lines in ASCII alone for LANG=C and TERM=dumb. */
export function openTerminal(stream: Stream, variables: Variables): Terminal {
  const rewrites = stream.isTTY && variables['TERM'] !== 'dumb';
  const hasColours = rewrites && (variables['NO_COLOR'] ?? '') === '';
  const shown = isAsciiAlone(variables) ? asciiOf : (text: string): string => text;
  return {
    rewrites,
    width: () => stream.columns,
    write: (text) => void stream.write(shown(text)),
    strong: (text) => (hasColours ? styled('bold', text) : text),
    toned: (text) => (hasColours ? TONES.reduce(inTone, text) : text),
  };
}

const TONES: readonly (readonly [tone: 'red' | 'yellow', words: RegExp])[] = [
  ['red', /^FAIL(?= )|^(!!! |THIS REPORT DOES NOT TIE|Everything is halted).*$/gm],
  ['yellow', /^warning(?= )|^[0-9,]+ (?:held|unknown)\b|^state +paused\b.*$/gm],
];

function inTone(text: string, [tone, words]: (typeof TONES)[number]): string {
  return text.replaceAll(words, (found) => styled(tone, found));
}

function styled(format: 'bold' | 'red' | 'yellow', text: string): string {
  return styleText(format, text, { validateStream: false });
}

/** Whether a terminal, or the language of a process, has no letters but those of ASCII; one that names no language is not asked. */
export function isAsciiAlone({ TERM, LC_ALL, LC_CTYPE, LANG }: Variables): boolean {
  if (TERM === 'dumb') return true;
  const language = [LC_ALL, LC_CTYPE, LANG].find((one) => one !== undefined && one !== '');
  return language === 'C' || language === 'POSIX';
}

const ASCII: ReadonlyMap<string, string> = new Map([
  ['·', '|'],
  ['…', '...'],
  ['’', "'"],
  ['‘', "'"],
  ['“', '"'],
  ['”', '"'],
  ['–', '-'],
  ['—', '-'],
  ['→', '->'],
  ['×', 'x'],
  ['•', '*'],
  ['›', '>'],
  ['‹', '<'],
  ['−', '-'],
  ['≥', '>='],
  ['≤', '<='],
]);

/** Our own signs in ASCII; any other letter, such as one of a name, as a question mark. */
export function asciiOf(text: string): string {
  return text.replaceAll(/\P{ASCII}/gu, (sign) => ASCII.get(sign) ?? '?');
}
