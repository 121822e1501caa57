import { isAbsolute, join, resolve } from 'node:path';
import type { IntakeLimits } from '../intake/limits.ts';
import { readSettingFile } from '../secret-file.ts';
import { withoutTrailing } from '../trailing.ts';
import { loadEnvFile } from './env-file.ts';
import { type ConfigFile, NO_CONFIG_FILE, readConfigFile, readFilesPart } from './file.ts';
import { noSuchSetting, refuseSettings } from './problems.ts';
import { type SettingSource, sourcesOf } from './setting-sources.ts';
import { type Capability, type Settings, settingsSchema } from './settings.ts';
import { readSigningKey } from './signing-key.ts';
import { openRedisProblems } from './values.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;

export { CAPABILITIES, type Capability } from './settings.ts';

export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';

export type Environment = 'test' | 'prod';

/** What ledgers and reports call the sandbox that payrun starts itself. */
export const SANDBOX_NAME = 'sandbox';

/** The service as ledgers and reports name it. */
export function nameOf(service: ServiceSettings | undefined): string {
  return service === undefined ? SANDBOX_NAME : `${service.url} ${service.environment} ${service.tenantId}`;
}

/** The five service settings, complete, and what follows from them. */
export interface ServiceSettings {
  /** Base address without a slash at its end. */
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly tenantId: string;
  readonly environment: Environment;
  readonly audience: string;
  /** Address of a forward proxy, perhaps with credentials: a secret. */
  readonly proxy?: string | undefined;
  /** PEM certificates that are trusted besides Node's own. */
  readonly certificates?: readonly string[] | undefined;
}

export interface Config extends ConfigFile {
  readonly redisUrl: string | undefined;
  /** Undefined: none of the five service settings is set, so only the sandbox can be used. */
  readonly service: ServiceSettings | undefined;
  readonly dataDir: string;
  readonly reportDir: string;
  readonly prefix: string;
  readonly concurrency: number;
  /** Payment requests a second over all workers. */
  readonly ratePerSecond: number | undefined;
  /** The least of them where the rate moves; undefined: it is fixed. */
  readonly ratePerSecondMin: number | undefined;
  /** Payouts in a slice; undefined lets the size of the run decide. */
  readonly slice: number | undefined;
  readonly window: number;
  readonly requestTimeoutMs: number;
  /** Pause a run when so many of its last so many payments are unknown or were refused; null never does. */
  readonly breaker: { readonly bad: number; readonly of: number } | null;
  readonly armDeadlineMs: number;
  readonly quoteGraceMs: number;
  readonly notFoundGapMs: number;
  readonly trackEveryMs: number;
  readonly trackRatePerSecond: number;
  readonly watchReturnsMs: number;
  readonly tokenCache: 'shared' | 'off';
  readonly tokenMarginMs: number;
  readonly assume: readonly Capability[];
  readonly capabilitiesFile: string | undefined;
  readonly payoutCategory: string;
  readonly payinCategory: string;
  readonly rememberMs: number;
  /** A payout of the same beneficiary, amount and currency as one within this time is held; undefined: never. */
  readonly duplicatesWithinMs: number | undefined;
  /** How long the rows of a run are kept after its end; undefined: until somebody purges them. */
  readonly retentionMs: number | undefined;
  readonly redisDurability: 'required' | 'overridden';
  /** What authenticates the ledger's entries (src/ledger-key.ts); undefined: the client secret does. */
  readonly ledgerKey: readonly string[] | undefined;
  /** Signs reports (PEM); undefined: they are not signed. */
  readonly signingKey: string | undefined;
  /** For an inbox at an SFTP server. */
  readonly sftp: { readonly privateKey: string; readonly hostKeys: readonly string[] } | undefined;
  /** Where a worker tells its figures on this machine; undefined: nowhere. */
  readonly metricsPort: number | undefined;
  /** Whether traces are sent to a collector (src/tracing.ts). */
  readonly otel: boolean;
  /** Whether the service is asked for the balance beside what a run needs. */
  readonly asksBalances: boolean;
  /** Undefined lets the command decide: info for what runs on its own, errors only for what a person waits for. */
  readonly logLevel: LogLevel | undefined;
}

/** The names of all settings, as the environment has them. */
export const SETTING_NAMES: readonly string[] = Object.keys(settingsSchema.shape);

const SERVICE_NAMES = [
  'PAYRUN_SERVICE_URL',
  'PAYRUN_CLIENT_ID',
  'PAYRUN_CLIENT_SECRET',
  'PAYRUN_TENANT_ID',
  'PAYRUN_ENVIRONMENT',
] as const;

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

/**
 * The settings of this process, read from the environment once (settings.md). Throws a Refusal that names every
 * problem at once.
 */
export function readConfig(environment: EnvironmentVariables = process.env): Config {
  const problems: string[] = [];
  const collected = collectSettings(environment, problems);
  const parsed = settingsSchema.safeParse(collected);
  const issues = parsed.error?.issues ?? [];
  for (const issue of issues) problems.push(`${issue.path.join('.')}: ${issue.message}`);
  // What could be read is checked all the same, so that every problem is told at once.
  const wrong = new Set(issues.map(({ path }) => String(path[0])));
  const readable = Object.entries(collected).filter(([name]) => !wrong.has(name));
  const settings = parsed.success ? parsed.data : settingsSchema.parse(Object.fromEntries(readable));
  const service = SERVICE_NAMES.some((name) => wrong.has(name)) ? undefined : serviceOf(settings, problems);
  if ((settings.PAYRUN_SFTP_KEY === undefined) !== (settings.PAYRUN_SFTP_HOST_KEY === undefined)) {
    problems.push(
      'PAYRUN_SFTP_KEY, PAYRUN_SFTP_HOST_KEY: only one of the two is set; payrun never signs in to a server whose key it does not know',
    );
  }
  if (!wrong.has('PAYRUN_RATE')) checkRates(settings, problems);
  if (!wrong.has('PAYRUN_DATA_DIR')) {
    checkDataDir(
      settings,
      SERVICE_NAMES.some((name) => collected[name] !== undefined),
      problems,
    );
  }
  const file = readParts(settings, problems);
  const read = configOf(settings, service);
  const ownKey = read.signingKey ?? readSigningKey(read.dataDir, problems);
  if (problems.length > 0) throw refuseSettings(problems);
  return Object.freeze({ ...read, ...file, signingKey: ownKey });
}

/** What is wrong with the value of one setting, where that shows without the others. */
export function settingProblem(name: string, value: string): string | undefined {
  const { shape } = settingsSchema;
  const field = Object.entries(shape).find(([one]) => one === name)?.[1];
  return field?.safeParse(value).error?.issues[0]?.message;
}

/** Adds the settings of a file to what this process reads (`loadEnvFile`). */
export function loadSettings(envFile: string | undefined): void {
  loadEnvFile(envFile, process.env);
}

/** Where this process has each setting from (`sourcesOf`). */
export function settingSources(envFile: string | undefined): readonly SettingSource[] {
  return sourcesOf(envFile, process.env);
}

function checkRates({ PAYRUN_RATE: rate, PAYRUN_RATE_MIN: rateMin }: Settings, problems: string[]): void {
  if (rateMin !== undefined && (rate === undefined || rateMin > rate)) {
    problems.push('PAYRUN_RATE_MIN: needs PAYRUN_RATE, and must not be above it');
  }
}

function readParts(settings: Settings, problems: string[]): ConfigFile {
  if (settings.PAYRUN_CONFIG === undefined) return NO_CONFIG_FILE;
  const httpHost = settings.PAYRUN_ENVIRONMENT === 'prod' ? undefined : settings.PAYRUN_HTTP_HOST;
  const file = readConfigFile(resolve(settings.PAYRUN_CONFIG), { httpHost });
  if (!Array.isArray(file)) return file;
  problems.push(...file.map((problem) => `PAYRUN_CONFIG: ${problem}`));
  return NO_CONFIG_FILE;
}

/**
 * What is read of a file at most, for who needs no other setting: the others may be wrong, or of a service that this user
 * has nothing to do with. Throws a Refusal where these limits cannot be read.
 */
export function readFileLimits(environment: EnvironmentVariables = process.env): IntakeLimits {
  const problems: string[] = [];
  const name = 'PAYRUN_CONFIG';
  const { data: path, error } = settingsSchema.shape[name].safeParse(settingOf(environment, name, problems));
  for (const { message } of error?.issues ?? []) problems.push(`${name}: ${message}`);
  if (problems.length > 0) throw refuseSettings(problems);
  const limits = path === undefined ? NO_CONFIG_FILE.files : readFilesPart(resolve(path));
  if (!Array.isArray(limits)) return limits;
  throw refuseSettings(limits.map((problem) => `${name}: ${problem}`));
}

/** NAME and NAME_FILE (whose file holds the value) as one value a name; both set, or an unknown PAYRUN_ name, is a problem. */
function collectSettings(environment: EnvironmentVariables, problems: string[]): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && name.startsWith('PAYRUN_') && !isSettingName(name))
      problems.push(noSuchSetting(name, SETTING_NAMES));
  }
  for (const name of SETTING_NAMES) {
    const read = settingOf(environment, name, problems);
    if (read !== undefined) settings[name] = read;
  }
  return settings;
}

function settingOf(environment: EnvironmentVariables, name: string, problems: string[]): string | undefined {
  const value = environment[name];
  const file = environment[`${name}_FILE`];
  if (value !== undefined && file !== undefined) problems.push(`${name}: set twice, also as ${name}_FILE`);
  return value ?? (file === undefined ? undefined : readSettingText(`${name}_FILE`, file, problems));
}

function isSettingName(name: string): boolean {
  return (
    SETTING_NAMES.includes(name) || (name.endsWith('_FILE') && SETTING_NAMES.includes(name.slice(0, -'_FILE'.length)))
  );
}

function readSettingText(name: string, file: string, problems: string[]): string | undefined {
  const read = readSettingFile(name, file);
  if ('text' in read) return read.text.replace(/\r?\n$/, '');
  problems.push(`${name}: ${read.problem}`);
  return undefined;
}

function serviceOf(settings: Settings, problems: string[]): ServiceSettings | undefined {
  const missing = SERVICE_NAMES.filter((name) => settings[name] === undefined);
  if (missing.length === SERVICE_NAMES.length) return undefined;
  const { PAYRUN_SERVICE_URL: url, PAYRUN_CLIENT_ID: clientId, PAYRUN_CLIENT_SECRET: clientSecret } = settings;
  const { PAYRUN_TENANT_ID: tenantId, PAYRUN_ENVIRONMENT: environment } = settings;
  if (!url || !clientId || !clientSecret || !tenantId || !environment) {
    problems.push(`${missing.join(', ')}: missing; a service needs all five of ${SERVICE_NAMES.join(', ')}`);
    return undefined;
  }
  checkAddress(url, settings, problems);
  if (environment === 'prod') checkProd(settings, problems);
  return {
    url: withoutTrailing(url, '/'),
    clientId,
    clientSecret,
    tenantId,
    environment,
    audience: settings.PAYRUN_AUDIENCE ?? `urn:servicexcurrent-${environment}:${tenantId}`,
    proxy: settings.PAYRUN_PROXY,
    certificates: settings.PAYRUN_CA_FILE,
  };
}

function checkProd(settings: Settings, problems: string[]): void {
  if (settings.PAYRUN_HTTP_HOST !== undefined) problems.push('PAYRUN_HTTP_HOST: not in prod, which takes https only');
  if (settings.PAYRUN_CONFIRM_PROD !== settings.PAYRUN_TENANT_ID) {
    problems.push('PAYRUN_CONFIRM_PROD: must repeat the tenant id before payrun pays in prod');
  }
  if (settings.PAYRUN_ASSUME.length > 0)
    problems.push('PAYRUN_ASSUME: only in test; prod reads PAYRUN_CAPABILITIES_FILE');
  problems.push(...openRedisProblems(settings.REDIS_URL));
}

function checkAddress(address: string, settings: Settings, problems: string[]): void {
  const url = new URL(address);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    problems.push('PAYRUN_SERVICE_URL: must be a plain address without user, query or fragment');
  }
  if (url.protocol === 'https:') return;
  const loopback = /^(localhost|127(\.[0-9]{1,3}){3}|\[::1\])$/.test(url.hostname);
  if (settings.PAYRUN_ENVIRONMENT === 'prod') problems.push('PAYRUN_SERVICE_URL: prod takes https only');
  else if (!loopback && url.hostname !== settings.PAYRUN_HTTP_HOST) {
    problems.push('PAYRUN_SERVICE_URL: http is for loopback and the host named by PAYRUN_HTTP_HOST only');
  }
}

function checkDataDir({ PAYRUN_DATA_DIR: dataDir }: Settings, hasService: boolean, problems: string[]): void {
  if (hasService && (dataDir === undefined || !isAbsolute(dataDir))) {
    problems.push('PAYRUN_DATA_DIR: required with a service, as an absolute path');
  }
}

/** Defaults that depend on whether the service is a real one or the sandbox that payrun starts. */
const SERVICE_DEFAULTS = {
  quoteGraceMs: 5 * MINUTE_MS,
  notFoundGapMs: 30 * SECOND_MS,
  trackEveryMs: 30 * SECOND_MS,
  trackRatePerSecond: 5,
};
const SANDBOX_DEFAULTS = {
  quoteGraceMs: SECOND_MS,
  notFoundGapMs: SECOND_MS,
  trackEveryMs: SECOND_MS,
  trackRatePerSecond: 2000,
};

function sftpOf({ PAYRUN_SFTP_KEY: privateKey, PAYRUN_SFTP_HOST_KEY: known }: Settings): Config['sftp'] {
  return privateKey === undefined || known === undefined ? undefined : { privateKey, hostKeys: known };
}

function configOf(settings: Settings, service: ServiceSettings | undefined): Omit<Config, keyof ConfigFile> {
  const dataDir = resolve(settings.PAYRUN_DATA_DIR ?? '.payrun');
  const defaults = service === undefined ? SANDBOX_DEFAULTS : SERVICE_DEFAULTS;
  return {
    redisUrl: settings.REDIS_URL,
    service,
    dataDir,
    reportDir: resolve(settings.PAYRUN_REPORT_DIR ?? join(dataDir, 'reports')),
    prefix: settings.PAYRUN_PREFIX,
    concurrency: settings.PAYRUN_CONCURRENCY,
    ratePerSecond: settings.PAYRUN_RATE,
    ratePerSecondMin: settings.PAYRUN_RATE_MIN,
    slice: settings.PAYRUN_SLICE,
    window: settings.PAYRUN_WINDOW,
    requestTimeoutMs: settings.PAYRUN_REQUEST_TIMEOUT,
    breaker: settings.PAYRUN_BREAKER,
    armDeadlineMs: settings.PAYRUN_ARM_DEADLINE,
    quoteGraceMs: settings.PAYRUN_QUOTE_GRACE ?? defaults.quoteGraceMs,
    notFoundGapMs: settings.PAYRUN_NOT_FOUND_GAP ?? defaults.notFoundGapMs,
    trackEveryMs: settings.PAYRUN_TRACK_EVERY ?? defaults.trackEveryMs,
    trackRatePerSecond: settings.PAYRUN_TRACK_RATE ?? defaults.trackRatePerSecond,
    watchReturnsMs: settings.PAYRUN_WATCH_RETURNS,
    tokenCache: settings.PAYRUN_TOKEN_CACHE,
    tokenMarginMs: settings.PAYRUN_TOKEN_MARGIN,
    assume: settings.PAYRUN_ASSUME,
    capabilitiesFile: settings.PAYRUN_CAPABILITIES_FILE,
    payoutCategory: settings.PAYRUN_PAYOUT_CATEGORY,
    payinCategory: settings.PAYRUN_PAYIN_CATEGORY,
    rememberMs: settings.PAYRUN_REMEMBER,
    duplicatesWithinMs: settings.PAYRUN_DUPLICATES_WITHIN ?? undefined,
    retentionMs: settings.PAYRUN_RETENTION,
    redisDurability: settings.PAYRUN_REDIS_DURABILITY,
    ledgerKey: settings.PAYRUN_LEDGER_KEY,
    signingKey: settings.PAYRUN_SIGNING_KEY,
    sftp: sftpOf(settings),
    metricsPort: settings.PAYRUN_METRICS_PORT,
    otel: settings.PAYRUN_OTEL === 'on',
    asksBalances: settings.PAYRUN_BALANCES === 'on',
    logLevel: settings.PAYRUN_LOG_LEVEL,
  };
}
