import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseStrictJson } from '../../src/intake/strict-json.ts';

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

  test('says that a text is no JSON', () => {
    expect(parseStrictJson('{"a":1,}')).toEqual({ fault: 'it is no JSON' });
  });
});
