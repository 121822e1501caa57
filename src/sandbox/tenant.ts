import { link, mkdir, open, readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Random } from '../clock.ts';
import { codeOf, Refusal } from '../refusal.ts';
import { ENVIRONMENTS, type Environment } from './operations.ts';

const SIGNING_KEY_BYTES = 32;

const tenantRecord = z.object({
  version: z.literal(1),
  tenantId: z.guid(),
  signingKey: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
});

/** Who the sandbox in a folder is. */
export interface Tenant {
  readonly tenantId: string;
  /** Key of the access tokens' signature (HMAC-SHA-256). */
  readonly signingKey: Buffer;
}

/**
 * Reads the tenant of a folder; the first caller makes folder (mode 700), tenant id and signing key. Throws a Refusal
 * for a folder that cannot be used.
 */
export async function openTenant(folder: string, random: Random): Promise<Tenant> {
  const file = join(folder, 'tenant.json');
  try {
    for (const environment of ENVIRONMENTS) await mkdir(join(folder, environment), { recursive: true, mode: 0o700 });
    const text = (await readIfThere(file)) ?? (await makeTenant(file, random));
    const record = tenantRecord.parse(JSON.parse(text));
    return { tenantId: record.tenantId, signingKey: Buffer.from(record.signingKey, 'base64url') };
  } catch (cause) {
    throw new Refusal(
      `${folder} cannot be used as the sandbox's folder`,
      'Name a folder with --folder that this user may write to and that has only a sandbox in it.',
      { cause },
    );
  }
}

/** The file of an environment that holds one kind of record. */
export function journalFile(folder: string, environment: Environment, kind: string): string {
  return join(folder, environment, `${kind}.jsonl`);
}

/** Written whole under another name and then linked, so that of two processes that make it both take the same. */
async function makeTenant(file: string, random: Random): Promise<string> {
  const signingKey = random.bytes(SIGNING_KEY_BYTES).toString('base64url');
  const draft = `${file}.${process.pid}.${random.uuid()}`;
  const handle = await open(draft, 'wx', 0o600);
  try {
    await handle.writeFile(`${JSON.stringify({ version: 1, tenantId: random.uuid(), signingKey })}\n`);
    await handle.sync();
    await link(draft, file);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    await handle.close();
    await unlink(draft);
  }
  return readFile(file, 'utf8');
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
