import type { Clock, Random } from '../clock.ts';
import type { Log } from '../log.ts';
import { type Answer, faultWords } from './answer.ts';
import { parseErrors, parseToken } from './replies.ts';
import type { HeldToken, Seal } from './token-seal.ts';

/** Where the sealed token lies for all processes, and who may ask for a new one. A fault of the store is thrown. */
export interface TokenStore {
  read(): Promise<Uint8Array | null>;
  write(sealed: Uint8Array, ttlMs: number): Promise<void>;
  /** Whether `owner` may ask now; the right ends by itself after `ttlMs`. */
  lock(owner: string, ttlMs: number): Promise<boolean>;
  /** Gives the right back if `owner` still has it. */
  unlock(owner: string): Promise<void>;
}

export interface Tokens {
  /** The token that this process holds, without waiting; undefined when there is none that the service would take. */
  current(): string | undefined;
  /**
   * A token with at least the margin left, asked for if need be. Throws TokenRefused or TokenUnavailable; faults of the
   * store pass through.
   */
  fresh(): Promise<string>;
  /** The service answered 401 to this token. One renewal follows, however often and from wherever this is called. */
  refused(token: string): void;
}

export interface TokenOptions {
  /** One token request. */
  readonly ask: () => Promise<Answer>;
  /** Null (PAYRUN_TOKEN_CACHE=off): the token stays in this process. */
  readonly store: TokenStore | null;
  readonly seal: Seal;
  readonly marginMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Resolves when the service lets requests through again. */
  readonly untilRateLimitEnds: () => Promise<void>;
  /** Aborted when the client closes. */
  readonly signal: AbortSignal;
}

/** The token endpoint refused the client's credentials: nothing can be paid until a person fixes them. */
export class TokenRefused extends Error {
  override readonly name = 'TokenRefused';
  readonly code = 'TOKEN_REFUSED';
  readonly status: number;
  /** The OAuth error code (RFC 6749 section 5.2), where the service gave one. */
  readonly oauthCode: string | null;

  constructor(status: number, oauthCode: string | null) {
    super(`The service refused to give an access token (HTTP ${status}${oauthCode === null ? '' : `, ${oauthCode}`}).`);
    this.status = status;
    this.oauthCode = oauthCode;
  }
}

/** No token could be had for now. */
export class TokenUnavailable extends Error {
  override readonly name = 'TokenUnavailable';
  readonly code = 'TOKEN_UNAVAILABLE';
  /** Short: `HTTP 503`, `ECONNREFUSED`, `closed`. */
  readonly reason: string;
  /** The service's certificate did not verify. */
  readonly certificate: boolean;

  constructor(reason: string, certificate = false) {
    super(`No access token could be had from the service (${faultWords(reason)}).`);
    this.reason = reason;
    this.certificate = certificate;
  }
}

/** How long one renewal goes on trying; pauses that the service asked for are not counted. */
export const RENEWAL_MS_MAX = 60 * 1000;
/** A token that says nothing readable about its end is good for this long; a longer life than the other is not believed. */
const UNSTATED_LIFE_MS = 60 * 1000;
const LIFE_MS_MAX = 24 * 60 * 60 * 1000;
/** Longer than one token request can take, so that a second one is asked for only when the first asker is dead. */
const LOCK_MS = 20 * 1000;
/** Token requests of one process are at least this far apart, so that tokens refused in a row become no storm. */
const ASK_GAP_MS = 1000;
/** How the token endpoint refuses. */
const REFUSALS: ReadonlySet<number> = new Set([400, 401, 403]);
/** An endpoint that is back is noticed within it, and so what waited settles in time. */
const BACKOFF_MS_MAX = 8 * 1000;
const POLL_MS = 40;

/** The attempt came to nothing: another process is asking, or the endpoint gave no token. */
type Setback = { readonly busy: true } | { readonly busy: false; readonly reason: string };

/** One access token for all workers of all processes (interface page, section 5). */
export function openTokens(options: TokenOptions): Tokens {
  const { ask, store, seal, marginMs, clock, random, log, signal } = options;
  let held: HeldToken | undefined;
  let refusedToken: string | undefined;
  let renewal: Promise<HeldToken> | undefined;
  let mayAskAt = Number.NEGATIVE_INFINITY;

  async function storedToken(): Promise<HeldToken | undefined> {
    const sealed = await store?.read();
    const stored = sealed ? seal.open(sealed) : undefined;
    return stored !== undefined && stored.token !== refusedToken && clock.now() < stored.freshUntil
      ? stored
      : undefined;
  }

  async function askAndKeep(): Promise<HeldToken | Setback> {
    const gapMs = mayAskAt - clock.monotonic();
    if (gapMs > 0) await clock.sleep(gapMs, signal);
    mayAskAt = clock.monotonic() + ASK_GAP_MS;
    const asked = clock.now();
    const fetched = heldToken(await ask(), { asked, marginMs });
    if ('busy' in fetched) return fetched;
    if (fetched.token === refusedToken) return { busy: false, reason: 'the refused token again' };
    await store?.write(seal.seal(fetched), Math.max(1, Math.floor(fetched.freshUntil - clock.now())));
    log.info('a new access token', { operation: 'token', ms: Math.round(fetched.freshUntil - asked) });
    return fetched;
  }

  async function attempt(): Promise<HeldToken | Setback> {
    const stored = await storedToken();
    if (stored !== undefined) return stored;
    if (store === null) return askAndKeep();
    const owner = random.uuid();
    if (!(await store.lock(owner, LOCK_MS))) return { busy: true };
    try {
      return (await storedToken()) ?? (await askAndKeep());
    } finally {
      await store.unlock(owner);
    }
  }

  async function renew(): Promise<HeldToken> {
    try {
      held = await insist(attempt, options);
      return held;
    } finally {
      renewal = undefined;
    }
  }

  return {
    current: () => (held !== undefined && clock.now() < held.endsAt ? held.token : undefined),
    async fresh() {
      if (held !== undefined && clock.now() < held.freshUntil) return held.token;
      renewal ??= renew();
      return (await renewal).token;
    },
    refused(token) {
      if (held?.token !== token) return;
      held = undefined;
      refusedToken = token;
      log.warn('the service refused the access token', { operation: 'token' });
    },
  };
}

/** Attempts until one gives a token. Throws TokenUnavailable when the time for it is over or the client closes. */
async function insist(attempt: () => Promise<HeldToken | Setback>, options: TokenOptions): Promise<HeldToken> {
  const { clock, random, log, signal } = options;
  let spentMs = 0;
  for (let failures = 0; ; ) {
    await options.untilRateLimitEnds();
    if (signal.aborted) throw new TokenUnavailable('closed');
    const since = clock.monotonic();
    const outcome = await attempt();
    if (!('busy' in outcome)) return outcome;
    if (!outcome.busy) failures += 1;
    const waitMs = outcome.busy ? POLL_MS * (0.5 + random.fraction()) : backoffMs(failures, random);
    spentMs += clock.monotonic() - since + waitMs;
    if (spentMs > RENEWAL_MS_MAX) throw new TokenUnavailable(outcome.busy ? 'another process asks' : outcome.reason);
    if (!outcome.busy) log.warn('no access token yet', { operation: 'token', reason: outcome.reason, ms: waitMs });
    await clock.sleep(waitMs, signal);
  }
}

/** Whether an answer is one of a token endpoint: a token, a refusal, or the wish to wait. */
export function isTokenAnswer(answer: Answer): boolean {
  if (answer.kind !== 'answered') return false;
  return REFUSALS.has(answer.status) || answer.status === 429 || parseGiven(answer) !== undefined;
}

function parseGiven({ status, json }: Extract<Answer, { kind: 'answered' }>): ReturnType<typeof parseToken> {
  return status === 200 || status === 201 ? parseToken(json) : undefined;
}

/** The token in an answer of the token endpoint. Throws TokenRefused, and TokenUnavailable where trying again is no use. */
function heldToken(answer: Answer, life: { asked: number; marginMs: number }): HeldToken | Setback {
  if (answer.kind === 'not-sent' && answer.certificate) throw new TokenUnavailable(answer.reason, true);
  if (answer.kind !== 'answered') return { busy: false, reason: answer.reason };
  if (REFUSALS.has(answer.status)) {
    throw new TokenRefused(answer.status, parseErrors(answer.json)[0]?.code ?? null);
  }
  const reply = parseGiven(answer);
  if (reply === undefined) return { busy: false, reason: `HTTP ${answer.status}` };
  const lifeMs = lifeMsOf(reply, answer.date ?? life.asked);
  const freshMs = lifeMs > life.marginMs ? lifeMs - life.marginMs : lifeMs / 2;
  return { token: reply.accessToken, freshUntil: life.asked + freshMs, endsAt: life.asked + lifeMs };
}

/** `expires_in`, else the token's own `exp` as seen from the service's clock, else a guess on the short side. */
function lifeMsOf(reply: { accessToken: string; expiresIn: number | null }, serviceNow: number): number {
  const stated = reply.expiresIn === null ? expiryOfJwt(reply.accessToken) - serviceNow : reply.expiresIn * 1000;
  return stated > 0 ? Math.min(stated, LIFE_MS_MAX) : UNSTATED_LIFE_MS;
}

/** The `exp` claim (RFC 7519 section 4.1.4) in milliseconds since 1970; NaN when the token is not a readable JWT. */
function expiryOfJwt(token: string): number {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
    const expiry = typeof claims === 'object' && claims !== null && 'exp' in claims ? claims.exp : undefined;
    return typeof expiry === 'number' ? expiry * 1000 : Number.NaN;
  } catch {
    return Number.NaN;
  }
}

/** Doubling from one second, spread over the upper half so that processes do not march in step. */
function backoffMs(failures: number, random: Random): number {
  return Math.min(1000 * 2 ** (failures - 1), BACKOFF_MS_MAX) * (0.5 + random.fraction() / 2);
}
