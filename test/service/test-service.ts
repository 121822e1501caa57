import { setImmediate } from 'node:timers/promises';
import { type Clock, systemClock, systemRandom } from '../../src/clock.ts';
import type { ServiceSettings } from '../../src/config/config.ts';
import { type Log, type LogFields, silentLog } from '../../src/log.ts';
import type { Brake } from '../../src/service/brake.ts';
import { openService, type Service, type ServiceOptions } from '../../src/service/client.ts';
import type { TokenStore } from '../../src/service/token.ts';
import { openSeal } from '../../src/service/token-seal.ts';
import type { AnswerHandler, ReceivedRequest } from '../support/answering-server.ts';

export const CLIENT_SECRET = 'canary-client-secret-7d1f';

const FREE_BRAKE: Brake = { remainingMs: () => 0, hold: () => {} };

export function testSettings(url: string, overrides: Partial<ServiceSettings> = {}): ServiceSettings {
  return {
    url,
    clientId: 'client-1',
    clientSecret: CLIENT_SECRET,
    tenantId: 'tenant-1',
    environment: 'test',
    audience: 'urn:servicexcurrent-test:tenant-1',
    ...overrides,
  };
}

export function openTestService(
  url: string,
  options: Partial<Omit<ServiceOptions, 'settings'>> & { settings?: Partial<ServiceSettings> } = {},
): Service {
  const { settings, ...rest } = options;
  return openService({
    settings: testSettings(url, settings),
    tokenStore: null,
    tokenMarginMs: 60_000,
    brake: FREE_BRAKE,
    requestTimeoutMs: 10_000,
    concurrency: 4,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    userAgent: 'payrun/test',
    ...rest,
  });
}

/** Time that a test moves; sleeping moves it too and costs none. */
export function movableClock(): Clock & { move(ms: number): void } {
  let moved = 0;
  return {
    now: () => Date.now() + moved,
    monotonic: () => performance.now() + moved,
    async sleep(ms) {
      moved += Math.max(0, ms);
      await setImmediate();
    },
    move(ms) {
      moved += ms;
    },
  };
}

/** Everything that was logged, as text. */
export function recordingLog(): Log & { text(): string } {
  const lines: string[] = [];
  const write = (message: string, fields?: LogFields): void => {
    const error = fields?.error instanceof Error ? `${fields.error.message} ${fields.error.stack}` : '';
    lines.push(`${message} ${JSON.stringify(fields)} ${error}`);
  };
  return { debug: write, info: write, warn: write, error: write, text: () => lines.join('\n') };
}

export function isTokenRequest(request: ReceivedRequest): boolean {
  return request.path.endsWith('/v2/oauth/token');
}

/** Gives out `token-1`, `token-2` and so on, and leaves all else to `handler`. */
export function givingTokens(handler: AnswerHandler, reply: object = { expires_in: 3600 }): AnswerHandler {
  let given = 0;
  return (request, answering) => {
    if (!isTokenRequest(request)) return handler(request, answering);
    given += 1;
    answering.reply({ json: { access_token: `token-${given}`, token_type: 'Bearer', ...reply } });
  };
}

/** A shared store that holds a good token already. */
export function storeWithToken(url: string): TokenStore {
  const end = systemClock.now() + 60_000;
  const sealed = openSeal(testSettings(url), systemRandom).seal({ token: 'token-0', freshUntil: end, endsAt: end });
  return { read: async () => sealed, write: async () => {}, lock: async () => true, unlock: async () => {} };
}

/** Long enough for anything that a test expects to be sent. */
export function soon(): number {
  return systemClock.monotonic() + 5000;
}
