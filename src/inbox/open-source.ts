import { resolve } from 'node:path';
import type { Clock } from '../clock.ts';
import { Refusal } from '../refusal.ts';
import { examineInbox, openFolder } from './folder.ts';
import { isSftpAddress, parseSftpAddress } from './sftp/address.ts';
import type { SftpSettings } from './sftp/session.ts';
import { openSftp } from './sftp/sftp.ts';
import type { InboxSource } from './source.ts';

export interface SourceDeps {
  readonly config: { readonly dataDir: string; readonly sftp?: SftpSettings | undefined };
  readonly clock: Clock;
}

/** The inbox at an address: a folder, or `sftp://user@host/path`. Throws a Refusal for one that cannot be used. */
export function openSource({ config, clock }: SourceDeps, address: string): InboxSource {
  if (!isSftpAddress(address)) return openFolder(resolve(address));
  const place = parseSftpAddress(address);
  if (config.sftp !== undefined) return openSftp(place, config.sftp, clock);
  throw new Refusal(
    'The inbox is on an SFTP server, and payrun has no private key, or does not know the key of the server.',
    'Set PAYRUN_SFTP_KEY_FILE to the file of the private key, and PAYRUN_SFTP_HOST_KEY to the fingerprint of the server (SHA256:…).',
  );
}

/**
 * Throws a Refusal for an inbox in a local folder that is not there, or that is no safe one, and for an address that
 * is none. Nobody looks on when a schedule reads one: a folder that was mistyped, or whose share is not mounted, must not be
 * made anew and found empty.
 */
export async function requireFolder(address: string): Promise<void> {
  if (isSftpAddress(address)) parseSftpAddress(address);
  else await examineInbox(resolve(address));
}
