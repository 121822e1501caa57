import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { wordsForPages } from '../../src/web/page-words.ts';

const SRC = join(import.meta.dirname, '../../src');
/** What pages call, and what therefore may speak to people who stand before one. */
const DOMAIN = ['audit', 'intake', 'ledger', 'people', 'report', 'runs', 'schedules'];
/** No page does what these do; who runs payrun types them. */
const FOR_OPERATORS = [
  'adopt-ledger',
  'doctor',
  'run',
  'serve',
  'template',
  'user add',
  'validate',
  'worker',
  'write-off',
];

test.each([
  ['See "payrun status r1".', 'See the page of run r1.'],
  ['"payrun status r1" shows its file.', 'The page of run r1 shows its file.'],
  [
    'See "payrun show r1 INV 7/8"; if it has just changed, try again.',
    'See the page of the payout; if it has just changed, try again.',
  ],
  ['"payrun drop r1 INV 7" gives it up; another person confirms.', '"Drop it" gives it up; another person confirms.'],
  ['it was never sent: "payrun drop" gives it up', 'it was never sent: "Drop it" gives it up'],
  [
    'Two people release the halt first: "payrun release --as NAME", then the same by another NAME.',
    'Two people release the halt first: one proposes it under Settings, another one confirms.',
  ],
  ['The service could not be asked: HTTP_500.', 'The service could not be asked: it answered with status 500.'],
  ['Everything else. Stays "as it is".', 'Everything else. Stays "as it is".'],
])('%s becomes, on a page: %s', (told, shown) => {
  expect(wordsForPages(told)).toBe(shown);
});

test('each command that the domain names to people has its words for pages, or is for whoever runs payrun', () => {
  const named = commandsIn(DOMAIN.map((folder) => join(SRC, folder)));
  expect(named.length).toBeGreaterThan(15);
  const left = named.filter((sentence) => {
    const [, command = ''] = /payrun ([a-z-]+(?: add)?)/.exec(wordsForPages(sentence)) ?? [];
    return command !== '' && !FOR_OPERATORS.includes(command);
  });
  expect(left).toEqual([]);
});

/** Each text in the sources that names a command, with names in the places of what is put into it. */
function commandsIn(folders: readonly string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'))
      .filter((line) => !/^\s*(\/\*|\*|\/\/)/.test(line))
      .flatMap((line) => line.match(/"payrun [a-z][^"]*"[^']*|payrun user add[^']*/g) ?? [])
      .map((text) => text.replaceAll(/\$\{[^}]*\}/g, 'NAME')),
  );
}
