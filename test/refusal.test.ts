import { expect, test } from 'vitest';
import { remedyInCommands } from '../src/cli/command-words.ts';
import { type Remedy, remedyText, withSteps } from '../src/refusal.ts';

const PAYOUT = { run: 'r1', reference: 'RUN 7/8' };

test.each<[remedy: Remedy, plain: string, inCommands: string]>([
  ['Everything else. Stays "as it is".', 'Everything else. Stays "as it is".', 'Everything else. Stays "as it is".'],
  [withSteps`See ${{ to: 'see-run', run: 'r1' }}.`, 'See the page of run r1.', 'See "payrun status r1".'],
  [
    withSteps`${{ to: 'see-run', run: 'r1' }} shows its file.`,
    'The page of run r1 shows its file.',
    '"payrun status r1" shows its file.',
  ],
  [
    withSteps`See ${{ to: 'see-payout', ...PAYOUT }}; if it has just changed, try again.`,
    'See the page of the payout; if it has just changed, try again.',
    'See "payrun show r1 RUN 7/8"; if it has just changed, try again.',
  ],
  [
    withSteps`${{ to: 'drop', ...PAYOUT }} gives it up. ${{ to: 'see-users' }} names people.`,
    '"Drop it" gives it up. The page Users names people.',
    '"payrun drop r1 RUN 7/8" gives it up. "payrun user list" names people.',
  ],
  [
    withSteps`Two people release the halt first: ${{ to: 'release' }}.`,
    'Two people release the halt first: one proposes it under Settings, another one confirms.',
    'Two people release the halt first: "payrun release --as NAME", then the same by another NAME.',
  ],
])('%j is told in plain words, and at the command line in commands', (remedy, plain, inCommands) => {
  expect([remedyText(remedy), remedyInCommands(remedy)]).toEqual([plain, inCommands]);
});
