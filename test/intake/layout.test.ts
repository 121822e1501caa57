import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { layoutOf, layoutWords } from '../../src/intake/csv/layout.ts';
import { COLUMNS } from '../../src/intake/template/columns.ts';
import { DECIMAL_MARKS, DELIMITERS, PLAIN_TEMPLATE } from '../../src/intake/template/template.ts';

const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 128 });
const columns = fc
  .subarray([...COLUMNS], { minLength: 1 })
  .chain((chosen) =>
    fc.tuple(
      ...chosen.map((column) =>
        fc.record({ column: fc.constant(column), name: fc.oneof(name, fc.constant(column)), isGiven: fc.boolean() }),
      ),
    ),
  );

describe('the layout of a file', () => {
  test('is a list of column names for a plain file', () => {
    expect(layoutOf(['reference', 'amount'])).toEqual({
      template: null,
      delimiter: ',',
      decimalMark: '.',
      columns: [
        { column: 'reference', name: 'reference' },
        { column: 'amount', name: 'amount' },
      ],
      given: [],
    });
    expect(layoutOf([])).toMatchObject({ columns: [], given: [] });
  });

  test('comes back from its words, which have no blanks, whatever the names are', () => {
    const template = fc.option(fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,63}$/));
    const marks = fc.record({
      delimiter: fc.constantFrom(...DELIMITERS),
      decimalMark: fc.constantFrom(...DECIMAL_MARKS),
    });
    fc.assert(
      fc.property(columns, template, marks, (chosen, templateName, { delimiter, decimalMark }) => {
        const words = layoutWords({
          columns: chosen.map(({ column, name: ofFile, isGiven }, at) => ({
            column,
            name: ofFile,
            at: isGiven ? -1 : at,
            isDemanded: true,
            fixed: undefined,
            allowed: undefined,
          })),
          template: { ...PLAIN_TEMPLATE, name: templateName, delimiter, decimalMark },
        });
        expect(words.join('')).not.toMatch(/\s/u);
        expect(layoutOf(words.join(' ').split(' '))).toEqual({
          template: templateName,
          delimiter,
          decimalMark,
          columns: chosen
            .filter(({ isGiven }) => !isGiven)
            .map(({ column, name: ofFile }) => ({ column, name: ofFile })),
          given: chosen.filter(({ isGiven }) => isGiven).map(({ column }) => column),
        });
      }),
    );
  });
});
