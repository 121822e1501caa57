/** What commands say, and what a page has in its place; `$1` is the run. */
const INSTEAD: readonly (readonly [command: RegExp, words: string])[] = [
  [/"payrun status (\S+)"/g, 'the page of run $1'],
  [/"payrun show \S+ [^"]+"/g, 'the page of the payout'],
  [/"payrun list"/g, 'the list of runs'],
  [
    /"payrun release --as NAME", then the same by another NAME/g,
    'one proposes it under Settings, another one confirms',
  ],
  [/"payrun schedule list"/g, 'the page Schedules'],
  [/"payrun schedule remove NAME"/g, 'its button Remove'],
  [/"payrun user list"/g, 'the page Users'],
  [/"payrun key list"/g, 'the page Keys'],
  [/"payrun settings adopt"/g, 'the button under Safety settings'],
  [/"payrun drop(?: \S+ [^"]+)?"/g, '"Drop it"'],
  [/"payrun resolve"/g, '"It was paid" or "It was not paid"'],
  [/\bHTTP_([0-9]{3})\b/g, 'it answered with status $1'],
  [/to run the same command with their own name/g, 'to do the same'],
];

/** What is told to people at a page: where a page does what a command does, the page is named and not the command. */
export function wordsForPages(text: string): string {
  const told = INSTEAD.reduce((words, [command, page]) => words.replaceAll(command, page), text);
  return told.replaceAll(/(^|[.?!] )the (page|list) /g, '$1The $2 ');
}
