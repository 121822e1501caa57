import { existsSync } from 'node:fs';
import type { Redis } from 'ioredis';
import type { KnownService } from './capabilities.ts';
import type { Clock, Random } from './clock.ts';
import { type Release, releaseAll } from './closing.ts';
import { type Config, nameOf, SANDBOX_NAME } from './config/config.ts';
import { type DataDir, openDataDir, requireFormerLedger } from './ledger/intents/data-dir.ts';
import { claimDataDir, openDirLease } from './ledger/intents/dir-lease.ts';
import { highestCounter, intentsFolder } from './ledger/intents/intent-log.ts';
import { readPeers } from './ledger/intents/peers.ts';
import { type IntentRoom, openIntentRoom } from './ledger/intents/room.ts';
import { safetyOf } from './ledger/intents/safety.ts';
import { ledgerKeys } from './ledger/keys.ts';
import { type Ledger, openLedger } from './ledger/ledger.ts';
import { openSeenVersions } from './ledger/people/seen-versions.ts';
import { openSeals, type Seals } from './ledger/seals.ts';
import { type LedgerState, openLedgerState } from './ledger/season/ledger-state.ts';
import { adoptedWord, openRecovery, type Recovery } from './ledger/season/recovery.ts';
import { openLedgerKeys } from './ledger-key.ts';
import type { Log } from './log.ts';
import { type Notifier, openNotifier } from './notify/notifier.ts';
import { type Asker, askerOf, openPayDeps, type ServiceChoice } from './open-pay.ts';
import type { AtCrashPoint } from './pay/crash-point.ts';
import type { PayDeps } from './pay/deps.ts';
import { connectRedis, type RedisAddress } from './redis/connect.ts';
import { type DurabilityFinding, readDurability, requireDurability } from './redis/durability.ts';
import { openFaultLog } from './redis/loss.ts';
import { requirePassword } from './redis/open-redis.ts';
import { hadPrivateRedis } from './redis/private-place.ts';
import { openPrivateRedis } from './redis/private-redis.ts';
import { Refusal } from './refusal.ts';
import { type IdentityBook, openIdentityBook } from './runs/identities.ts';
import type { LivingWorker } from './runs/safety/adopt-settings.ts';
import { openDurabilityWatch } from './runs/safety/durability-watch.ts';
import { placeOf, refuseNoLedger, requireLedger } from './runs/safety/no-ledger.ts';
import { openSeason } from './runs/safety/season.ts';
import { type Answering, openAnswering } from './service/answering.ts';
import { readKnownService } from './service/capabilities-file.ts';
import type { ObserveCall } from './service/client.ts';
import type { TraceJob } from './tracing.ts';

/** What wakes the workers, and is closed with the app. */
export interface Jobs {
  wake(runId: string): Promise<void>;
  /** The workers that live; one that was killed is among them for 10 seconds. */
  workers(): Promise<readonly LivingWorker[]>;
  close(): Promise<void>;
}

export interface AppOptions<J extends Jobs> {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly at: AtCrashPoint;
  /** The process never pays: any Redis will do, its data directory is bound to nothing, its service may be the ledger's. */
  readonly readOnly?: boolean;
  /** Whether a ledger is made where there is none; unless told, only by a process that does not just look. */
  readonly makesLedger?: boolean;
  /** What there is to do on a ledger, as a verb, for who is told that there is none. */
  readonly purpose?: string;
  /** Told, in words for people, of what takes its time. */
  readonly report: (line: string) => void;
  /** Told of each exchange with the service, for figures. */
  readonly observe?: ObserveCall | undefined;
  /** Does the work of each job. */
  readonly traceJob?: TraceJob;
  readonly openJobs: (redis: Redis, prefix: string, commands: Redis) => J;
}

export interface App<J extends Jobs = Jobs> extends KnownService {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly at: AtCrashPoint;
  readonly ledger: Ledger;
  /** Data directories that keep the season closed; none once arming is allowed on this Redis (architecture.md, rule 4). */
  readonly ensureSeason: () => Promise<readonly string[]>;
  /** The same for a process that will arm: its data directory is one of those that every season waits for. */
  readonly joinSeason: () => Promise<readonly string[]>;
  /** Does what others wait for: compares the logs in a closed season, notes directories that came in an open one. */
  readonly refreshSeason: () => Promise<void>;
  /** The id of this process's data directory. */
  readonly dataDirId: string;
  /** The service as the ledger knows it. */
  readonly serviceName: string;
  /** Where the ledger is, for people. */
  readonly place: string;
  /** Whether the service answers this process. */
  readonly answering: Answering;
  /** Whether the disk takes this process's intent lines. */
  readonly intentRoom: IntentRoom;
  readonly overrides: readonly string[];
  readonly observe: ObserveCall;
  readonly traceJob: TraceJob;
  /** What about Redis is less than durable now; rejects when it does not answer. */
  readonly readDurability: () => Promise<readonly DurabilityFinding[]>;
  /** What the safety rule depends on, as this process is set. */
  readonly safety: string;
  readonly jobs: J;
  readonly wake: (runId: string) => Promise<void>;
  /** Throws a Refusal when this process's safety settings are not the ledger's. */
  readonly requireSafety: () => Promise<void>;
  /** Opens what paying needs; closed with the app. Throws a Refusal when the safety settings are not the ledger's. */
  readonly openPay: (service: ServiceChoice) => Promise<PayDeps>;
  /** Tells endpoints what happened; its faults are nobody else's. */
  readonly notifier: Notifier;
  /** The configured service, for questions that arm nothing; undefined where there is only payrun's own sandbox. */
  readonly asker: Asker | undefined;
  /** The identities that the configured service lists; undefined where payrun pays through its own sandbox, which takes any. */
  readonly identities: IdentityBook | undefined;
  /** Adds something to be released by `close`, before all that was opened earlier. */
  readonly onClose: (release: () => Promise<void>) => void;
  readonly close: () => Promise<void>;
}

/** Opens everything in order, and closes it in reverse. */
export async function openApp<J extends Jobs>(options: AppOptions<J>): Promise<App<J>> {
  const { config, clock, random, log, at, readOnly = false } = options;
  const closing: Release[] = [];
  const close = (): Promise<void> => releaseAll(closing, { clock, log });
  try {
    const ground = await openGround(options, closing);
    const { folder, redis, connect, overrides, known, safety } = ground;
    const arming = await connect('arming');
    const head = openLedgerState(redis, ledgerKeys(config.prefix));
    await requireLedger(head, { ...options, folder, makes: makesLedger(options) });
    const serviceName = await claimedService(options, head);
    const claim = { knownInstance: folder.instance, newInstance: random.uuid(), service: serviceName, safety };
    const instance = await head.open({ ...claim, requireMatch: false, writes: !readOnly });
    await requireTrueAdoption(redis, { config, folder, instance });
    const lease = await openDirLease(redis, ledgerKeys(config.prefix), folder.path);
    const dataDir = readOnly ? folder : await claimDataDir(folder, { lease, instance, clock, random });
    const own = {
      dataDirId: dataDir.id,
      dataDir: dataDir.path,
      lease: lease.token,
      seals: sealsOf(config, serviceName, instance),
      seen: await openSeenVersions(instance, { dataDir: dataDir.path, log }),
      auditKeys: openLedgerKeys(config, 'audit entry'),
    };
    const ledger = openLedger({ redis, arming }, { prefix: config.prefix, safety, ...own });
    const jobs = options.openJobs(await connect('jobs'), `${config.prefix}:bull`, redis);
    closing.push(() => jobs.close());
    const accepted = ground.findings.map(({ setting }) => setting);
    const durability = openDurabilityWatch({ read: () => readDurability(redis), accepted, ledger, clock, log });
    const facts = {
      dataDirId: dataDir.id,
      serviceName,
      place: placeOf(config),
      answering: openAnswering(clock),
      intentRoom: openIntentRoom(intentsFolder(config.dataDir), clock),
      ...known,
      overrides,
      safety,
      observe: options.observe ?? (() => {}),
      traceJob: options.traceJob ?? ((_job, work) => work()),
      readDurability: () => readDurability(redis),
      ...openSeason({ config, clock, random, log, ledger, lease, durability }, dataDir),
    };
    const app = { config, clock, random, log, at, ledger, ...facts };
    const requireSafety = async (): Promise<void> => {
      await head.open({ ...claim, knownInstance: dataDir.instance, requireMatch: true });
    };
    const openPay = async (service: ServiceChoice): Promise<PayDeps> => {
      await requireSafety();
      ledger.payouts.sawCounter(await highestCounter(config.dataDir));
      return await openPayDeps({ ...app, requireSafety }, { redis, service, closing });
    };
    const asker = askerOf(app, { redis, closing });
    return {
      ...app,
      jobs,
      wake: (runId) => jobs.wake(runId),
      requireSafety,
      openPay,
      notifier: openNotifierOf(app, dataDir.id),
      asker,
      identities: asker === undefined ? undefined : openIdentityBook({ service: asker, clock, log }),
      onClose: (release) => closing.push(release),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function makesLedger({ readOnly = false, makesLedger: makes = !readOnly }: AppOptions<Jobs>): boolean {
  return makes;
}

/** What stands before a ledger: its Redis, the data directory, and how this process is set. */
interface Ground {
  readonly folder: DataDir;
  readonly redis: Redis;
  readonly connect: (kind: 'commands' | 'arming' | 'jobs') => Promise<Redis>;
  readonly findings: readonly DurabilityFinding[];
  readonly overrides: readonly string[];
  readonly known: KnownService;
  readonly safety: string;
}

async function openGround(options: AppOptions<Jobs>, closing: Release[]): Promise<Ground> {
  const { config, random, readOnly = false } = options;
  const mayBeNone = config.redisUrl === undefined && !makesLedger(options) && !hadPrivateRedis(config.dataDir);
  if (mayBeNone && !existsSync(config.dataDir)) throw refuseNoLedger(options);
  const folder = await openDataDir(config.dataDir, { random, ...diskRules(options) });
  // Before a Redis is started that nobody asked for.
  if (mayBeNone && folder.instance === '') throw refuseNoLedger(options);
  const address = await openAddress(options, closing);
  const onError = openFaultLog(options);
  const connect = async (kind: 'commands' | 'arming' | 'jobs'): Promise<Redis> => {
    const redis = await connectRedis(address, {
      name: 'payrun',
      kind,
      ...(kind === 'arming' ? { commandTimeoutMs: config.armDeadlineMs } : {}),
      onError,
    });
    closing.push(async () => redis.disconnect());
    return redis;
  };
  const redis = await connect('commands');
  if (!readOnly) await requirePassword(address, options);
  const findings = await requireDurability(redis, readOnly ? 'overridden' : config.redisDurability);
  const overrides = findings.map(({ setting }) => `redis ${setting}`);
  const known = await readKnownService(config);
  return { folder, redis, connect, findings, overrides, known, safety: safetyOf(config, known, overrides) };
}

/** With a real service the disk keeps what is written, and in prod nobody else looks into it. */
function diskRules({ config: { service }, readOnly = false }: AppOptions<Jobs>) {
  const pays = service !== undefined && !readOnly;
  return { requirePersistentDisk: pays, closesToOthers: pays && service.environment === 'prod' };
}

/** What is adopted, and what came of it. */
export interface AdoptAnswer {
  readonly result: 'proposed' | 'adopted' | 'same-person' | 'there';
  readonly dataDirIds: readonly string[];
}

/** Makes a ledger on an empty Redis for this data directory and those beside it, whose own Redis is gone. */
export async function adoptLedger(options: AppOptions<Jobs>, actor: string): Promise<AdoptAnswer> {
  const { config, clock, random, log } = options;
  const closing: Release[] = [];
  try {
    const { folder, redis, safety } = await openGround(options, closing);
    requireFormerLedger(folder);
    const dataDirIds = [...new Set([folder.id, ...(await readPeers(folder.path))])];
    const result = await formerRecovery(redis, config, folder).adopt({
      formerInstance: folder.instance,
      newInstance: random.uuid(),
      service: nameOf(config.service),
      safety,
      dataDirIds,
      actor,
    });
    return { result, dataDirIds };
  } finally {
    await releaseAll(closing, { clock, log });
  }
}

/** With the seals of the ledger that the directory knows. If that one's users were lost with its Redis, nobody of them is disabled. */
function formerRecovery(redis: Redis, config: Config, { instance }: DataDir): Recovery {
  const seals = sealsOf(config, nameOf(config.service), instance);
  return openRecovery(redis, ledgerKeys(config.prefix), { seals, people: { disabled: async () => [] } });
}

function sealsOf(config: Config, serviceName: string, instance: string): Seals {
  return serviceName === SANDBOX_NAME && config.ledgerKey === undefined ? openSeals() : openSeals(config, instance);
}

/** Throws a Refusal where the ledger here is another one than the directory knows, and nobody with the key adopted it for that one. */
async function requireTrueAdoption(
  redis: Redis,
  { config, folder, instance }: { config: Config; folder: DataDir; instance: string },
): Promise<void> {
  if (folder.instance === '' || folder.instance === instance) return;
  const adoption = await formerRecovery(redis, config, folder).readAdoption();
  const seals = sealsOf(config, nameOf(config.service), folder.instance);
  if (adoption !== null && seals.judgeWord(adoption.seal, adoptedWord(adoption)) === 'true') return;
  throw new Refusal(
    'This Redis says that its ledger was adopted for this data directory, and nobody who has the key of the ledger said so.',
    'Find out who can write to Redis.',
  );
}

async function claimedService({ config, readOnly }: AppOptions<Jobs>, head: LedgerState): Promise<string> {
  return readOnly !== true || config.service !== undefined
    ? nameOf(config.service)
    : (await head.read()).service || SANDBOX_NAME;
}

async function openAddress(options: AppOptions<Jobs>, closing: Release[]): Promise<RedisAddress> {
  const { config, clock, report } = options;
  if (config.redisUrl !== undefined) return { url: config.redisUrl, prefix: config.prefix };
  const server = await openPrivateRedis(config.dataDir, { clock, report });
  closing.push(() => server.close());
  return { socket: server.socket };
}

function openNotifierOf(
  app: Pick<App, 'config' | 'clock' | 'random' | 'log' | 'ledger' | 'serviceName'>,
  dataDirId: string,
): Notifier {
  const { config, serviceName } = app;
  return openNotifier({
    ...app,
    settings: config.notify,
    origin: { environment: config.service?.environment ?? 'test', sandbox: serviceName === SANDBOX_NAME },
    certificates: config.service?.certificates,
    disks: { dataDirId, folders: { data: config.dataDir, reports: config.reportDir } },
  });
}
