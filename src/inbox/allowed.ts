import { realpath } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import type { AllowedInboxes } from '../config/inbox.ts';
import { Refusal } from '../refusal.ts';
import { isSftpAddress, parseSftpAddress } from './sftp/address.ts';

/**
 * Throws a Refusal for an inbox that lies nowhere where inboxes may lie, also by way of a link. `allowed` is null
 * where no settings say so: every place is allowed.
 */
export async function requireAllowed(address: string, allowed: AllowedInboxes | null): Promise<void> {
  if (allowed === null || (await isAllowed(address, allowed))) return;
  throw new Refusal(
    'Inboxes of schedules are not allowed there.',
    'Use a folder or a host that "inbox.allowed" of PAYRUN_CONFIG names, or add it there.',
  );
}

async function isAllowed(address: string, { folders, hosts }: AllowedInboxes): Promise<boolean> {
  if (isSftpAddress(address)) return hosts.includes(parseSftpAddress(address).host.toLowerCase());
  const real = await realFolder(address);
  const places = await Promise.all(folders.map(realFolder));
  return places.some((place) => real === place || real.startsWith(place.endsWith(sep) ? place : `${place}${sep}`));
}

/** The folder itself, whatever links lead to it; what is not there is taken as it is named. */
async function realFolder(name: string): Promise<string> {
  return await realpath(resolve(name)).catch(() => resolve(name));
}
