import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { rootCertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  CAPABILITIES,
  type Config,
  type EnvironmentVariables,
  readConfig,
  readFileLimits,
  SETTING_NAMES,
} from '../src/config/config.ts';
import { duration } from '../src/duration.ts';
import { DEFAULT_LIMITS } from '../src/intake/limits.ts';
import { Refusal } from '../src/refusal.ts';
import { makeSettingsPage, settingLines } from './support/make-settings-page.ts';

const SECRET = 'canary-secret-90b1';
const SERVICE = {
  PAYRUN_SERVICE_URL: 'https://payments.example.com',
  PAYRUN_CLIENT_ID: 'client-7',
  PAYRUN_CLIENT_SECRET: SECRET,
  PAYRUN_TENANT_ID: 'acme',
  PAYRUN_ENVIRONMENT: 'test',
  PAYRUN_DATA_DIR: '/var/lib/payrun',
};
const PROD = { ...SERVICE, PAYRUN_ENVIRONMENT: 'prod', PAYRUN_CONFIRM_PROD: 'acme' };
const FIVE = Object.keys(SERVICE).filter((name) => name !== 'PAYRUN_DATA_DIR');

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'payrun-config-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** A file with this text, as NAME_FILE names one. */
function fileWith(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

/** The refusal that these settings get. */
function refusalOf(
  environment: EnvironmentVariables,
  read: (from: EnvironmentVariables) => unknown = readConfig,
): Refusal {
  try {
    read(environment);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error('the settings were taken');
}

/** The lines of the refusal's message that name a problem. */
function problemsOf(
  environment: EnvironmentVariables,
  read: (from: EnvironmentVariables) => unknown = readConfig,
): string[] {
  return refusalOf(environment, read)
    .message.split('\n')
    .slice(1)
    .map((line) => line.trim());
}

describe('without any setting', () => {
  test('payrun pays through the sandbox, with the defaults of docs/settings.md', () => {
    expect(readConfig({})).toEqual({
      redisUrl: undefined,
      asksBalances: false,
      service: undefined,
      dataDir: resolve('.payrun'),
      reportDir: resolve('.payrun/reports'),
      prefix: '{payrun}',
      concurrency: 64,
      ratePerSecond: undefined,
      ratePerSecondMin: undefined,
      slice: undefined,
      window: 200,
      requestTimeoutMs: 45_000,
      breaker: { bad: 100, of: 200 },
      armDeadlineMs: 2000,
      quoteGraceMs: 1000,
      notFoundGapMs: 1000,
      trackEveryMs: 1000,
      trackRatePerSecond: 2000,
      watchReturnsMs: 864_000_000,
      tokenCache: 'shared',
      tokenMarginMs: 60_000,
      assume: [],
      capabilitiesFile: undefined,
      payoutCategory: 'BANK',
      payinCategory: 'PRE_FUNDING',
      rememberMs: 34_560_000_000,
      retentionMs: undefined,
      duplicatesWithinMs: 604_800_000,
      calendars: {},
      web: { hosts: [], proxies: [], tls: null, templates: null, uploadsMax: 20, secondFactor: 'optional', oidc: null },
      files: DEFAULT_LIMITS,
      limits: null,
      approval: null,
      inbox: { owners: new Map(), folders: new Map(), allowed: null },
      notify: {
        endpoints: [],
        pendingMs: 432_000_000,
        approvalReminderMs: 86_400_000,
        diskFreeBytesMin: 1024 ** 3,
      },
      redisDurability: 'required',
      ledgerKey: undefined,
      signingKey: undefined,
      sftp: undefined,
      otel: false,
      logLevel: undefined,
    });
  });

  test('what is none of its business is left alone', () => {
    expect(readConfig({ PATH: '/bin', HOME: '/root', REDIS: 'x', PAYRUN: 'x', payrun_rate: 'x' })).toEqual(
      readConfig({}),
    );
    expect(readConfig({ PAYRUN_RATE: undefined, PAYRUN_NO_SUCH: undefined })).toEqual(readConfig({}));
  });

  test('nobody can change the object afterwards', () => {
    expect(Object.isFrozen(readConfig({}))).toBe(true);
  });
});

test('with a service the grace, the gap and the tracking are those of a real one', () => {
  expect(readConfig(SERVICE)).toMatchObject({
    service: {
      url: 'https://payments.example.com',
      clientId: 'client-7',
      clientSecret: SECRET,
      tenantId: 'acme',
      environment: 'test',
      audience: 'urn:servicexcurrent-test:acme',
    },
    dataDir: '/var/lib/payrun',
    reportDir: '/var/lib/payrun/reports',
    quoteGraceMs: 300_000,
    notFoundGapMs: 30_000,
    trackEveryMs: 30_000,
    trackRatePerSecond: 5,
  });
});

describe('a good value is taken', () => {
  test.each<[name: string, value: string, field: keyof Config, expected: unknown]>([
    ['REDIS_URL', 'redis://redis:6379/1', 'redisUrl', 'redis://redis:6379/1'],
    ['REDIS_URL', 'rediss://u:p@redis:6380', 'redisUrl', 'rediss://u:p@redis:6380'],
    ['REDIS_URL', 'unix:///run/redis.sock', 'redisUrl', 'unix:///run/redis.sock'],
    ['PAYRUN_DATA_DIR', 'elsewhere', 'dataDir', resolve('elsewhere')],
    ['PAYRUN_CONCURRENCY', '1', 'concurrency', 1],
    ['PAYRUN_CONCURRENCY', '10000', 'concurrency', 10_000],
    ['PAYRUN_RATE', '5', 'ratePerSecond', 5],
    ['PAYRUN_SLICE', 'auto', 'slice', undefined],
    ['PAYRUN_SLICE', '50', 'slice', 50],
    ['PAYRUN_WINDOW', '1', 'window', 1],
    ['PAYRUN_REQUEST_TIMEOUT', '2m', 'requestTimeoutMs', 120_000],
    ['PAYRUN_ARM_DEADLINE', '1500ms', 'armDeadlineMs', 1500],
    ['PAYRUN_BREAKER', '3/10', 'breaker', { bad: 3, of: 10 }],
    ['PAYRUN_BREAKER', 'off', 'breaker', null],
    ['PAYRUN_QUOTE_GRACE', '10m', 'quoteGraceMs', 600_000],
    ['PAYRUN_NOT_FOUND_GAP', '1m', 'notFoundGapMs', 60_000],
    ['PAYRUN_TRACK_EVERY', '10s', 'trackEveryMs', 10_000],
    ['PAYRUN_TRACK_RATE', '50', 'trackRatePerSecond', 50],
    ['PAYRUN_WATCH_RETURNS', '30d', 'watchReturnsMs', 2_592_000_000],
    ['PAYRUN_TOKEN_CACHE', 'off', 'tokenCache', 'off'],
    ['PAYRUN_TOKEN_MARGIN', '30s', 'tokenMarginMs', 30_000],
    [
      'PAYRUN_ASSUME',
      'expired-quote-refused, payment-id-is-quote-id',
      'assume',
      ['expired-quote-refused', 'payment-id-is-quote-id'],
    ],
    ['PAYRUN_ASSUME', CAPABILITIES.join(','), 'assume', CAPABILITIES],
    ['PAYRUN_CAPABILITIES_FILE', '/etc/payrun/capabilities.json', 'capabilitiesFile', '/etc/payrun/capabilities.json'],
    ['PAYRUN_PAYOUT_CATEGORY', 'WALLET', 'payoutCategory', 'WALLET'],
    ['PAYRUN_PAYIN_CATEGORY', 'ACH', 'payinCategory', 'ACH'],
    ['PAYRUN_REPORT_DIR', '/srv/reports', 'reportDir', '/srv/reports'],
    ['PAYRUN_REMEMBER', '1000d', 'rememberMs', 86_400_000_000],
    ['PAYRUN_PREFIX', 'team-a{payrun_2}', 'prefix', 'team-a{payrun_2}'],
    ['PAYRUN_REDIS_DURABILITY', 'overridden', 'redisDurability', 'overridden'],
    ['PAYRUN_METRICS_PORT', '9464', 'metricsPort', 9464],
    ['PAYRUN_LEDGER_KEY', 'k'.repeat(32), 'ledgerKey', ['k'.repeat(32)]],
    ['PAYRUN_LEDGER_KEY', `${'k'.repeat(32)}\r\nformer`, 'ledgerKey', ['k'.repeat(32), 'former']],
    ['PAYRUN_OTEL', 'on', 'otel', true],
    ['PAYRUN_OTEL', 'off', 'otel', false],
    ['PAYRUN_LOG_LEVEL', 'debug', 'logLevel', 'debug'],
    ['PAYRUN_LOG_LEVEL', 'silent', 'logLevel', 'silent'],
  ])('%s=%s', (...[name, value, field, expected]) => {
    expect(readConfig({ [name]: value })[field]).toEqual(expected);
  });
});

/** A private key, but of another kind. */
const RSA_KEY = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
}).privateKey;

describe('a bad value is refused by the name of its setting, and the message says what would be right', () => {
  const DURATION = ['', '0', '5', '5 s', '-1s', '1.5s', 'soon', '1w'];
  const INTEGER = ['', '0', '-1', '1.5', '1e3', '0x10', ' 5', '5 ', 'many', '999999999', '9999999999999'];
  const BAD: Record<string, readonly string[]> = {
    REDIS_URL: ['', 'redis', 'localhost:6379', 'http://redis:6379', '/run/redis.sock'],
    PAYRUN_DATA_DIR: [''],
    PAYRUN_CONCURRENCY: [...INTEGER, '10001'],
    PAYRUN_RATE: [...INTEGER, '100001'],
    PAYRUN_RATE_MIN: [...INTEGER, '100001'],
    PAYRUN_SLICE: [...INTEGER, '1001', 'AUTO'],
    PAYRUN_WINDOW: [...INTEGER, '10001'],
    PAYRUN_REQUEST_TIMEOUT: DURATION,
    PAYRUN_ARM_DEADLINE: DURATION,
    PAYRUN_BREAKER: ['', '0/5', '6/5', '5', '50%', 'on', '1/1001', '1/0'],
    PAYRUN_QUOTE_GRACE: DURATION,
    PAYRUN_NOT_FOUND_GAP: DURATION,
    PAYRUN_TRACK_EVERY: DURATION,
    PAYRUN_TRACK_RATE: INTEGER,
    PAYRUN_WATCH_RETURNS: DURATION,
    PAYRUN_TOKEN_CACHE: ['', 'SHARED', 'on', 'true'],
    PAYRUN_TOKEN_MARGIN: DURATION,
    PAYRUN_ASSUME: ['', 'everything', 'expired-quote-refused,', 'expired-quote-refused;one-payment-per-quote'],
    PAYRUN_CAPABILITIES_FILE: [''],
    PAYRUN_PAYOUT_CATEGORY: ['', 'x'.repeat(129)],
    PAYRUN_PAYIN_CATEGORY: ['', 'x'.repeat(129)],
    PAYRUN_REPORT_DIR: [''],
    PAYRUN_REMEMBER: DURATION,
    PAYRUN_PREFIX: ['', 'payrun', '{}', '{a}{b}', '{pay run}', '{payrun', '{payrun}x', 'a:{payrun}', '{pay*run}'],
    PAYRUN_REDIS_DURABILITY: ['', 'none', 'Overridden'],
    PAYRUN_METRICS_PORT: [...INTEGER, '65536'],
    PAYRUN_LEDGER_KEY: ['k'.repeat(31), `\n${'k'.repeat(32)}`, `${'k'.repeat(32)}\n\n`],
    PAYRUN_SIGNING_KEY: ['', 'key', RSA_KEY],
    PAYRUN_OTEL: ['', 'true', '1', 'ON'],
    PAYRUN_LOG_LEVEL: ['', 'INFO', 'verbose', '30'],
  };

  test.each(Object.entries(BAD).flatMap(([name, values]) => values.map((value) => [name, value] as const)))(
    '%s=%j',
    (name, value) => {
      const refusal = refusalOf({ [name]: value });
      expect(refusal.kind).toBe('usage');
      expect(refusal.remedy).toContain('docs/settings.md');
      expect(problemsOf({ [name]: value })).toEqual([expect.stringMatching(new RegExp(`^${name}: .{10,}`))]);
    },
  );

  test.each(FIVE)('%s may not be empty', (name) => {
    expect(problemsOf({ ...SERVICE, [name]: '' })).toContainEqual(
      expect.stringMatching(new RegExp(`^${name}: .{10,}`)),
    );
  });

  test.each([undefined, '4'])('a least rate stands below PAYRUN_RATE: %s', (rate) => {
    expect(problemsOf({ PAYRUN_RATE_MIN: '5', PAYRUN_RATE: rate })).toEqual([
      'PAYRUN_RATE_MIN: needs PAYRUN_RATE, and must not be above it',
    ]);
    for (const top of ['5', '400']) {
      const config = readConfig({ PAYRUN_RATE_MIN: '5', PAYRUN_RATE: top });
      expect(config).toMatchObject({ ratePerSecondMin: 5, ratePerSecond: Number(top) });
    }
  });

  test('PAYRUN_SLICE, which also takes a word, says what it takes', () => {
    expect(problemsOf({ PAYRUN_SLICE: '0' })).toEqual([expect.stringMatching(/^PAYRUN_SLICE: .*auto.*1000/)]);
  });

  // Node ends a timer of more than 2^31 - 1 ms at once: the wait before a season opens would be none.
  test.each([
    ['PAYRUN_ARM_DEADLINE', '0s'],
    ['PAYRUN_ARM_DEADLINE', '13d'],
    ['PAYRUN_REQUEST_TIMEOUT', '0ms'],
  ])('%s=%s, with which nothing can be sent safely', (name, value) => {
    expect(problemsOf({ [name]: value })).toEqual([expect.stringContaining(name)]);
  });
});

test('a host without TLS is refused in prod, whatever the address', () => {
  expect(problemsOf({ ...PROD, PAYRUN_HTTP_HOST: 'sandbox' })).toEqual([
    'PAYRUN_HTTP_HOST: not in prod, which takes https only',
  ]);
});

test('likely duplicates are looked for within a week, within another time, or not at all', () => {
  expect(readConfig({}).duplicatesWithinMs).toBe(604_800_000);
  expect(readConfig({ PAYRUN_DUPLICATES_WITHIN: '30d' }).duplicatesWithinMs).toBe(2_592_000_000);
  expect(readConfig({ PAYRUN_DUPLICATES_WITHIN: 'off' }).duplicatesWithinMs).toBeUndefined();
});

/** Settings with a file of this content beside the environment. */
function withFile(json: unknown): EnvironmentVariables {
  return { PAYRUN_CONFIG: fileWith('parts.json', JSON.stringify(json)) };
}

function limitsNameOf(currencies: object): string | undefined {
  return readConfig(withFile({ limits: { currencies } })).limits?.name;
}

describe('PAYRUN_CONFIG', () => {
  test('is not needed: no limits, no calendars, nobody is told', () => {
    expect(readConfig({})).toMatchObject({ limits: null, calendars: {}, notify: { endpoints: [] } });
    const { inbox, ...others } = readConfig(withFile({}));
    const { inbox: none, ...same } = readConfig({});
    expect(others).toEqual(same);
    // Beside a file its own folder is the one place for inboxes of schedules.
    expect(inbox).toEqual({ ...none, allowed: { folders: [expect.stringContaining('payrun-config-')], hosts: [] } });
  });

  test('gives limits as minor units, calendars and endpoints', () => {
    fileWith('hook-secret', 'a-secret-of-some-length\n');
    const config = readConfig(
      withFile({
        limits: {
          zone: 'Europe/Berlin',
          currencies: { USD: { payout: '10000.00', day: '500000' }, JPY: { run: '1000' } },
        },
        calendars: { EUR: { zone: 'Europe/Berlin', opens: '08:00', cutOff: '16:00' } },
        webhooks: [{ name: 'books', url: 'https://hooks.example.com/payrun', secretFile: 'hook-secret' }],
      }),
    );
    expect(config.limits).toMatchObject({ zone: 'Europe/Berlin', over: 'hold' });
    expect(config.limits?.currencies.get('USD')).toEqual({ payout: 1_000_000n, day: 50_000_000n });
    expect(config.limits?.currencies.get('JPY')).toEqual({ run: 1000n });
    expect(Object.keys(config.calendars)).toEqual(['EUR']);
    expect(config.notify.endpoints).toMatchObject([{ name: 'books', secrets: ['a-secret-of-some-length'] }]);
  });

  test('sets what is read of a file at most, each limit by itself', () => {
    expect(readConfig(withFile({ files: { rowsMax: 10 } })).files).toEqual({ ...DEFAULT_LIMITS, rowsMax: 10 });
    expect(problemsOf(withFile({ files: { rowsMax: 0, rows: 1 } }))).toHaveLength(2);
  });

  test('tells the limits of files alone, whatever is wrong with other settings and other parts of the file', () => {
    const others = { webhooks: [{ name: 'books', url: 'nowhere', secretFile: 'absent' }], limits: 1 };
    const json = { files: { rowsMax: 10 }, ...others };
    const environment = { ...withFile(json), PAYRUN_ENVIRONMENT: 'nowhere', PAYRUN_NO_SUCH: 'x' };
    expect(problemsOf(environment).length).toBeGreaterThan(3);
    expect(readFileLimits(environment)).toEqual({ ...DEFAULT_LIMITS, rowsMax: 10 });
    const { PAYRUN_CONFIG = '' } = withFile(json);
    expect(readFileLimits({ PAYRUN_CONFIG_FILE: fileWith('name-of-config', `${PAYRUN_CONFIG}\n`) }).rowsMax).toBe(10);
    expect(readFileLimits({})).toEqual(DEFAULT_LIMITS);
    expect(readFileLimits(withFile(others))).toEqual(DEFAULT_LIMITS);
  });

  test.each<[string, unknown, RegExp]>([
    ['a limit of nothing', { files: { rowsMax: 0 } }, /^PAYRUN_CONFIG: .*files\.rowsMax: must be at least 1$/],
    ['a limit that nobody knows', { files: { rows: 1 } }, /files\.rows: there is no such key/],
    ['a part that nobody knows', { file: { rowsMax: 1 } }, /: file: there is no such key; known here are: .*files/],
    ['a list', [], /must be an object/],
  ])('gives no limits of files with %s', (_what, json, problem) => {
    expect(problemsOf(withFile(json), readFileLimits)).toEqual([expect.stringMatching(problem)]);
    expect(problemsOf(withFile(json))).toEqual([expect.stringMatching(problem)]);
  });

  test('gives no limits of files where it cannot be read, or is named twice', () => {
    expect(problemsOf({ PAYRUN_CONFIG: join(folder, 'absent.json') }, readFileLimits)).toEqual([
      'PAYRUN_CONFIG: the file that it names cannot be read (ENOENT)',
    ]);
    expect(problemsOf({ PAYRUN_CONFIG: '' }, readFileLimits)).toEqual(['PAYRUN_CONFIG: must not be empty']);
    expect(problemsOf({ PAYRUN_CONFIG: 'a', PAYRUN_CONFIG_FILE: 'b' }, readFileLimits)).toEqual([
      'PAYRUN_CONFIG: set twice, also as PAYRUN_CONFIG_FILE',
    ]);
  });

  test('with other limits is another safety setting, whatever their order', () => {
    const one = limitsNameOf({ USD: { payout: '1.00' }, EUR: { day: '2.00' } });
    expect(limitsNameOf({ EUR: { day: '2.00' }, USD: { payout: '1' } })).toBe(one);
    expect(limitsNameOf({ EUR: { day: '2.01' }, USD: { payout: '1.00' } })).not.toBe(one);
  });

  test.each<[string, unknown, RegExp]>([
    ['a part that nobody knows', { limit: {} }, /^PAYRUN_CONFIG: .*limit/],
    [
      'an amount with too many digits',
      { limits: { currencies: { JPY: { run: '1.5' } } } },
      /limits\.currencies\.JPY\.run: "1\.5" is no amount in JPY/,
    ],
    ['a currency that there is not', { limits: { currencies: { XXX: {} } } }, /limits\.currencies/],
    ['a zone that there is not', { limits: { zone: 'Mars', currencies: {} } }, /limits\.zone: must be a time zone/],
    ['a number for an amount', { limits: { currencies: { USD: { run: 1 } } } }, /limits\.currencies\.USD\.run/],
  ])('is refused with its place: %s', (_what, json, problem) => {
    expect(problemsOf(withFile(json))).toEqual([expect.stringMatching(problem)]);
  });

  const hook = { name: 'books', url: 'https://hooks.example.com', secretFile: 'hook-secret' };

  test.each<[what: string, json: unknown, problem: string]>([
    [
      'a part that nobody knows',
      { limit: {} },
      'limit: there is no such key; known here are: webhooks, mail, notify, files, calendars, limits, approval',
    ],
    [
      'a key that nobody knows in an entry of a list',
      { webhooks: [{ ...hook, urll: 'x' }] },
      'webhooks[0].urll: there is no such key; known here are: name, url, secretFile, secretFiles, events',
    ],
    [
      'a key that nobody knows below a currency',
      { limits: { currencies: { USD: { weekly: '1.00' } } } },
      'limits.currencies.USD.weekly: there is no such key; known here are: payout, run, day, beneficiary',
    ],
    ['a key that is missing', { approval: {} }, 'approval.mode: must be one of: off, on, tiers'],
    ['a text for a list', { webhooks: 'x' }, 'webhooks: must be a list in [ ]'],
    ['a list for the whole', [], 'must be an object in { } with some of the keys webhooks, mail, notify, files,'],
    ['a text for a number', { files: { rowsMax: '10' } }, 'files.rowsMax: must be a number'],
    ['a part of a number', { files: { rowsMax: 1.5 } }, 'files.rowsMax: must be a whole number'],
    ['a number that is too small', { notify: { pendingDays: 0 } }, 'notify.pendingDays: must be at least 0.01'],
    [
      'a word that is none of a few',
      { limits: { over: 'pay', currencies: {} } },
      'limits.over: must be one of: hold, refuse',
    ],
    ['an empty list', { webhooks: [{ ...hook, events: [] }] }, 'webhooks[0].events: must have at least 1 entry'],
    ['no currency', { limits: { currencies: { usd: {} } } }, 'limits.currencies.usd: must be a currency of ISO 4217'],
    [
      'no address',
      { mail: { host: 'mail', from: 'anna', to: ['a@example.com'] } },
      'mail.from: must be an e-mail address',
    ],
    ['a text that is missing', { mail: { host: 'mail', to: ['a@example.com'] } }, 'mail.from: '],
    ['two endpoints of one name', { webhooks: [hook, hook] }, 'two endpoints have the name books'],
  ])('is refused with its file, the place in it and what to write instead: %s', (_what, json, problem) => {
    fileWith('hook-secret', 'a-secret-of-some-length');
    const path = join(folder, 'parts.json');
    expect(problemsOf(withFile(json))).toEqual([expect.stringContaining(`PAYRUN_CONFIG: ${path}: ${problem}`)]);
  });

  test('is refused with all that is wrong at once', () => {
    const problems = problemsOf(withFile({ limit: {}, mails: {}, files: { rows: 1, rowsMax: 0 } }));
    expect(problems).toHaveLength(4);
    for (const place of ['limit', 'mails', 'files.rows', 'files.rowsMax']) {
      expect(problems).toContainEqual(expect.stringContaining(` ${place}: `));
    }
  });

  test('is refused when it cannot be read, and its path stays unsaid', () => {
    const absent = join(folder, 'absent.json');
    expect(problemsOf({ PAYRUN_CONFIG: absent })).toEqual([
      'PAYRUN_CONFIG: the file that it names cannot be read (ENOENT)',
    ]);
  });

  test.each([
    [
      'what is no JSON, with line and column',
      '{\n  "files": {}\n  "limits": top-secret\n}',
      'it is no JSON: a comma or } should stand at line 3, column 3',
    ],
    ['what is no JSON at all', 'top-secret', 'it is no JSON: a value should stand at line 1, column 1'],
    ['a name that it says twice', '{"limits": {}, "limits": "top-secret"}', 'it says "limits" twice'],
  ])('is refused with its file and without its content: %s', (_what, text, problem) => {
    const path = fileWith('broken.json', text);
    expect(problemsOf({ PAYRUN_CONFIG: path })).toEqual([`PAYRUN_CONFIG: ${path}: ${problem}`]);
  });
});

describe('NAME_FILE', () => {
  test('gives each setting its value from a file, without the line end', () => {
    const values: Record<string, string> = { ...SERVICE, REDIS_URL: 'redis://r', PAYRUN_RATE: '7' };
    const files = Object.entries(values).map(([name, value], index) => {
      return [`${name}_FILE`, fileWith(name, value + ['', '\n', '\r\n'][index % 3])] as const;
    });
    expect(readConfig(Object.fromEntries(files))).toEqual(readConfig(values));
  });

  test('takes no more than one line end away', () => {
    const file = fileWith('padded', ` ${SECRET} \n\n`);
    expect(
      readConfig({ ...SERVICE, PAYRUN_CLIENT_SECRET: undefined, PAYRUN_CLIENT_SECRET_FILE: file }).service,
    ).toMatchObject({
      clientSecret: ` ${SECRET} \n`,
    });
  });

  test.each(['PAYRUN_RATE', 'REDIS_URL', 'PAYRUN_CLIENT_SECRET', 'PAYRUN_CAPABILITIES_FILE'])(
    '%s and its file are not taken together, even if they agree',
    (name) => {
      const value = name === 'REDIS_URL' ? 'redis://r' : '7';
      expect(problemsOf({ [name]: value, [`${name}_FILE`]: fileWith('twice', value) })).toContainEqual(
        expect.stringMatching(new RegExp(`^${name}: set twice, also as ${name}_FILE`)),
      );
    },
  );

  test('that cannot be read is named, once', () => {
    expect(problemsOf({ PAYRUN_RATE_FILE: join(folder, 'absent') })).toEqual([
      expect.stringMatching(/^PAYRUN_RATE_FILE: the file .* cannot be read/),
    ]);
  });

  test('that holds a bad value is a bad value of the setting', () => {
    expect(problemsOf({ PAYRUN_RATE_FILE: fileWith('rate', 'many\n') })).toEqual([
      expect.stringMatching(/^PAYRUN_RATE: /),
    ]);
  });

  test('a capabilities file is a setting of its own, and no PAYRUN_CAPABILITIES', () => {
    expect(readConfig({ PAYRUN_CAPABILITIES_FILE: 'c.json' }).capabilitiesFile).toBe('c.json');
    expect(readConfig({ PAYRUN_CAPABILITIES_FILE_FILE: fileWith('named', 'c.json') }).capabilitiesFile).toBe('c.json');
    expect(problemsOf({ PAYRUN_CAPABILITIES: 'c.json' })).toEqual(['PAYRUN_CAPABILITIES: no such setting']);
  });
});

describe('an unknown name is a problem', () => {
  test.each(['PAYRUN_', 'PAYRUN_FILE', 'PAYRUN_rate', 'PAYRUN_RATE_FILE_FILE', 'PAYRUN_REDIS_URL'])('%s', (name) => {
    expect(problemsOf({ [name]: '1' })).toEqual([`${name}: no such setting`]);
  });

  test.each([
    ['PAYRUN_RATES', 'PAYRUN_RATE'],
    ['PAYRUN_CLIENT_SECERT', 'PAYRUN_CLIENT_SECRET'],
    ['PAYRUN_SERVICE_URI_FILE', 'PAYRUN_SERVICE_URL_FILE'],
  ])('%s, close to another, which is named', (name, meant) => {
    expect(problemsOf({ [name]: '1' })).toEqual([`${name}: no such setting; did you mean ${meant}?`]);
  });
});

describe('all problems are told together', () => {
  test('of values, names and files', () => {
    const problems = problemsOf({
      PAYRUN_RATE: 'many',
      PAYRUN_WINDOW: '0',
      PAYRUN_NO_SUCH: '1',
      PAYRUN_CONFIG: 'x',
      PAYRUN_SLICE_FILE: join(folder, 'absent'),
      REDIS_URL: 'redis',
    });
    for (const name of [
      'PAYRUN_RATE',
      'PAYRUN_WINDOW',
      'PAYRUN_NO_SUCH',
      'PAYRUN_CONFIG',
      'PAYRUN_SLICE_FILE',
      'REDIS_URL',
    ]) {
      expect(problems).toContainEqual(expect.stringMatching(new RegExp(`^${name}: `)));
    }
  });

  test('of the service, its address and the data directory', () => {
    const problems = problemsOf({
      ...PROD,
      PAYRUN_SERVICE_URL: 'http://user@payments.example.com',
      PAYRUN_CONFIRM_PROD: 'other',
      PAYRUN_ASSUME: 'expired-quote-refused',
      PAYRUN_DATA_DIR: 'relative',
      PAYRUN_NO_SUCH: '1',
    });
    expect(problems.map((problem) => problem.replace(/:.*/, '')).toSorted()).toEqual([
      'PAYRUN_ASSUME',
      'PAYRUN_CONFIRM_PROD',
      'PAYRUN_DATA_DIR',
      'PAYRUN_NO_SUCH',
      'PAYRUN_SERVICE_URL',
      'PAYRUN_SERVICE_URL',
    ]);
  });

  test('of a value and of the service at once', () => {
    const problems = problemsOf({ PAYRUN_RATE: 'many', PAYRUN_TENANT_ID: 'acme' });
    expect(problems).toContainEqual(expect.stringMatching(/^PAYRUN_RATE: /));
    expect(problems).toContainEqual(expect.stringMatching(/PAYRUN_SERVICE_URL.*: missing/));
  });

  test('one problem is one line, and the heading says that it is one', () => {
    expect(refusalOf({ PAYRUN_RATE: 'many' }).message).toMatch(/^A setting is wrong:\n {2}PAYRUN_RATE: .*$/);
    expect(refusalOf({ PAYRUN_RATE: 'many', PAYRUN_WINDOW: '0' }).message).toMatch(/^Some settings are wrong:\n/);
  });
});

describe('the service settings', () => {
  const partly = Array.from({ length: 2 ** FIVE.length - 2 }, (_value, index) => {
    return FIVE.filter((_name, bit) => ((index + 1) & (1 << bit)) !== 0);
  });

  test.each(partly.map((names) => [names.join(' '), names] as const))(
    'only %s set: the missing ones are named',
    (_title, names) => {
      const some = Object.fromEntries(Object.entries(SERVICE).filter(([name]) => names.includes(name)));
      const problem = problemsOf({ ...some, PAYRUN_DATA_DIR: '/var/lib/payrun' }).find((line) =>
        line.includes('missing'),
      );
      const missing = (problem?.split(': missing')[0] ?? '').split(', ').toSorted();
      expect(missing).toEqual(FIVE.filter((name) => !names.includes(name)).toSorted());
    },
  );

  test('the environment is test or prod', () => {
    expect(problemsOf({ ...SERVICE, PAYRUN_ENVIRONMENT: 'production' })).toEqual([
      'PAYRUN_ENVIRONMENT: must be one of: test, prod',
    ]);
  });

  test('the audience follows environment and tenant, unless it is set', () => {
    expect(readConfig(PROD).service?.audience).toBe('urn:servicexcurrent-prod:acme');
    expect(readConfig({ ...PROD, PAYRUN_AUDIENCE: 'urn:other' }).service?.audience).toBe('urn:other');
  });

  test.each(['https://payments.example.com/', 'https://payments.example.com//'])(
    '%s loses the slashes at its end',
    (url) => {
      expect(readConfig({ ...SERVICE, PAYRUN_SERVICE_URL: url }).service?.url).toBe('https://payments.example.com');
    },
  );

  test('a path in the address stays', () => {
    const url = 'https://gateway.example.com/payments/';
    expect(readConfig({ ...SERVICE, PAYRUN_SERVICE_URL: url }).service?.url).toBe(
      'https://gateway.example.com/payments',
    );
  });

  test.each([
    'ftp://payments.example.com',
    'payments.example.com',
    'https://',
    'https://user@payments.example.com',
    `https://user:${SECRET}@payments.example.com`,
    'https://payments.example.com?x=1',
    'https://payments.example.com#x',
  ])('%s is no address of a service', (url) => {
    const refusal = refusalOf({ ...SERVICE, PAYRUN_SERVICE_URL: url });
    expect(refusal.message).toContain('PAYRUN_SERVICE_URL: must be');
    expect(refusal.message).not.toContain(SECRET);
  });
});

describe('PAYRUN_PROXY', () => {
  test.each(['http://proxy:3128', 'https://proxy', 'http://10.0.0.1:8080/', 'http://us%40er:w%3Ard@proxy:3128'])(
    '%s is taken',
    (PAYRUN_PROXY) => {
      expect(readConfig({ ...SERVICE, PAYRUN_PROXY }).service?.proxy).toBe(PAYRUN_PROXY);
    },
  );

  test.each([
    '',
    'proxy',
    'proxy:3128',
    'socks5://proxy:1080',
    'http://',
    'http://p:99999',
    'http://p/x',
    'http://p?x=1',
  ])('%j is refused', (PAYRUN_PROXY) => {
    expect(problemsOf({ ...SERVICE, PAYRUN_PROXY })).toEqual([expect.stringMatching(/^PAYRUN_PROXY: must be .{10,}/)]);
  });

  test.each([
    `ftp://u:${SECRET}@p`,
    `http://u:${SECRET}@p/x`,
    `http://u:${SECRET}%zz@p`,
    `http://%ff:${SECRET}@p`,
    `u:${SECRET}@p`,
  ])('is a secret: no message repeats it (%#)', (PAYRUN_PROXY) => {
    const { message, remedy } = refusalOf({ ...SERVICE, PAYRUN_PROXY });
    expect(message).toContain('PAYRUN_PROXY: must be');
    expect(message + remedy).not.toContain(SECRET);
  });

  test('can be read from a file, and comes from nowhere else', () => {
    const PAYRUN_PROXY_FILE = fileWith('proxy', 'http://u:w@proxy:3128\n');
    expect(readConfig({ ...SERVICE, PAYRUN_PROXY_FILE }).service?.proxy).toBe('http://u:w@proxy:3128');
    const others = { HTTP_PROXY: 'http://p', HTTPS_PROXY: 'http://p', https_proxy: 'http://p', ALL_PROXY: 'http://p' };
    expect(readConfig({ ...SERVICE, ...others }).service?.proxy).toBeUndefined();
  });
});

describe('PAYRUN_CA_FILE', () => {
  const [first = '', second = ''] = rootCertificates;

  test('gives each certificate of the file, whatever stands between them', () => {
    const PAYRUN_CA_FILE = fileWith('ca.pem', `# ours\r\n${first.replaceAll('\n', '\r\n')}\r\nand\n${second}\n`);
    const { certificates = [] } = readConfig({ ...SERVICE, PAYRUN_CA_FILE }).service ?? {};
    const parsed = [first, second].map((pem) => new X509Certificate(pem).toString());
    expect(certificates).toEqual(parsed);
    expect(readConfig(SERVICE).service?.certificates).toBeUndefined();
  });

  test.each<[string, string]>([
    ['is empty', ''],
    ['holds none', 'no certificate'],
    ['holds a broken one', first.replace('MI', '!!')],
    ['ends within the second', `${first}\n${second.slice(0, 500)}`],
    ['holds a key too', `${first}\n-----BEGIN PRIVATE KEY-----\n${SECRET}\n-----END PRIVATE KEY-----\n`],
  ])('that %s is refused', (_name, content) => {
    const refusal = refusalOf({ ...SERVICE, PAYRUN_CA_FILE: fileWith('bad.pem', content) });
    expect(refusal.kind).toBe('usage');
    expect(refusal.remedy).toContain('docs/settings.md');
    expect(refusal.message).toMatch(/^A setting is wrong:\n {2}PAYRUN_CA_FILE: must name a file with certificates .*$/);
    expect(refusal.message).not.toContain(SECRET);
  });

  test('that cannot be read is refused, its path unsaid', () => {
    expect(problemsOf({ ...SERVICE, PAYRUN_CA_FILE: join(folder, SECRET) })).toEqual([
      'PAYRUN_CA_FILE: must name a file with certificates in PEM form (ENOENT)',
    ]);
  });
});

describe('http', () => {
  test.each(['http://localhost:8080', 'http://127.0.0.1:8080', 'http://127.9.9.9', 'http://[::1]:8080'])(
    '%s is loopback and taken in test',
    (url) => {
      expect(readConfig({ ...SERVICE, PAYRUN_SERVICE_URL: url }).service?.url).toBe(url);
    },
  );

  test.each([
    'http://payments.example.com',
    'http://localhost.example.com',
    'http://127.0.0.1.example.com',
    'http://10.0.0.1',
    'http://0.0.0.0',
    'http://[::ffff:10.0.0.1]',
  ])('%s is not, and refused', (url) => {
    expect(problemsOf({ ...SERVICE, PAYRUN_SERVICE_URL: url })).toEqual([expect.stringContaining('PAYRUN_HTTP_HOST')]);
  });

  test('is taken for the host that PAYRUN_HTTP_HOST names, and for no other', () => {
    const settings = { ...SERVICE, PAYRUN_SERVICE_URL: 'http://sandbox:8080', PAYRUN_HTTP_HOST: 'sandbox' };
    expect(readConfig(settings).service?.url).toBe('http://sandbox:8080');
    expect(problemsOf({ ...settings, PAYRUN_HTTP_HOST: 'sandbox2' })).toHaveLength(1);
  });

  test.each([
    { PAYRUN_SERVICE_URL: 'http://localhost' },
    { PAYRUN_SERVICE_URL: 'http://sandbox', PAYRUN_HTTP_HOST: 'sandbox' },
  ])('is never taken in prod: %o', (address) => {
    expect(problemsOf({ ...PROD, ...address })).toContain('PAYRUN_SERVICE_URL: prod takes https only');
  });
});

describe('a Redis over the network', () => {
  const HOSTS = ['redis', '127.0.0.1:6379', 'localhost/1', '[::1]:6379'];
  const OPEN = [
    ...HOSTS.map((host) => `redis://${host}`),
    'rediss://redis:6380',
    'redis://payrun@redis',
    'redis://payrun:@redis',
    'redis://:@redis',
    'redis+sentinel://a:26379,b:26379/main?sentinelPassword=s',
    'redis+cluster://a,b',
  ];
  const GUARDED = [
    'redis://payrun:p@redis',
    'rediss://payrun:p@redis:6380',
    'redis://:p@127.0.0.1:6379/1',
    'redis+sentinel://payrun:p@a:26379,b:26379/main',
    'redis+cluster://:p@a,b',
    'unix:///run/redis.sock',
  ];

  test.each(OPEN)('is refused in prod without a password, and says how to give one: %s', (REDIS_URL) => {
    expect(problemsOf({ ...PROD, REDIS_URL })).toEqual([
      expect.stringMatching(/^REDIS_URL: .*with a password.*redis:\/\/user:password@host:6379/),
    ]);
    expect(problemsOf({ ...PROD, REDIS_URL_FILE: fileWith('redis', REDIS_URL) })).toHaveLength(1);
    expect(readConfig({ ...SERVICE, REDIS_URL }).redisUrl).toBe(REDIS_URL);
  });

  test.each(GUARDED)('is taken in prod with one, also from a file, and one on a socket: %s', (REDIS_URL) => {
    expect(readConfig({ ...PROD, REDIS_URL }).redisUrl).toBe(REDIS_URL);
    expect(readConfig({ ...PROD, REDIS_URL_FILE: fileWith('redis', REDIS_URL) }).redisUrl).toBe(REDIS_URL);
  });

  test('is not asked for where payrun runs its own', () => {
    expect(readConfig(PROD).redisUrl).toBeUndefined();
  });
});

describe('prod', () => {
  test('is paid in only when PAYRUN_CONFIRM_PROD repeats the tenant id', () => {
    expect(readConfig(PROD).service?.environment).toBe('prod');
    for (const PAYRUN_CONFIRM_PROD of [undefined, 'Acme', 'acme ', 'yes']) {
      expect(problemsOf({ ...PROD, PAYRUN_CONFIRM_PROD })).toEqual([expect.stringMatching(/^PAYRUN_CONFIRM_PROD: /)]);
    }
  });

  test('takes no capability as given', () => {
    expect(readConfig({ ...SERVICE, PAYRUN_ASSUME: 'expired-quote-refused' }).assume).toEqual([
      'expired-quote-refused',
    ]);
    expect(problemsOf({ ...PROD, PAYRUN_ASSUME: 'expired-quote-refused' })).toEqual([
      expect.stringMatching(/^PAYRUN_ASSUME: /),
    ]);
  });
});

describe('the data directory', () => {
  test.each([undefined, '.payrun', './x', '~/payrun'])('%s is not enough with a service', (PAYRUN_DATA_DIR) => {
    expect(problemsOf({ ...SERVICE, PAYRUN_DATA_DIR })).toEqual([
      expect.stringMatching(/^PAYRUN_DATA_DIR: .*absolute/),
    ]);
  });

  test('holds the reports, unless they have a folder of their own', () => {
    expect(readConfig({ PAYRUN_DATA_DIR: '/srv/a' }).reportDir).toBe('/srv/a/reports');
    expect(readConfig({ PAYRUN_DATA_DIR: '/srv/a', PAYRUN_REPORT_DIR: 'b' }).reportDir).toBe(resolve('b'));
  });
});

describe('a secret is in no message', () => {
  test('whatever else is wrong', () => {
    const redis = `redis//user:${SECRET}@host`;
    const { message, remedy } = refusalOf({ ...SERVICE, REDIS_URL: redis, PAYRUN_RATE: 'many', PAYRUN_X: SECRET });
    expect(message + remedy).not.toContain(SECRET);
  });

  test('when it is set twice, alone, or in a file', () => {
    const file = fileWith('secret', SECRET);
    for (const environment of [
      { ...SERVICE, PAYRUN_CLIENT_SECRET_FILE: file },
      { PAYRUN_CLIENT_SECRET: SECRET },
      { PAYRUN_CLIENT_SECRET_FILE: file },
      { ...PROD, PAYRUN_CONFIRM_PROD: SECRET },
      { ...SERVICE, PAYRUN_ENVIRONMENT: SECRET },
    ]) {
      expect(refusalOf(environment).message).not.toContain(SECRET);
    }
  });

  test('when it stands where the name of its file belongs', () => {
    const { message } = refusalOf({ ...SERVICE, PAYRUN_CLIENT_SECRET: undefined, PAYRUN_CLIENT_SECRET_FILE: SECRET });
    expect(message).toContain('PAYRUN_CLIENT_SECRET_FILE');
    expect(message).not.toContain(SECRET);
  });
});

describe('docs/settings.md', () => {
  const path = 'docs/settings.md';
  if (process.env['UPDATE_DOCS'] === '1') writeFileSync(path, makeSettingsPage());

  test('is what the schema of the settings says', () => {
    expect(readFileSync(path, 'utf8')).toBe(makeSettingsPage());
  });

  test.each(settingLines())('$name has a section and a description in whole sentences', ({ section, about }) => {
    expect(section).not.toBe('');
    expect(about).toMatch(/^[A-Z`].*\.$/);
  });

  const standards = settingLines().filter(({ schema }) => schema.safeParse(undefined).data !== undefined);
  test.each(standards)('shows the default of $name as it is read', ({ name, schema, standard }) => {
    const { success, data } = schema.safeParse(standard.replaceAll('`', ''));
    expect({ success, data }).toEqual({
      success: name !== 'PAYRUN_ASSUME',
      data: name === 'PAYRUN_ASSUME' ? undefined : schema.parse(undefined),
    });
  });

  test('shows the other defaults that payrun has without a service and with one', () => {
    const shown = Object.fromEntries(settingLines().map(({ name, standard }) => [name, standard]));
    const sandbox = readConfig({});
    const service = readConfig(SERVICE);
    expect(shown).toMatchObject({
      PAYRUN_QUOTE_GRACE: '5m (sandbox: 1s)',
      PAYRUN_NOT_FOUND_GAP: '30s (sandbox: 1s)',
      PAYRUN_TRACK_EVERY: '30s (sandbox: 1s)',
      PAYRUN_TRACK_RATE: '5 (sandbox: 2000)',
    });
    expect([service.quoteGraceMs, sandbox.quoteGraceMs]).toEqual(['5m', '1s'].map((text) => duration.parse(text)));
    expect([service.notFoundGapMs, sandbox.notFoundGapMs]).toEqual(['30s', '1s'].map((text) => duration.parse(text)));
    expect([service.trackEveryMs, sandbox.trackEveryMs]).toEqual(['30s', '1s'].map((text) => duration.parse(text)));
    expect([service.trackRatePerSecond, sandbox.trackRatePerSecond]).toEqual([5, 2000]);
  });
});

describe.each(['README.md', 'docs/settings.md'])('%s', (page) => {
  test('names no setting that there is not', () => {
    const known = new Set(SETTING_NAMES.flatMap((name) => [name, `${name}_FILE`]));
    const named = new Set(readFileSync(page, 'utf8').match(/\b(?:PAYRUN_[A-Z_]+|REDIS_URL)\b/g));
    expect([...named].filter((name) => !known.has(name))).toEqual([]);
  });
});

test('docs/settings.md names every setting in full', () => {
  const text = readFileSync('docs/settings.md', 'utf8');
  expect(SETTING_NAMES.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});
