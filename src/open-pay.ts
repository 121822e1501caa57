import type { Redis } from 'ioredis';
import type { KnownService } from './capabilities.ts';
import type { Clock, Random } from './clock.ts';
import type { Release } from './closing.ts';
import type { Config, ServiceSettings } from './config/config.ts';
import { openIntentLog } from './ledger/intents/intent-log.ts';
import type { IntentRoom } from './ledger/intents/room.ts';
import { ledgerKeys } from './ledger/keys.ts';
import type { Ledger } from './ledger/ledger.ts';
import { openTokenStore } from './ledger/people/token-store.ts';
import { type Log, withoutRepeatedFaults } from './log.ts';
import type { AtCrashPoint } from './pay/crash-point.ts';
import type { PayDeps } from './pay/deps.ts';
import { openKnownBlockList } from './pay/known-block-list.ts';
import { openCanary } from './pay/look-up/canary.ts';
import { openMovingPace, openPace, openQuoteLead, type Pace, type QuoteLead } from './pay/pace.ts';
import { openSharedBrake } from './pay/shared-brake.ts';
import { openSharedRate, type SharedRate } from './pay/shared-rate.ts';
import { disproveCapability, haltAll } from './runs/decide/control.ts';
import type { IdentityLister } from './runs/identities.ts';
import type { Answering } from './service/answering.ts';
import type { Brake } from './service/brake.ts';
import type { ObserveCall, Service, ServiceOptions } from './service/client.ts';
import { payoutsAtATime } from './service/places.ts';
import { VERSION } from './version.ts';

/** What is asked of a service without anything being armed. */
export type Asker = Pick<Service, 'quote' | 'testToken'> & IdentityLister;

/** The service that a run is paid through. */
export interface ServiceChoice {
  readonly settings: ServiceSettings;
  /** Whether it is the sandbox that payrun started itself: no money moves, its capabilities are known. */
  readonly isSandbox: boolean;
}

/** What a client of the service takes of the app. */
interface ClientDeps {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly ledger: Ledger;
  readonly observe: ObserveCall;
  readonly answering: Answering;
}

/** What paying takes of it besides. */
interface AppParts extends ClientDeps, KnownService {
  readonly at: AtCrashPoint;
  readonly joinSeason: () => Promise<readonly string[]>;
  readonly requireSafety: () => Promise<void>;
  readonly intentRoom: IntentRoom;
}

/** Where a client's Redis and its end belong. */
interface Place {
  readonly redis: Redis;
  readonly closing: Release[];
}

/** The configured service for questions; its client is opened by the first one. */
export function askerOf(app: ClientDeps, { redis, closing }: Place): Asker | undefined {
  const { service: settings } = app.config;
  if (settings === undefined) return undefined;
  let client: Promise<Service> | undefined;
  const opened = async (): Promise<Service> => {
    client ??= openClient(app, {
      redis,
      service: { settings, isSandbox: false },
      closing,
      brake: openSharedBrake(app.ledger.state, app),
    });
    return await client;
  };
  return {
    listIdentities: async (type) => await (await opened()).listIdentities(type),
    quote: async (body) => await (await opened()).quote(body),
    testToken: async () => await (await opened()).testToken(),
  };
}

interface PayParts extends Place {
  readonly service: ServiceChoice;
}

/** What paying through a service needs; closed with the app. */
export async function openPayDeps(app: AppParts, { redis, service, closing }: PayParts): Promise<PayDeps> {
  const { config, clock, random, log, at, ledger } = app;
  const brake = openSharedBrake(ledger.state, { clock, log });
  const rate = rateOf(app);
  const client = await openClient(app, { redis, service, closing, brake, saw: rate?.saw });
  const quoteLead = openQuoteLead();
  const intents = openIntentLog(config.dataDir, { clock, random, room: app.intentRoom });
  closing.push(() => intents.close());
  return {
    payouts: {
      ...ledger.payouts,
      async read(place) {
        const reading = await ledger.payouts.read(place);
        brake.learn(reading.waitMs);
        return reading;
      },
    },
    runs: ledger.runs,
    references: ledger.references,
    state: {
      ...ledger.state,
      async halt(actor, reason) {
        const fault = await haltAll(app, { actor: `process ${actor}`, reason });
        if (fault !== undefined) log.error('the halt is not on the audit log', { error: fault });
      },
      disprove: (capability, evidence) => disproveCapability(app, capability, evidence),
    },
    seals: ledger.seals,
    blockList: openKnownBlockList(ledger),
    intents,
    service: client,
    canary: openCanary({ service: client, known: () => ledger.payouts.knownPayments(client.fingerprint) }),
    pace: payPace(app, rate, quoteLead),
    quoteLead,
    trackPace: openPace(ledger.state, clock, { what: 'track', perSecond: config.trackRatePerSecond }),
    ensureSeason: app.joinSeason,
    requireSafety: app.requireSafety,
    clock,
    random,
    log: withoutRepeatedFaults(log, () => clock.monotonic()),
    at,
    owner: random.bytes(5).toString('hex'),
    rules: { ...config, capabilities: app.capabilities, notFoundCodes: app.notFoundCodes },
  };
}

/** The rate that moves with the answers; undefined where it is fixed, or there is none. */
function rateOf({ config, clock, log, ledger }: AppParts): SharedRate | undefined {
  const { ratePerSecond: top, ratePerSecondMin: floor } = config;
  if (top === undefined || floor === undefined || floor === top) return undefined;
  return openSharedRate(ledger.state, { bounds: { floor, top }, clock, log });
}

function payPace({ config, clock, ledger }: AppParts, rate: SharedRate | undefined, lead: QuoteLead): Pace {
  if (rate === undefined) return openPace(ledger.state, clock, { what: 'pay', perSecond: config.ratePerSecond });
  return openMovingPace(ledger.state, clock, { what: 'pay', perSecond: rate.perSecond, lead });
}

/** Loaded by then: who only looks or steers needs nothing of it. */
async function openClient(
  { config, clock, random, log, observe, answering }: Omit<ClientDeps, 'ledger'>,
  { redis, service, closing, brake, saw }: PayParts & { readonly brake: Brake } & Pick<ServiceOptions, 'saw'>,
): Promise<Service> {
  const { openService } = await import('./service/client.ts');
  const keys = ledgerKeys(config.prefix);
  const client = openService({
    settings: service.settings,
    ...(service.isSandbox ? { addressName: 'sandbox' } : {}),
    tokenStore: config.tokenCache === 'off' ? null : openTokenStore(redis, { token: keys.token, lock: keys.tokenLock }),
    tokenMarginMs: config.tokenMarginMs,
    brake,
    requestTimeoutMs: config.requestTimeoutMs,
    concurrency: config.concurrency,
    paymentsMax: payoutsAtATime(config.concurrency),
    clock,
    random,
    log,
    observe,
    saw,
    answering,
    userAgent: `payrun/${VERSION}`,
  });
  closing.push(() => client.close());
  return client;
}
