import { createHash, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { Clock, Random } from '../../clock.ts';
import { openJournal } from '../journal.ts';

const CLIENT_ID_BYTES = 16;
/** So much chance in a secret that a plain hash of it is safe to keep. */
const CLIENT_SECRET_BYTES = 32;

const credentialRecord = z.discriminatedUnion('event', [
  z.object({
    event: z.literal('created'),
    clientId: z.string(),
    secretSha256: z.string().regex(/^[0-9a-f]{64}$/),
    name: z.string(),
    at: z.int(),
  }),
  z.object({ event: z.literal('revoked'), clientId: z.string(), at: z.int() }),
]);
type CredentialRecord = z.output<typeof credentialRecord>;

/** The credentials of one environment (interface page, section 2.1). What another process adds counts at once. */
export interface Credentials {
  /** The secret is shown here and never again. */
  create(name: string): Promise<{ clientId: string; clientSecret: string }>;
  /** False when there is no such credential, or none that lives. */
  revoke(clientId: string): Promise<boolean>;
  /** Whether the credential exists and is not revoked. */
  lives(clientId: string): boolean;
  /** Whether the credential lives and the secret is its own. */
  accepts(clientId: string, clientSecret: string): boolean;
  close(): Promise<void>;
}

export interface Sources {
  readonly clock: Clock;
  readonly random: Random;
}

export async function openCredentials(file: string, { clock, random }: Sources): Promise<Credentials> {
  const journal = await openJournal(file, credentialRecord);
  const hashes = new Map<string, Buffer>();
  const revoked = new Set<string>();

  function apply(record: CredentialRecord): void {
    if (record.event === 'created') hashes.set(record.clientId, Buffer.from(record.secretSha256, 'hex'));
    else revoked.add(record.clientId);
  }
  async function write(entry: CredentialRecord): Promise<void> {
    journal.append([entry]);
    apply(entry);
    await journal.synced();
  }
  function liveHash(clientId: string): Buffer | undefined {
    for (const entry of journal.readNew()) apply(entry);
    return revoked.has(clientId) ? undefined : hashes.get(clientId);
  }

  return {
    async create(name) {
      const clientId = random.bytes(CLIENT_ID_BYTES).toString('hex');
      const clientSecret = random.bytes(CLIENT_SECRET_BYTES).toString('base64url');
      const secretSha256 = hashOf(clientSecret).toString('hex');
      await write({ event: 'created', clientId, secretSha256, name, at: clock.now() });
      return { clientId, clientSecret };
    },
    async revoke(clientId) {
      if (liveHash(clientId) === undefined) return false;
      await write({ event: 'revoked', clientId, at: clock.now() });
      return true;
    },
    lives: (clientId) => liveHash(clientId) !== undefined,
    accepts(clientId, clientSecret) {
      const hash = liveHash(clientId);
      return hash !== undefined && timingSafeEqual(hash, hashOf(clientSecret));
    },
    close: () => journal.close(),
  };
}

function hashOf(clientSecret: string): Buffer {
  return createHash('sha256').update(clientSecret).digest();
}
