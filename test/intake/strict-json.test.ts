import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jsonFault } from '../../src/intake/problems/json-fault.ts';
import { parseStrictJson } from '../../src/intake/strict-json.ts';

const SIGNS = ['{', '}', '[', ']', ',', ':', '"', '\\', ' ', '\n', '-', '.', '0', 'e', '1', 't', 'n'];

describe('strict JSON', () => {
  test('is what JSON is, for every value without names that readers leave out', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        fc.pre(!text.includes('"__proto__":'));
        expect(parseStrictJson(text)).toEqual({ value: JSON.parse(text) });
      }),
    );
  });

  test.each([
    '{"a":1,"a":1}',
    '{"a":{"b":1,"b":2}}',
    '[{"b":1},{"b":1,"c":{},"b":2}]',
    '{"a":[{"a":1}],"\\u0061":2}',
    '{"":1,"":2}',
    '{"a\\"":"}","a\\"":2}',
  ])('refuses a name that an object says twice: %s', (text) => {
    expect(parseStrictJson(text).fault).toMatch(/^it says ".*" twice$/);
  });

  test.each(['{"a":{"b":1},"c":{"b":2}}', '{"a":"a:","b":"\\"a\\":{","c":["a","a"]}', '"a"', '7'])(
    'takes what only looks so: %s',
    (text) => {
      expect(parseStrictJson(text).fault).toBeUndefined();
    },
  );

  test('refuses the one name that readers of objects leave out', () => {
    for (const text of ['{"totals":{"__proto__":"99999"}}', '{"__proto__":1,"__proto__":2}', '{"__pr\\u006fto__":1}']) {
      expect(parseStrictJson(text).fault).toBe('it says "__proto__", which is no name');
    }
  });

  test.each([
    ['', 'a value', 'line 1, column 1'],
    ['{', 'a name in double quotes or }', 'line 1, column 2'],
    ['{"a":1,}', 'a name in double quotes', 'line 1, column 8'],
    ['{\n  "a": 1\n  "b": 2\n}', 'a comma or }', 'line 3, column 3'],
    ['{\r\n  "a" 1\r\n}', 'a colon', 'line 2, column 7'],
    ['{"a": [1, 2}', 'a comma or ]', 'line 1, column 12'],
    ['{"a": [', 'a value or ]', 'line 1, column 8'],
    ['{"a": }', 'a value', 'line 1, column 7'],
    ["{'a': 1}", 'a name in double quotes or }', 'line 1, column 2'],
    ['{a: 1}', 'a name in double quotes or }', 'line 1, column 2'],
    ['{\n"a": "b\n}', 'a closing double quote', 'line 2, column 8'],
    ['{"a": "C:\\data"}', 'another escape', 'line 1, column 10'],
    ['{"Zo\u{1F642}": 01}', 'a value', 'line 1, column 9'],
    ['{"a": 1} // remark', 'the end of the text', 'line 1, column 10'],
    ['{"a": tru}', 'a value', 'line 1, column 7'],
    ['\uFEFF{}', 'no byte order mark', 'line 1, column 1'],
  ])('says where a text is no JSON and what it lacks: %j', (text, expected, place) => {
    expect(parseStrictJson(text)).toEqual({
      fault: `it is no JSON: ${expected} should stand at ${place}`,
    });
  });

  test('has a place for the fault of every text that is no JSON, and of no other', () => {
    const cut = fc
      .tuple(fc.json(), fc.nat(), fc.nat(3), fc.string({ unit: fc.constantFrom(...SIGNS), maxLength: 1 }))
      .map(spoiled);
    fc.assert(
      fc.property(fc.oneof(cut, fc.string({ unit: 'binary', maxLength: 6 })), (text) => {
        const place = / at line [0-9]+, column [0-9]+$/;
        expect(place.test(jsonFault(text) ?? '')).toBe(!parses(text));
      }),
      { numRuns: 1000 },
    );
  });
});

/** A text without some of its characters, and with others in their place. */
function spoiled([json, at, length, instead]: [string, number, number, string]): string {
  const from = at % (json.length + 1);
  return json.slice(0, from) + instead + json.slice(from + length);
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
