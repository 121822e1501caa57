import type { Redis } from 'ioredis';
import { integerOf, listOf, runScript, script } from '../script.ts';
import { COMMIT } from '../scripts/commit.ts';
import type { Change } from './decide-move.ts';
import { inBlocks } from './reading.ts';
import { amountOf } from './record.ts';
import { committed, encode, STATE_LETTERS } from './stored.ts';

/** What has to hold for all changes of a commit. */
export type Commit =
  | { readonly kind: 'move' }
  | {
      readonly kind: 'arm';
      readonly dataDirId: string;
      readonly schema: number;
      readonly highestCounter: number;
      readonly server: string;
      readonly lease: string;
      readonly safety: string;
    }
  /** The run's state and whether it is doubted, as they were read. */
  | { readonly kind: 'record'; readonly runId: string; readonly state: string; readonly doubted: string };

/** What became of a change: the record's text as it stands now, and the counter that the commit gave, or why it was not made. */
export type ChangeAnswer =
  | { readonly text: string; readonly number: number; readonly words?: undefined }
  | { readonly text?: undefined; readonly number?: undefined; readonly words: readonly unknown[] };

export interface Committed {
  /** Redis's time. */
  readonly at: number;
  readonly replicas: number;
  readonly isElsewhere: boolean;
  readonly answers: readonly ChangeAnswer[];
}

/** Makes changes in one call, each as a whole or not at all (scripts/commit.ts). */
export function openCommit(
  prefix: string,
): (redis: Redis, changes: readonly Change[], header: Commit) => Promise<Committed> {
  const commit = script(COMMIT);
  return async (redis, changes, header) => {
    if (changes.length === 0) return { at: 0, replicas: 0, isElsewhere: false, answers: [] };
    const texts = changes.map(({ after, step }) => encode(after, step));
    const args: (string | number)[] = headerArguments(header);
    const blocks = inBlocks(changes);
    const blockNumbers = changes.map(() => 0);
    args.push(blocks.length);
    blocks.forEach(({ runId, block, lines, indexes }, number) => {
      args.push(runId, block, lines.length, ...lines);
      for (const index of indexes) blockNumbers[index] = number + 1;
    });
    changes.forEach((change, index) => {
      args.push(blockNumbers[index] ?? 0, change.line);
      pushItem(args, change, texts[index] ?? '');
    });
    const [at, replicas, isElsewhere, replies] = listOf(await runScript(redis, commit, { prefix, args }));
    const time = integerOf(at);
    const answers = listOf(replies).map((reply, index) => readAnswer(listOf(reply), texts[index] ?? '', time));
    return { at: time, replicas: integerOf(replicas), isElsewhere: integerOf(isElsewhere) === 1, answers };
  };
}

function headerArguments(header: Commit): (string | number)[] {
  switch (header.kind) {
    case 'move':
      return ['move', '', '', '', '', '', ''];
    case 'record':
      return ['record', header.runId, header.state, header.doubted, '', '', ''];
    case 'arm': {
      const { dataDirId, schema, highestCounter, server, lease, safety } = header;
      return ['arm', dataDirId, schema, highestCounter, server, lease, safety];
    }
  }
}

function pushItem(args: (string | number)[], change: Change, text: string): void {
  const { before, after, dueMs, operations } = change;
  const amount = amountOf(after.values);
  const from = before === undefined ? '' : STATE_LETTERS[before.state];
  args.push(before?.text ?? '', text, from, STATE_LETTERS[after.state]);
  args.push(
    amount?.currency ?? '',
    amount?.minor ?? '',
    dueMs === undefined ? '' : Math.ceil(dueMs),
    operations.length,
  );
  for (const operation of operations) args.push(...operation);
}

function readAnswer(reply: readonly unknown[], text: string, at: number): ChangeAnswer {
  if (reply[0] !== 'written') return { words: reply };
  const number = integerOf(reply[1]);
  return { text: committed(text, at, number), number };
}
