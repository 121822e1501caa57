import { escapeControls } from '../intake/spreadsheet-cell.ts';

const MARKUP = /[&<>"']/g;
/** Characters that XML 1.0 has no place for and that are no controls (section 2.2). */
const NONCHARACTERS = /[\uFFFE\uFFFF]/g;

/** Text that may stand in XML 1.0: controls and lone surrogates are written as `\u` and their number, as in JSON. */
export function cleanText(text: string): string {
  return escapeControls(text).replace(NONCHARACTERS, '\uFFFD');
}

/** An element with a text, or with none at all where the text is null or empty. */
export function textElement(name: string, text: string | null): string {
  return text === null || text === '' ? '' : `<${name}>${escapeMarkup(cleanText(text))}</${name}>`;
}

export function escapeMarkup(text: string): string {
  return text.replace(MARKUP, (character) => `&#${character.charCodeAt(0)};`);
}

/** A text in pieces of at most so many characters, as XML counts them, and at most so many pieces. */
export function piecesOf(text: string, { charactersMax, piecesMax }: { charactersMax: number; piecesMax: number }) {
  const characters = Array.from(cleanText(text).trim());
  const pieces: string[] = [];
  for (let at = 0; at < characters.length && pieces.length < piecesMax; at += charactersMax) {
    pieces.push(characters.slice(at, at + charactersMax).join(''));
  }
  return pieces;
}
