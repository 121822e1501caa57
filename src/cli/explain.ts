import { IntentLogFault } from '../ledger/intents/intent-log.ts';
import { BlockListFault } from '../ledger/script.ts';
import { isRedisLoss } from '../redis/loss.ts';
import { codeOf, IS_READ_ONLY, Refusal } from '../refusal.ts';
import { remedyInCommands } from './command-words.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { safeText } from './print.ts';

/** What a person is told of an error that ended a command, and the command's exit code. */
export interface Explanation {
  readonly text: string;
  readonly exitCode: ExitCode;
}

/** A stack trace is part of the text only where the error can be nothing but a defect of ours. */
export function explain(error: unknown): Explanation {
  const refusal = refusalOf(error);
  if (refusal !== undefined) {
    return { text: safeText(`${refusal.message}\n${remedyInCommands(refusal.next)}`), exitCode: EXIT[refusal.kind] };
  }
  const trace = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return {
    text: safeText(`This is a defect of payrun, not of your file. Please report it with these lines:\n${trace}`),
    exitCode: EXIT.defect,
  };
}

function refusalOf(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error;
  if (error instanceof IntentLogFault) {
    return new Refusal(
      `The disk of the data directory failed: ${error.message} (${codeOf(error.cause) ?? 'error'}).`,
      'Nothing more was sent. Fix the disk, then start the same command again: it carries on.',
      { kind: 'defect' },
    );
  }
  if (error instanceof BlockListFault) {
    return new Refusal(
      `Nothing was changed: ${error.message}.`,
      'Look at it with "payrun block". After a halt, two people seal it as it stands with "payrun release".',
    );
  }
  if (!(error instanceof Error)) return undefined;
  return isRedisLoss(error) ? refuseRedis(error) : systemRefusal(error);
}

function refuseRedis(error: Error): Refusal {
  return new Refusal(
    error.name === 'ReplyError' ? `Redis cannot work: ${error.message}` : 'Redis does not answer.',
    'See "payrun doctor". When Redis is back, start the same command again: it carries on.',
    { kind: 'unavailable', cause: error },
  );
}

const SYSTEM_REMEDIES: ReadonlyMap<string, string> = new Map([
  ['EACCES', 'Give this user the right to it, or name another place.'],
  ['EPERM', 'Give this user the right to it, or name another place.'],
  [
    'EROFS',
    'Make that disk writable again. A ledger that is on it stays there: another data directory knows nothing of what was paid.',
  ],
  ['ENOENT', 'Check the path.'],
  ['ENOTDIR', 'Check the path: a part of it is no folder.'],
  ['EISDIR', 'Name a file, not a folder.'],
  ['EEXIST', 'Name another place, or remove what is there.'],
  ['ENOSPC', 'Make room on the disk, then start the same command again.'],
  ['EDQUOT', 'Make room on the disk, then start the same command again.'],
  ['EMFILE', 'Raise the number of open files (ulimit -n).'],
]);

/** A file or folder that the system does not let us use as we were told to. */
export function systemRefusal(error: Error): Refusal | undefined {
  const remedy = 'syscall' in error ? SYSTEM_REMEDIES.get(codeOf(error) ?? '') : undefined;
  if (remedy === undefined) return undefined;
  if (codeOf(error) === 'EROFS' && 'path' in error)
    return new Refusal(`${String(error.path)} ${IS_READ_ONLY}.`, remedy, { kind: 'unavailable', cause: error });
  return new Refusal(`The system refused: ${error.message}`, remedy, { cause: error });
}
