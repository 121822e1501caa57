import { closeSync, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { codeOf } from './refusal.ts';

const OTHERS = 0o007;
const GROUP = 0o070;
const GROUP_WRITES = 0o020;

type Read = { readonly text: string } | { readonly problem: string };

const SECRETS = new Set([
  'PAYRUN_CLIENT_SECRET_FILE',
  'PAYRUN_LEDGER_KEY_FILE',
  'PAYRUN_SIGNING_KEY_FILE',
  'PAYRUN_SFTP_KEY_FILE',
  'PAYRUN_PROXY_FILE',
  'REDIS_URL_FILE',
]);

/** What the file of a setting holds; one with a secret has to be a file for secrets (`readSecretFile`). */
export function readSettingFile(name: string, path: string): Read {
  if (SECRETS.has(name)) return readSecretFile(path);
  try {
    return { text: readFileSync(path, 'utf8') };
  } catch (error) {
    return unreadable(error);
  }
}

/**
 * What a file with a secret holds, as it is; or why it is not taken, without its path, which may be a secret in the wrong
 * place. Nobody else may read it; a group may where that is how it was given to payrun: in a file of somebody else.
 */
export function readSecretFile(path: string): Read {
  try {
    const file = openSync(path, 'r');
    try {
      if (isOpenToOthers(fstatSync(file))) {
        return {
          problem:
            'the file that it names may be read or written by others: chmod 600 (or 440, of root and your group)',
        };
      }
      return { text: readFileSync(file, 'utf8') };
    } finally {
      closeSync(file);
    }
  } catch (error) {
    return unreadable(error);
  }
}

function unreadable(error: unknown): { readonly problem: string } {
  return { problem: `the file that it names cannot be read (${codeOf(error) ?? 'error'})` };
}

function isOpenToOthers(stat: Stats): boolean {
  if (!stat.isFile()) return false;
  const isOwn = stat.uid === process.getuid?.();
  return (stat.mode & (isOwn ? OTHERS | GROUP : OTHERS | GROUP_WRITES)) !== 0;
}
