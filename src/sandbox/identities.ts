import { z } from 'zod';
import { type Clock, rfc3339 } from '../clock.ts';
import { openJournal } from './journal.ts';
import { inventedName } from './names.ts';

export const IDENTITY_TYPES = ['BENEFICIARY', 'ORIGINATOR'] as const;
export type IdentityType = (typeof IDENTITY_TYPES)[number];

const USE_CASE_TYPES = ['INDIVIDUAL', 'BUSINESS'] as const;

const identityRecord = z.object({
  identityId: z.string(),
  identityType: z.enum(IDENTITY_TYPES),
  nickName: z.string(),
  useCaseType: z.enum(USE_CASE_TYPES),
  /** Milliseconds since 1970. */
  createdAt: z.int(),
});
export type Identity = Readonly<z.output<typeof identityRecord>>;

export interface NewIdentity {
  /** UUID-shaped, in any case. */
  readonly identityId: string;
  readonly identityType: IdentityType;
  /** Default: an invented one (names.ts). */
  readonly nickName?: string;
  /** Default INDIVIDUAL. */
  readonly useCaseType?: (typeof USE_CASE_TYPES)[number];
}

export interface IdentityFilter {
  readonly identityType: IdentityType | undefined;
  readonly nickName: string | undefined;
}

/** The identities of one environment. What another process adds counts at once. */
export interface Identities {
  /** On disk once `synced` resolves. An id that is known already stays what it is. */
  add(identities: readonly NewIdentity[]): void;
  /** By id in lower case. */
  find(identityId: string): Identity | undefined;
  /** Up to `max` of those that match, oldest first. */
  list(filter: IdentityFilter, max: number): Identity[];
  synced(): Promise<void>;
  close(): Promise<void>;
}

export async function openIdentities(file: string, clock: Clock): Promise<Identities> {
  const journal = await openJournal(file, identityRecord);
  const known = new Map<string, Identity>();

  function remember(identity: Identity): boolean {
    if (known.has(identity.identityId)) return false;
    known.set(identity.identityId, identity);
    return true;
  }
  function catchUp(): void {
    for (const identity of journal.readNew()) remember(identity);
  }
  catchUp();

  return {
    add(identities) {
      catchUp();
      const createdAt = clock.now();
      journal.append(identities.map((identity) => identityOf(identity, createdAt)).filter(remember));
    },
    find(identityId) {
      if (!known.has(identityId)) catchUp();
      return known.get(identityId);
    },
    list({ identityType, nickName }, max) {
      catchUp();
      const matching: Identity[] = [];
      for (const identity of known.values()) {
        if (matching.length >= max) break;
        if (identityType !== undefined && identity.identityType !== identityType) continue;
        if (nickName === undefined || identity.nickName === nickName) matching.push(identity);
      }
      return matching;
    },
    synced: () => journal.synced(),
    close: () => journal.close(),
  };
}

function identityOf(identity: NewIdentity, createdAt: number): Identity {
  const identityId = identity.identityId.toLowerCase();
  return {
    identityId,
    identityType: identity.identityType,
    nickName: identity.nickName ?? inventedName(identityId),
    useCaseType: identity.useCaseType ?? 'INDIVIDUAL',
    createdAt,
  };
}

/** An identity as the service shows it. */
export function identityBody(identity: Identity): object {
  return { ...identity, createdAt: rfc3339(identity.createdAt) };
}
