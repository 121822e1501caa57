import { type Column, columnOf } from '../template/columns.ts';
import { DECIMAL_MARKS, DELIMITERS, PLAIN_TEMPLATE, type Template } from '../template/template.ts';
import type { Header } from './header.ts';

/** How a payout file writes its rows: enough to write some of them so that the same template reads them. */
export interface Layout extends Pick<Template, 'delimiter' | 'decimalMark'> {
  /** The template's name; null where none was named. */
  readonly template: string | null;
  /** The columns that are read, in the order of the file. */
  readonly columns: readonly { readonly column: Column; readonly name: string }[];
  /** Columns that the file does not have, for the template has one value for all of its rows. */
  readonly given: readonly Column[];
}

/**
 * A layout as words without blanks, for the record of a run: `amount` is a column under our name, `amount=Betrag` one under
 * another (as in a URL), `amount=` one that is given; `delimiter:%3B` and the like stand before them where they are not plain.
 */
export function layoutWords({ columns, template }: Pick<Header, 'columns' | 'template'>): string[] {
  return [
    ...(template.name === null ? [] : [`template:${template.name}`]),
    ...(['delimiter', 'decimalMark'] as const)
      .filter((mark) => template[mark] !== PLAIN_TEMPLATE[mark])
      .map((mark) => `${mark}:${encodeURIComponent(template[mark])}`),
    ...columns.map(({ column, name, at }) => {
      if (at < 0) return `${column}=`;
      return name === column ? column : `${column}=${encodeURIComponent(name)}`;
    }),
  ];
}

const MESSAGE = 'message:';

/** The word, beside those of a layout, for the version of a payment message. */
export function messageWord(name: string): string {
  return `${MESSAGE}${name}`;
}

/** The version of the payment message that a run was made of; undefined where its words do not tell. */
export function messageIn(words: readonly string[]): string | undefined {
  return words.find((word) => word.startsWith(MESSAGE))?.slice(MESSAGE.length);
}

/** The layout that `layoutWords` told; a word that is none is passed over. */
export function layoutOf(words: readonly string[]): Layout {
  const marks = new Map(words.flatMap((word) => pairOf(word, ':')));
  const named = words.flatMap((word) => pairOf(word.includes('=') ? word : `${word}=${word}`, '='));
  const columns = named.flatMap(([word, name]) => {
    const column = columnOf(word);
    return column === undefined ? [] : [{ column, name }];
  });
  return {
    template: marks.get('template') ?? null,
    delimiter: DELIMITERS.find((mark) => mark === marks.get('delimiter')) ?? PLAIN_TEMPLATE.delimiter,
    decimalMark: DECIMAL_MARKS.find((mark) => mark === marks.get('decimalMark')) ?? PLAIN_TEMPLATE.decimalMark,
    columns: columns.filter(({ name }) => name !== ''),
    given: columns.flatMap(({ column, name }) => (name === '' ? [column] : [])),
  };
}

function pairOf(word: string, mark: ':' | '='): [name: string, value: string][] {
  const at = word.indexOf(mark);
  return at < 0 ? [] : [[word.slice(0, at), decodeURIComponent(word.slice(at + 1))]];
}
