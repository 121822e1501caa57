import {
  AuthorizationResponseError,
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  calculatePKCECodeChallenge,
  discovery,
  enableNonRepudiationChecks,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client';
import type { OidcSettings } from '../../config/web.ts';
import { codeOf } from '../../refusal.ts';

const ANSWER_S_MAX = 10;
/** What the client finds in an answer or an id token that does not hold. */
const FORGED: ReadonlySet<string> = new Set([
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_KEY_SELECTION_FAILED',
]);

/** Where the provider sends the browser back to. */
export const CALLBACK = '/sign-in/provider/callback';

/** What the browser keeps while its user is at the provider. */
export interface Begun {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

export type Finished =
  | { readonly kind: 'claims'; readonly claims: Readonly<Record<string, unknown>> }
  /** The provider or its user would not; its code, such as `access_denied`. */
  | { readonly kind: 'refused'; readonly code: string }
  /** An answer that the provider did not make, or made for somebody else; why, as a code. */
  | { readonly kind: 'forged'; readonly code: string };

/** An identity provider, by the code flow with PKCE, state and nonce (RFC 9700, section 2.1). It keeps no token. */
export interface Provider {
  /** Where to send the browser. Throws what the provider's discovery throws. */
  begin(begun: Begun): Promise<URL>;
  /** Takes the answer that the browser brings, with `search` of its address. Throws where the provider cannot be asked or will not answer. */
  finish(search: string, begun: Begun): Promise<Finished>;
}

/** Looks the provider up when somebody first needs it, and again only if that failed. */
export function openProvider(settings: OidcSettings): Provider {
  let known: Promise<Configuration> | undefined;
  const lookUp = async (): Promise<Configuration> => {
    known ??= discover(settings);
    try {
      return await known;
    } catch (error) {
      known = undefined;
      throw error;
    }
  };
  return {
    async begin({ state, nonce, verifier }) {
      return buildAuthorizationUrl(await lookUp(), {
        redirect_uri: redirectUri(settings),
        scope: settings.scope,
        state,
        nonce,
        code_challenge: await calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
    },
    async finish(search, { state, nonce, verifier }) {
      try {
        const tokens = await authorizationCodeGrant(await lookUp(), new URL(`${redirectUri(settings)}${search}`), {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        });
        return { kind: 'claims', claims: { ...tokens.claims() } };
      } catch (error) {
        if (error instanceof AuthorizationResponseError) return { kind: 'refused', code: error.error };
        const code = codeOf(error);
        if (code !== undefined && FORGED.has(code)) return { kind: 'forged', code };
        throw error;
      }
    },
  };
}

/** Fresh secrets for one sign-in. */
export function beginning(): Begun {
  return { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() };
}

function redirectUri({ address }: OidcSettings): string {
  return `${address}${CALLBACK}`;
}

async function discover({ issuer, clientId, clientSecret }: OidcSettings): Promise<Configuration> {
  const isPlain = new URL(issuer).protocol === 'http:';
  return await discovery(new URL(issuer), clientId, {}, secretAuth(clientSecret), {
    // oxlint-disable-next-line typescript/no-deprecated -- The settings take plain HTTP for a provider on this very host only.
    execute: [enableNonRepudiationChecks, ...(isPlain ? [allowInsecureRequests] : [])],
    timeout: ANSWER_S_MAX,
  });
}

/** By HTTP Basic, which every provider takes unless it says otherwise (OpenID Connect Discovery 1.0, section 3). */
function secretAuth(secret: string): ClientAuth {
  const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    (methods.includes('client_secret_basic') ? basic : post)(server, ...rest);
  };
}

/** What may be logged of a fault with a provider: its code; messages may hold what the provider sent. */
export function providerCode(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return codeOf(error) ?? codeOf(cause) ?? 'error';
}
