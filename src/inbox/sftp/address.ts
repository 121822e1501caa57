import { Refusal } from '../../refusal.ts';
import { withoutTrailing } from '../../trailing.ts';

const PORT = 22;

/** A folder on an SFTP server. */
export interface SftpAddress {
  readonly user: string;
  readonly host: string;
  readonly port: number;
  /** Absolute, without a slash at its end. */
  readonly path: string;
}

export function isSftpAddress(text: string): boolean {
  return /^sftp:\/\//i.test(text);
}

/** Reads `sftp://user@host[:port]/path`. Throws a Refusal for anything else, without repeating a password in it. */
export function parseSftpAddress(text: string): SftpAddress {
  const parsed = URL.canParse(text) ? new URL(text) : undefined;
  const parts = parsed === undefined ? undefined : partsOf(parsed);
  if (parts !== undefined) return parts;
  throw new Refusal(
    'The address of the inbox does not have the form sftp://user@host/path.',
    'Give user, host and an absolute path, for example sftp://payrun@files.example.com/payouts, and no password: payrun signs in with a key (PAYRUN_SFTP_KEY_FILE).',
  );
}

function partsOf({
  protocol,
  username,
  password,
  hostname,
  port,
  pathname,
  search,
  hash,
}: URL): SftpAddress | undefined {
  const isPlain = protocol === 'sftp:' && password === '' && search === '' && hash === '';
  if (!isPlain || username === '' || hostname === '') return undefined;
  try {
    return {
      user: decodeURIComponent(username),
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? PORT : Number.parseInt(port, 10),
      path: withoutTrailing(decodeURIComponent(pathname), '/'),
    };
  } catch {
    return undefined;
  }
}
