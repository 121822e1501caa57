import type { Random } from '../clock.ts';
import type { Switches } from './faults/switches.ts';
import type { RuleFaultName } from './faults/table.ts';
import { type Identities, openIdentities } from './identities.ts';
import type { Environment } from './operations.ts';
import { openPayments, type Payments } from './payments/payments.ts';
import { openQuotes, type Quotes } from './quotes/quotes.ts';
import { journalFile, type Tenant } from './tenant.ts';
import { type Credentials, openCredentials, type Sources } from './tokens/credentials.ts';
import { openTokens, type TokenClaims, type Tokens } from './tokens/tokens.ts';

/** One environment with everything it knows; nothing passes from one to the other. */
export interface Realm {
  readonly environment: Environment;
  /** What a token request has to name (interface page, section 5 rule 4). */
  readonly audience: string;
  readonly tokens: Tokens;
  readonly credentials: Credentials;
  readonly identities: Identities;
  readonly quotes: Quotes;
  readonly payments: Payments;
  /** Resolves when everything that an answer may tell of is on disk. */
  synced(): Promise<void>;
  close(): Promise<void>;
}

/** What a rule is given besides the request: who asks, when, and what is known. */
export interface Call {
  readonly realm: Realm;
  readonly switches: Switches;
  readonly random: Random;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** What the bearer token says; undefined for the token request alone. */
  readonly token: TokenClaims | undefined;
  /** Whether a fault of the service's own doing strikes this request. */
  readonly strikes: (name: RuleFaultName) => boolean;
}

export interface RealmOptions extends Sources {
  readonly folder: string;
  readonly tenant: Tenant;
  readonly environment: Environment;
}

export async function openRealm({ folder, tenant, environment, clock, random }: RealmOptions): Promise<Realm> {
  const audience = `urn:servicexcurrent-${environment}:${tenant.tenantId}`;
  const file = (kind: string) => journalFile(folder, environment, kind);
  const credentials = await openCredentials(file('credentials'), { clock, random });
  const identities = await openIdentities(file('identities'), clock);
  const quotes = await openQuotes(file('quotes'));
  const payments = await openPayments(file('payments'));
  return {
    environment,
    audience,
    tokens: openTokens({ signingKey: tenant.signingKey, audience, clock, random }),
    credentials,
    identities,
    quotes,
    payments,
    async synced() {
      await Promise.all([identities.synced(), quotes.synced(), payments.synced()]);
    },
    async close() {
      await Promise.all([credentials.close(), identities.close(), quotes.close(), payments.close()]);
    },
  };
}

/** The credential that asks. */
export function clientOf({ token }: Call): string {
  if (token === undefined) throw new Error('an operation was let through without a token');
  return token.clientId;
}
