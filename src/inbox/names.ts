import { basename, extname } from 'node:path';
import { manifestPathOf } from '../intake/manifest.ts';

/** What file systems take. */
const NAME_BYTES_MAX = 255;
const ENDING_BYTES_MAX = 32;

/** What an answer's name adds to that of its file. */
export const ANSWER_ENDINGS = {
  ack: '.ack.json',
  nack: '.nack.json',
  markedUp: '.marked-up.csv',
  reportCsv: '.report.csv',
  reportJson: '.report.json',
} as const;
export type AnswerEnding = (typeof ANSWER_ENDINGS)[keyof typeof ANSWER_ENDINGS];

const ENDING_OF_ANSWERS_BYTES = Math.max(...Object.values(ANSWER_ENDINGS).map((ending) => ending.length));

/** Control, bidirectional, invisible and unassigned characters, line separators, and the sign for a lost character. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\u{FFFD}]/gu;

/** Whether a name is that of a manifest, which goes with the file that it is about. */
export function isManifest(name: string): boolean {
  return name.endsWith(manifestPathOf(''));
}

/** The name of a file's manifest; undefined where it would be too long for a file system, so that there can be none. */
export function manifestOf(name: string): string | undefined {
  const manifest = manifestPathOf(name);
  return byteLength(manifest) <= NAME_BYTES_MAX ? manifest : undefined;
}

/** Whether a name in `in/` is none to read: it is hidden, a manifest, or says that its upload is under way. */
export function isPassedOver(name: string): boolean {
  return name.startsWith('.') || isManifest(name) || /\.(?:part|tmp|filepart)$/i.test(name);
}

/** Whether a file may be handed in under the name: people can see all of it, and the file system takes it. */
export function isPlainName(name: string): boolean {
  return name.search(UNSEEN) < 0 && byteLength(name) <= NAME_BYTES_MAX;
}

/**
 * The name by which a file's answers go: its own, then with `-2`, `-3` and so on before its ending. Cut so that each
 * answer's name fits a file system, and without characters that cannot be seen.
 */
export function answerName(name: string, count: number): string {
  const seen = name.replace(UNSEEN, '_');
  const last = extname(seen);
  const ending = byteLength(last) <= ENDING_BYTES_MAX ? last : '';
  const tail = `${count === 1 ? '' : `-${count}`}${ending}`;
  return `${cut(basename(seen, ending), NAME_BYTES_MAX - ENDING_OF_ANSWERS_BYTES - byteLength(tail))}${tail}`;
}

/** The name as a file system takes it: one with lost characters may have grown too long for it. */
export function storedName(name: string): string {
  return cut(name, NAME_BYTES_MAX);
}

/** The name of the file that one in `reports/` answers; undefined for what answers none. */
export function answeredName(report: string): string | undefined {
  const ending = Object.values(ANSWER_ENDINGS).find((known) => report.endsWith(known));
  return ending === undefined ? undefined : report.slice(0, -ending.length);
}

/** As many whole characters as fit. */
function cut(text: string, bytesMax: number): string {
  if (byteLength(text) <= bytesMax) return text;
  let kept = '';
  for (const character of text) {
    if (byteLength(kept) + byteLength(character) > bytesMax) break;
    kept += character;
  }
  return kept;
}

function byteLength(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}
